//! The journal and the plain model agree, commit for commit, on thousands of random commits.

use checkpoint::{
    event::Subject,
    lease::LeaseRow,
    operation::{OperationWrite, Outcome},
    reader::Reader,
    record::{GroupWrite, RecordWrite, RolloutWrite},
    step::StepWrite,
    store::{Commit, MemoryStore, Store},
};
use reconciler_core::{
    checkpoint::StepMark,
    desired::HookPoint,
    effect::{Certainty, FailureClass, FailureKind},
    hold::{Hold, HoldCode},
    id::{Fence, OperationId, RevisionDigest, StepId},
    observed::{Hooked, Rollout},
    ownership::Ownership,
    time::{Millis, Timestamp},
};

use crate::world::{
    asked, event, facts, home, intent, keep, open, opened, pass, plan, put, shape_row, slot, used,
};

/// A small generator (xorshift), so that a seed is a whole story.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of `some`; now and then `wrong`, also where there is none.
    fn pick<T: Copy>(&mut self, some: &[T], wrong: T) -> Option<T> {
        let n = usize::try_from(self.below(64)).unwrap();
        if n == 63 { Some(wrong) } else { some.get(n % some.len().max(1)).copied() }
    }

    fn index(&mut self) -> u32 {
        u32::try_from(self.below(5)).unwrap()
    }
}

/// A commit that is legal rather more often than not, given what the model holds.
fn random_commit(dice: &mut Dice, n: u64, model: &MemoryStore) -> Commit {
    let fence = model.fence();
    let known = model.recovered();
    let steps: Vec<_> = model.steps().map(|row| row.step).collect();
    let open: Vec<_> = known.open_operations.iter().map(|open| open.row.id).collect();
    let mut commit = Commit { at: Timestamp::from_millis(n * 20_000), ..Commit::default() };
    commit.pass = dice.one_in(2).then(|| pass(n));
    commit.shape = dice.one_in(8).then(|| shape_row(1 + n / 10 + dice.below(3), dice.index()));
    commit.used_plan = dice.one_in(6).then(|| used(dice.below(40)));
    if dice.one_in(4) {
        commit.operations.push(opened(known.next_operation.get() - dice.below(8) / 7));
    }
    let closed = dice.pick(&open, OperationId::new(1)).filter(|_| dice.one_in(8));
    if let Some(id) = closed {
        let outcomes =
            [Outcome::Succeeded, Outcome::Failed, Outcome::Interrupted, Outcome::Compensated];
        commit.operations.push(OperationWrite::Close {
            id,
            outcome: outcomes[usize::try_from(dice.below(4)).unwrap()],
            superseded_by: dice.one_in(2).then(|| OperationId::new(99)),
        });
    }
    commit.operations.extend(turned(dice, n, &open));
    for _ in 0..dice.below(3) {
        let marks = StepMark::ALL;
        let Some(step) = dice.pick(&steps, StepId::new(3)) else { continue };
        commit.steps.push(StepWrite {
            step,
            mark: marks[usize::try_from(dice.below(marks.len() as u64)).unwrap()],
            failure: dice.one_in(3).then_some(FailureKind {
                class: FailureClass::TimedOut,
                certainty: Certainty::Ambiguous,
            }),
            result: "said".into(),
            finished_at: dice.one_in(2).then(|| Timestamp::from_millis(n)),
        });
    }
    for k in 0..dice.below(3) {
        let Some(operation) = dice.pick(&open, OperationId::new(1)) else { continue };
        commit.intents.push(intent(n * 10 + k, operation.get(), dice.index(), fence));
    }
    if dice.one_in(2) {
        let write = if dice.one_in(2) { asked } else { put };
        commit.records.push(write(dice.index(), n));
    }
    if dice.one_in(4) {
        commit.records.push(RecordWrite::Remove(slot(dice.index())));
    }
    if dice.one_in(5) {
        let text = "too many at once".into();
        let hold = Hold { code: HoldCode::Implausible, text, since: Timestamp::from_millis(n) };
        let hold = dice.one_in(2).then_some(hold);
        commit.groups.push(GroupWrite { group: slot(0).group, hold });
    }
    commit.rollouts.extend(rollout_write(n));
    for _ in 0..dice.below(3) {
        let subject = if dice.one_in(2) { Subject::Run } else { Subject::Slot(slot(0)) };
        commit.events.push(event(subject, ["this", "that"][usize::from(dice.one_in(2))], n));
    }
    commit
}

