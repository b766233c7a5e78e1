//! Handing an operation over: exactly the one that was named, with all that is attached, to one winner.

use std::{path::Path, sync::Barrier, thread};

use checkpoint::{
    handoff::{HandedOff, Handoff, HandoffError},
    lease::LeaseRow,
    operation::OperationWrite,
    owner::{OwnerClaim, this_machine},
    reader::Reader,
    step::StepWrite,
    store::{Commit, Journal, StoreError},
};
use reconciler_core::{
    checkpoint::StepMark,
    id::{Fence, OperationId, PlanHash, StepId},
    ownership::{Claimed, HandoffRefusal, HandoffTarget, LeaseLength, Mismatch, Ownership},
    time::{Millis, Timestamp},
};

use crate::{
    lease::is_locked,
    world::{claim, files, first_commit, home, keep, open, opened, step_commit},
};

/// After every lease of 900 s that the tests' first commits begin.
const LATER: Timestamp = Timestamp::from_millis(10_000_000);

fn stands(dir: &Path) -> LeaseRow {
    Reader::open(dir).unwrap().leases().unwrap().into_iter().next().unwrap()
}

fn owned(dir: &Path) -> Vec<Ownership> {
    Reader::open(dir).unwrap().ownership().unwrap().rows
}

fn handoff(dir: &Path, asked: Claimed) -> Handoff<'_> {
    Handoff {
        dir,
        asked,
        to: "op:ada".parse().unwrap(),
        length: LeaseLength::from_secs(60).unwrap(),
        target: HandoffTarget::Resume,
        now: LATER,
    }
}

/// A run whose driver was stopped with an operation open and two attempts attached to it.
fn abandoned(dir: &Path) {
    let (mut journal, recovered) = open(dir);
    keep(&mut journal, first_commit()).unwrap();
    keep(&mut journal, step_commit(1, 1, 0, recovered.fence)).unwrap();
    keep(&mut journal, step_commit(2, 1, 1, recovered.fence)).unwrap();
}

/// R145: the operation, its fence and everything that is attached move together.
#[test]
fn a_handoff_moves_the_operation_with_everything_attached() {
    let home = home();
    let dir = home.path().join("run");
    abandoned(&dir);
    let before = stands(&dir);
    let HandedOff { lease, attached, .. } = handoff(&dir, before.claimed()).perform().unwrap();
    assert_eq!((attached, lease.fence), (2, Fence::new(2)));
    let after = stands(&dir);
    assert_eq!((&after.lease, after.target), (&lease, Some(HandoffTarget::Resume)));
    assert_eq!(lease.until, LATER.after(LeaseLength::from_secs(60).unwrap().get()));
    for row in owned(&dir) {
        assert_eq!(
            (row.tenure.controller.as_str(), row.tenure.fence, row.tenure.handoffs),
            ("op:ada", Fence::new(2), 1)
        );
    }
    assert_eq!(Reader::open(&dir).unwrap().owner().unwrap().unwrap().fence, Fence::new(2));
    assert_eq!(Reader::open(&dir).unwrap().events(None, 1).unwrap()[0].kind, "handed-off");
}

/// R145: each part of what is named counts, and whatever is stale changes not one byte.
#[test]
fn a_stale_handoff_changes_nothing() {
    let home = home();
    let dir = home.path().join("run");
    abandoned(&dir);
    let right = stands(&dir).claimed();
    let wrong = [
        (Mismatch::Group, Claimed { group: "other".parse().unwrap(), ..right.clone() }),
        (Mismatch::Plan, Claimed { plan: PlanHash::of(b"other"), ..right.clone() }),
        (Mismatch::Fence, Claimed { fence: Fence::new(9), ..right.clone() }),
        (Mismatch::Owner, Claimed { owner: "1@there".parse().unwrap(), ..right.clone() }),
        (Mismatch::Until, Claimed { until: Timestamp::from_millis(1), ..right.clone() }),
    ];
    let before = files(&dir);
    for (part, asked) in wrong {
        let refused = handoff(&dir, asked).perform().unwrap_err();
        let HandoffError::Refused { refusal: HandoffRefusal::Stale(found), .. } = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(found, part);
    }
    let unknown = Claimed { operation: OperationId::new(7), ..right.clone() };
    let refused = handoff(&dir, unknown).perform().unwrap_err();
    assert!(matches!(refused, HandoffError::NotOpen(_)), "{refused:?}");
    let early = Handoff { now: right.until, ..handoff(&dir, right) };
    let refused = early.perform().unwrap_err();
    let HandoffError::Refused { refusal: HandoffRefusal::Held(held), .. } = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(held.owner.as_str(), "4711@here");
    let journal = |mut all: std::collections::BTreeMap<_, _>| all.remove(&dir.join("journal.db"));
    assert_eq!(journal(files(&dir)), journal(before));
}

