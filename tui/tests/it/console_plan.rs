//! From a draft to an applied plan: nothing changes before it was shown and confirmed (P3).

use std::sync::Arc;

use driver::view::{ChangeKind, Edit, PlanView, Refusal, RefusalKind, RunView};
use reconciler_core::{id::Generation, time::Timestamp};
use tui::console::{
    Confirmed,
    link::Lost,
    link::{Ask, Reply},
    message::{Cmd, Key, Msg},
    options::Options,
};

use crate::console_fixture::{Console, options, plan, run_view};

fn create() -> PlanView {
    plan(&[("cpu-batch", 2, 3, &[("cpu-batch-2", ChangeKind::Create, false)])])
}

fn destroy(ready: bool) -> PlanView {
    plan(&[("cpu-batch", 2, 1, &[("cpu-batch-1", ChangeKind::Destroy, ready)])])
}

fn applied(cmds: &[Cmd]) -> Option<&Confirmed> {
    match cmds {
        [Cmd::Apply(confirmed)] => Some(confirmed),
        [] => None,
        other => panic!("unexpected {other:?}"),
    }
}

/// A console at the prompt of `shown`, before any frame of it.
fn prompted(shown: &PlanView) -> Console {
    let mut console = Console::new(120, 36);
    let (id, _) = console.ask("+");
    console.msg(Msg::Reply(Reply::Plan(id, Ok(shown.clone().into()))));
    console
}

fn has(console: &Console, text: &str) -> bool {
    console.screen(120, 36).backend().to_string().contains(text)
}

fn refusal(kind: RefusalKind) -> Refusal {
    Refusal {
        kind,
        message: "the shape moved".to_owned(),
        moved: vec!["gen 42 -> 43 by op:bob".to_owned()],
        hint: Some("plan again".to_owned()),
    }
}

#[test]
fn a_draft_is_asked_for_as_counts_and_none_means_the_live_shape() {
    let (_, edit) = Console::new(120, 36).ask("++>-");
    let counts = [("cpu-batch".parse().unwrap(), 13)].into_iter().collect();
    assert_eq!(edit, Edit::Counts { counts });
    let (_, edit) = Console::new(120, 36).ask("");
    assert_eq!(edit, Edit::None);
}

#[test]
fn a_plan_that_only_makes_nodes_is_applied_by_a_or_by_tab_and_enter() {
    let mut console = prompted(&create());
    let cmds = console.key(Key::Char('a'));
    let confirmed = applied(&cmds).expect("a applies");
    assert_eq!(confirmed.hash(), create().hash);
    assert!(
        matches!(confirmed.clone().into_request().ask, Ask::Apply { hash, .. } if hash == create().hash)
    );

    let mut console = prompted(&create());
    console.key(Key::Tab);
    assert!(applied(&console.key(Key::Enter)).is_some());

    let mut console = prompted(&create());
    assert!(applied(&console.key(Key::Enter)).is_none(), "cancel has the focus at first");
    assert!(!console.model.has_popup());
}

#[test]
fn destroying_what_does_not_serve_takes_a_y() {
    let mut console = prompted(&destroy(false));
    assert!(applied(&console.key(Key::Char('a'))).is_none());
    console.key(Key::Tab);
    assert!(applied(&console.key(Key::Enter)).is_none());
    assert!(applied(&console.key(Key::Char('y'))).is_some());
}

#[test]
fn destroying_what_serves_takes_the_name_of_the_group() {
    let mut console = prompted(&destroy(true));
    assert!(applied(&console.type_in("y")).is_none());
    assert!(applied(&console.key(Key::Enter)).is_none());
    console.key(Key::Backspace);
    console.type_in("cpu-batc");
    assert!(applied(&console.key(Key::Enter)).is_none());
    console.type_in("h");
    assert!(applied(&console.key(Key::Enter)).is_some());
}

#[test]
fn replacing_and_emptying_take_a_name_too_and_two_groups_that_of_the_run() {
    let replace = plan(&[("cpu-batch", 2, 2, &[("cpu-batch-1", ChangeKind::Replace, false)])]);
    let empty = plan(&[("cpu-batch", 2, 0, &[("cpu-batch-1", ChangeKind::Destroy, false)])]);
    for shown in [replace, empty] {
        let mut console = prompted(&shown);
        console.type_in("cpu-batch");
        assert!(applied(&console.key(Key::Enter)).is_some());
    }
    let both = plan(&[
        ("cpu-batch", 2, 0, &[("cpu-batch-1", ChangeKind::Destroy, true)]),
        ("db-replica", 2, 0, &[("db-replica-1", ChangeKind::Destroy, true)]),
    ]);
    let mut console = prompted(&both);
    console.type_in("prod-eu1");
    assert!(applied(&console.key(Key::Enter)).is_some());
}

