//! The ways out of a hold from the console: a release by its hash, and open operations that lead to a plan (P6).

use driver::view::{
    CheckpointView, Edit, RecoveryOperationView, RecoveryVerb, Refusal, RefusalKind, ReleaseView,
};
use reconciler_core::{
    id::{Fence, OperationId, PlanHash},
    time::Timestamp,
};
use tui::console::{
    link::Lost,
    link::{Ask, Reply},
    message::{Cmd, Key, Msg},
    options::Options,
};

use crate::console_fixture::{Console, options, plan, run_view};

pub(crate) fn release(released: bool) -> ReleaseView {
    ReleaseView {
        subject: "db-replica-0".to_owned(),
        holds: vec!["db-replica-0: restart.crash-loop: failed 5 times in a row".to_owned()],
        seen: vec!["no lease of db-replica-0 is listed".to_owned()],
        hash: PlanHash::of(b"release"),
        released,
    }
}

pub(crate) fn operation() -> RecoveryOperationView {
    RecoveryOperationView {
        id: OperationId::new(7),
        group: "db-replica".parse().unwrap(),
        status: "active".to_owned(),
        plan: PlanHash::of(b"plan"),
        rollback_plan: None,
        fence: Fence::new(88),
        goals: "2 nodes of revision 9f2c".to_owned(),
        direction: "forward".to_owned(),
        checkpoint: CheckpointView {
            text: "create-lease:ambiguous".to_owned(),
            class: Some("safe-hold".to_owned()),
            lane: "safe-hold".to_owned(),
            problem: None,
        },
        back_to: Some("2 nodes of revision 41ab".to_owned()),
        restored: None,
        superseded_by: None,
        opened_at: Timestamp::ZERO,
        updated_at: Timestamp::ZERO,
        closed_at: None,
        holds: vec!["db-replica-0: restart.crash-loop".to_owned()],
        modes: RecoveryVerb::ALL.to_vec(),
        steps: Vec::new(),
        problems: Vec::new(),
    }
}

/// A console that asked for a fresh look at the hold, and the request's number.
pub(crate) fn looking(width: u16, height: u16) -> (Console, u64) {
    let mut console = Console::new(width, height);
    let id = look_at_hold(&mut console);
    (console, id)
}

/// Has a console ask for a fresh look at the hold; the request's number.
pub(crate) fn look_at_hold(console: &mut Console) -> u64 {
    match console.type_in("5r").as_slice() {
        [Cmd::Survey { id, subject }] if subject == "db-replica-0" => *id,
        other => panic!("r must look anew, not {other:?}"),
    }
}

fn prompted() -> Console {
    let (mut console, id) = looking(120, 36);
    console.msg(Msg::Reply(Reply::Release(id, Ok(Box::new(release(false))))));
    console
}

fn has(console: &Console, text: &str) -> bool {
    console.screen(120, 36).backend().to_string().contains(text)
}

#[test]
fn a_hold_is_released_by_its_hash_once_its_name_was_typed() {
    let mut console = prompted();
    assert!(has(&console, "no lease of db-replica-0 is listed"));
    assert!(console.key(Key::Enter).is_empty(), "nothing was typed");
    assert!(console.type_in("db-replica-").is_empty());
    assert!(console.key(Key::Enter).is_empty(), "that is another name");
    console.type_in("0");
    let ordered = console.key(Key::Enter);
    let [Cmd::Release(confirmed)] = ordered.as_slice() else { panic!("{ordered:?}") };
    assert_eq!(confirmed.hash(), release(false).hash);
    let Ask::Release { confirm: Some(hash), .. } = confirmed.clone().into_request().ask else {
        panic!("it is confirmed by the hash that was shown")
    };
    assert_eq!(hash, release(false).hash);
    console.msg(Msg::Reply(Reply::Release(confirmed.id(), Ok(Box::new(release(true))))));
    assert!(!console.model.has_popup() && has(&console, "released db-replica-0"));
}

/// P3: a name that was typed before the look could be read confirms nothing.
#[test]
fn what_was_typed_ahead_releases_nothing() {
    let mut console = prompted();
    for c in "db-replica-0".chars() {
        assert!(console.hasty_key(Key::Char(c)).is_empty());
    }
    assert!(console.hasty_key(Key::Enter).is_empty());
    console.paint();
    assert!(console.hasty_key(Key::Enter).is_empty(), "the frame has only just come");
    assert!(console.key(Key::Enter).is_empty(), "what was typed ahead does not stand there");
}

#[test]
fn a_release_that_is_refused_says_why_and_looks_again() {
    let (mut console, id) = looking(120, 36);
    let refusal = Refusal {
        kind: RefusalKind::Stale,
        message: "what was seen has changed".to_owned(),
        moved: vec!["db-replica-0: lease a1".to_owned()],
        hint: None,
    };
    console.msg(Msg::Reply(Reply::Release(id, Err(refusal))));
    assert!(has(&console, "what was seen has changed") && has(&console, "db-replica-0: lease a1"));
    assert!(matches!(console.key(Key::Char('r')).as_slice(), [Cmd::Survey { .. }]));
}

#[test]
fn a_link_that_breaks_leaves_the_outcome_of_a_release_unknown() {
    let mut console = prompted();
    console.type_in("db-replica-0");
    assert!(matches!(console.key(Key::Enter).as_slice(), [Cmd::Release(_)]));
    console.msg(Msg::LinkLost(Lost::new(Timestamp::ZERO, "gone")));
    assert!(has(&console, "outcome unknown"));
}

#[test]
fn an_open_operation_leads_to_a_plan_that_is_confirmed_like_any_other() {
    let mut console = Console::new(120, 36);
    let ordered = console.type_in("5v");
    let [Cmd::Operations { id }] = ordered.as_slice() else { panic!("{ordered:?}") };
    console.msg(Msg::Reply(Reply::Operations(*id, Ok(vec![operation()]))));
    assert!(
        has(&console, "operation 7 of db-replica") && has(&console, "2 nodes of revision 41ab")
    );
    console.key(Key::Down);
    let ordered = console.key(Key::Enter);
    let [Cmd::Plan { id, edit }] = ordered.as_slice() else { panic!("{ordered:?}") };
    let wanted = Edit::Recover { operation: OperationId::new(7), verb: RecoveryVerb::Rollback };
    assert_eq!(*edit, wanted);
    let shown = plan(&[]);
    console.msg(Msg::Reply(Reply::Plan(*id, Ok(shown.into()))));
    assert!(console.model.has_popup());
    let ordered = console.key(Key::Char('r'));
    let [Cmd::Plan { edit, .. }] = ordered.as_slice() else { panic!("{ordered:?}") };
    assert_eq!(*edit, wanted, "planned again, it is the same that is planned");
}

#[test]
fn a_console_that_only_looks_offers_no_way_out() {
    let read_only = Options { read_only: true, ..options() };
    let mut console = Console::with(read_only, 120, 36, run_view());
    assert!(console.type_in("5rv").is_empty());
    assert!(!console.model.has_popup());
}
