//! The writer thread: applies commits as they come, keeps them in one transaction with one sync, then answers.
//!
//! Upholds: the fence is compared in the same transaction as every write (C16); nothing is answered as kept
//! before its sync (P2); after a failure nothing more is written (C15).

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU32, AtomicU64, Ordering},
    mpsc::{Receiver, RecvTimeoutError, Sender},
};
use std::{collections::BTreeSet, io, time::Duration};

use reconciler_core::{
    id::{OperationId, PlanHash},
    time::Timestamp,
};
use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use super::{
    apply::{Apply, Fault},
    current::Current,
    prune,
    seal::seal,
    seam::{Commit, Committed, StoreError, Ticket},
};
use crate::{
    lease::{self, Holder},
    operation::OperationWrite,
    oplock::OperationLocks,
    owner,
    retention::History,
};

/// From so many commits on a transaction takes no more, so that the first of them does not wait for ever.
const BATCH_MAX: usize = 256;
/// Pages in the write-ahead log that are worth moving when nothing else is to be done.
const IDLE_PAGES: u32 = 256;
/// Pages in the write-ahead log at which they are moved at once: 2 MiB, which bounds the log, a restart, and how long a
/// commit waits for the move. A log that goes back to its start is written faster than one that grows.
const BUSY_PAGES: u32 = 512;
/// How long the queue must be empty to count as idle.
const IDLE_AFTER: Duration = Duration::from_millis(250);
/// How long to wait for the lock of an operation: who takes one over holds it for one transaction.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// A commit on its way to the writer.
pub(super) type Job = (Ticket, Commit);

/// What the writer is told.
pub(super) enum Order {
    /// Write the rows of a commit, so that little is left to do when it is to be kept.
    Apply(Box<Job>),
    /// Keep what came before, and answer it.
    Sync,
}

/// Commits of one transaction.
struct Batch {
    done: Vec<(Job, Result<(), StoreError>)>,
    /// The one to be applied; nothing once the transaction is to be synced.
    next: Option<Job>,
    is_due: bool,
}

impl Batch {
    fn new(first: Job) -> Self {
        Self { done: Vec::new(), next: Some(first), is_due: false }
    }

    /// Notes what came of the present commit and takes the next one: all up to the next sync, and behind that what is
    /// waiting already.
    fn step(&mut self, result: Result<(), StoreError>, orders: &Receiver<Order>) {
        self.done.extend(self.next.take().map(|job| (job, result)));
        while self.next.is_none() && self.done.len() < BATCH_MAX {
            let order = if self.is_due { orders.try_recv().ok() } else { orders.recv().ok() };
            match order {
                Some(Order::Apply(job)) => self.next = Some(*job),
                Some(Order::Sync) => self.is_due = true,
                None => return,
            }
        }
    }
}

/// What the writer and its handle both see.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// The fence that the journal was last seen to have.
    pub(super) fence: AtomicU64,
    /// Syncs of the log and of the file.
    pub(super) syncs: AtomicU64,
    /// Commits that were kept.
    pub(super) commits: AtomicU64,
    /// Rows that they touched.
    pub(super) rows: AtomicU64,
    /// Pages in the write-ahead log.
    pub(super) log_pages: AtomicU32,
    used: Mutex<BTreeSet<PlanHash>>,
}

impl Shared {
    /// Notes that a plan was confirmed.
    pub(super) fn use_plan(&self, hash: PlanHash) {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(hash);
    }

    /// True if the plan was confirmed.
    pub(super) fn is_used(&self, hash: &PlanHash) -> bool {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).contains(hash)
    }
}

/// Calls the wake function once more when the thread ends, so that nobody waits for a writer that is gone.
pub(super) struct Wake(pub(super) Box<dyn Fn() + Send>);