#[test]
fn a_plan_of_nothing_cannot_be_applied() {
    let mut console = prompted(&plan(&[("cpu-batch", 2, 2, &[])]));
    for key in [Key::Char('a'), Key::Char('y'), Key::Tab, Key::Enter] {
        assert!(applied(&console.key(key)).is_none());
    }
}

#[test]
fn keys_typed_before_the_plan_could_be_read_confirm_nothing() {
    let mut console = prompted(&create());
    assert!(applied(&console.hasty_key(Key::Char('a'))).is_none(), "no frame yet");
    console.paint();
    console.ms += 149;
    assert!(applied(&console.hasty_key(Key::Char('a'))).is_none(), "too soon after the frame");

    let mut console = prompted(&create());
    console.paint();
    console.ms += 150;
    assert!(applied(&console.hasty_key(Key::Char('a'))).is_some());

    let mut console = prompted(&destroy(true));
    for c in "cpu-batch".chars() {
        console.hasty_key(Key::Char(c));
    }
    assert!(applied(&console.key(Key::Enter)).is_none(), "the name was typed ahead");
}

/// A paste comes as keys, close behind each other: what it holds may be typed, and answers no question.
#[test]
fn keys_of_a_paste_confirm_nothing() {
    let seen = |shown: &PlanView| {
        let mut console = prompted(shown);
        console.paint();
        console.ms += 5_000;
        console
    };
    let paste = |console: &mut Console, keys: &[Key]| {
        for key in keys {
            console.ms += 49;
            assert!(applied(&console.hasty_key(*key)).is_none(), "{key}");
        }
    };
    let mut console = seen(&create());
    paste(&mut console, &[Key::Char('x'), Key::Char('a'), Key::Tab, Key::Enter]);
    assert!(has(&console, "press Enter again"));
    console.ms += 50;
    assert!(applied(&console.hasty_key(Key::Char('a'))).is_some());

    let mut console = seen(&destroy(false));
    paste(&mut console, &[Key::Char('x'), Key::Char('y')]);
    console.ms += 50;
    assert!(applied(&console.hasty_key(Key::Char('y'))).is_some());

    let mut console = seen(&destroy(true));
    let name: Vec<Key> = "cpu-batch".chars().map(Key::Char).chain([Key::Enter]).collect();
    paste(&mut console, &name);
    console.ms += 50;
    assert!(applied(&console.hasty_key(Key::Enter)).is_some(), "the name may be pasted");

    let mut console = Console::with(Options { embedded: true, ..options() }, 120, 36, run_view());
    console.key(Key::Char('q'));
    paste(&mut console, &[Key::Char('u'), Key::Char('y')]);
    assert!(console.model.has_popup());
}

#[test]
fn a_plan_on_a_screen_too_small_to_show_it_cannot_be_confirmed() {
    let mut console = prompted(&create());
    console.paint();
    console.msg(Msg::Resize { width: 30, height: 8 });
    assert!(applied(&console.key(Key::Char('a'))).is_none());
    console.msg(Msg::Resize { width: 80, height: 24 });
    assert!(applied(&console.key(Key::Char('a'))).is_some());
}

#[test]
fn a_plan_made_on_an_older_shape_must_be_made_again() {
    let mut console = prompted(&create());
    console.paint();
    let moved = RunView { generation: Generation::new(43), ..run_view() };
    console.msg(Msg::Snapshot(Arc::new(moved)));
    assert!(applied(&console.key(Key::Char('a'))).is_none());
    assert!(has(&console, "the shape moved from gen 42 to 43"));
    assert!(matches!(console.key(Key::Char('r')).as_slice(), [Cmd::Plan { .. }]));
}

#[test]
fn each_outcome_has_its_own_face() {
    let cases = [
        (RefusalKind::Stale, "Stale"),
        (RefusalKind::Forbidden, "Refused"),
        (RefusalKind::Invalid, "Refused"),
        (RefusalKind::Journal, "Failed"),
        (RefusalKind::Unavailable, "Failed"),
    ];
    for (kind, title) in cases {
        let mut console = prompted(&create());
        let cmds = console.key(Key::Char('a'));
        let id = applied(&cmds).expect("a applies").id();
        assert!(has(&console, "sent to the driver"));
        console.msg(Msg::Reply(Reply::Applied(id, Err(refusal(kind)))));
        assert!(has(&console, title), "{title}");
        assert!(has(&console, "Nothing was applied."));
        assert!(has(&console, "op:bob"));
        console.key(Key::Esc);
        assert!(has(&console, "2>3*"), "the draft is kept");
    }
    let mut console = prompted(&create());
    let cmds = console.key(Key::Char('a'));
    let id = applied(&cmds).expect("a applies").id();
    console.msg(Msg::Reply(Reply::Applied(id, Ok(Generation::new(43)))));
    assert!(has(&console, "generation 43 is wanted now"));
    console.key(Key::Esc);
    assert!(!has(&console, "2>3*"), "an applied draft is no draft");
}

