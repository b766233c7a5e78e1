//! The leases of controllers on open operations, as rows: begun when an operation opens, renewed by the writes to it,
//! gone with its end. Who may take one is decided in the core.

use std::collections::BTreeSet;

use reconciler_core::{
    id::{Fence, GroupId, OperationId, PlanHash},
    ownership::{
        Claimed, ControllerId, HandoffTarget, HolderLife, LeaseLength, OperationLease, reclaim,
    },
    time::{Millis, Timestamp},
};
use rusqlite::{Connection, Row, params, types::Type};

use crate::codec::{is_of_row, misread, num, number, parsed, time};

/// Who writes: the controller, and the machine that it runs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) controller: ControllerId,
    pub(crate) machine: String,
    pub(crate) fence: Fence,
}

/// The lease on one open operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRow {
    /// The operation.
    pub operation: OperationId,
    /// Its node group.
    pub group: GroupId,
    /// The plan that opened it.
    pub plan: PlanHash,
    /// The lease.
    pub lease: OperationLease,
    /// The machine that its owner runs on, by a name that stays over its starts; empty if nobody knows.
    pub machine: String,
    /// What it was handed over for, if it was.
    pub target: Option<HandoffTarget>,
    /// True if its group can be taken back to what it was before, or is being taken back already.
    pub way_back: bool,
}

impl LeaseRow {
    /// What has to be named to take it.
    pub fn claimed(&self) -> Claimed {
        Claimed {
            operation: self.operation,
            group: self.group.clone(),
            plan: self.plan,
            fence: self.lease.fence,
            owner: self.lease.owner.clone(),
            until: self.lease.until,
        }
    }

    /// A row of the lease's table joined with its operation.
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let (lease, machine, target) = read_alone(row)?;
        Ok(Self {
            operation: OperationId::new(number(row, "operation")?),
            group: parsed(row, "node_group")?,
            plan: parsed(row, "plan")?,
            lease,
            machine,
            target,
            way_back: row.get("way_back")?,
        })
    }
}

/// What stands in the lease's own table: the lease, the machine of its owner, and what it was handed over for.
pub(crate) fn read_alone(
    row: &Row<'_>,
) -> rusqlite::Result<(OperationLease, String, Option<HandoffTarget>)> {
    let secs = number(row, "length")?.checked_div(1_000).unwrap_or(0);
    let length = LeaseLength::from_secs(secs);
    let length = length.ok_or_else(|| misread(Type::Integer, "no lease has this length"))?;
    let target: Option<String> = row.get("target")?;
    let target = target.map(|text| text.parse()).transpose();
    let lease = OperationLease {
        owner: parsed(row, "owner")?,
        fence: Fence::new(number(row, "fence")?),
        until: Timestamp::from_millis(number(row, "until")?),
        length,
        handoffs: row.get("handoffs")?,
    };
    Ok((lease, row.get("machine")?, target.map_err(|error| misread(Type::Text, error))?))
}

/// Every lease on an open operation, in the order of the operations.
pub(crate) const OPEN: &str = "SELECT operation_lease.*, node_group, plan, \
    compensation IS NOT NULL OR direction = 'rollback' AS way_back FROM operation_lease \
    JOIN operation ON operation.id = operation WHERE status = 'active' ORDER BY operation";

/// Every lease on an open operation that can be read.
pub(crate) fn open(conn: &Connection) -> rusqlite::Result<Vec<LeaseRow>> {
    let mut statement = conn.prepare(OPEN)?;
    let rows = statement.query_map([], LeaseRow::read)?;
    rows.filter(|row| !row.as_ref().is_err_and(is_of_row)).collect()
}

/// Writes the lease on `operation`.
pub(crate) fn put(
    conn: &Connection,
    operation: OperationId,
    lease: &OperationLease,
    machine: &str,
    target: Option<HandoffTarget>,
) -> rusqlite::Result<usize> {
    let sql = "INSERT OR REPLACE INTO operation_lease (operation, owner, machine, fence, until, \
               length, handoffs, target) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    conn.prepare_cached(sql)?.execute(params![
        num(operation.get()),
        lease.owner.as_str(),
        machine,
        num(lease.fence.get()),
        time(lease.until),
        num(lease.length.get().get()),
        lease.handoffs,
        target.map(HandoffTarget::as_str),
    ])
}

/// Renews the lease on `operation` by a write of its owner at `now`, unless it is as good as new.
pub(crate) fn renew(
    conn: &Connection,
    operation: OperationId,
    now: Timestamp,
) -> rusqlite::Result<usize> {
    // As `OperationLease::renewed`, in one statement that mostly finds nothing to write.
    let sql = "UPDATE operation_lease SET until = ?2 + length WHERE operation = ?1 \
               AND (until <= ?2 + length - length / 10 OR until > ?2 + length)";
    conn.prepare_cached(sql)?.execute(params![num(operation.get()), time(now)])
}

/// Takes every open operation for `holder`, whose lock on the run is proof that who held it on this machine has
/// ended; gives back the first that is somebody's on another machine still.
pub(crate) fn take_all(
    conn: &Connection,
    holder: &Holder,
    now: Timestamp,
) -> rusqlite::Result<Option<LeaseRow>> {
    for row in open(conn)? {
        let here = !row.machine.is_empty() && row.machine == holder.machine;
        let life = if here { HolderLife::Gone } else { HolderLife::Unknown };
        let claimed = row.claimed();
        let to = (holder.controller.clone(), holder.fence);
        match reclaim((&claimed, &row.lease), &claimed, to, life, now) {
            Ok(lease) => put(conn, row.operation, &lease, &holder.machine, row.target)?,
            Err(_held) => return Ok(Some(row)),
        };
    }
    // What an older program opened has no lease yet; one that cannot be read is nobody's, and must not stop the whole
    // run: the lock on it and the fence stand all the same.
    let known: BTreeSet<_> = open(conn)?.into_iter().map(|row| row.operation).collect();
    for id in active(conn)?.difference(&known).copied() {
        let (owner, length) = (holder.controller.clone(), LeaseLength::default());
        let lease = OperationLease::begun(owner, holder.fence, length, now);
        put(conn, id, &lease, &holder.machine, None)?;
    }
    Ok(None)
}

/// All open operations.
fn active(conn: &Connection) -> rusqlite::Result<BTreeSet<OperationId>> {
    let mut statement = conn.prepare("SELECT id FROM operation WHERE status = 'active'")?;
    statement.query_map([], |row| number(row, "id").map(OperationId::new))?.collect()
}

/// Ends the leases of `fence` at `now`: their owner leaves in good order, and nobody need wait.
pub(crate) fn give_back(
    conn: &Connection,
    fence: Fence,
    now: Timestamp,
) -> rusqlite::Result<usize> {
    let over = Timestamp::from_millis(now.as_millis().saturating_sub(Millis::new(1).get()));
    let sql = "UPDATE operation_lease SET until = ?2 WHERE fence = ?1 AND until > ?2";
    conn.prepare_cached(sql)?.execute(params![num(fence.get()), time(over)])
}
