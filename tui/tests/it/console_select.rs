//! Selection by id, panes, views and leaving.

use std::sync::Arc;

use driver::view::RunView;
use tui::console::{
    message::{Cmd, Farewell, Key, Msg},
    model::{Pane, RowId},
    options::Options,
};

use crate::console_fixture::{Console, node, options, run_view};

fn slot(text: &str) -> RowId {
    RowId::Node(text.parse().unwrap())
}

fn without(slots: &[&str]) -> RunView {
    let mut view = run_view();
    view.nodes.retain(|node| !slots.contains(&node.slot.to_string().as_str()));
    view
}

#[test]
fn the_selection_stays_on_its_slot_while_rows_come_and_go_above_it() {
    let mut console = Console::new(120, 36);
    console.type_in("jjjj");
    assert_eq!(console.model.selected(), Some(&slot("db-replica-0")));
    console.msg(Msg::Snapshot(Arc::new(without(&["cpu-batch-0"]))));
    assert_eq!(console.model.selected(), Some(&slot("db-replica-0")));
    let mut more = run_view();
    more.nodes.insert(2, node("cpu-batch-2"));
    console.msg(Msg::Snapshot(Arc::new(more)));
    assert_eq!(console.model.selected(), Some(&slot("db-replica-0")));
}

#[test]
fn the_nearest_row_takes_over_from_a_slot_that_is_gone() {
    let mut console = Console::new(120, 36);
    console.type_in("jjjj");
    console.msg(Msg::Snapshot(Arc::new(without(&["db-replica-0"]))));
    assert_eq!(console.model.selected(), Some(&slot("db-replica-1")));
}

#[test]
fn a_group_folds_and_unfolds() {
    let mut console = Console::new(120, 36);
    let rows = |console: &Console| console.screen(120, 36).backend().to_string();
    assert!(rows(&console).contains("cpu-batch-1"));
    console.key(Key::Enter);
    assert!(!rows(&console).contains("cpu-batch-1"));
    console.key(Key::Enter);
    assert!(rows(&console).contains("cpu-batch-1"));
}

#[test]
fn panes_are_reached_by_number_and_by_tab() {
    let mut console = Console::new(80, 24);
    for (key, pane) in [('1', Pane::Groups), ('5', Pane::Holds), ('3', Pane::Passes)] {
        console.key(Key::Char(key));
        assert_eq!(console.model.pane(), pane);
    }
    console.key(Key::Tab);
    assert_eq!(console.model.pane(), Pane::Events);
    console.key(Key::BackTab);
    console.key(Key::BackTab);
    assert_eq!(console.model.pane(), Pane::Fleet);
}

#[test]
fn a_filter_lives_while_it_is_typed_and_escape_brings_the_old_one_back() {
    let mut console = Console::new(120, 36);
    let screen = |console: &Console| console.screen(120, 36).backend().to_string();
    console.type_in("/stage:boot");
    assert!(screen(&console).contains("1/9"));
    console.key(Key::Esc);
    assert!(!screen(&console).contains("1/9"));
    console.type_in("/hold:yes");
    console.key(Key::Enter);
    assert!(screen(&console).contains("filter:hold:yes  1/9"));
    assert!(screen(&console).contains("HOLD 1 (5)"));
    console.key(Key::Esc);
    assert!(!screen(&console).contains("1/9"));
}

#[test]
fn a_paused_view_stands_still_and_says_how_far_it_is_behind() {
    let mut console = Console::new(120, 36);
    console.type_in(" ");
    let later =
        RunView { pass: reconciler_core::id::PassNumber::new(430), ..without(&["gpu-workers-9"]) };
    console.msg(Msg::Snapshot(Arc::new(later)));
    let screen = console.screen(120, 36).backend().to_string();
    assert!(screen.contains("PAUSED -12 passes"));
    assert!(screen.contains("gpu-workers-9"));
    console.type_in(" ");
    assert!(!console.screen(120, 36).backend().to_string().contains("gpu-workers-9"));
}

#[test]
fn q_closes_the_top_view_first_and_asks_where_a_driver_would_end() {
    let mut console = Console::new(120, 36);
    console.type_in("?");
    assert!(console.model.has_popup());
    assert!(console.type_in("q").is_empty());
    assert!(!console.model.has_popup());
    assert_eq!(console.type_in("q"), [Cmd::Quit(Farewell::Asked)]);

    let embedded = Options { embedded: true, ..options() };
    let mut console = Console::with(embedded, 120, 36, run_view());
    assert!(console.type_in("q").is_empty());
    assert!(console.screen(120, 36).backend().to_string().contains("nobody keeps them"));
    assert_eq!(console.type_in("y"), [Cmd::Quit(Farewell::Asked)]);
}

#[test]
fn a_draft_is_not_lost_without_a_word() {
    let mut console = Console::new(120, 36);
    assert!(console.type_in("+q").is_empty());
    let shown = console.screen(120, 36).backend().to_string();
    assert!(shown.contains("The draft is lost: cpu-batch 2->3"), "{shown}");
    assert_eq!(console.type_in("y"), [Cmd::Quit(Farewell::Asked)]);
}

#[test]
fn control_c_quits_when_it_comes_twice_in_time() {
    let mut console = Console::new(120, 36);
    assert!(console.key(Key::Ctrl('c')).is_empty());
    console.ms += 3_000;
    assert!(console.key(Key::Ctrl('c')).is_empty(), "too late to count as the second");
    assert_eq!(console.key(Key::Ctrl('c')), [Cmd::Quit(Farewell::Asked)]);
}

#[test]
fn stopping_a_process_that_holds_a_driver_is_asked_twice() {
    let mut console = Console::new(120, 36);
    assert_eq!(console.key(Key::Ctrl('z')), [Cmd::Suspend]);
    let mut console = Console::with(Options { embedded: true, ..options() }, 120, 36, run_view());
    assert!(console.key(Key::Ctrl('z')).is_empty());
    assert_eq!(console.key(Key::Ctrl('z')), [Cmd::Suspend]);
}

#[test]
fn signals_and_a_hang_up_end_the_console() {
    let mut console = Console::new(120, 36);
    assert_eq!(console.msg(Msg::Hangup), [Cmd::Quit(Farewell::HungUp)]);
    assert_eq!(console.msg(Msg::Terminate(15)), [Cmd::Quit(Farewell::Signal(15))]);
}
