//! Events fold their repeats, and history has bounds that recovery does not feel.

use checkpoint::{
    event::Subject,
    operation::{OperationWrite, Outcome},
    reader::Reader,
    retention::History,
    step::StepWrite,
    store::{Commit, Store},
};
use reconciler_core::{
    checkpoint::StepMark,
    id::{OperationId, StepId},
    time::Timestamp,
};

use crate::world::{event, first_commit, home, intent, keep, open, opened, pass, slot, used};

/// Rows written between two prunings of a small fleet, and those of one batch of commits.
const SLACK: u64 = 256 + 256 * 12;

/// C18: the same failure for a day is one row with a count; something else in between starts a new one.
#[test]
fn a_repeated_event_raises_a_count() {
    let home = home();
    let dir = home.path().join("run");
    let (mut journal, _) = open(&dir);
    let subject = Subject::Slot(slot(0));
    for n in 0..2_880 {
        let events = vec![
            event(subject.clone(), "connection refused", n),
            event(Subject::Slot(slot(1)), "unlike the other", n),
        ];
        journal.submit(Commit { events, ..Commit::default() });
    }
    while let Some(answer) = journal.wait() {
        answer.result.unwrap();
    }
    let more = ["no route", "connection refused"].map(|text| event(subject.clone(), text, 9_000));
    keep(&mut journal, Commit { events: more.to_vec(), ..Commit::default() }).unwrap();
    let rows = Reader::open(&dir).unwrap().events(None, 100).unwrap();
    let told: Vec<_> =
        rows.iter().map(|row| (row.subject.as_str(), row.text.as_str(), row.count)).collect();
    assert_eq!(
        told,
        [
            ("web-0", "connection refused", 2_880),
            ("web-1", "unlike the other", 2_880),
            ("web-0", "no route", 1),
            ("web-0", "connection refused", 1),
        ]
    );
    assert_eq!((rows[0].first_at.as_millis(), rows[0].at.as_millis()), (0, 2_879));
}

/// The result of the step that the operation before had.
fn ended(step: u64) -> StepWrite {
    StepWrite {
        step: StepId::new(step),
        mark: StepMark::Verified,
        failure: None,
        result: "ok".into(),
        finished_at: Some(Timestamp::from_millis(step)),
    }
}

/// C15: history is bounded; what is open keeps all its rows, and no number comes twice.
#[test]
fn history_is_bounded_and_open_work_is_not() {
    let home = home();
    let dir = home.path().join("run");
    let (mut journal, recovered) = open(&dir);
    keep(&mut journal, first_commit()).unwrap();
    let intents = vec![intent(1, 1, 0, recovered.fence), intent(2, 1, 1, recovered.fence)];
    keep(&mut journal, Commit { intents, ..Commit::default() }).unwrap();
    let last = 3_000;
    for id in 2..=last {
        let close = OperationWrite::Close {
            id: OperationId::new(id),
            outcome: Outcome::Succeeded,
            superseded_by: None,
        };
        let events = (0..8).map(|n| event(Subject::Run, &format!("{n}"), id)).collect();
        journal.submit(Commit {
            pass: Some(pass(id)),
            operations: vec![opened(id), close],
            steps: if id > 2 { vec![ended(id)] } else { Vec::new() },
            intents: vec![intent(id + 1, id, 3, recovered.fence)],
            events,
            ..Commit::default()
        });
    }
    while let Some(answer) = journal.wait() {
        answer.result.unwrap();
    }
    let mut reader = Reader::open(&dir).unwrap();
    let within = |n: usize, kind: History| {
        let kept = kind.bound().most(0);
        (kept..=kept + SLACK).contains(&(n as u64))
    };
    assert!(within(reader.events(Some(0), u32::MAX).unwrap().len(), History::Events));
    assert!(within(reader.passes(u32::MAX).unwrap().len(), History::Passes));
    assert!(within(reader.operations(u32::MAX).unwrap().len(), History::Operations));
    assert!(
        (reader.steps(u32::MAX).unwrap().len() as u64) < History::Steps.bound().most(0) + SLACK
    );
    let recovered = reader.recovered().unwrap();
    assert_eq!(recovered.open_operations.len(), 1);
    assert_eq!(recovered.open_operations[0].steps.len(), 2);
    assert_eq!(recovered.next_operation.get(), last + 1);
    assert_eq!(recovered.next_step.get(), last + 2);
}

/// R192: what is old goes although it is little, down to the newest few; an effect of unknown outcome keeps its step
/// and its operation whatever their age.
#[test]
fn age_bounds_history_and_spares_what_is_in_doubt() {
    const DAY: u64 = 86_400_000;
    let home = home();
    let dir = home.path().join("run");
    let (mut journal, recovered) = open(&dir);
    keep(&mut journal, first_commit()).unwrap();
    for id in 2..=40 {
        let close = OperationWrite::Close {
            id: OperationId::new(id),
            outcome: Outcome::Interrupted,
            superseded_by: None,
        };
        let commit = Commit {
            at: Timestamp::from_millis(id),
            pass: Some(pass(id)),
            operations: vec![opened(id), close],
            // That of operation 2 never had an answer.
            steps: if id > 3 { vec![ended(id - 1)] } else { Vec::new() },
            intents: vec![intent(id, id, 3, recovered.fence)],
            events: vec![event(Subject::Run, &format!("{id}"), id)],
            ..Commit::default()
        };
        keep(&mut journal, commit).unwrap();
    }
    for n in 0..300 {
        let events = vec![event(Subject::Run, &format!("late {n}"), 200 * DAY)];
        keep(
            &mut journal,
            Commit { at: Timestamp::from_millis(200 * DAY), events, ..Commit::default() },
        )
        .unwrap();
    }
    let reader = Reader::open(&dir).unwrap();
    let operations = reader.operations(u32::MAX).unwrap();
    assert_eq!(
        operations.len() as u64,
        History::Operations.bound().always() + 2,
        "8, open, in doubt"
    );
    assert!(operations.iter().any(|row| row.id == OperationId::new(2)));
    let steps = reader.steps(u32::MAX).unwrap();
    assert!(steps.iter().any(|row| row.step == StepId::new(2) && row.finished_at.is_none()));
    assert!(
        reader
            .events(Some(0), u32::MAX)
            .unwrap()
            .iter()
            .all(|row| row.text.as_str().starts_with("late"))
    );
}

/// R192, C14: the table of used plans is bounded, and the serial that the next plan carries never falls: a plan whose
/// row went can not be made again.
#[test]
fn used_plans_are_bounded_and_no_serial_is_given_twice() {
    let home = home();
    let dir = home.path().join("run");
    let (mut journal, _) = open(&dir);
    let last = 900;
    for n in 1..=last {
        let at = Timestamp::from_millis(n);
        journal.submit(Commit { at, used_plan: Some(used(n)), ..Commit::default() });
    }
    while let Some(answer) = journal.wait() {
        answer.result.unwrap();
    }
    drop(journal);
    let (_journal, recovered) = open(&dir);
    assert_eq!(recovered.serial.get(), last);
    let reader = Reader::open(&dir).unwrap();
    let kept = (1..=last).filter(|n| reader.is_used(&used(*n).hash).unwrap()).count() as u64;
    let most = History::UsedPlans.bound().most(0);
    assert!((most..most + 512).contains(&kept), "{kept}");
    assert!(reader.is_used(&used(last).hash).unwrap());
}
