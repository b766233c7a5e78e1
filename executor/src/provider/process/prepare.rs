//! Turns a boot spec into something that can be executed: arguments, environment, program, directory.
//!
//! A node gets a small clean environment, whatever the driver's own is: a few inherited names, its identity
//! (`LEVELHEAD_RUN`, `_SLOT`, `_ATTEMPT`, `_ORDINAL`), `PORT` if it has exactly one, and what its spec sets. The
//! spec and its secrets may replace all but the identity, by which the node is recognised later. No shell is involved.
//! A node that joins by an agent is run by this program as its agent, which is told how it is let in.

use std::{
    collections::BTreeMap,
    env,
    ffi::{CString, OsStr},
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use reconciler_core::{
    desired::{BootSpec, HookPoint, JoinMode, NodeSpec},
    id::Fence,
};
use rustix::fs::{Access, access};

use super::{
    files::{LeaseDir, Owner},
    identity::{ATTEMPT_VAR, HOOK_VAR, LEASE_VAR, PROBES, VERIFY_VAR},
    problem::Problem,
    spawn::Launch,
};
use crate::{provider::template::Values, seam::ProviderPlace, secret::Missing};

/// Names that a node inherits from the driver.
const INHERITED: [&str; 5] = ["PATH", "HOME", "LANG", "TZ", "TMPDIR"];
/// Where programs are searched if nobody says so.
const PATH_DEFAULT: &str = "/usr/local/bin:/usr/bin:/bin";

type Env = BTreeMap<String, Vec<u8>>;

/// What every node of this driver inherits; read once.
#[derive(Clone, Debug)]
pub(super) struct Inherited(Env);

impl Inherited {
    pub(super) fn read() -> Self {
        let mut env = Env::from([("PATH".to_owned(), PATH_DEFAULT.as_bytes().to_vec())]);
        for name in INHERITED {
            if let Some(value) = env::var_os(name) {
                env.insert(name.to_owned(), value.as_bytes().to_vec());
            }
        }
        Self(env)
    }
}

/// Makes launches for one attempt. Its environment holds secrets, so it is never shown.
pub(super) struct Preparation<'a> {
    values: Values<'a>,
    env: Env,
    workdir: PathBuf,
    place: &'a ProviderPlace,
    dir: &'a LeaseDir,
    owner: &'a Owner,
}

impl<'a> Preparation<'a> {
    pub(super) fn new(
        inherited: &Inherited,
        place: &'a ProviderPlace,
        dir: &'a LeaseDir,
        owner: &'a Owner,
        boot: &BootSpec,
    ) -> Result<Self, Problem> {
        let base_dir = place.base_dir.as_path();
        let values = Values::new(&owner.slot, owner.attempt, boot, &owner.ports);
        let mut env = inherited.0.clone();
        let mut ports = owner.ports.values();
        if let (Some(port), None) = (ports.next(), ports.next()) {
            env.insert("PORT".to_owned(), port.to_string().into_bytes());
        }
        for (name, value) in &boot.env {
            if name.is_empty() || name.contains('=') {
                return Err(Problem::Invalid(format!("`{name}` is no name of a variable")));
            }
            env.insert(name.clone(), values.fill(value)?.into_bytes());
        }
        let secrets = place.secrets.resolve(boot);
        let secrets = secrets.map_err(|missing| Problem::Secrets(Missing::told(&missing)))?;
        env.extend(secrets.iter().map(|(name, value)| (name.clone(), value.expose().into())));
        let identity = [
            ("LEVELHEAD_RUN", owner.run.to_string()),
            ("LEVELHEAD_SLOT", owner.slot.to_string()),
            (ATTEMPT_VAR, owner.attempt.to_string()),
            ("LEVELHEAD_ORDINAL", owner.ordinal.to_string()),
        ];
        env.remove(VERIFY_VAR);
        env.remove(HOOK_VAR);
        env.insert(LEASE_VAR.to_owned(), dir.mark());
        env.extend(identity.map(|(name, value)| (name.to_owned(), value.into_bytes())));
        let workdir = match &boot.workdir {
            Some(workdir) => base_dir.join(workdir),
            None => dir.path().to_owned(),
        };
        if boot.workdir.is_some() && !workdir.is_dir() {
            let text = format!("the workdir {} is no directory", workdir.display());
            return Err(Problem::Workload(text));
        }
        Ok(Self { values, env, workdir, place, dir, owner })
    }

    /// The workload itself, by its agent if it joins by one.
    pub(super) fn workload(&self, spec: &NodeSpec, fence: Fence) -> Result<Launch, Problem> {
        let logs = [self.dir.file("stdout.log"), self.dir.file("stderr.log")];
        match spec.join {
            JoinMode::None | JoinMode::Probe => self.launch(&spec.boot.command, logs, &[]),
            JoinMode::Agent => {
                let grants = self.place.secrets.grants().ok_or(Problem::NoAgents)?;
                let owner = self.owner;
                let told =
                    grants.env(&owner.slot, owner.attempt, fence, (&spec.boot, &owner.ports));
                let told: Vec<_> =
                    told.iter().map(|(name, value)| (*name, value.as_str())).collect();
                let (program, argv) = self.found(&spec.boot.command)?;
                let agent = env::current_exe().map_err(Problem::io("find", "this program"))?;
                let program = program.to_string_lossy().into_owned();
                let wrapped =
                    [agent.to_string_lossy().into_owned(), "agent".into(), "--".into(), program];
                let wrapped: Vec<_> = wrapped.into_iter().chain(argv.into_iter().skip(1)).collect();
                self.made(&agent, &wrapped, logs, &told)
            }
        }
    }

