//! One call of the user's program: request in, answer out, exit; never a shell, never longer than its limit.
//!
//! It runs in a process group of its own, which is killed as a whole when the call is given up. After an orderly
//! exit the group is left alone: what the program started there are workloads. Its environment is only what the
//! operator lists. What the answer means stands in `answer`.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use reconciler_core::effect::FailureClass;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    process::{Child, Command},
    sync::watch,
};

use super::pipe::{PipeError, feed, read_answer, read_errors};
use crate::secret::{Needles, Secrets};

/// Names that every call gets from our own environment.
const ENV_ALWAYS: [&str; 3] = ["HOME", "LANG", "PATH"];
/// How much of stderr goes into a message.
const ERRORS_SHOWN_MAX: usize = 400;

/// A program and how it is called.
#[derive(Debug)]
pub(super) struct Program {
    argv: Vec<OsString>,
    directory: PathBuf,
    env: BTreeMap<String, OsString>,
    /// Values of variables that it is passed on.
    passed: Needles,
    /// Secrets of nodes.
    secrets: Secrets,
}

/// Why a call gave no answer to read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CallError {
    /// It was never started, so nothing happened.
    #[error("cannot run {program}: {why}")]
    NotRun {
        /// Which program.
        program: String,
        /// The policy's class.
        class: FailureClass,
        /// What the system says.
        why: String,
    },
    /// It was started, and what it did is unknown.
    #[error("{why}")]
    Broken {
        /// The policy's class.
        class: FailureClass,
        /// What went wrong.
        why: String,
    },
}

impl Program {
    /// The program `argv`, run in `directory` with our values of the variables named in `env`.
    pub(super) fn new(
        argv: Vec<OsString>,
        directory: PathBuf,
        env: &[String],
        secrets: Secrets,
    ) -> Self {
        let value = |name: &str| std::env::var_os(name).map(|value| (name.to_owned(), value));
        let listed: BTreeMap<_, _> = env.iter().filter_map(|name| value(name)).collect();
        let passed: Vec<_> = listed.values().map(|value| value.to_string_lossy()).collect();
        let passed = Needles::of(passed.iter().map(AsRef::as_ref));
        let mut env: BTreeMap<_, _> = ENV_ALWAYS.iter().filter_map(|name| value(name)).collect();
        env.extend(listed);
        Self { argv, directory, env, passed, secrets }
    }

    /// The secrets of the nodes that it makes.
    pub(super) const fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Takes the values of passed-on variables and the secrets of nodes out of `text`.
    pub(super) fn scrubbed(&self, text: &str) -> String {
        self.secrets.cleaned(&self.passed.cleaned(text))
    }

    /// The last bytes of stderr that are kept: more than is shown, so that what was cut off is recognised.
    fn errors_kept(&self) -> usize {
        let reach = self.passed.reach().max(self.secrets.needles().reach());
        ERRORS_SHOWN_MAX.saturating_add(reach)
    }

    /// Calls it once with `request`, and gives what it wrote if it exited with 0 within `limit`.
    ///
    /// # Errors
    /// Says whether it was never run, or ran and broke off: by its status, by the limit, or by writing more than
    /// `most` bytes.
    pub(super) async fn call(
        &self,
        request: &[u8],
        limit: Duration,
        most: usize,
    ) -> Result<Vec<u8>, CallError> {
        let mut running = Running(self.command().spawn().map_err(|error| self.not_run(&error))?);
        let (mut answer, mut errors) = (Vec::new(), Vec::new());
        let bounds = [most, self.errors_kept()];
        let talk = running.talk(request, bounds, (&mut answer, &mut errors));
        let end = tokio::time::timeout(limit, talk).await;
        drop(running);
        let (class, what) = match end {
            Ok(Ok(status)) if status.success() => return Ok(answer),
            Ok(Ok(status)) => (FailureClass::Crashed, format!("the program ended with {status}")),
            Ok(Err(PipeError::Oversized)) => {
                (FailureClass::Unavailable, format!("its answer is longer than {most} bytes"))
            }
            Ok(Err(PipeError::Io(error))) => {
                (FailureClass::Unavailable, format!("its answer cannot be read: {error}"))
            }
            Err(_elapsed) => {
                (FailureClass::TimedOut, format!("no answer within {} ms", limit.as_millis()))
            }
        };
        Err(CallError::Broken {
            class,
            why: format!("{what}{}", tail(&self.scrubbed(&String::from_utf8_lossy(&errors)))),
        })
    }

    fn command(&self) -> Command {
        let mut argv = self.argv.iter();
        let mut command = Command::new(argv.next().cloned().unwrap_or_default());
        command
            .args(argv)
            .current_dir(&self.directory)
            .env_clear()
            .envs(&self.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        command
    }

    /// Only these kinds of error prove that no program ran; after any other it may have.
    fn not_run(&self, error: &io::Error) -> CallError {
        let program =
            self.argv.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let why = error.to_string();
        let enoexec = rustix::io::Errno::NOEXEC.raw_os_error();
        if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
            || error.raw_os_error() == Some(enoexec)
        {
            return CallError::NotRun { program, class: FailureClass::Invalid, why };
        }
        if error.kind() == io::ErrorKind::ExecutableFileBusy {
            return CallError::NotRun { program, class: FailureClass::Unavailable, why };
        }
        CallError::Broken {
            class: FailureClass::Unavailable,
            why: format!("cannot run {program}: {why}"),
        }
    }
}

/// A child whose whole group ends with it, unless it exited by itself.
struct Running(Child);

impl Running {
    async fn talk(
        &mut self,
        request: &[u8],
        [most, errors_most]: [usize; 2],
        (answer, errors): (&mut Vec<u8>, &mut Vec<u8>),
    ) -> Result<ExitStatus, PipeError> {
        let missing = || PipeError::Io(io::ErrorKind::BrokenPipe.into());
        let stdin = self.0.stdin.take().ok_or_else(missing)?;
        let stdout = self.0.stdout.take().ok_or_else(missing)?;
        let stderr = self.0.stderr.take().ok_or_else(missing)?;
        let (leave, left) = watch::channel(false);
        let exit = async {
            let status = self.0.wait().await.map_err(PipeError::Io);
            leave.send_replace(true);
            status
        };
        let aside = async {
            tokio::join!(
                read_errors(stderr, errors, errors_most, left.clone()),
                feed(stdin, request, left.clone())
            );
            Ok(())
        };
        let answered = read_answer(stdout, answer, most, left.clone());
        let (status, (), ()) = tokio::try_join!(exit, answered, aside)?;
        Ok(status)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The id is there only while the child is not reaped, so the number cannot name anybody else's group.
        let group = self.0.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(group) = group
            && let Err(error) = kill_process_group(group, Signal::KILL)
        {
            tracing::debug!(%error, "the program's group was gone already");
        }
    }
}

/// The end of what the program wrote to stderr, ready to follow a message.
fn tail(errors: &str) -> String {
    let text = errors.trim();
    if text.is_empty() {
        return String::new();
    }
    let mut start = text.len().saturating_sub(ERRORS_SHOWN_MAX);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    format!("; it said: {}", text.get(start..).unwrap_or_default())
}
