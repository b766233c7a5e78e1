//! What befalls a terminal: a hang-up, a paste of kilobytes, a storm of sizes, a driver that dies.
//!
//! Under tmux, as in `console_tmux`; where that is missing, each test says so and passes.

use rustix::process::{Pid, Signal, kill_process};

use crate::{
    console_tmux::Terminal,
    world::{World, servers, until_true},
};

fn pid_of(world: &World) -> Pid {
    let pid = world.status()["driver"]["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
    Pid::from_raw(pid.unwrap()).unwrap()
}

/// A terminal that hangs up ends the console, its driver at a safe point, and leaves the node running.
#[test]
fn a_hang_up_ends_the_console_and_no_node() {
    let world = World::new(&servers("web", 1));
    let Some(terminal) = Terminal::open(&world, 100, 30) else { return };
    terminal.console(&world, "--ascii");
    terminal.shows(&["CONVERGED", "ready 1/1"]);
    let nodes = world.pids();
    let pid = pid_of(&world);
    drop(terminal);
    // While it ends nobody may answer: how the run stands is asked afterwards.
    until_true("the process is gone", || rustix::process::test_kill_process(pid).is_err());
    assert!(world.status()["driver"].is_null());
    assert_eq!(world.pids(), nodes);
    let again = Terminal::open(&world, 100, 30).unwrap();
    again.console(&world, "--ascii");
    again.shows(&["CONVERGED", "ready 1/1"]);
    kill_process(pid_of(&world), Signal::HUP).unwrap();
    again.shows(&["ended=143"]);
    again.is_clean();
}

/// Three kilobytes at once: every byte is taken, none of it becomes a verb, and the next key counts.
#[test]
fn a_paste_of_kilobytes_stalls_nothing() {
    let world = World::new(&servers("web", 1));
    let Some(terminal) = Terminal::open(&world, 100, 30) else { return };
    terminal.console(&world, "--ascii");
    terminal.shows(&["CONVERGED", "ready 1/1"]);
    let paste = format!("/{}", "jk".repeat(1_536));
    terminal.type_in(&paste);
    terminal.shows(&["/jkjk"]);
    terminal.press(&["Escape"]);
    terminal.shows(&["web-0", "CONVERGED"]);
    // The same outside a field is a walk up and down; what ends it is heard.
    terminal.type_in(&paste[1..]);
    terminal.press(&["?"]);
    terminal.shows(&["Keys in pane Fleet"]);
    terminal.press(&["Escape"]);
    // A key right behind it would be read as one with Alt.
    terminal.shows(&["web-0", "CONVERGED"]);
    // Nor is a question answered by what is pasted over it.
    terminal.press(&["+", "p"]);
    terminal.shows(&["Apply plan?", "create   web-1"]);
    until_true("the plan was seen and its keys count", || {
        terminal.type_in("jka");
        terminal.screen().contains("press a again")
    });
    terminal.press(&["Escape", "U"]);
    terminal.shows(&["web-0", "CONVERGED"]);
    terminal.leave();
    assert_eq!(world.status()["generation"], 1);
}

/// Sizes come faster than frames; the last one counts.
#[test]
fn a_storm_of_sizes_ends_in_the_last_one() {
    let world = World::new(&servers("web", 1));
    let Some(terminal) = Terminal::open(&world, 120, 36) else { return };
    terminal.console(&world, "--ascii");
    terminal.shows(&["[1] Groups", "CONVERGED"]);
    for n in 0..60_u16 {
        terminal.resize(1 + n * 7 % 130, 1 + n * 5 % 40);
    }
    terminal.resize(36, 9);
    terminal.shows(&["36x9 is too small"]);
    terminal.resize(80, 24);
    terminal.shows(&["[2 Fleet]", "web-0"]);
    terminal.leave();
}

/// A driver that dies under an attached console: the screen says so, keeps what it knew and the draft, and goes on with
/// the next driver.
#[test]
fn a_driver_that_dies_leaves_the_screen_and_the_draft() {
    let mut world = World::new(&servers("web", 1));
    world.drive();
    world.until_state("converged");
    let Some(terminal) = Terminal::open(&world, 100, 30) else { return };
    terminal.console(&world, "--ascii");
    terminal.shows(&["LIVE", "ready 1/1"]);
    terminal.press(&["+"]);
    terminal.shows(&["draft: web 1->2"]);
    world.end_driver(Signal::KILL);
    terminal.shows(&["STALE", "DISCONNECTED", "web-0", "draft: web 1->2"]);
    terminal.press(&["p"]);
    terminal.shows(&["no link to the driver"]);
    world.drive();
    terminal.shows(&["LIVE", "draft: web 1->2"]);
    // Somebody else changes the same count meanwhile: the draft says what it was made of.
    world.expect(0, &["scale", "web=3", "--yes", "--detach", "--file", "FILE"]);
    terminal.shows(&["conflict 1->2 (now 3)"]);
    terminal.press(&["U", "q"]);
    terminal.shows(&["ended=0"]);
    terminal.is_clean();
}

/// What is recorded is shown again without a driver, and the record is nobody else's.
#[test]
fn a_record_is_played_again() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new(&servers("web", 1));
    let Some(terminal) = Terminal::open(&world, 100, 30) else { return };
    let record = world.dir().join("record");
    terminal.console(&world, &format!("--ascii --record {}", record.display()));
    terminal.shows(&["CONVERGED", "ready 1/1"]);
    terminal.press(&["+"]);
    terminal.shows(&["draft: web 1->2"]);
    terminal.leave();
    let mode = std::fs::metadata(&record).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    terminal.enter("clear");
    // What was recorded before is never written over.
    terminal.console(&world, &format!("--record {}", record.display()));
    terminal.shows(&["record exists, and is kept", "ended=65"]);
    terminal.enter("clear");
    terminal.console(&world, &format!("--ascii --replay {}", record.display()));
    // Before the driver had looked at anything, nothing was as it should be.
    let first = terminal.shows(&["REPLAY"]);
    assert!(!first.contains("CONVERGED"), "{first}");
    terminal.press(&["G"]);
    terminal.shows(&["draft: web 1->2", "Quit?"]);
    terminal.press(&["g"]);
    terminal.shows(&["waiting for the first snapshot"]);
    terminal.press(&["q"]);
    terminal.shows(&["ended=0"]);
    terminal.is_clean();
}