    /// A command that must succeed first.
    pub(super) fn verify(&self, argv: &[String]) -> Result<Launch, Problem> {
        let log = self.dir.file("verify.log");
        self.launch(argv, [log.clone(), log], &[(VERIFY_VAR, "1")])
    }

    /// A hook; marked like a verify command, so that it is never taken for a workload.
    pub(super) fn hook(&self, argv: &[String], point: HookPoint) -> Result<Launch, Problem> {
        let log = self.dir.hook_log(point);
        let marks = [(VERIFY_VAR, "1"), (HOOK_VAR, point.as_str())];
        self.launch(argv, [log.clone(), log], &marks)
    }

    /// A question to the workload, which writes to `log`; marked as what it is.
    pub(super) fn probe(&self, argv: &[String], log: &Path) -> Result<Launch, Problem> {
        self.launch(argv, [log.to_owned(), log.to_owned()], &[(VERIFY_VAR, PROBES)])
    }

    fn launch(
        &self,
        argv: &[String],
        [stdout, stderr]: [PathBuf; 2],
        marks: &[(&str, &str)],
    ) -> Result<Launch, Problem> {
        let (program, argv) = self.found(argv)?;
        self.made(&program, &argv, [stdout, stderr], marks)
    }

    /// The program and the arguments of a command, with every placeholder filled.
    fn found(&self, argv: &[String]) -> Result<(PathBuf, Vec<String>), Problem> {
        let argv: Vec<String> =
            argv.iter().map(|text| self.values.fill(text)).collect::<Result<_, _>>()?;
        let Some(name) = argv.first().filter(|name| !name.is_empty()) else {
            return Err(Problem::Invalid("the command is empty".to_owned()));
        };
        Ok((self.find(name)?, argv))
    }

    fn made(
        &self,
        program: &Path,
        argv: &[String],
        [stdout, stderr]: [PathBuf; 2],
        marks: &[(&str, &str)],
    ) -> Result<Launch, Problem> {
        let marks = marks.iter().map(|(name, value)| (*name, value.as_bytes()));
        let env = self.env.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
        let env = env
            .chain(marks)
            .map(|(name, value)| c_string(&[name.as_bytes(), b"=", value].concat(), "a variable"));
        Ok(Launch {
            program: c_string(program.as_os_str().as_bytes(), "the program")?,
            env: env.collect::<Result<_, _>>()?,
            argv: argv
                .iter()
                .map(|text| c_string(text.as_bytes(), "an argument"))
                .collect::<Result<_, _>>()?,
            workdir: c_string(self.workdir.as_os_str().as_bytes(), "the workdir")?,
            stdout: c_string(stdout.as_os_str().as_bytes(), "a log")?,
            stderr: c_string(stderr.as_os_str().as_bytes(), "a log")?,
        })
    }

    /// Finds a program as a shell would, with the node's own `PATH`; a relative path starts where the file that
    /// declares the node lies.
    fn find(&self, name: &str) -> Result<PathBuf, Problem> {
        if name.contains('/') {
            let path = self.place.base_dir.join(name);
            return match executable(&path) {
                Found::Yes => Ok(path),
                Found::NotExecutable => Err(not_executable(&path)),
                Found::No => {
                    Err(Problem::Workload(format!("program {} was not found", path.display())))
                }
            };
        }
        let search = self.env.get("PATH").map_or(PATH_DEFAULT.as_bytes(), Vec::as_slice);
        let mut denied = None;
        for dir in env::split_paths(OsStr::from_bytes(search)) {
            let path = self.place.base_dir.join(dir).join(name);
            match executable(&path) {
                Found::Yes => return Ok(path),
                Found::NotExecutable => denied = denied.or(Some(path)),
                Found::No => {}
            }
        }
        Err(denied.map_or_else(
            || Problem::Workload(format!("program `{name}` was not found in PATH")),
            |path| not_executable(&path),
        ))
    }
}

enum Found {
    Yes,
    NotExecutable,
    No,
}

fn executable(path: &Path) -> Found {
    match fs::metadata(path) {
        Ok(facts) if !facts.is_file() => Found::NotExecutable,
        Ok(_) if access(path, Access::EXEC_OK).is_err() => Found::NotExecutable,
        Ok(_) => Found::Yes,
        Err(_) => Found::No,
    }
}

fn not_executable(path: &Path) -> Problem {
    Problem::Workload(format!("{} is not an executable file", path.display()))
}

fn c_string(bytes: &[u8], what: &str) -> Result<CString, Problem> {
    CString::new(bytes)
        .map_err(|_nul| Problem::Invalid(format!("{what} contains a character of value zero")))
}
