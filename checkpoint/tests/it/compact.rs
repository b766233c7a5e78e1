//! R192: compaction needs a hash and a backup, and touches nothing that recovery needs.

use std::fs;

use checkpoint::{
    care::{
        backup,
        compact::{CompactError, Compaction},
        finding::Integrity,
        verify,
    },
    event::Subject,
    operation::{OperationWrite, Outcome},
    reader::Reader,
    scan::Recovered,
    step::StepWrite,
    store::{Commit, OpenError, Store},
};
use reconciler_core::{
    checkpoint::StepMark,
    id::{OperationId, StepId},
    time::{Millis, Timestamp},
};

use crate::world::{
    event, files, first_commit, home, intent, keep, open, opened, pass, put, slot, step_commit,
    used,
};

const NOW: Timestamp = Timestamp::from_millis(1_796_000_000_000);

/// A run with much history, an operation that is open, and an effect in doubt of one that is closed.
fn long_life(dir: &std::path::Path) {
    let (mut journal, recovered) = open(dir);
    keep(&mut journal, first_commit()).unwrap();
    keep(&mut journal, step_commit(1, 1, 0, recovered.fence)).unwrap();
    for id in 2..=60 {
        let close = OperationWrite::Close {
            id: OperationId::new(id),
            outcome: Outcome::Succeeded,
            superseded_by: None,
        };
        let ended = StepWrite {
            step: StepId::new(id - 1),
            mark: StepMark::Verified,
            failure: None,
            result: "ok".into(),
            finished_at: Some(Timestamp::from_millis(id)),
        };
        journal.submit(Commit {
            at: Timestamp::from_millis(id),
            pass: Some(pass(id)),
            used_plan: Some(used(id)),
            operations: vec![opened(id), close],
            // Those of operations 1 and 9 have no answer.
            steps: if id == 2 || id == 10 { Vec::new() } else { vec![ended] },
            intents: vec![intent(id, id, 3, recovered.fence)],
            records: vec![put(3, id)],
            events: (0..5).map(|n| event(Subject::Slot(slot(n)), &format!("{id}"), id)).collect(),
            ..Commit::default()
        });
    }
    while let Some(answer) = journal.wait() {
        answer.result.unwrap();
    }
}

fn compaction(dir: &std::path::Path) -> Compaction<'_> {
    Compaction { dir, older_than: Millis::from_secs(60), keep: 16, backup: None, now: NOW }
}

fn needed(recovered: Recovered) -> Recovered {
    Recovered { events: Vec::new(), ..recovered }
}

#[test]
fn compaction_drops_history_and_nothing_that_recovery_needs() {
    let home = home();
    let dir = home.path().join("run");
    long_life(&dir);
    let before = Reader::open(&dir).unwrap().recovered().unwrap();
    let whole = verify::journal(&dir).unwrap().manifest.unwrap();
    let untouched = files(&dir);
    let preview = compaction(&dir).preview().unwrap();
    assert!(files(&dir) == untouched, "a preview writes nothing");
    let done = compaction(&dir).confirm(preview.hash).unwrap();
    assert_eq!(done.integrity, Integrity::Healthy);
    assert!(done.bytes < done.preview.bytes, "{done:?}");
    let mut reader = Reader::open(&dir).unwrap();
    assert_eq!(needed(reader.recovered().unwrap()), needed(before));
    let steps = reader.steps(u32::MAX).unwrap();
    for in_doubt in [1, 9] {
        assert!(steps.iter().any(|row| row.step == StepId::new(in_doubt)), "step {in_doubt}");
    }
    let operations = reader.operations(u32::MAX).unwrap();
    assert!(operations.iter().any(|row| row.id == OperationId::new(9)));
    assert!(operations.len() < 10, "{}", operations.len());
    assert!(reader.is_used(&used(60).hash).unwrap(), "the newest plan");
    let (_, dropped) = done.preview.drops[0];
    assert!(dropped > 250, "{:?}", done.preview.drops);
    assert_eq!(reader.events(None, 1).unwrap()[0].kind, "compacted");
    // The backup has all of it.
    let kept = verify::backup(&done.backup).unwrap();
    assert_eq!((kept.integrity, kept.manifest.unwrap().sha256), (Integrity::Healthy, whole.sha256));
    drop(reader);
    open(&dir);
}

/// R192: also asked to keep nothing it keeps what recovery needs, and the newest row of each kind: no number, serial or
/// generation comes twice.
#[test]
fn compaction_to_nothing_keeps_every_number() {
    let home = home();
    let dir = home.path().join("run");
    long_life(&dir);
    let before = needed(Reader::open(&dir).unwrap().recovered().unwrap());
    let all = Compaction { older_than: Millis::new(0), keep: 0, ..compaction(&dir) };
    let hash = all.preview().unwrap().hash;
    all.confirm(hash).unwrap();
    let (_journal, recovered) = open(&dir);
    let after = needed(recovered);
    assert_eq!(
        (&after.shape, after.serial, after.last_pass),
        (&before.shape, before.serial, before.last_pass)
    );
    assert_eq!((after.next_operation, after.next_step), (before.next_operation, before.next_step));
    assert_eq!(after.records, before.records);
    assert_eq!(after.open_operations, before.open_operations);
}

#[test]
fn compaction_refuses_what_it_must() {
    let home = home();
    let dir = home.path().join("run");
    long_life(&dir);
    let preview = compaction(&dir).preview().unwrap();
    let old = home.path().join("old.db");
    backup::make(&dir, &old, NOW).unwrap();
    let (mut journal, recovered) = open(&dir);
    let held = compaction(&dir).confirm(preview.hash).unwrap_err();
    assert!(matches!(held, CompactError::Journal(OpenError::Held { .. })), "{held:?}");
    keep(&mut journal, step_commit(70, 1, 0, recovered.fence)).unwrap();
    drop(journal);
    let before = files(home.path());
    let stale = compaction(&dir).confirm(preview.hash).unwrap_err();
    assert!(matches!(stale, CompactError::Stale { .. }), "{stale:?}");
    // A backup of the journal as it was is not one of the journal as it is.
    let hash = compaction(&dir).preview().unwrap().hash;
    let named =
        |path: &std::path::Path| Compaction { backup: Some(path.into()), ..compaction(&dir) };
    let refused = named(&old).confirm(hash).unwrap_err();
    assert!(matches!(refused, CompactError::OtherContent(_)), "{refused:?}");
    assert!(files(home.path()).keys().eq(before.keys()));
    let new = home.path().join("new.db");
    backup::make(&dir, &new, NOW).unwrap();
    assert_eq!(named(&new).confirm(hash).unwrap().backup, new);
    assert!(!dir.join("backups").exists());
    fs::remove_file(new).unwrap();
}