/// Now and then an operation goes back, its health is seen, or all that is open of a group is given up.
fn turned(dice: &mut Dice, n: u64, open: &[OperationId]) -> Option<OperationWrite> {
    let id = dice.pick(open, OperationId::new(1))?;
    match dice.below(16) {
        0 => Some(OperationWrite::TurnBack { id, plan: plan(n) }),
        1 => Some(OperationWrite::Restored { id, proven: dice.one_in(2) }),
        3 if dice.one_in(3) => Some(OperationWrite::Break { id }),
        4 => Some(OperationWrite::GoOn { id }),
        2 if dice.one_in(3) => Some(OperationWrite::Abandon { group: slot(0).group }),
        _ => None,
    }
}

/// What becomes of an update in every fifth commit.
fn rollout_write(n: u64) -> Option<RolloutWrite> {
    let rollout = Rollout {
        target: RevisionDigest::of(&n.to_be_bytes()),
        prior: None,
        reverts: n.is_multiple_of(2),
        since: Timestamp::from_millis(n),
        done: 1,
        patience: Millis::from_secs(n),
        deadline: n.is_multiple_of(3).then(|| Timestamp::from_millis(n)),
        paused: n.is_multiple_of(4),
        failing: None,
        hooked: n.is_multiple_of(2).then(|| Hooked { slot: slot(0), point: HookPoint::PostStart }),
    };
    let rollout = (!n.is_multiple_of(15)).then_some(rollout);
    n.is_multiple_of(5).then(|| RolloutWrite { group: slot(0).group, rollout })
}

/// Clarification 2 among the rest: the derived checkpoint of the journal's SQL is the one of core's function.
#[test]
fn journal_and_model_agree_on_random_commits() {
    for seed in 1..=6_u64 {
        let home = home();
        let dir = home.path().join("run");
        let (mut journal, _) = open(&dir);
        let mut reader = Reader::open(&dir).unwrap();
        let mut model = MemoryStore::new();
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (mut kept, mut refused) = (0, 0);
        for n in 1..=120 {
            let commit = random_commit(&mut dice, n, &model);
            model.submit(commit.clone());
            let expected = model.poll().unwrap().result;
            let found = keep(&mut journal, commit);
            match (&expected, &found) {
                (Ok(a), Ok(b)) => {
                    assert_eq!(format!("{a:?}"), format!("{b:?}"), "seed {seed}, commit {n}");
                    kept += 1;
                }
                (Err(a), Err(b)) => {
                    assert_eq!(a.to_string(), b.to_string(), "seed {seed}, commit {n}");
                    refused += 1;
                }
                (a, b) => panic!("seed {seed}, commit {n}: model {a:?}, journal {b:?}"),
            }
            let seen = facts(reader.recovered().unwrap());
            assert_eq!(seen, facts(model.recovered()), "seed {seed}, commit {n}");
            let leases = |rows: Vec<LeaseRow>| -> Vec<_> {
                rows.into_iter().map(|row| (row.operation, row.lease.until)).collect()
            };
            let known = leases(model.recovered().leases);
            assert_eq!(leases(reader.leases().unwrap()), known, "seed {seed}, commit {n}");
            let owned = |rows: Vec<Ownership>| -> Vec<_> {
                let part =
                    |row: Ownership| (row.identity, row.tenure.finalizers, row.tenure.deleting_at);
                rows.into_iter().map(part).collect()
            };
            let known = owned(model.ownership());
            assert_eq!(owned(reader.ownership().unwrap().rows), known, "seed {seed}, commit {n}");
        }
        assert!(kept > 15 && refused > 15, "seed {seed}: {kept} kept, {refused} refused");
        let closed: Vec<_> = model.operations().cloned().collect();
        let mut found = reader.operations(100).unwrap();
        found.reverse();
        assert_eq!(found, closed, "seed {seed}");
    }
}

/// The memory store keeps the seam's laws: answers in order, nothing of what was only submitted.
#[test]
fn the_memory_store_restarts_with_what_was_polled() {
    let mut store = MemoryStore::new();
    let first = store.submit(Commit { records: vec![put(0, 1)], ..Commit::default() });
    let second = store.submit(Commit { records: vec![put(1, 1)], ..Commit::default() });
    assert!(first < second);
    assert_eq!(store.poll().unwrap().ticket, first);
    let (mut next, recovered) = store.restart();
    assert_eq!((recovered.records.len(), next.fence()), (1, Fence::new(2)));
    assert!(next.poll().is_none());
    store.fence_off();
    assert_eq!(store.poll().unwrap().ticket, second);
    let refused = store.submit(Commit::default());
    let answer = store.poll().unwrap();
    assert_eq!(answer.ticket, refused);
    assert!(!answer.result.unwrap_err().is_refusal());
}
