//! What the store refuses without ending: the commit is undone alone, and the next one is taken.

use checkpoint::{
    operation::{OperationWrite, Outcome},
    step::StepWrite,
    store::{Commit, Journal, Store, StoreError},
};
use reconciler_core::{
    checkpoint::StepMark,
    id::{Fence, OperationId, StepId},
};

use crate::world::{
    first_commit, home, intent, keep, open, opened, plan, put, shape_row, step_commit, used,
};

fn close(id: u64) -> OperationWrite {
    let id = OperationId::new(id);
    OperationWrite::Close { id, outcome: Outcome::Interrupted, superseded_by: None }
}

fn check(journal: &mut Journal, commit: Commit, expect: &str) {
    let refused = keep(journal, commit).unwrap_err();
    assert!(refused.is_refusal(), "{refused}");
    assert_eq!(refused.to_string(), expect);
}

/// R85: a plan's hash is good once, for the journal's life, also across restarts.
#[test]
fn a_plan_is_used_once() {
    let home = home();
    let dir = home.path().join("run");
    let (mut journal, _) = open(&dir);
    assert!(!journal.is_used(&plan(1)));
    keep(&mut journal, first_commit()).unwrap();
    assert!(journal.is_used(&plan(1)));
    drop(journal);
    let (mut journal, recovered) = open(&dir);
    assert_eq!(recovered.serial.get(), 1);
    assert!(journal.is_used(&plan(1)));
    let again = Commit { used_plan: Some(used(1)), records: vec![put(3, 1)], ..Commit::default() };
    let refused = keep(&mut journal, again).unwrap_err();
    assert!(matches!(refused, StoreError::PlanUsed(hash) if hash == plan(1)));
    let next = Commit { used_plan: Some(used(2)), ..Commit::default() };
    keep(&mut journal, next).unwrap();
    drop(journal);
    // Nothing of the refused commit was kept.
    let (_journal, recovered) = open(&dir);
    assert_eq!((recovered.records.len(), recovered.serial.get()), (0, 2));
}

/// A refusal inside a group commit does not touch its neighbours.
#[test]
fn a_refusal_leaves_its_neighbours_alone() {
    let home = home();
    let (mut journal, recovered) = open(&home.path().join("run"));
    keep(&mut journal, first_commit()).unwrap();
    let twice = Commit { used_plan: Some(used(1)), ..Commit::default() };
    for index in 0..20 {
        let step = u64::from(index) + 1;
        journal.submit(step_commit(step, 1, index, recovered.fence));
        journal.submit(twice.clone());
    }
    for _ in 0..20 {
        assert_eq!(journal.wait().unwrap().result.unwrap().len(), 1);
        assert!(matches!(journal.wait().unwrap().result, Err(StoreError::PlanUsed(_))));
    }
    assert!(journal.wait().is_none());
}

/// R187, C15: a shape follows only a shape that it may follow.
#[test]
fn an_older_shape_never_replaces_a_newer_one() {
    let home = home();
    let dir = home.path().join("run");
    let (mut journal, _) = open(&dir);
    let with = |generation, count| Commit {
        shape: Some(shape_row(generation, count)),
        ..Commit::default()
    };
    keep(&mut journal, with(5, 3)).unwrap();
    for wrong in [with(4, 0), with(5, 0)] {
        check(&mut journal, wrong, "the shape may not follow the present one");
    }
    keep(&mut journal, with(6, 0)).unwrap();
    // The same content may get a new file digest.
    let mut row = shape_row(6, 0);
    row.file_digest = Some("saved again".to_owned());
    keep(&mut journal, Commit { shape: Some(row), ..Commit::default() }).unwrap();
    drop(journal);
    let (_journal, recovered) = open(&dir);
    assert_eq!(recovered.shape.unwrap().shape.generation.get(), 6);
    assert_eq!(recovered.file_digest.as_deref(), Some("saved again"));
}

