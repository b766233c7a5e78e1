//! One run of the binary: its file, its state, its driver, and the certainty that nothing is left of it.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde::Deserialize;

use crate::{
    proc,
    stub::{Stamps, Stub, wait_until},
};

/// How long a node must run before it counts as joined.
#[derive(Clone, Copy)]
pub(crate) enum Settle {
    /// Not at all: what is measured is the work alone.
    None,
    /// As long as the file's default says.
    Default,
}

/// What `levelhead status --json` says, as far as it matters here.
#[derive(Deserialize)]
pub(crate) struct View {
    pub(crate) state: String,
    pub(crate) ready: usize,
    pub(crate) orphans: Vec<serde_json::Value>,
}

impl View {
    /// True if the fleet is as it should be and counts `n` nodes.
    pub(crate) fn is_up(&self, n: usize) -> bool {
        self.state == "converged" && self.ready == n
    }
}

/// One run.
pub(crate) struct Rig {
    dir: PathBuf,
    program: PathBuf,
    pub(crate) stamps: Stamps,
    driver: Option<Child>,
}

impl Rig {
    /// Writes the file of a run with `count` nodes; nothing runs yet.
    pub(crate) fn new(
        home: &Path,
        name: &str,
        stub: &Stub,
        count: usize,
        settle: Settle,
    ) -> io::Result<Self> {
        let dir = home.join(name);
        fs::create_dir(&dir)?;
        let stamps = Stamps(dir.join("stamps"));
        let settle = match settle {
            Settle::None => "settle = \"0ms\"",
            Settle::Default => "",
        };
        // A node has proved itself after a second, so that the bench need not wait longer for a healthy history.
        let text = format!(
            "version = 1\nrun = \"bench\"\nuuid = \"5b8f2b0e-64a7-4f0c-9a55-0f7c1f0e2d11\"\n\
             confirm = \"auto\"\nparallelism = 32\n\
             [group.n]\ncount = {count}\n\
             [group.n.boot]\ncommand = ['{}']\nenv = {{ STAMPS = '{}' }}\n{settle}\n\
             [group.n.policy]\nstable = \"1s\"\n",
            stub.program.display(),
            stamps.0.display()
        );
        fs::write(dir.join("cluster.toml"), text)?;
        let program = PathBuf::from(env!("CARGO_BIN_EXE_levelhead"));
        Ok(Self { dir, program, stamps, driver: None })
    }

    fn state(&self) -> PathBuf {
        self.dir.join("state")
    }

    /// The binary with `words`, quiet, in a clean environment.
    pub(crate) fn command(&self, words: &[&str]) -> io::Result<Command> {
        let mut command = Command::new(&self.program);
        let told = File::options().create(true).append(true).open(self.dir.join("told"))?;
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", &self.dir);
        command.arg("--state-dir").arg(self.state()).args(words);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(told).current_dir(&self.dir);
        Ok(command)
    }

    /// Starts a driver; gives the moment before.
    pub(crate) fn drive(&mut self) -> io::Result<u64> {
        let begun = proc::now();
        self.driver = Some(self.command(&["driver", "cluster.toml"])?.spawn()?);
        Ok(begun)
    }

    /// The driver's process.
    pub(crate) fn driver_pid(&self) -> io::Result<u32> {
        let driver = self.driver.as_ref().map(Child::id);
        driver.ok_or_else(|| io::Error::other("no driver runs"))
    }

    /// Kills the driver without a warning.
    pub(crate) fn kill_driver(&mut self) -> io::Result<()> {
        if let Some(mut driver) = self.driver.take() {
            driver.kill()?;
            driver.wait()?;
        }
        Ok(())
    }

    /// What the driver shows now; nothing while none answers.
    pub(crate) fn view(&self) -> io::Result<Option<View>> {
        let mut command = self.command(&["status", "--json", "cluster.toml"])?;
        let said = command.stdout(Stdio::piped()).output()?.stdout;
        let view = serde_json::from_slice::<View>(&said).ok();
        Ok(view.filter(|view| view.state != "unattended"))
    }

    /// Waits until the driver shows `n` nodes up and nothing else.
    pub(crate) fn wait_up(&self, n: usize) -> io::Result<View> {
        let mut found = None;
        wait_until("the fleet to be up", || {
            found = self.view()?.filter(|view| view.is_up(n));
            Ok(found.is_some())
        })?;
        found.ok_or_else(|| io::Error::other("the view went away"))
    }

    /// The nodes that run.
    pub(crate) fn alive(&self) -> io::Result<Vec<i32>> {
        let all = self.stamps.read(0)?;
        Ok(all.iter().map(|stamp| stamp.pid).filter(|pid| self.is_ours(*pid)).collect())
    }

    /// True if the process runs and is a node of this bench: ids come again.
    fn is_ours(&self, pid: i32) -> bool {
        let program = fs::read_link(format!("/proc/{pid}/exe"));
        program.is_ok_and(|program| self.dir.parent().is_some_and(|home| program.starts_with(home)))
            && proc::runs(pid)
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        // A driver first, so that nothing is started again.
        let told = self.kill_driver().and_then(|()| self.alive());
        told.unwrap_or_default().into_iter().for_each(proc::kill);
        // Its files go with the home of the bench, at the very end: making files right after others were removed
        // is slow on some file systems, and would be charged to the next case.
    }
}
