//! One run of the real program: a directory of its own with a file and a state directory, real processes, and a
//! guard that leaves nothing behind. What `/proc` says about a run is in `census`.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    census::{Census, census, kill_all},
    ward,
};

/// How long anything may take: a loaded machine is slow, a machine that is stuck is stuck.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);
/// Time between two looks at a predicate.
pub(crate) const LOOK: Duration = Duration::from_millis(10);

/// What a command came to.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A run in a directory of its own.
pub(crate) struct World {
    drivers: Vec<Child>,
    uuid: String,
    state: PathBuf,
    /// The file that commands are given.
    named: PathBuf,
    dir: TempDir,
}

/// Waits until `found` gives something, and says `what` was awaited if it never does.
pub(crate) fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < deadline, "in vain waited until {what}");
        thread::sleep(LOOK);
    }
}

/// Waits until `holds`.
pub(crate) fn until_true(what: &str, mut holds: impl FnMut() -> bool) {
    until(what, || holds().then_some(()));
}

/// A group of nodes that serve a page each; they are ready soon and do not become stable within a test.
pub(crate) fn servers(name: &str, count: u32) -> String {
    group(name, count, r#"["{levelhead}", "node", "--port", "{port}"]"#)
}

/// A group with a command of its own.
pub(crate) fn group(name: &str, count: u32, command: &str) -> String {
    format!(
        "[group.{name}]\ncount = {count}\n\
         [group.{name}.boot]\ncommand = {command}\nports = [\"http\"]\nsettle = \"50ms\"\n\
         [group.{name}.policy]\nstable = \"30m\"\n"
    )
}

impl World {
    /// A run with the groups of `body`.
    pub(crate) fn new(body: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        Self::at(dir, state, body)
    }

    /// A run that keeps its state in `state`.
    pub(crate) fn at(dir: TempDir, state: PathBuf, body: &str) -> Self {
        let uuid = uuid::Uuid::new_v4().to_string();
        let named = dir.path().join("cluster.toml");
        ward::guard(&uuid, &state);
        let world = Self { drivers: Vec::new(), uuid, state, named, dir };
        world.write(body);
        world
    }

    /// Writes the file anew, at once and in whole.
    pub(crate) fn write(&self, body: &str) {
        let head = format!("version = 1\nrun = \"it\"\nuuid = \"{}\"\n", self.uuid);
        self.write_raw(&format!("{head}{body}"));
    }

    /// Writes the file with nothing added.
    pub(crate) fn write_raw(&self, text: &str) {
        let new = self.dir.path().join("new.toml");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.file()).unwrap();
    }

    pub(crate) fn uuid(&self) -> &str {
        &self.uuid
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn state(&self) -> &Path {
        &self.state
    }

    /// The file that a driver follows.
    pub(crate) fn file(&self) -> PathBuf {
        self.dir.path().join("cluster.toml")
    }

    /// From now on commands name another file of the same run: they need one that they can read.
    pub(crate) fn look_through_a_copy(&mut self) {
        self.named = self.dir.path().join("copy.toml");
        fs::copy(self.file(), &self.named).unwrap();
    }

    /// The program with `words`; `FILE` stands for the run's file.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_levelhead"));
        for variable in ["LEVELHEAD_STATE_DIR", "LEVELHEAD_FILE", "LEVELHEAD_CONFIG", "RUST_LOG"] {
            command.env_remove(variable);
        }
        // The settings of whoever runs the tests are not those of the tests.
        command.env("XDG_CONFIG_HOME", self.dir.path());
        command.current_dir(self.dir.path()).arg("--state-dir").arg(&self.state);
        command.stdin(Stdio::null());
        let file = &self.named;
        for word in words {
            match *word {
                "FILE" => command.arg(file),
                word => command.arg(word),
            };
        }
        command
    }

    /// Starts the program with its output in files named after `name`.
    pub(crate) fn spawn(&self, name: &str, words: &[&str]) -> Child {
        let file = |end: &str| File::create(self.dir.path().join(format!("{name}.{end}"))).unwrap();
        self.command(words).stdout(file("out")).stderr(file("err")).spawn().unwrap()
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, words: &[&str]) -> Done {
        let name = format!("run-{:?}", thread::current().id());
        let mut child = self.spawn(&name, words);
        let status = ended(&mut child);
        let read = |end: &str| {
            fs::read_to_string(self.dir.path().join(format!("{name}.{end}"))).unwrap_or_default()
        };
        Done { code: code(status), out: read("out"), err: read("err") }
    }

    /// Runs a printed command as it stands, in a shell that knows nothing of the run.
    pub(crate) fn paste(&self, command: &str) -> Done {
        let words = command.strip_prefix("levelhead ").expect("a command of the program");
        let mut shell = Command::new("sh");
        for variable in ["LEVELHEAD_STATE_DIR", "LEVELHEAD_FILE", "RUST_LOG"] {
            shell.env_remove(variable);
        }
        let line = format!("'{}' {words}", env!("CARGO_BIN_EXE_levelhead"));
        shell.current_dir(self.dir.path()).stdin(Stdio::null()).args(["-c", &line]);
        let output = shell.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Done { code: code(output.status), out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// Runs the program, which must end with `code`.
    pub(crate) fn expect(&self, code: i32, words: &[&str]) -> Done {
        let done = self.run(words);
        assert_eq!(done.code, code, "{words:?}: {done:?}");
        done
    }

    /// Runs the program with `--json`, and reads its only document.
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
        serde_json::from_str(&self.expect(0, &words).out).unwrap()
    }

    /// Starts a driver and waits until it answers; gives its process id.
    pub(crate) fn drive(&mut self) -> u32 {
        let child = self.spawn(&format!("driver-{}", self.drivers.len()), &["driver", "FILE"]);
        let pid = child.id();
        self.drivers.push(child);
        until_true("the driver answers", || self.driver_pid() == Some(u64::from(pid)));
        pid
    }

    fn driver_pid(&self) -> Option<u64> {
        // The socket appears shortly after the lock is taken, and until then nobody answers.
        let done = self.run(&["status", "FILE", "--json"]);
        let view: Value = serde_json::from_str(&done.out).ok()?;
        view["driver"]["pid"].as_u64()
    }

    /// Sends `signal` to the driver that was started last, and gives its exit code.
    pub(crate) fn end_driver(&mut self, signal: Signal) -> i32 {
        let mut child = self.drivers.pop().unwrap();
        send(&child, signal);
        code(ended(&mut child))
    }

    /// Kills every driver, where what it would do afterwards is in the way.
    pub(crate) fn stop_drivers(&mut self) {
        for mut driver in self.drivers.drain(..) {
            // It may have ended by itself; either way it is gone afterwards.
            drop(driver.kill());
            drop(driver.wait());
        }
    }

    /// How the run stands.
    pub(crate) fn status(&self) -> Value {
        self.json(&["status", "FILE"])
    }

    /// Every journaled event, oldest first.
    pub(crate) fn events(&self) -> Vec<Value> {
        let done = self.expect(0, &["events", "FILE", "--limit", "100000", "--json"]);
        done.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The events of one kind about `subject`.
    pub(crate) fn events_of(&self, kind: &str, subject: &str) -> Vec<Value> {
        let of = |event: &Value| event["kind"] == kind && event["subject"] == subject;
        self.events().into_iter().filter(of).collect()
    }

    /// The live workloads by slot.
    pub(crate) fn alive(&self) -> Census {
        census(&self.uuid)
    }

    /// The live workloads by slot, each of which has exactly one.
    pub(crate) fn pids(&self) -> BTreeMap<String, i32> {
        let one = |(slot, pids): (String, Vec<i32>)| {
            assert_eq!(pids.len(), 1, "{slot} has the processes {pids:?}");
            (slot, pids[0])
        };
        self.alive().into_iter().map(one).collect()
    }

    /// Waits until the run stands as `word` says, with some shape to stand by.
    pub(crate) fn until_state(&self, word: &str) -> Value {
        until(&format!("the run is {word}"), || {
            let view = self.status();
            (view["state"] == word && view["generation"] != 0).then_some(view)
        })
    }

    /// The names of the leases that the process provider keeps.
    pub(crate) fn leases(&self) -> Vec<String> {
        let dir = self.state.join("providers/process");
        let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
        let mut names: Vec<String> = entries
            .filter(|entry| entry.as_ref().unwrap().file_type().unwrap().is_dir())
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop_drivers();
        if !self.alive().is_empty() {
            let down = self.command(&["down", "--yes", "--timeout", "30s", "FILE"]).output();
            if !self.alive().is_empty() {
                eprintln!("down left processes: {down:?}");
            }
        }
        kill_all(&self.uuid);
        ward::release(&self.uuid);
    }
}

/// The node `slot` of a status.
pub(crate) fn node<'a>(view: &'a Value, slot: &str) -> &'a Value {
    let nodes = view["nodes"].as_array().unwrap();
    nodes.iter().find(|node| node["slot"] == slot).unwrap_or(&Value::Null)
}

/// Sends `signal` to a child that was not waited for.
pub(crate) fn send(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// Kills a process at once.
pub(crate) fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

/// Waits for a child; one that does not end is killed and fails the test.
pub(crate) fn ended(child: &mut Child) -> ExitStatus {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if Instant::now() >= deadline {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("the program did not end");
        }
        thread::sleep(LOOK);
    }
}

/// The exit code; that of the shell for a signal.
pub(crate) fn code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}