/// R144: of many that take an expired operation at once exactly one gets it; the others are told that it moved.
#[test]
fn one_of_many_gets_an_expired_operation() {
    const RIVALS: usize = 50;
    let home = home();
    let dir = home.path().join("run");
    abandoned(&dir);
    let asked = stands(&dir).claimed();
    let start = Barrier::new(RIVALS);
    let rival = |n: usize| {
        let mut handoff = handoff(&dir, asked.clone());
        handoff.to = format!("op:{n}").parse().unwrap();
        start.wait();
        // Another's turn at the run is no answer: whoever waits gets one.
        loop {
            match handoff.perform() {
                Err(HandoffError::Journal(checkpoint::store::OpenError::Held { .. })) => {}
                answer => return answer,
            }
        }
    };
    let answers: Vec<_> = thread::scope(|scope| {
        let rivals: Vec<_> = (0..RIVALS).map(|n| scope.spawn(move || rival(n))).collect();
        rivals.into_iter().map(|rival| rival.join().unwrap()).collect()
    });
    let winners: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().ok()).collect();
    assert_eq!(winners.len(), 1);
    assert_eq!(stands(&dir).lease, winners[0].lease);
    assert_eq!(winners[0].lease.fence, Fence::new(2));
    let moved = |answer: &&Result<HandedOff, HandoffError>| {
        matches!(answer, Err(HandoffError::Refused { refusal: HandoffRefusal::Stale(_), .. }))
    };
    assert_eq!(answers.iter().filter(moved).count(), RIVALS - 1);
}

/// R141, R142: a handoff waits for effects under way, and who had the operation writes nothing more afterwards.
#[test]
fn a_handoff_waits_for_the_evidence_and_fences_who_had_it() {
    let home = home();
    let dir = home.path().join("run");
    let (mut stale, recovered) = open(&dir);
    keep(&mut stale, first_commit()).unwrap();
    keep(&mut stale, step_commit(1, 1, 0, recovered.fence)).unwrap();
    let asked = stands(&dir).claimed();
    // Somebody removed the lock file: now two processes can believe that they own the run.
    std::fs::remove_file(dir.join("lock")).unwrap();
    std::fs::write(dir.join("lock"), b"x").unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| handoff(&dir, asked).perform());
        assert!(is_locked(&dir, 1));
        assert_eq!(stands(&dir).lease.owner.as_str(), "4711@here");
        let evidence = StepWrite {
            step: StepId::new(1),
            mark: StepMark::Verified,
            failure: None,
            result: "ok".into(),
            finished_at: Some(Timestamp::from_millis(2)),
        };
        // The evidence is written by who made the effect: nothing came between the two.
        keep(
            &mut stale,
            Commit { at: Timestamp::from_millis(1), steps: vec![evidence], ..Commit::default() },
        )
        .unwrap();
        waiting.join().unwrap().unwrap();
    });
    for commit in [step_commit(2, 1, 1, recovered.fence), first_commit()] {
        let refused = keep(&mut stale, commit).unwrap_err();
        assert!(matches!(refused, StoreError::Fenced { .. }), "{refused:?}");
    }
    // Nor does it give back what is not its own any more.
    drop::<Journal>(stale);
    assert_eq!(stands(&dir).lease.owner.as_str(), "op:ada");
    assert!(stands(&dir).lease.until > LATER);
}

/// R145: what it was handed over for stays in the journal through every start, until it is turned back or goes on.
#[test]
fn what_it_was_handed_over_for_stays_until_it_is_done() {
    let home = home();
    let dir = home.path().join("run");
    let (mut journal, _) = open(&dir);
    // The second has a way back, the first has none.
    keep(&mut journal, first_commit()).unwrap();
    let second = Commit { operations: vec![opened(2)], ..Commit::default() };
    keep(&mut journal, second).unwrap();
    drop(journal);
    // The machine is the same after it was started anew: nobody waits for a lease of who ended with it (ADR 0010).
    let claim = OwnerClaim { machine: this_machine(), ..claim() };
    let open = |dir: &Path| Journal::open(dir, &claim, Box::new(|| {})).unwrap();
    let of = |n: u64| {
        let leases = Reader::open(&dir).unwrap().leases().unwrap();
        leases.into_iter().find(|row| row.operation == OperationId::new(n)).unwrap()
    };
    let back = |asked| Handoff { target: HandoffTarget::Rollback, ..handoff(&dir, asked) };
    let journal = |mut all: std::collections::BTreeMap<_, _>| all.remove(&dir.join("journal.db"));
    let before = files(&dir);
    let refused = back(of(1).claimed()).perform().unwrap_err();
    assert!(matches!(refused, HandoffError::NoWayBack(_)), "{refused:?}");
    assert!(journal(files(&dir)) == journal(before), "nothing was changed");
    for write in [
        OperationWrite::GoOn { id: OperationId::new(2) },
        OperationWrite::TurnBack { id: OperationId::new(2), plan: PlanHash::of(b"back") },
    ] {
        let now = of(2).lease.until.after(Millis::new(1)).max(LATER);
        Handoff { now, ..back(of(2).claimed()) }.perform().unwrap();
        for _start in 0..2 {
            let (journal, recovered) = open(&dir);
            let handed = recovered.leases.iter().find(|row| row.operation.get() == 2).unwrap();
            assert_eq!(handed.target, Some(HandoffTarget::Rollback));
            drop(journal);
        }
        let (mut journal, _) = open(&dir);
        keep(&mut journal, Commit { operations: vec![write], ..Commit::default() }).unwrap();
        drop(journal);
        assert_eq!(of(2).target, None);
    }
}
