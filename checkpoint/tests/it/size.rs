//! SM4, C15: a fleet that flaps for a week has a journal that is flat and small.

use std::{fs, sync::Arc};

use checkpoint::{
    event::Subject,
    operation::{OperationWrite, Outcome},
    record::RecordWrite,
    step::StepWrite,
    store::{Commit, Journal, Store},
};
use reconciler_core::{
    checkpoint::StepMark,
    id::{OperationId, PassNumber, StepId},
    observed::NodeRecord,
    time::Timestamp,
};

use crate::world::{event, home, intent, keep, open, opened, pass, record, shape_row, slot, used};

const NODES: u32 = 100;
/// Rounds in which every node fails and is made anew: a week of them, four hours apart.
const ROUNDS: u64 = 42;
const HOUR: u64 = 3_600_000;
/// What a node may cost, in bytes.
const PER_NODE: u64 = 4_096;

/// A record as large as that of a node that serves, with its lease, its address and its environment.
fn serving(index: u32, at: u64) -> Arc<NodeRecord> {
    let mut record = record(index, at);
    let mut spec = (*record.spec).clone();
    spec.boot.command.extend((0..12).map(|n| format!("--an-option-of-the-workload={index}-{n}")));
    record.spec = Arc::new(spec);
    let size = serde_json::to_vec(&record).unwrap().len();
    assert!((1_400..1_500).contains(&size), "{size}");
    Arc::new(record)
}

/// One round: each node ends, is told of, gives its lease back and gets another; an operation for every ten of them.
struct Week {
    step: u64,
    operation: u64,
    pass: u64,
}

impl Week {
    fn round(&mut self, journal: &mut Journal, round: u64) {
        let fence = journal.fence();
        for (n, tenth) in (0..NODES).step_by(10).enumerate() {
            let at = round * 4 * HOUR + n as u64 * 60_000;
            self.operation += 1;
            let mut due = Vec::new();
            for phase in ["failed", "destroyed", "new -> lease-requested", "handed-off"] {
                self.pass += 1;
                let mut commit = Commit {
                    at: Timestamp::from_millis(at),
                    pass: Some(pass(self.pass)),
                    steps: std::mem::take(&mut due),
                    ..Commit::default()
                };
                if phase == "failed" {
                    commit.operations.push(opened(self.operation));
                }
                for index in tenth..tenth + 10 {
                    let text = format!("{phase}: the workload exited with status {}", round % 7);
                    let mut told = event(Subject::Slot(slot(index)), &text, at);
                    told.pass = PassNumber::new(self.pass);
                    commit.events.push(told);
                    commit.records.push(RecordWrite::Put(serving(index, at)));
                    if phase != "handed-off" {
                        self.step += 1;
                        commit.intents.push(intent(self.step, self.operation, index, fence));
                        due.push(StepWrite {
                            step: StepId::new(self.step),
                            mark: StepMark::Verified,
                            failure: None,
                            result: "ok".into(),
                            finished_at: Some(Timestamp::from_millis(at)),
                        });
                    }
                }
                if phase == "handed-off" {
                    commit.operations.push(OperationWrite::Close {
                        id: OperationId::new(self.operation),
                        outcome: Outcome::Succeeded,
                        superseded_by: None,
                    });
                }
                journal.submit(commit);
            }
            while let Some(answer) = journal.wait() {
                answer.result.unwrap();
            }
        }
    }
}

/// The bound of the issue: less than 4 KiB of file for each of 100 nodes after a week of flapping, and no growth from
/// the second day on.
#[test]
fn a_week_of_flapping_leaves_a_flat_file_below_four_kib_a_node() {
    let home = home();
    let dir = home.path().join("run");
    let (mut journal, _) = open(&dir);
    let records: Vec<RecordWrite> =
        (0..NODES).map(|index| RecordWrite::Put(serving(index, 1))).collect();
    let shape = Some(shape_row(1, NODES));
    keep(&mut journal, Commit { shape, records, used_plan: Some(used(1)), ..Commit::default() })
        .unwrap();
    let mut week = Week { step: 0, operation: 0, pass: 0 };
    let mut sizes = Vec::new();
    for round in 0..ROUNDS {
        week.round(&mut journal, round);
        if round % 6 == 5 {
            // Closing moves the log into the file.
            drop(journal);
            sizes.push(fs::metadata(dir.join("journal.db")).unwrap().len());
            (journal, _) = open(&dir);
        }
    }
    let (first, last) = (sizes[1], sizes[sizes.len() - 1]);
    assert!(last < PER_NODE * u64::from(NODES), "{last} bytes for {NODES} nodes: {sizes:?}");
    assert!(last <= first, "it grows: {sizes:?}");
}
