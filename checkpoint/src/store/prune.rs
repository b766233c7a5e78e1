//! Bounds the history by count and by age (C15); the bounds stand in `retention`.
//!
//! Rows of open operations and steps whose outcome is not known are never touched, and the newest row of each table
//! stays, so that no number is ever given twice.

use reconciler_core::time::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    codec::time,
    retention::{Bound, History},
};

/// Rows written between two prunings, or one for each record if that is more: often enough to keep the file small,
/// too rare to be felt.
const PRUNE_ROWS: u64 = 128;

/// How many rows may be written before the next pruning, with `nodes` records.
pub(super) fn due(nodes: u64) -> u64 {
    nodes.max(PRUNE_ROWS)
}

/// How many records there are.
pub(crate) fn nodes(conn: &Connection) -> rusqlite::Result<u64> {
    let count: i64 =
        conn.prepare_cached("SELECT count(*) FROM record")?.query_row([], |row| row.get(0))?;
    Ok(count.cast_unsigned())
}

/// Deletes what is beyond the bounds, inside the caller's transaction; says how many rows of each kind.
pub(crate) fn prune(
    conn: &Connection,
    now: Timestamp,
    bound: impl Fn(History) -> Bound,
) -> rusqlite::Result<[u64; 6]> {
    let nodes = nodes(conn)?;
    let mut gone = [0; 6];
    for (kind, gone) in History::ALL.into_iter().zip(&mut gone) {
        let bound = bound(kind);
        let too_many = cut(conn, kind, bound.most(nodes))?;
        let too_old = cut(conn, kind, bound.always())?;
        let Some(too_old) = too_old else { continue };
        let before = bound.age.map_or(0, |age| now.as_millis().saturating_sub(age.get()));
        let too_many = too_many.unwrap_or(i64::MIN);
        let before = time(Timestamp::from_millis(before));
        *gone = delete(conn, kind, (too_many, too_old, before))?;
    }
    Ok(gone)
}

/// The number of the newest row that is not among the `kept` newest of its kind.
fn cut(conn: &Connection, kind: History, kept: u64) -> rusqlite::Result<Option<i64>> {
    let sql = match kind {
        History::Events => "SELECT seq FROM event ORDER BY seq DESC LIMIT 1 OFFSET ?1",
        History::Passes => "SELECT number FROM pass ORDER BY number DESC LIMIT 1 OFFSET ?1",
        History::Shapes => {
            "SELECT generation FROM shape ORDER BY generation DESC LIMIT 1 OFFSET ?1"
        }
        History::UsedPlans => "SELECT serial FROM used_plan ORDER BY serial DESC LIMIT 1 OFFSET ?1",
        History::Operations => {
            "SELECT id FROM operation WHERE status <> 'active' ORDER BY id DESC LIMIT 1 OFFSET ?1"
        }
        History::Steps => "SELECT id FROM step ORDER BY id DESC LIMIT 1 OFFSET ?1",
    };
    let kept = i64::try_from(kept).unwrap_or(i64::MAX);
    conn.prepare_cached(sql)?.query_row([kept], |row| row.get(0)).optional()
}

/// Deletes rows up to the first number, and those up to the second that are older than `before`.
fn delete(conn: &Connection, kind: History, cuts: (i64, i64, i64)) -> rusqlite::Result<u64> {
    let (too_many, too_old, before) = cuts;
    let run = |sql: &str| -> rusqlite::Result<u64> {
        let deleted = conn.prepare_cached(sql)?.execute(params![too_many, too_old, before])?;
        Ok(deleted as u64)
    };
    match kind {
        History::Events => run("DELETE FROM event \
             WHERE seq <= ?1 OR (seq <= ?2 AND at < ?3)"),
        History::Passes => run("DELETE FROM pass \
             WHERE number <= ?1 OR (number <= ?2 AND at < ?3)"),
        History::Shapes => run("DELETE FROM shape \
             WHERE generation <= ?1 OR (generation <= ?2 AND at < ?3)"),
        History::UsedPlans => run("DELETE FROM used_plan \
             WHERE serial <= ?1 OR (serial <= ?2 AND at < ?3)"),
        History::Operations => {
            let sql = format!(
                "DELETE FROM step WHERE operation IN (SELECT id FROM operation WHERE {CLOSED})"
            );
            run(&sql)?;
            run(&format!("DELETE FROM operation WHERE {CLOSED}"))
        }
        History::Steps => run("DELETE FROM step \
             WHERE (id <= ?1 OR (id <= ?2 AND started_at < ?3)) AND finished_at IS NOT NULL \
             AND operation NOT IN (SELECT id FROM operation WHERE status = 'active')"),
    }
}

/// Closed operations beyond the bounds that no doubt hangs on and that do not hold the newest number of a step.
const CLOSED: &str = "status <> 'active' AND (id <= ?1 OR (id <= ?2 AND closed_at < ?3)) \
    AND id < (SELECT max(id) FROM operation) \
    AND id <> coalesce((SELECT operation FROM step ORDER BY id DESC LIMIT 1), 0) \
    AND NOT EXISTS (SELECT 1 FROM step INDEXED BY step_of_operation \
        WHERE step.operation = operation.id AND finished_at IS NULL)";
