//! No room left, and how many syncs a wave costs.

use checkpoint::store::{Commit, Journal, JournalLimits, Store, StoreError};
use reconciler_core::id::Fence;

use crate::world::{claim, first_commit, home, keep, open, put, step_commit};

/// C15: on a full disk no intent becomes durable, nothing more is taken, and what was kept is whole.
#[test]
fn without_room_nothing_is_sealed_and_nothing_more_is_taken() {
    let home = home();
    let dir = home.path().join("run");
    let limits = JournalLimits { pages_max: Some(80) };
    let (mut journal, recovered) =
        Journal::open_with(&dir, &claim(), limits, Box::new(|| {})).unwrap();
    keep(&mut journal, first_commit()).unwrap();
    let mut kept = 0;
    let error = loop {
        let index = u32::try_from(kept).unwrap();
        match keep(&mut journal, step_commit(kept + 1, 1, index, recovered.fence)) {
            Ok(sealed) => assert_eq!(sealed.len(), 1),
            Err(error) => break error,
        }
        kept += 1;
        assert!(kept < 10_000, "the bound is never reached");
    };
    assert!(matches!(error, StoreError::Full(_)), "{error:?}");
    assert!(!error.is_refusal());
    // Even what would fit is not taken any more.
    let again = keep(&mut journal, Commit { records: vec![put(0, 1)], ..Commit::default() });
    assert_eq!(again.unwrap_err().to_string(), error.to_string());
    drop(journal);
    let (_journal, recovered) = open(&dir);
    assert_eq!(recovered.open_operations[0].steps.len() as u64, kept);
    assert_eq!(recovered.records.len() as u64, kept);
    assert_eq!(recovered.last_pass.get(), kept);
}

/// SD1: a chain of dependent commits costs one sync each. SD4: what waits together is synced together.
#[test]
fn a_wave_costs_few_syncs_and_a_chain_one_each() {
    let home = home();
    let (mut journal, recovered) = open(&home.path().join("run"));
    keep(&mut journal, first_commit()).unwrap();
    let before = journal.stats();
    for step in 1..=10 {
        keep(&mut journal, step_commit(step, 1, 0, recovered.fence)).unwrap();
    }
    let chain = journal.stats();
    assert_eq!(chain.syncs - before.syncs, 10);
    assert_eq!(chain.commits - before.commits, 10);
    let mut wave = Commit::default();
    for n in 11..=74 {
        let one = step_commit(n, 1, u32::try_from(n).unwrap(), recovered.fence);
        wave.intents.extend(one.intents);
        wave.records.extend(one.records);
    }
    assert_eq!(keep(&mut journal, wave).unwrap().len(), 64);
    assert_eq!(journal.stats().syncs - chain.syncs, 1);
}

/// An empty commit is answered and costs nothing.
#[test]
fn nothing_to_write_costs_no_sync() {
    let home = home();
    let (mut journal, _) = open(&home.path().join("run"));
    assert!(Commit::default().is_empty());
    assert!(!step_commit(1, 1, 0, Fence::new(1)).is_empty());
    let before = journal.stats().syncs;
    assert!(keep(&mut journal, Commit::default()).unwrap().is_empty());
    assert_eq!(journal.stats().syncs, before);
    assert!(journal.poll().is_none());
}