/// R106, R141: what is closed stays closed; numbers are given once; nothing is sent under another fence.
#[test]
fn closed_operations_and_taken_numbers_are_refused() {
    let home = home();
    let (mut journal, recovered) = open(&home.path().join("run"));
    let fence = recovered.fence;
    keep(&mut journal, first_commit()).unwrap();
    keep(&mut journal, step_commit(1, 1, 0, fence)).unwrap();
    let intents = |intent| Commit { intents: vec![intent], ..Commit::default() };
    let operations = |write| Commit { operations: vec![write], ..Commit::default() };
    check(&mut journal, intents(intent(1, 1, 2, fence)), "step 1 exists already");
    check(&mut journal, intents(intent(2, 8, 2, fence)), "operation 8 is not open");
    check(&mut journal, operations(opened(1)), "operation 1 exists already");
    let stale = intents(intent(2, 1, 2, Fence::new(9)));
    check(&mut journal, stale, "the intent of step 2 carries fence 9, this store has 1");
    keep(&mut journal, operations(close(1))).unwrap();
    check(&mut journal, operations(close(1)), "operation 1 is not open");
    check(&mut journal, intents(intent(2, 1, 2, fence)), "operation 1 is not open");
    let late = |step| Commit {
        steps: vec![StepWrite {
            step: StepId::new(step),
            mark: StepMark::Verified,
            failure: None,
            result: "late".into(),
            finished_at: None,
        }],
        ..Commit::default()
    };
    // A late result of a closed operation did happen, and is kept without waking the operation.
    keep(&mut journal, late(1)).unwrap();
    check(&mut journal, late(44), "step 44 does not exist");
}

/// One step speaks for a slot in each operation, whatever was refused in between, and whoever wrote the one before.
#[test]
fn one_step_speaks_for_a_slot() {
    let home = home();
    let dir = home.path().join("run");
    let speakers = || {
        let file = rusqlite::Connection::open(dir.join("journal.db")).unwrap();
        let sql = "SELECT operation, slot, max(id) FROM step WHERE rank IS NOT NULL \
                   GROUP BY operation, slot HAVING count(*) = 1 ORDER BY operation, slot";
        let mut asked = file.prepare(sql).unwrap();
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let rows = asked.query_map([], row).unwrap();
        rows.collect::<Result<Vec<(i64, String, i64)>, _>>().unwrap()
    };
    let one = |operation, slot: &str, step| (operation, slot.to_owned(), step);
    let (mut journal, recovered) = open(&dir);
    keep(&mut journal, first_commit()).unwrap();
    keep(&mut journal, Commit { operations: vec![opened(2)], ..Commit::default() }).unwrap();
    for (step, operation, index) in [(1, 1, 0), (2, 1, 0), (3, 2, 0), (4, 1, 1), (5, 1, 0)] {
        keep(&mut journal, step_commit(step, operation, index, recovered.fence)).unwrap();
    }
    assert_eq!(speakers(), [one(1, "web-0", 5), one(1, "web-1", 4), one(2, "web-0", 3)]);
    // The first of its steps is taken back with the second, which has a number that was given already.
    let half = vec![intent(6, 1, 0, recovered.fence), intent(5, 1, 1, recovered.fence)];
    let half = Commit { intents: half, ..Commit::default() };
    check(&mut journal, half, "step 5 exists already");
    assert_eq!(speakers(), [one(1, "web-0", 5), one(1, "web-1", 4), one(2, "web-0", 3)]);
    keep(&mut journal, step_commit(7, 1, 0, recovered.fence)).unwrap();
    drop(journal);
    let (mut journal, recovered) = open(&dir);
    keep(&mut journal, step_commit(8, 1, 0, recovered.fence)).unwrap();
    keep(&mut journal, step_commit(9, 2, 0, recovered.fence)).unwrap();
    assert_eq!(speakers(), [one(1, "web-0", 8), one(1, "web-1", 4), one(2, "web-0", 9)]);
}
