//! Who may read what a run writes: its user, and nobody else.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use rustix::process::Signal;

use crate::world::{World, servers};

/// Everything below `dir` that others may touch.
fn open_to_others(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let seen = fs::symlink_metadata(&path).unwrap();
        let mode = seen.permissions().mode() & 0o777;
        let wanted = if seen.is_dir() { 0o700 } else { 0o600 };
        if mode != wanted {
            found.push(format!("{} is {mode:o}", path.display()));
        }
        if seen.is_dir() {
            found.extend(open_to_others(&path));
        }
    }
    found
}

/// Directories are 0700 and files 0600, the socket and the logs included, whatever the umask says.
#[test]
fn what_a_run_writes_is_its_users_alone() {
    let mut world = World::new(&servers("web", 1));
    world.drive();
    world.until_state("converged");
    let mode = fs::metadata(world.state()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o700);
    assert!(world.state().join("control.sock").exists());
    assert!(fs::read_dir(world.state().join("logs")).unwrap().next().is_some());
    assert_eq!(open_to_others(world.state()), Vec::<String>::new());
    assert_eq!(world.end_driver(Signal::TERM), 143);
    assert!(!world.state().join("control.sock").exists(), "the socket goes with its driver");
}
