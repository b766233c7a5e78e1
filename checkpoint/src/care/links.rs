//! What rows say of each other: fences that only rise, steps of operations, effects under way, serials given once.

use reconciler_core::{id::Uuid, observed::NodeRecord, redact::Redacted};
use rusqlite::Connection;

use super::finding::{Finding, Integrity};
use crate::{codec::is_of_row, owner::OwnerRecord, scan};

/// A law of the tables: each row of the answer breaks it and is named by its first column.
struct Law {
    place: &'static str,
    integrity: Integrity,
    broken_by: &'static str,
    what: &'static str,
}

const LAWS: [Law; 7] = [
    Law {
        place: "owner",
        integrity: Integrity::Unrecoverable,
        broken_by: "SELECT fence FROM owner WHERE fence < max( \
             (SELECT coalesce(max(fence), 0) FROM operation), (SELECT coalesce(max(fence), 0) FROM step))",
        what: "a row carries a higher fence than its owner was given: drivers that are gone would count as present",
    },
    Law {
        place: "operation",
        integrity: Integrity::Degraded,
        broken_by: "SELECT id FROM (SELECT id, fence, max(fence) OVER (ORDER BY id \
             ROWS UNBOUNDED PRECEDING) AS before FROM operation) WHERE fence < before",
        what: "its fence is lower than that of an operation before it",
    },
    Law {
        place: "step",
        integrity: Integrity::Degraded,
        broken_by: "SELECT id FROM (SELECT id, fence, max(fence) OVER (ORDER BY id \
             ROWS UNBOUNDED PRECEDING) AS before FROM step) WHERE fence < before",
        what: "its fence is lower than that of a step before it",
    },
    Law {
        place: "step",
        integrity: Integrity::Degraded,
        broken_by: "SELECT id FROM step WHERE operation NOT IN (SELECT id FROM operation)",
        what: "its operation is not there",
    },
    Law {
        place: "operation",
        integrity: Integrity::Degraded,
        broken_by: "SELECT id FROM operation WHERE superseded_by > (SELECT max(id) FROM operation)",
        what: "the operation that took its place never was",
    },
    Law {
        place: "operation",
        integrity: Integrity::Degraded,
        broken_by: "SELECT id FROM operation WHERE (status = 'active') <> (closed_at IS NULL)",
        what: "it is open and closed at once",
    },
    Law {
        place: "used_plan",
        integrity: Integrity::Unrecoverable,
        broken_by: "SELECT serial FROM used_plan GROUP BY serial HAVING count(*) > 1",
        what: "two plans carry this serial, which is given once",
    },
];

/// Checks the laws; rows that break one become findings.
pub(super) fn check(conn: &Connection, findings: &mut Vec<Finding>) -> rusqlite::Result<()> {
    for law in &LAWS {
        let mut statement = conn.prepare(law.broken_by)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let key: i64 = row.get(0)?;
            findings.push(Finding {
                integrity: law.integrity,
                place: law.place,
                key: key.to_string(),
                what: Redacted::new(law.what),
            });
        }
    }
    let Ok(Some(owner)) = OwnerRecord::find(conn) else { return Ok(()) };
    records(conn, owner.run, findings)
}

/// What each record says of its attempt and of the step that it waits for.
fn records(conn: &Connection, run: Uuid, findings: &mut Vec<Finding>) -> rusqlite::Result<()> {
    let mut steps =
        conn.prepare("SELECT 1 FROM step WHERE id = ?1 AND operation = ?2 AND slot = ?3")?;
    let mut statement = conn.prepare("SELECT * FROM record")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let record = match scan::record(row) {
            Ok(record) => record,
            // Reported with the rows.
            Err(error) if is_of_row(&error) => continue,
            Err(error) => return Err(error),
        };
        let mut say = |what: &str| {
            findings.push(Finding {
                integrity: Integrity::Degraded,
                place: "record",
                key: record.slot.to_string(),
                what: Redacted::new(what),
            });
        };
        if let Some(pending) = &record.pending {
            let (step, operation) = (pending.step.get(), pending.operation.get());
            let slot = record.slot.to_string();
            if !steps.exists((step.cast_signed(), operation.cast_signed(), slot))? {
                say(&format!(
                    "it waits for step {step} of operation {operation}, which is not there"
                ));
            }
        }
        if !is_of_run(&record, run) {
            say("its attempt has an identity that is not of this run, slot and ordinal");
        }
    }
    Ok(())
}

fn is_of_run(record: &NodeRecord, run: Uuid) -> bool {
    let derived = Uuid::of_attempt(run, &record.slot, record.born, record.attempt.ordinal);
    record.attempt.uuid == derived
}
