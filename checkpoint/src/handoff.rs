//! Hands an open operation whose lease ran out to another controller, with everything that is attached to it: one
//! transaction, exactly the operation that was named, or nothing (R145).
//!
//! It takes the locks that a driver takes: of the run, so that none is about, and of the operation, so that it waits
//! for effects under way. The journal's fence rises with it, so that who had the operation can write nothing more. It
//! runs no recovery itself.

use std::{path::Path, time::Duration};

use reconciler_core::{
    id::{Fence, OperationId},
    ownership::{
        Claimed, ControllerId, HandoffRefusal, HandoffTarget, LeaseLength, OperationLease, hand_off,
    },
    redact::Redacted,
    time::Timestamp,
};
use rusqlite::{Connection, TransactionBehavior, params};
use serde::Serialize;

use crate::{
    care::succeed,
    codec::time,
    event::Subject,
    lease,
    oplock::OperationLock,
    owner::{OwnerRecord, this_machine},
    ownership,
    paths::StatePaths,
    schema,
    store::{OpenError, lock, open_writing},
};

/// How long to wait for effects under way of the operation.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why nothing was handed over; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum HandoffError {
    /// The journal cannot be used, or a driver has the run.
    #[error(transparent)]
    Journal(#[from] OpenError),
    /// No open operation has this number.
    #[error("operation {0} is not open")]
    NotOpen(OperationId),
    /// Effects of it are under way, or somebody else takes it over.
    #[error("operation {0} is locked: effects of it are under way, or somebody else takes it over")]
    Busy(OperationId),
    /// It was to be taken back, and was opened without anything to be taken back to.
    #[error(
        "operation {0} repairs what was declared before it; there is nothing to take it back to"
    )]
    NoWayBack(OperationId),
    /// It is not what was named, or its lease is not over.
    #[error("operation {operation} stays where it is: {refusal}")]
    Refused {
        /// The operation.
        operation: OperationId,
        /// Why.
        refusal: HandoffRefusal,
    },
}

/// What is to be handed over, and to whom.
#[derive(Clone, Debug)]
pub struct Handoff<'a> {
    /// The state directory.
    pub dir: &'a Path,
    /// The operation, exactly as it stands.
    pub asked: Claimed,
    /// Who gets it.
    pub to: ControllerId,
    /// How long the new lease is.
    pub length: LeaseLength,
    /// What for.
    pub target: HandoffTarget,
    /// The time.
    pub now: Timestamp,
}

/// What was handed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HandedOff {
    /// The lease now.
    pub lease: OperationLease,
    /// What it was handed over for.
    pub target: HandoffTarget,
    /// How many attempts' property went with it.
    pub attached: usize,
}

impl Handoff<'_> {
    /// Hands it over.
    ///
    /// # Errors
    /// Refuses a run that is driven, an operation that is not exactly the one that was named, and a lease that is not
    /// over. Nothing is changed then.
    pub fn perform(&self) -> Result<HandedOff, HandoffError> {
        let paths = StatePaths::new(self.dir);
        if !paths.lock().exists() {
            return Err(OpenError::Missing { dir: self.dir.to_owned() }.into());
        }
        let _run = lock(&paths)?;
        succeed::finish(&paths)?;
        let id = self.asked.operation;
        let locked = OperationLock::take(&paths, id, PATIENCE);
        let locked = locked.map_err(|error| OpenError::io(&paths.operation_locks(), error))?;
        let Some(_operation) = locked else { return Err(HandoffError::Busy(id)) };
        let path = paths.journal();
        let mut conn = open_writing(&paths, true)?;
        schema::check(&conn).map_err(|error| OpenError::schema(&path, error))?;
        self.transact(&mut conn).map_err(|error| OpenError::sql(&path, error))?
    }

    fn transact(&self, conn: &mut Connection) -> rusqlite::Result<Result<HandedOff, HandoffError>> {
        let id = self.asked.operation;
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let stands = lease::open(&tx)?.into_iter().find(|row| row.operation == id);
        let (Some(stands), Some(owner)) = (stands, OwnerRecord::find(&tx)?) else {
            return Ok(Err(HandoffError::NotOpen(id)));
        };
        let fence = owner.fence.next();
        let to = (self.to.clone(), fence, self.length);
        let claimed = stands.claimed();
        let lease = match hand_off((&claimed, &stands.lease), &self.asked, to, self.now) {
            Ok(lease) => lease,
            Err(refusal) => return Ok(Err(HandoffError::Refused { operation: id, refusal })),
        };
        if self.target == HandoffTarget::Rollback && !stands.way_back {
            return Ok(Err(HandoffError::NoWayBack(id)));
        }
        OwnerRecord { fence, ..owner }.write(&tx)?;
        // It was handed over here: who takes the run here next goes on with it at once.
        lease::put(&tx, id, &lease, &this_machine(), Some(self.target))?;
        let attached = self.rebind(&tx, fence)?;
        self.tell(&tx, &lease)?;
        tx.commit()?;
        Ok(Ok(HandedOff { lease, target: self.target, attached }))
    }

    /// Gives everything that is attached to the operation to its new controller; says how much that was.
    fn rebind(&self, conn: &Connection, fence: Fence) -> rusqlite::Result<usize> {
        // What cannot be read is made anew by the driver that takes the run, under its own fence.
        let mut rows = ownership::all(conn)?.rows;
        rows.retain(|row| row.tenure.operation == self.asked.operation);
        let attached = rows.len();
        for row in rows {
            ownership::put(conn, &row.handed_to(&self.to, fence))?;
        }
        Ok(attached)
    }

    fn tell(&self, conn: &Connection, lease: &OperationLease) -> rusqlite::Result<()> {
        let text = format!(
            "operation {} went from {} to {} under fence {}, to {}",
            self.asked.operation, self.asked.owner, lease.owner, lease.fence, self.target
        );
        let subject = Subject::Group(self.asked.group.clone()).to_string();
        conn.execute(
            "INSERT INTO event (first_at, at, pass, subject, kind, text, count) \
             VALUES (?1, ?1, (SELECT coalesce(max(number), 0) FROM pass), ?2, 'handed-off', ?3, 1)",
            params![time(self.now), subject, Redacted::new(&text).as_str()],
        )
        .map(drop)
    }
}