impl Drop for Wake {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// The state of the writer thread. The answers stand before `wake`, so that they are closed when it is called.
pub(super) struct Writer {
    pub(super) conn: Connection,
    pub(super) holder: Holder,
    pub(super) locks: OperationLocks,
    pub(super) current: Current,
    /// The time of the newest commit.
    pub(super) at: Timestamp,
    pub(super) jobs: Receiver<Order>,
    pub(super) answers: Sender<Committed>,
    pub(super) shared: Arc<Shared>,
    pub(super) failed: Option<StoreError>,
    /// Rows that may still be written before the history is bounded.
    pub(super) until_prune: u64,
    pub(super) wake: Wake,
}

impl Writer {
    /// Runs until the handle is dropped and the queue is empty.
    pub(super) fn run(mut self) {
        while let Some(first) = self.next_job() {
            let batch = self.gather(first);
            for (job, result) in batch {
                let result = result.map(|()| seal(job.1.intents));
                if self.answers.send(Committed { ticket: job.0, result }).is_err() {
                    return;
                }
            }
            (self.wake.0)();
            self.move_log(BUSY_PAGES);
        }
        self.leave();
    }

    /// Gives the leases back, so that nobody has to wait for their end.
    fn leave(&mut self) {
        if self.failed.is_some() {
            return;
        }
        let mut leave = || {
            let tx = self.conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            if owner::fence(&tx)? == self.holder.fence {
                lease::give_back(&tx, self.holder.fence, self.at)?;
            }
            tx.commit()
        };
        // Leases that are not given back run out.
        if let Err(error) = leave() {
            self.failed = Some(failure(error));
        }
    }

    /// Waits for a commit; moves the log while none comes.
    fn next_job(&mut self) -> Option<Job> {
        loop {
            let order = if self.shared.log_pages.load(Ordering::Relaxed) < IDLE_PAGES {
                self.jobs.recv().ok()?
            } else {
                match self.jobs.recv_timeout(IDLE_AFTER) {
                    Ok(order) => order,
                    Err(RecvTimeoutError::Timeout) => {
                        self.move_log(IDLE_PAGES);
                        self.jobs.recv().ok()?
                    }
                    Err(RecvTimeoutError::Disconnected) => return None,
                }
            };
            // What was to be synced may have been, together with what came before.
            if let Order::Apply(job) = order {
                return Some(*job);
            }
        }
    }

    /// Writes `first` and what follows it up to the next sync; on a failure all of it fails, and so does everything
    /// after it.
    fn gather(&mut self, first: Job) -> Vec<(Job, Result<(), StoreError>)> {
        let mut batch = Batch::new(first);
        let written = match self.failed.clone() {
            Some(error) => Err(error),
            None => self.write(&mut batch),
        };
        match written {
            Ok(()) => {
                for ((_, commit), result) in &batch.done {
                    if result.is_ok() {
                        self.shared.commits.fetch_add(1, Ordering::Relaxed);
                        commit.used_plan.iter().for_each(|plan| self.shared.use_plan(plan.hash));
                    }
                }
                batch.done
            }
            Err(error) => {
                self.failed = Some(error.clone());
                let begun = batch.done.into_iter().map(|(job, _)| job).chain(batch.next);
                begun.map(|job| (job, Err(error.clone()))).collect()
            }
        }
    }

    fn write(&mut self, batch: &mut Batch) -> Result<(), StoreError> {
        let broken = self.transact(batch)?;
        let newest = batch.done.iter().map(|((_, commit), _)| commit.at).max();
        self.at = newest.unwrap_or(self.at).max(self.at);
        // What is on disk is answered as kept, whatever becomes of the locks; with those in doubt nothing follows it.
        if let Err(error) = self.unlock(&batch.done, &broken) {
            self.failed = Some(error);
        }
        Ok(())
    }

    /// Lets go what is on disk now, what was refused and so never goes out, and what was `broken` off.
    fn unlock(
        &mut self,
        done: &[(Job, Result<(), StoreError>)],
        broken: &[OperationId],
    ) -> Result<(), StoreError> {
        for ((_, commit), result) in done {
            if result.is_err() {
                for intent in &commit.intents {
                    self.locks.let_go(intent.step).map_err(lock_failure)?;
                }
                continue;
            }
            self.locks.evident(&commit.steps).map_err(lock_failure)?;
            closed(commit).try_for_each(|id| self.locks.close(id).map_err(lock_failure))?;
        }
        broken.iter().try_for_each(|id| self.locks.close(*id).map_err(lock_failure))
    }

