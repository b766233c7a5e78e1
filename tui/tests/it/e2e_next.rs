//! Help that teaches: what to do next in a directory, and the manual pages.

use std::{fs, process::Command};

use rustix::process::Signal;

use crate::world::{World, servers};

/// `levelhead` alone leads from an empty directory to a run that is kept, one step after the other.
#[test]
fn the_bare_program_says_what_to_do_next() {
    let mut world = World::new(&servers("web", 1));
    let next = |world: &World| world.expect(0, &[]).out;
    let text = fs::read_to_string(world.file()).unwrap();
    fs::remove_file(world.file()).unwrap();
    assert!(next(&world).contains("levelhead init"), "{}", next(&world));
    world.write_raw("version = 1\nrun = \n");
    assert!(next(&world).contains("levelhead validate"), "{}", next(&world));
    world.write_raw(&text);
    assert!(next(&world).contains("levelhead up cluster.toml"), "{}", next(&world));
    assert!(!world.state().join("journal.db").exists(), "to look changes nothing");
    world.drive();
    world.until_state("converged");
    let kept = next(&world);
    assert!(kept.contains("1 of 1") && kept.contains("levelhead console"), "{kept}");
    assert_eq!(world.end_driver(Signal::TERM), 143);
    assert!(next(&world).contains("levelhead driver cluster.toml"), "{}", next(&world));
}

/// There is a page for the whole and for each verb that is to be known, and `man` can read it.
#[test]
fn every_verb_has_a_manual_page() {
    let world = World::new("");
    let page = world.expect(0, &["man"]).out;
    assert!(page.contains(".TH levelhead 1"), "{page}");
    let dir = world.dir().join("pages");
    world.expect(0, &["man", "--dir", dir.to_str().unwrap()]);
    let named = |verb: &str| dir.join(format!("levelhead{verb}.1"));
    for verb in ["", "-wait", "-driver", "-journal-verify", "-token-add", "-watch"] {
        assert!(named(verb).exists(), "{verb}");
    }
    assert!(!named("-node").exists(), "a hidden verb has no page");
    let wait = fs::read_to_string(named("-wait")).unwrap();
    assert!(wait.contains("generation=N") && wait.contains("timeout"), "{wait}");
    match Command::new("man").args(["-l", named("-wait").to_str().unwrap()]).output() {
        Ok(read) => assert!(read.status.success(), "{read:?}"),
        Err(_) => eprintln!("skipped: man is not installed"),
    }
}
