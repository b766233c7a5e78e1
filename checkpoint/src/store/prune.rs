//! Bounds the history: events, passes, shapes, and closed operations with their steps (C15).
//!
//! Rows of open operations are never touched, and the newest row of each table stays, so that no number is ever
//! given twice.

use rusqlite::Connection;

use crate::{
    event::{EVENTS_KEPT, PASSES_KEPT},
    operation::CLOSED_KEPT,
    record::SHAPES_KEPT,
    step::STEPS_KEPT,
};

/// Commits between two prunings: often enough to keep the file small, too rare to be felt.
pub(super) const PRUNE_EVERY: u64 = 256;

/// Deletes what is beyond the bounds, inside the caller's transaction.
pub(super) fn prune(conn: &Connection) -> rusqlite::Result<()> {
    // Steps go by their operation, so that only what is deleted is touched, not the whole table.
    let doomed = format!(
        "status <> 'active' AND id < (SELECT max(id) FROM operation) AND id NOT IN
         (SELECT id FROM operation WHERE status <> 'active' ORDER BY id DESC LIMIT {CLOSED_KEPT})"
    );
    conn.execute_batch(&format!(
        "DELETE FROM event WHERE seq <= (SELECT max(seq) FROM event) - {EVENTS_KEPT};
         DELETE FROM pass WHERE number <= (SELECT max(number) FROM pass) - {PASSES_KEPT};
         DELETE FROM shape WHERE generation NOT IN
             (SELECT generation FROM shape ORDER BY generation DESC LIMIT {SHAPES_KEPT});
         DELETE FROM step WHERE id < (SELECT max(id) FROM step)
             AND operation IN (SELECT id FROM operation WHERE {doomed});
         DELETE FROM operation WHERE {doomed};
         DELETE FROM step WHERE id <= (SELECT max(id) FROM step) - {STEPS_KEPT}
             AND operation NOT IN (SELECT id FROM operation WHERE status = 'active');"
    ))
}
