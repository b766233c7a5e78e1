//! Events fold their repeats, and history has bounds that recovery does not feel.

use checkpoint::{
    event::{EVENTS_KEPT, PASSES_KEPT, Subject},
    operation::{CLOSED_KEPT, OperationWrite, Outcome},
    reader::Reader,
    store::{Commit, Store},
};
use reconciler_core::id::OperationId;

use crate::world::{event, first_commit, home, intent, keep, open, opened, pass, slot};

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

/// C15: history is bounded; what is open keeps all its rows, and no number comes twice.
#[test]
fn history_is_bounded_and_open_work_is_not() {
    let home = home();
    let dir = home.path().join("run");
    let (mut journal, recovered) = open(&dir);
    keep(&mut journal, first_commit()).unwrap();
    let intents = vec![intent(1, 1, 0, recovered.fence), intent(2, 1, 1, recovered.fence)];
    keep(&mut journal, Commit { intents, ..Commit::default() }).unwrap();
    let last = CLOSED_KEPT + 700;
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
            intents: vec![intent(id + 1, id, 3, recovered.fence)],
            events,
            ..Commit::default()
        });
    }
    while let Some(answer) = journal.wait() {
        answer.result.unwrap();
    }
    let mut reader = Reader::open(&dir).unwrap();
    // Pruning is rare, so there is some slack over each bound.
    let within = |n: usize, kept: u64| (kept..=kept + 8 * 256 + 256).contains(&(n as u64));
    assert!(within(reader.events(Some(0), u32::MAX).unwrap().len(), EVENTS_KEPT));
    assert!(within(reader.passes(u32::MAX).unwrap().len(), PASSES_KEPT));
    let operations = reader.operations(u32::MAX).unwrap();
    assert!(within(operations.len(), CLOSED_KEPT));
    let steps = reader.steps(u32::MAX).unwrap();
    assert_eq!(steps.len(), operations.len() + 1);
    let recovered = reader.recovered().unwrap();
    assert_eq!(recovered.open_operations.len(), 1);
    assert_eq!(recovered.open_operations[0].steps.len(), 2);
    assert_eq!(recovered.next_operation.get(), last + 1);
    assert_eq!(recovered.next_step.get(), last + 2);
}