    /// One transaction: rows are applied as they come, while whoever submits them still decides, and synced once; gives
    /// back the operations that were broken off.
    fn transact(&mut self, batch: &mut Batch) -> Result<Vec<OperationId>, StoreError> {
        let mut tx =
            self.conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failure)?;
        let present = owner::fence(&tx).map_err(failure)?;
        if present != self.holder.fence {
            self.shared.fence.store(present.get(), Ordering::SeqCst);
            return Err(StoreError::Fenced { mine: self.holder.fence, present });
        }
        let (mut rows, mut broken) = (0_u64, Vec::new());
        while let Some((_, commit)) = &batch.next {
            lock(&mut self.locks, commit)?;
            let mut part = tx.savepoint().map_err(failure)?;
            let mut apply = Apply::new(&part, &self.holder, &mut self.current);
            let applied = apply.commit(commit);
            let Apply { rows: touched, broken: mut ended, .. } = apply;
            let result = match applied {
                Ok(()) => {
                    part.commit().map_err(failure)?;
                    rows = rows.saturating_add(touched);
                    for id in closed(commit).chain(ended.iter().copied()) {
                        self.current.forget(id);
                    }
                    broken.append(&mut ended);
                    Ok(())
                }
                Err(Fault::Refused(error)) => {
                    part.rollback().map_err(failure)?;
                    for intent in &commit.intents {
                        self.current.forget(intent.operation);
                    }
                    Err(error)
                }
                Err(Fault::Sql(error)) => return Err(failure(error)),
            };
            batch.step(result, &self.jobs);
        }
        let mut until_prune = self.until_prune.saturating_sub(rows);
        if until_prune == 0 {
            let now = batch.done.iter().map(|((_, commit), _)| commit.at).max().unwrap_or_default();
            prune::prune(&tx, now, History::bound).map_err(failure)?;
            until_prune = prune::due(prune::nodes(&tx).map_err(failure)?);
        }
        tx.commit().map_err(failure)?;
        self.until_prune = until_prune;
        if rows > 0 {
            self.shared.syncs.fetch_add(1, Ordering::Relaxed);
            self.shared.rows.fetch_add(rows, Ordering::Relaxed);
        }
        Ok(broken)
    }

    /// Moves the write-ahead log into the file if it has at least `pages`.
    fn move_log(&mut self, pages: u32) {
        if self.failed.is_some() || self.shared.log_pages.load(Ordering::Relaxed) < pages {
            return;
        }
        let moved = self.conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
            row.get::<_, i64>(1).and_then(|log| Ok((log, row.get::<_, i64>(2)?)))
        });
        match moved {
            Ok((log, moved)) => {
                self.shared.syncs.fetch_add(2, Ordering::Relaxed);
                let left = log.saturating_sub(moved).max(0);
                let left = u32::try_from(left).unwrap_or(u32::MAX);
                self.shared.log_pages.store(left, Ordering::Relaxed);
            }
            Err(error) => self.failed = Some(failure(error)),
        }
    }
}

/// The operations that a commit closes.
fn closed(commit: &Commit) -> impl Iterator<Item = OperationId> + '_ {
    commit.operations.iter().filter_map(|write| match write {
        OperationWrite::Close { id, .. } => Some(*id),
        OperationWrite::Open { .. }
        | OperationWrite::TurnBack { .. }
        | OperationWrite::Restored { .. }
        | OperationWrite::GoOn { .. }
        | OperationWrite::Abandon { .. }
        | OperationWrite::Break { .. } => None,
    })
}

fn lock_failure(error: io::Error) -> StoreError {
    StoreError::Lock(Arc::new(error))
}

/// Locks the operations of all effects in `commit` before any of it is written.
fn lock(locks: &mut OperationLocks, commit: &Commit) -> Result<(), StoreError> {
    for intent in &commit.intents {
        let held = locks.hold(intent.operation, intent.step, LOCK_PATIENCE);
        if !held.map_err(lock_failure)? {
            return Err(StoreError::OperationLocked(intent.operation));
        }
    }
    Ok(())
}

/// Names a failure of the database.
fn failure(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full(Arc::new(error)),
        Some(_) | None => StoreError::Database(Arc::new(error)),
    }
}
