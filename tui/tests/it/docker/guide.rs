//! The guide does what it says: its commands are run as they are printed, one after the other.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
};

use rustix::process::Signal;

use super::fleet::Fleet;
use crate::world::{code, ended, send, until_true};

const GUIDE: &str = include_str!("../../../../docs/guides/docker.md");
const EXAMPLE: &str = include_str!("../../../../examples/web-stack.toml");

/// A shell in the directory of the example, where the program is called by its name.
fn shell(fleet: &Fleet, line: &str) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_levelhead"));
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("sh");
    shell.env("PATH", format!("{}:{path}", program.parent().unwrap().display()));
    shell.env("LEVELHEAD_STATE_DIR", fleet.world.state());
    shell.env_remove("LEVELHEAD_FILE").env_remove("RUST_LOG").stdin(Stdio::null());
    shell.current_dir(fleet.world.dir()).args(["-c", line]);
    shell
}

/// The commands of the guide, in order.
fn commands() -> Vec<&'static str> {
    GUIDE.lines().filter_map(|line| line.strip_prefix("$ ")).collect()
}

#[test]
fn the_guide_does_what_it_says() {
    let test = "the_guide_does_what_it_says";
    let Some(fleet) = Fleet::new(test, "") else { return };
    if !Command::new("docker").arg("version").output().is_ok_and(|out| out.status.success()) {
        eprintln!("skipped: {test}, the guide uses the `docker` command, which is not here");
        return;
    }
    let own = EXAMPLE.replace("0f6a5c1e-6d0b-4c58-9a0e-3f1b7a52c9d4", fleet.world.uuid());
    assert_ne!(own, EXAMPLE);
    fs::write(fleet.world.dir().join("web-stack.toml"), own).unwrap();
    let mut driver: Option<Child> = None;
    for line in commands() {
        if line.starts_with("levelhead driver") {
            driver =
                Some(shell(&fleet, &format!("exec {line}")).stderr(Stdio::null()).spawn().unwrap());
            until_true("the driver answers", || {
                let status =
                    shell(&fleet, "levelhead status web-stack.toml --json").output().unwrap();
                String::from_utf8_lossy(&status.stdout).contains("\"driver\":{")
            });
            continue;
        }
        let out = shell(&fleet, line).output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(code(out.status), 0, "{line}: {said}");
        match line {
            "levelhead up web-stack.toml --yes" => {
                assert!(
                    said.contains("converged: 5 of 5")
                        || String::from_utf8_lossy(&out.stdout).contains("converged: 5 of 5"),
                    "{said}"
                );
                assert_eq!(fleet.nodes().len(), 5);
            }
            "levelhead scale web=5 --file web-stack.toml --yes" => {
                assert_eq!(fleet.nodes().len(), 7);
            }
            "levelhead scale web=2 --file web-stack.toml --yes" => {
                assert_eq!(fleet.nodes().len(), 4);
            }
            _ => {}
        }
    }
    let mut driver = driver.expect("the guide starts a driver");
    send(&driver, Signal::TERM);
    ended(&mut driver);
    fleet.is_bare();
}
