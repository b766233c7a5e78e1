//! Rows as JSON: complete, of one moment, readable by programs, and without secrets.

use std::{fs, os::unix::fs::PermissionsExt as _, sync::Arc};

use checkpoint::{
    care::{
        inspect::{self, Kind, Which},
        verify,
    },
    record::RecordWrite,
    step::StepWrite,
    store::Commit,
};
use reconciler_core::{
    checkpoint::StepMark,
    effect::{Certainty, FailureClass, FailureKind},
    id::StepId,
};
use serde_json::Value;

use crate::world::{first_commit, home, keep, open, record, some_life, step_commit};

/// R91: what looks like a secret by its key or by its text is in no row that is shown.
#[test]
fn no_secret_is_shown() {
    let home = home();
    let dir = home.path().join("run");
    let (mut journal, _) = open(&dir);
    let mut record = record(0, 1);
    let mut spec = (*record.spec).clone();
    spec.boot.env.insert("API_TOKEN".to_owned(), "canary-one".to_owned());
    spec.boot.command.push("--password=canary-two".to_owned());
    record.spec = Arc::new(spec);
    let records = vec![RecordWrite::Put(Arc::new(record))];
    keep(&mut journal, Commit { records, ..Commit::default() }).unwrap();
    let file = home.path().join("rows.jsonl");
    inspect::export_to(&dir, &file).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("API_TOKEN") && !text.contains("canary"), "{text}");
    let rows = inspect::rows(&dir, &Which::Slot("web-0".to_owned(), 9)).unwrap();
    assert_eq!(rows.len(), 1);
    assert!(!rows[0].to_string().contains("canary"), "{rows:?}");
}

/// An export has every row, a line each, in a new file that is its owner's alone.
#[test]
fn an_export_has_every_row() {
    let home = home();
    let dir = home.path().join("run");
    some_life(&dir);
    let file = home.path().join("rows.jsonl");
    let count = inspect::export_to(&dir, &file).unwrap();
    let rows = verify::journal(&dir).unwrap().manifest.unwrap().rows;
    assert_eq!(count, rows.values().sum::<u64>());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(&file).unwrap();
    let parsed: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (table, n) in rows {
        assert_eq!(parsed.iter().filter(|row| row["table"] == *table).count() as u64, n, "{table}");
    }
    assert!(inspect::export_to(&dir, &file).is_err(), "what stands is not overwritten");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

/// What is asked for comes, the newest first.
#[test]
fn what_is_asked_for_is_shown() {
    let home = home();
    let dir = home.path().join("run");
    some_life(&dir);
    let steps = inspect::rows(&dir, &Which::Newest(Kind::Steps, 3)).unwrap();
    let ids: Vec<_> = steps.iter().map(|row| row["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, [20, 19, 18]);
    let about = inspect::rows(&dir, &Which::Slot("web-1".to_owned(), 2)).unwrap();
    let tables: Vec<_> = about.iter().map(|row| row["table"].as_str().unwrap()).collect();
    assert_eq!(tables, ["record", "step", "step", "event"]);
}

/// R122: a failed step says what its failure was, while it is in doubt and when it is seen to have had no effect; one that
/// was seen to have succeeded has none.
#[test]
fn a_step_says_what_its_failure_was_until_it_succeeds() {
    let home = home();
    let dir = home.path().join("run");
    let (mut journal, recovered) = open(&dir);
    keep(&mut journal, first_commit()).unwrap();
    for step in 1..=2 {
        keep(&mut journal, step_commit(step, 1, u32::try_from(step).unwrap(), recovered.fence))
            .unwrap();
    }
    let late = FailureKind { class: FailureClass::TimedOut, certainty: Certainty::Ambiguous };
    let mut settle = |step, mark, failure| {
        let (step, result, finished_at) = (StepId::new(step), "said".into(), None);
        let write = StepWrite { step, mark, failure, result, finished_at };
        keep(&mut journal, Commit { steps: vec![write], ..Commit::default() }).unwrap();
        let rows = inspect::rows(&dir, &Which::Newest(Kind::Steps, 2)).unwrap();
        [1, 0].map(|row: usize| rows[row]["failure"].as_str().map(str::to_owned))
    };
    let told = Some("timed-out/ambiguous".to_owned());
    assert_eq!(settle(1, StepMark::AmbiguousEffect, Some(late)), [told.clone(), None]);
    assert_eq!(settle(2, StepMark::AmbiguousEffect, Some(late)), [told.clone(), told.clone()]);
    assert_eq!(settle(1, StepMark::CancelledNoEffect, None), [told.clone(), told.clone()]);
    assert_eq!(settle(2, StepMark::Verified, None), [told, None]);
}
