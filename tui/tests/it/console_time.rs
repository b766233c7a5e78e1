//! When the screen is stale: only when something on it reads differently.

use driver::view::{RunState, RunView};
use reconciler_core::time::{Millis, Timestamp};
use tui::console::message::{Moment, Msg};

use crate::console_fixture::{AT, Console, node, options, run_view};

fn steady() -> RunView {
    RunView {
        state: RunState::Converged,
        nodes: vec![node("cpu-batch-0")],
        holds: Vec::new(),
        ..run_view()
    }
}

fn tick(console: &mut Console, later: u64) -> bool {
    let now =
        Moment { wall: Timestamp::from_millis(AT + later), mono: Millis::new(console.ms + later) };
    console.msg(Msg::Tick(now));
    console.model.take_dirty()
}

#[test]
fn a_steady_fleet_is_not_painted_again_before_an_age_reads_differently() {
    let mut console = Console::with(options(), 120, 36, steady());
    assert!(console.model.take_dirty());
    // The node is 2 h 11 min 40 s old.
    assert!(!tick(&mut console, 0));
    assert!(!tick(&mut console, 19_000));
    assert!(tick(&mut console, 20_000));
    assert!(!tick(&mut console, 21_000));
}

#[test]
fn where_no_age_is_seen_nothing_is_ever_stale() {
    let mut console = Console::with(options(), 80, 24, steady());
    assert!(console.model.take_dirty());
    assert!(!tick(&mut console, 86_400_000));
}

#[test]
fn a_countdown_is_painted_every_second() {
    let mut console = Console::new(80, 24);
    assert!(console.model.take_dirty());
    let painted = (1..=12).filter(|second| tick(&mut console, second * 1_000)).count();
    assert!(painted >= 11, "{painted}");
}

#[test]
fn a_snapshot_makes_the_screen_stale_and_a_clock_that_goes_back_does_no_harm() {
    let mut console = Console::new(120, 36);
    assert!(console.model.take_dirty());
    let back =
        Moment { wall: Timestamp::from_millis(AT - 90_000_000), mono: Millis::new(console.ms) };
    console.msg(Msg::Tick(back));
    console.screen(120, 36);
    assert!(console.model.take_dirty());
}
