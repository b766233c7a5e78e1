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

/// A shell completes with the names that the run has now; where there is no bash, that much is not shown.
#[test]
fn a_shell_completes_live_names() {
    let mut world = World::new(&servers("web", 2));
    world.drive();
    world.until_state("converged");
    let names = |what: &str| world.expect(0, &["names", what, "--file", "FILE"]).out;
    assert_eq!(names("groups"), "web\n");
    assert_eq!(names("nodes"), "web-0\nweb-1\n");
    assert_eq!(names("holds"), "");
    for shell in ["bash", "zsh", "fish"] {
        let script = world.expect(0, &["completions", shell]).out;
        assert!(script.contains("levelhead names"), "{shell}");
        // What the help hides is not offered.
        for hidden in ["a tiny HTTP page", "what a shell completes with", "fixture"] {
            assert!(!script.contains(hidden), "{shell} offers {hidden}");
        }
        let offers = script.lines().filter(|line| line.contains("opts=\""));
        assert!(offers.flat_map(|line| line.split(' ')).all(|word| word != "names"), "{shell}");
    }
    world.expect(0, &["completions", "elvish"]);
    let script = world.dir().join("live.bash");
    fs::write(&script, world.expect(0, &["completions", "bash"]).out).unwrap();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_levelhead"));
    let path =
        format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let place =
        format!("--file {} --state-dir {}", world.file().display(), world.state().display());
    for (typed, wanted) in [("scale w", "web"), ("explain web-", "web-0 web-1"), ("logs ", "web-0")]
    {
        let (verb, begun) = typed.split_once(' ').unwrap();
        let line = format!(
            ". {script}; COMP_WORDS=(levelhead {place} {verb} '{begun}'); COMP_CWORD=6; \
             _levelhead_live levelhead '{begun}' {verb}; printf '%s ' \"${{COMPREPLY[@]}}\"",
            script = script.display()
        );
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-c", &line]).env("PATH", &path);
        let Ok(output) = bash.output() else {
            eprintln!("skipped: bash is not installed");
            return;
        };
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains(wanted), "{typed}: {said} {output:?}");
    }
}
