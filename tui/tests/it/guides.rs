//! The guides do what they say: their commands are run as they are printed, one after the other.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
};

use rustix::process::Signal;

use crate::world::{World, code, ended, kill, send, until_true};

const PROCESS: &str = include_str!("../../../docs/guides/process.md");
const EXEC: &str = include_str!("../../../docs/guides/exec.md");
const PROVIDER: &str = include_str!("../../../examples/exec-provider.py");

/// A shell in the directory of a run, where the program is called by its name.
pub(crate) fn shell(world: &World, line: &str) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_levelhead"));
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("sh");
    shell.env("PATH", format!("{}:{path}", program.parent().unwrap().display()));
    shell.env("LEVELHEAD_STATE_DIR", world.state());
    shell.env_remove("LEVELHEAD_FILE").env_remove("RUST_LOG").stdin(Stdio::null());
    shell.current_dir(world.dir()).args(["-c", line]);
    shell
}

/// Runs the commands of a guide in order, and tells `seen` of each that is over, with all that it printed. A driver
/// that the guide starts runs on beside the others, and is ended behind the last.
pub(crate) fn follow(world: &World, guide: &str, mut seen: impl FnMut(&str, &str)) {
    let mut driver: Option<Child> = None;
    for line in guide.lines().filter_map(|line| line.strip_prefix("$ ")) {
        if let Some(words) = line.strip_prefix("levelhead driver") {
            let line = format!("exec {line}");
            driver = Some(shell(world, &line).stderr(Stdio::null()).spawn().unwrap());
            until_true("the driver answers", || {
                let status = shell(world, &format!("levelhead status{words} --json")).output();
                String::from_utf8_lossy(&status.unwrap().stdout).contains("\"driver\":{")
            });
            continue;
        }
        let out = shell(world, line).output().unwrap();
        let text = [out.stdout, out.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        assert_eq!(code(out.status), 0, "{line}: {text}");
        seen(line, &text);
    }
    if let Some(mut driver) = driver {
        send(&driver, Signal::TERM);
        ended(&mut driver);
    }
}

/// Gives the run of a guide's file the identity of `world`, whose guard leaves nothing behind.
fn adopt(world: &World) {
    let text = fs::read_to_string(world.file()).unwrap();
    let (head, rest) = text.split_once("uuid = \"").unwrap();
    let (_own, rest) = rest.split_once('"').unwrap();
    world.write_raw(&format!("{head}uuid = \"{}\"{rest}", world.uuid()));
}

/// The guide for processes: up, kept by a driver, wider, at rest, replaced, and down without a rest.
#[test]
fn the_guide_for_processes_does_what_it_says() {
    let world = World::new("");
    fs::remove_file(world.file()).unwrap();
    follow(&world, PROCESS, |line, text| match line {
        "levelhead init" => adopt(&world),
        "levelhead plan" => assert!(text.contains("Plan: "), "{text}"),
        "levelhead up --yes" => {
            assert!(text.contains("converged: 5 of 5"), "{text}");
            assert_eq!(world.pids().len(), 5);
        }
        "levelhead logs web-0" => assert!(text.contains("listens on"), "{text}"),
        "levelhead scale web=5 --yes" => {
            let before = world.pids();
            assert_eq!(before.len(), 7);
            kill(before["web-3"]);
            until_true("another one takes its place", || {
                let now = world.alive();
                now.get("web-3").is_some_and(|pids| *pids != [before["web-3"]]) && now.len() == 7
            });
        }
        "levelhead down --yes" => {
            assert!(world.alive().is_empty(), "{text}");
            until_true("the kept output is gone too", || world.leases().is_empty());
        }
        _ => {}
    });
}

/// The guide for a program of one's own: proven by the battery, up, wider, and down without a rest.
#[test]
fn the_guide_for_exec_does_what_it_says() {
    let world = World::new("");
    let (_, rest) = EXEC.split_once("```toml\n").unwrap();
    let (file, _) = rest.split_once("```").unwrap();
    world.write_raw(file);
    adopt(&world);
    fs::write(world.dir().join("exec-provider.py"), PROVIDER).unwrap();
    let nodes = || fs::read_dir(world.dir().join("exec-state").join(world.uuid())).unwrap().count();
    follow(&world, EXEC, |line, text| match line {
        "levelhead doctor --provider mine" => {
            assert!(text.contains("the provider passes the battery"), "{text}");
        }
        "levelhead up --yes" => {
            assert!(text.contains("converged: 2 of 2"), "{text}");
            assert_eq!(nodes(), 2);
        }
        "levelhead scale web=3 --yes" => assert_eq!(nodes(), 3, "{text}"),
        "levelhead down --yes" => assert_eq!(nodes(), 0, "{text}"),
        _ => {}
    });
}
