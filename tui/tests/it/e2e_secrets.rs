//! Secrets on real processes: they reach the node, stand in no byte that Levelhead writes, and are there before
//! anything begins.

use std::{
    fs,
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use rustix::process::Signal;

use crate::world::{World, node, until_true};

/// Long enough to be no word, with signs that base64, JSON and URLs write in their own ways.
pub(crate) const CANARY: &str = "cAnArY/7f\"3+91 ~ende";

/// How the canary may be written. Each line was made by another tool than ours.
fn forms() -> Vec<String> {
    let texts = [
        CANARY,
        r#"cAnArY/7f\"3+91 ~ende"#,
        "cAnArY%2F7f%223%2B91%20~ende",
        "cAnArY%2f7f%223%2b91%20~ende",
        // Behind no byte, one and two, without the signs that neighbours have a part in.
        "Y0FuQXJZLzdmIjMrOTEgfmVuZG",
        "NBbkFyWS83ZiIzKzkxIH5lbmRl",
        "jQW5BclkvN2YiMys5MSB",
    ];
    texts.map(ToOwned::to_owned).into()
}

/// Says the canary in many ways on both outputs, in pieces and over lines.
pub(crate) const SAYS: &str = r#"
import base64, json, os, sys, urllib.parse
value = os.environ["API_TOKEN"]
raw = value.encode()
for out in (sys.stdout, sys.stderr):
    for text in (
        value, json.dumps(value), urllib.parse.quote(value, safe=""), urllib.parse.quote_plus(value),
        base64.b64encode(raw).decode(), base64.b64encode(b"x" + raw).decode(),
        base64.urlsafe_b64encode(b"xx" + raw).decode(), "Bearer " + value, "token=" + value,
        value[:9] + "\n" + value[9:],
    ):
        out.write("it is " + text + " indeed\n")
    for piece in (value[:5], value[5:11], value[11:]):
        out.write(piece)
        out.flush()
    out.write("\n")
"#;

pub(crate) struct Case {
    pub(crate) world: World,
    key: PathBuf,
}

fn write_key(path: &Path, text: &str) {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    std::io::Write::write_all(&mut options.open(path).unwrap(), text.as_bytes()).unwrap();
}

impl Case {
    pub(crate) fn new() -> Self {
        let world = World::new("");
        let key = world.dir().join("key");
        write_key(&key, &format!("{CANARY}\n"));
        fs::write(world.dir().join("says.py"), SAYS).unwrap();
        Self { world, key }
    }

    /// Declares one group of two whose nodes do `command`, after `verify`.
    pub(crate) fn declare(&self, command: &str, verify: &str) {
        let dir = self.world.dir().display();
        self.world.write(&format!(
            "[group.web]\ncount = 2\n[group.web.boot]\n\
             command = [\"sh\", \"-c\", \"{command}\"]\n\
             verify = [{{ command = [\"sh\", \"-c\", \"{verify}\"] }}]\nsettle = \"50ms\"\n\
             env = {{ WHERE = \"{dir}\" }}\nsecret_env = {{ API_TOKEN = \"file:key\" }}\n\
             [group.web.policy]\nstable = \"30m\"\nrestart = {{ attempts = 2, initial = \"50ms\" }}\n"
        ));
    }

    /// Every verb that shows something, in words and as data; gives all that they said.
    pub(crate) fn everything_shown(&self) -> String {
        let verbs: [&[&str]; 14] = [
            &["status", "FILE"],
            &["events", "FILE", "--limit", "1000"],
            &["explain", "web-0", "--file", "FILE"],
            &["plan", "FILE"],
            &["validate", "FILE"],
            &["export", "FILE"],
            &["logs", "web-0", "--file", "FILE"],
            &["logs", "web-0", "--file", "FILE", "--lines", "3"],
            &["logs", "web-1", "--file", "FILE", "--lines", "1"],
            &["release", "web-0", "--file", "FILE"],
            &["journal", "verify"],
            &["journal", "export"],
            &["journal", "inspect", "events"],
            &["journal", "inspect", "web-0"],
        ];
        let mut all = String::new();
        for verb in verbs {
            for json in [false, true] {
                let json = if json { vec!["--json"] } else { Vec::new() };
                let words: Vec<&str> = verb.iter().copied().chain(json).collect();
                let done = self.world.run(&words);
                assert!(!done.out.is_empty() || !done.err.is_empty(), "{words:?} said nothing");
                all.push_str(&done.out);
                all.push_str(&done.err);
            }
        }
        all
    }

    /// Every file that Levelhead wrote, without those that the nodes write themselves.
    fn written(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let (mut found, mut dirs) = (Vec::new(), vec![self.world.state().to_owned()]);
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let entry = entry.unwrap();
                let (path, kind) = (entry.path(), entry.file_type().unwrap());
                let name = entry.file_name().into_string().unwrap();
                let of_a_hook = name.starts_with("hook-");
                let of_a_node = of_a_hook
                    || ["stdout.log", "stderr.log", "verify.log"].contains(&name.as_str());
                if kind.is_dir() {
                    dirs.push(path);
                } else if kind.is_file() && !of_a_node {
                    found.push((path.clone(), fs::read(path).unwrap()));
                }
            }
        }
        // What drivers printed.
        for entry in fs::read_dir(self.world.dir()).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "out" || end == "err") {
                found.push((path.clone(), fs::read(path).unwrap()));
            }
        }
        found
    }

    pub(crate) fn assert_nowhere(&self, shown: &str) {
        let written = self.written();
        assert!(written.iter().any(|(path, _)| path.to_string_lossy().contains("journal")));
        for form in forms() {
            assert!(!shown.contains(&form), "{form} is shown: {shown}");
            for (path, bytes) in &written {
                let there = bytes.windows(form.len()).any(|part| part == form.as_bytes());
                assert!(!there, "{form} stands in {}", path.display());
            }
        }
    }
}

