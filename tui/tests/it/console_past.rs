//! Time travel: the fleet as of an earlier pass, read off the ribbons, and nothing that changes from there.

use std::sync::Arc;

use driver::view::RunView;
use reconciler_core::id::PassNumber;
use tui::console::message::{Key, Msg};

use crate::console_fixture::{Console, run_view};

fn text(console: &Console) -> String {
    console.screen(120, 36).backend().to_string()
}

/// The line of a node in the fleet.
fn row(console: &Console, slot: &str) -> Option<String> {
    let screen = text(console);
    let line = screen.lines().find(|line| line.contains(&format!(" {slot} ")));
    line.map(str::to_owned)
}

#[test]
fn a_step_back_shows_where_every_node_stood_then() {
    let mut console = Console::new(120, 36);
    assert!(row(&console, "gpu-workers-10").unwrap().contains("endpoint"));
    console.key(Key::Char('['));
    let shown = text(&console);
    assert!(shown.contains("HISTORY pass 417, 1 back"), "{shown}");
    assert!(!shown.contains("LIVE") && !shown.contains("CONVERGING"), "{shown}");
    let row = row(&console, "gpu-workers-10").unwrap();
    assert!(row.contains("leased") && row.contains("#-@-.-.-."), "{row}");
    console.key(Key::Char('['));
    assert!(text(&console).contains("HISTORY pass 416"));
    console.key(Key::Char('['));
    assert!(text(&console).contains("ribbons reach no further back"));
    console.type_in("]]");
    let shown = text(&console);
    assert!(shown.contains("LIVE") && !shown.contains("HISTORY"), "{shown}");
}

#[test]
fn a_node_that_was_not_there_yet_is_not_shown() {
    let mut view = run_view();
    let node = view.nodes.iter_mut().find(|node| node.slot.index == 10).unwrap();
    node.ribbon = "............NN".to_owned();
    let mut console = Console::with(crate::console_fixture::options(), 120, 36, view);
    console.type_in("[");
    assert!(row(&console, "gpu-workers-10").unwrap().contains("not there -> new"));
    console.type_in("[");
    assert!(row(&console, "gpu-workers-10").is_none());
}

/// P3: what is confirmed was seen as it is, and the past is not as it is.
#[test]
fn nothing_changes_from_the_past() {
    let mut console = Console::new(120, 36);
    console.type_in("[");
    for keys in ["+", "-", "=", "p", "W", "U", "5r", "5v"] {
        let ordered = console.type_in(keys);
        assert!(ordered.is_empty(), "{keys} ordered {ordered:?}");
        assert!(!console.model.has_popup(), "{keys} opened a view");
        assert!(text(&console).contains("this is the past"), "{keys}");
    }
    console.key(Key::Esc);
    assert!(text(&console).contains("LIVE"));
    console.type_in("2+");
    assert!(text(&console).contains("2>3*"), "a draft can be made in the present");
}

#[test]
fn the_past_stands_still_while_the_run_goes_on() {
    let mut console = Console::new(120, 36);
    console.type_in("[");
    let before = row(&console, "gpu-workers-10");
    let mut later = run_view();
    later.pass = PassNumber::new(419);
    later.passes.insert(0, driver::view::PassView { pass: later.pass, ..later.passes[0].clone() });
    for node in &mut later.nodes {
        node.ribbon.push('B');
    }
    console.msg(Msg::Snapshot(Arc::new(later)));
    assert_eq!(row(&console, "gpu-workers-10"), before);
    assert!(text(&console).contains("HISTORY pass 417, 2 back"));
    console.type_in("]");
    assert!(text(&console).contains("HISTORY pass 418"), "one forward is the pass after");
    console.key(Key::Esc);
    assert!(row(&console, "gpu-workers-10").is_some());
    assert!(text(&console).contains("pass 419"));
}

#[test]
fn a_pass_tells_what_it_moved() {
    let mut console = Console::new(120, 36);
    console.type_in("3");
    console.key(Key::Enter);
    let shown = text(&console);
    for told in ["Pass 418", "woken by observation", "gpu-workers-10  leased -> endpoint"] {
        assert!(shown.contains(told), "{told} in {shown}");
    }
    assert!(shown.contains("StartBootstrap sent"), "{shown}");
    console.type_in("[");
    assert!(text(&console).contains("Pass 417"));
    console.key(Key::Esc);
    assert!(text(&console).contains("HISTORY pass 417"), "the fleet behind it is as of then");
    console.key(Key::Esc);
    assert!(text(&console).contains("LIVE"));
}

#[test]
fn a_command_leads_to_a_pass_and_says_if_it_is_not_kept() {
    let mut console = Console::new(120, 36);
    console.type_in(":pass 416");
    console.key(Key::Enter);
    assert!(text(&console).contains("HISTORY pass 416"));
    console.type_in(":pass 7");
    console.key(Key::Enter);
    assert!(text(&console).contains("pass 7 is not kept"));
    console.type_in(":present");
    console.key(Key::Enter);
    assert!(text(&console).contains("LIVE"));
}

/// Stepping through every pass that a ribbon holds never panics, whatever its letters.
#[test]
fn any_ribbon_can_be_walked() {
    for ribbon in ["", "N", "?", "日本", "dddddddddddddddddddddddddddddddddd", "XF.N?LEBHd"] {
        let mut view: RunView = run_view();
        view.ribbon_len = 40;
        view.passes = (1..=40)
            .rev()
            .map(|n| driver::view::PassView { pass: PassNumber::new(n), ..view.passes[0].clone() })
            .collect();
        for node in &mut view.nodes {
            node.ribbon = ribbon.to_owned();
        }
        let mut console = Console::with(crate::console_fixture::options(), 80, 24, view);
        for _ in 0..45 {
            console.hasty_key(Key::Char('['));
            console.screen(80, 24);
        }
        for _ in 0..45 {
            console.hasty_key(Key::Char(']'));
        }
        assert!(console.screen(80, 24).backend().to_string().contains("LIVE"));
    }
}
