//! A journal that cannot be written: no effect goes out without its intent on disk (P2).
//!
//! The state directory is a small file system of its own. Where this user may not mount one, the cases are
//! skipped, and say so.

use std::{
    fs::{self, File},
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use crate::world::{Done, World, servers};

/// A mounted file system in memory; unmounted at the end.
struct Mount {
    at: PathBuf,
}

impl Mount {
    /// Mounts `size` at `at`; nothing where that is not allowed.
    fn new(at: &Path, size: &str) -> Option<Self> {
        fs::create_dir(at).unwrap();
        let options = format!("size={size},mode=0700");
        let mounted = mount(&["-t", "tmpfs", "-o", &options, "levelhead-test"], at);
        mounted.then(|| Self { at: at.to_owned() })
    }

    fn read_only(&self, yes: bool) {
        let how = if yes { "remount,ro" } else { "remount,rw" };
        assert!(mount(&["-o", how], &self.at));
    }

    /// Takes every byte that is left; gives the file that holds them.
    fn fill(&self) -> PathBuf {
        let path = self.at.join("filler");
        let mut file = File::create(&path).unwrap();
        for len in [4096, 1] {
            while file.write_all(&vec![0; len]).map_err(|error| error.kind())
                != Err(ErrorKind::StorageFull)
            {}
        }
        path
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let lazily = Command::new("umount").arg("-l").arg(&self.at).status();
        assert!(lazily.is_ok_and(|status| status.success()), "{} stays mounted", self.at.display());
    }
}

fn mount(words: &[&str], at: &Path) -> bool {
    let done = Command::new("mount").args(words).arg(at).output();
    done.is_ok_and(|done| done.status.success())
}

/// A run whose state directory is a mount; the run ends before its mount does.
fn mounted(name: &str) -> Option<(World, Mount)> {
    let dir: TempDir = tempfile::tempdir().unwrap();
    let at = dir.path().join("disk");
    let Some(mount) = Mount::new(&at, "6m") else {
        eprintln!("skipped: {name}: this user may not mount a file system");
        return None;
    };
    Some((World::at(dir, at, &servers("web", 2)), mount))
}

fn refused_clearly(done: &Done, word: &str) {
    assert!(done.err.contains("error: "), "{done:?}");
    assert!(done.err.to_lowercase().contains(word), "{done:?}");
    assert!(!done.err.contains("panicked"), "{done:?}");
    let told = done.err.matches("database or disk is full").count();
    assert!(told <= 1, "a cause is told once: {done:?}");
}

/// A full disk: nothing is begun, neither by a first start nor by a change, and it goes on once there is room.
#[test]
fn a_full_disk_lets_no_effect_out() {
    let Some((world, mount)) = mounted("a_full_disk_lets_no_effect_out") else { return };
    let filler = mount.fill();
    refused_clearly(&world.expect(66, &["up", "--yes", "FILE"]), "free space");
    assert!(world.alive().is_empty() && world.leases().is_empty());

    fs::remove_file(filler).unwrap();
    world.expect(0, &["up", "--yes", "FILE"]);
    let (pids, leases) = (world.pids(), world.leases());
    let filler = mount.fill();
    refused_clearly(
        &world.expect(66, &["scale", "web=4", "--yes", "--file", "FILE"]),
        "free space",
    );
    assert_eq!((world.pids(), world.leases()), (pids, leases));

    fs::remove_file(filler).unwrap();
    world.expect(0, &["scale", "web=4", "--yes", "--file", "FILE"]);
    assert_eq!(world.pids().len(), 4);
    world.expect(0, &["down", "--yes", "FILE"]);
}

/// A driver whose journal fails tells whoever asked why, and logs nothing that was not kept.
#[test]
fn a_change_that_the_journal_refused_is_told_with_its_reason() {
    let name = "a_change_that_the_journal_refused_is_told_with_its_reason";
    let Some((mut world, mount)) = mounted(name) else { return };
    world.drive();
    world.until_state("converged");
    let pids = world.pids();
    let filler = mount.fill();
    let refused = world.expect(66, &["scale", "web=4", "--yes", "--file", "FILE"]);
    refused_clearly(&refused, "the journal failed");
    assert!(refused.err.contains("next: free space"), "{refused:?}");
    assert_eq!(world.end_driver(rustix::process::Signal::TERM), 66);
    let log = fs::read_to_string(world.dir().join("driver-0.err")).unwrap();
    assert!(!log.contains("generation 1 -> 2"), "{log}");
    assert_eq!(world.pids(), pids);
    fs::remove_file(filler).unwrap();
    world.expect(0, &["down", "--yes", "FILE"]);
}

/// A state directory that can only be read: nothing is begun; what can be read is still shown.
#[test]
fn a_read_only_state_directory_lets_no_effect_out() {
    let name = "a_read_only_state_directory_lets_no_effect_out";
    let Some((world, mount)) = mounted(name) else { return };
    mount.read_only(true);
    refused_clearly(&world.expect(66, &["up", "--yes", "FILE"]), "read-only");
    refused_clearly(&world.expect(66, &["driver", "FILE"]), "read-only");
    assert!(world.alive().is_empty() && world.leases().is_empty());
    mount.read_only(false);
    // The same with a journal in it.
    world.expect(0, &["up", "--yes", "FILE"]);
    world.expect(0, &["down", "--yes", "FILE"]);
    mount.read_only(true);
    refused_clearly(&world.expect(66, &["up", "--yes", "FILE"]), "writable");
    assert!(world.alive().is_empty());
    mount.read_only(false);
    world.expect(0, &["up", "--yes", "FILE"]);
}