/// R91, P8: a workload that says its secret in every way and fails, seen through every verb and on disk.
#[test]
fn no_secret_of_a_workload_stands_in_any_byte() {
    let mut case = Case::new();
    let same = r#"test \"$API_TOKEN\" = \"$(cat $WHERE/key)\" && touch $WHERE/same"#;
    let stays = "while [ ! -e $WHERE/end ]; do sleep 0.05; done";
    case.declare(&format!("{same}; python3 $WHERE/says.py; {stays}; exit 3"), "true");
    case.world.drive();
    let logs = |slot| case.world.run(&["logs", slot, "--file", "FILE"]).out;
    until_true("both have said it", || {
        ["web-0", "web-1"].into_iter().all(|slot| logs(slot).matches("Bearer").count() == 2)
    });
    assert!(case.world.dir().join("same").exists(), "the node has its secret");
    let leases = case.world.state().join("providers/process");
    let raw = leases.join(&case.world.leases()[0]).join("stdout.log");
    assert!(fs::read_to_string(raw).unwrap().contains(CANARY), "the test does say it");
    let shown = case.everything_shown();
    assert!(shown.contains("it is [redacted] indeed"), "{shown}");
    case.assert_nowhere(&shown);
    fs::write(case.world.dir().join("end"), "").unwrap();
    until_true("it is held", || {
        node(&case.world.status(), "web-0")["hold"] == "restart.crash-loop"
    });
    let shown = case.everything_shown();
    assert!(shown.contains("its last lines") && shown.contains("[redacted] indeed"), "{shown}");
    case.assert_nowhere(&shown);
    case.world.end_driver(Signal::TERM);
    case.assert_nowhere(&case.everything_shown());
}

/// R91, P8: the same of a command that verifies, whose last words are the reason of a failure.
#[test]
fn no_secret_of_a_verify_command_stands_in_any_byte() {
    let mut case = Case::new();
    case.declare("sleep 60", "python3 $WHERE/says.py; exit 4");
    case.world.drive();
    until_true("it is held", || {
        node(&case.world.status(), "web-0")["hold"] == "restart.crash-loop"
    });
    let shown = case.everything_shown();
    assert!(shown.contains("verify command 1 of 1 exited with 4"), "{shown}");
    assert!(shown.contains("[redacted] indeed"), "{shown}");
    case.assert_nowhere(&shown);
}

/// R88: what needs a secret that is not there is refused before anything is made, and each lack is named.
#[test]
fn a_secret_that_is_missing_refuses_the_plan_before_any_effect() {
    let case = Case::new();
    case.declare("sleep 60", "true");
    fs::set_permissions(&case.key, fs::Permissions::from_mode(0o644)).unwrap();
    for verb in [&["plan", "FILE"] as &[&str], &["up", "--yes", "FILE"]] {
        let done = case.world.expect(71, verb);
        for part in [
            "group web",
            "web-0, web-1",
            "file:key",
            "API_TOKEN",
            "chmod 600",
            "nothing was changed",
        ] {
            assert!(done.err.contains(part), "{part}: {}", done.err);
        }
    }
    assert!(case.world.leases().is_empty() && case.world.alive().is_empty());
    fs::set_permissions(&case.key, fs::Permissions::from_mode(0o600)).unwrap();
    case.world.expect(0, &["up", "--yes", "FILE"]);
    // What ends nodes needs no secret.
    fs::remove_file(&case.key).unwrap();
    case.world.expect(0, &["down", "--yes", "FILE"]);
}

/// R97: a secret that went meanwhile holds the node that is to be made anew, with no further effect.
#[test]
fn a_secret_that_went_holds_the_node_that_is_lost() {
    let mut case = Case::new();
    case.declare("sleep 60", "true");
    case.world.expect(0, &["up", "--yes", "FILE"]);
    case.world.drive();
    fs::remove_file(&case.key).unwrap();
    let lost = case.world.pids()["web-1"];
    crate::world::kill(lost);
    until_true("it is held", || node(&case.world.status(), "web-1")["hold"] == "effect.refused");
    let why = case.world.expect(0, &["explain", "web-1", "--file", "FILE"]).out;
    assert!(why.contains("file:key for API_TOKEN cannot be had"), "{why}");
    assert!(!case.world.alive().contains_key("web-1"));
    write_key(&case.key, CANARY);
    case.world.expect(0, &["status", "FILE"]);
}

/// P8: a driver that cannot know what a node was given shows nothing of what it says, and says so.
#[test]
fn what_cannot_be_cleaned_is_withheld() {
    let mut case = Case::new();
    let gate = case.world.dir().join("gate");
    let says = "while [ ! -e $WHERE/gate ]; do sleep 0.05; done; python3 $WHERE/says.py; exit 3";
    case.declare(says, "true");
    case.world.expect(0, &["up", "--yes", "FILE"]);
    fs::remove_file(&case.key).unwrap();
    case.world.drive();
    fs::write(gate, "").unwrap();
    until_true("it is held", || !node(&case.world.status(), "web-0")["hold"].is_null());
    let events = case.world.expect(0, &["events", "FILE"]).out;
    assert!(events.contains("withheld"), "{events}");
    assert!(!events.contains("indeed"), "{events}");
    let logs = case.world.expect(71, &["logs", "web-0", "--file", "FILE"]);
    assert!(logs.out.is_empty() && logs.err.contains("file:key"), "{logs:?}");
    let shown = case.everything_shown();
    case.assert_nowhere(&shown);
}