#[test]
fn a_link_that_breaks_during_an_apply_leaves_it_unknown_until_an_answer_comes() {
    let mut console = prompted(&create());
    let cmds = console.key(Key::Char('a'));
    let id = applied(&cmds).expect("a applies").id();
    let lost = Msg::LinkLost(Lost::new(Timestamp::ZERO, "connection reset"));
    console.msg(lost);
    assert!(has(&console, "outcome unknown: connection reset"));
    console.msg(Msg::Reply(Reply::Applied(id, Ok(Generation::new(43)))));
    assert!(has(&console, "generation 43 is wanted now"));
}

#[test]
fn a_driver_that_takes_over_leaves_an_apply_unknown() {
    let mut console = prompted(&create());
    assert!(applied(&console.key(Key::Char('a'))).is_some());
    let mut other = run_view();
    if let Some(driver) = &mut other.driver {
        driver.pid = 4243;
    }
    console.msg(Msg::Snapshot(Arc::new(other)));
    assert!(has(&console, "outcome unknown: another driver took over"));
}

#[test]
fn an_enter_typed_ahead_neither_confirms_nor_calls_the_plan_off() {
    let mut console = Console::new(120, 36);
    let (id, _) = console.ask("+");
    assert!(console.hasty_key(Key::Enter).is_empty());
    console.msg(Msg::Reply(Reply::Plan(id, Ok(create().into()))));
    assert!(console.hasty_key(Key::Enter).is_empty());
    assert!(has(&console, "Apply plan?"));
}

#[test]
fn looking_elsewhere_cancels_nothing_and_the_outcome_still_shows() {
    let mut console = prompted(&create());
    let cmds = console.key(Key::Char('a'));
    let id = applied(&cmds).expect("a applies").id();
    assert!(console.key(Key::Esc).is_empty());
    assert!(!console.model.has_popup());
    assert!(console.key(Key::Char('q')).is_empty(), "it asks while an apply is under way");
    console.key(Key::Esc);
    console.msg(Msg::Reply(Reply::Applied(id, Ok(Generation::new(43)))));
    assert!(has(&console, "applied: generation 43"));
}

#[test]
fn an_answer_to_an_older_question_is_not_shown() {
    let mut console = Console::new(120, 36);
    let (old, _) = console.ask("+");
    console.key(Key::Esc);
    console.msg(Msg::Reply(Reply::Plan(old, Ok(create().into()))));
    assert!(!console.model.has_popup());
    let (new, _) = console.ask("+");
    assert_ne!(old, new);
    console.msg(Msg::Reply(Reply::Plan(old, Ok(create().into()))));
    assert!(applied(&console.key(Key::Char('a'))).is_none());
}

#[test]
fn a_live_count_that_moves_under_a_draft_is_a_conflict_until_the_plan_is_seen() {
    let mut console = Console::new(120, 36);
    console.type_in("+");
    assert!(has(&console, "2>3*"));
    let mut moved = run_view();
    moved.groups[0].want = 5;
    console.msg(Msg::Snapshot(Arc::new(moved)));
    assert!(has(&console, "cpu-batch conflict 2->3 (now 5)"));
    assert!(has(&console, "5>3!"));
    let (id, _) = console.ask("");
    let shown = plan(&[("cpu-batch", 5, 3, &[("cpu-batch-4", ChangeKind::Destroy, true)])]);
    console.msg(Msg::Reply(Reply::Plan(id, Ok(shown.into()))));
    console.key(Key::Esc);
    assert!(has(&console, "cpu-batch 5->3"));
}

#[test]
fn a_read_only_console_says_so_and_hides_its_verbs() {
    let options = Options { read_only: true, ..options() };
    let mut console = Console::with(options, 120, 36, run_view());
    assert!(has(&console, "[RO]"));
    assert!(!has(&console, "+ - want"));
    for key in ['+', '=', 'u', 'p'] {
        assert!(console.key(Key::Char(key)).is_empty());
        assert!(has(&console, "read-only"));
    }
}

#[test]
fn without_a_link_drafts_wait() {
    let mut console = Console::new(120, 36);
    console.type_in("+");
    console.msg(Msg::LinkLost(Lost::new(Timestamp::ZERO, "connection refused")));
    assert!(has(&console, "DISCONNECTED  connection refused"));
    assert!(console.key(Key::Char('p')).is_empty());
    assert!(has(&console, "2>3*"), "the draft is kept");
}

#[test]
fn a_count_is_typed_in_a_field_and_undone_by_u() {
    let mut console = Console::new(120, 36);
    console.type_in("=12x");
    console.key(Key::Enter);
    assert!(has(&console, "2>12*"));
    console.type_in("u");
    assert!(!has(&console, "2>12*"));
}
