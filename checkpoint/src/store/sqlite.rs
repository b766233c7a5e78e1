//! The journal proper: takes a run, recovers what it knows, and hands commits to the writer thread.
//!
//! Expected flow: [`Journal::open`] → submit, poll, … → drop, which drains the queue and then lets the run go.

use std::{
    collections::VecDeque,
    path::Path,
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{Receiver, RecvError, SyncSender, TryRecvError, channel, sync_channel},
    },
    thread::{self, JoinHandle},
};

use reconciler_core::id::{Fence, PlanHash};
use rusqlite::{Connection, TransactionBehavior, config::DbConfig};

use super::{
    current::Current,
    error::OpenError,
    open::{self, Beside},
    prune, rights,
    seam::{Commit, Committed, Store, StoreError, StoreStats, Ticket},
    writer::{Order, Shared, Wake, Writer},
};
use crate::{
    care::succeed,
    lease::{self, Holder},
    oplock::OperationLocks,
    owner::{self, OwnerClaim, OwnerRecord, RunLock},
    ownership,
    paths::StatePaths,
    scan::{self, Recovered},
    schema::{self, SchemaError},
};

/// Orders that may wait: more than a driver ever has on its way; beyond it submitting waits.
const QUEUE_MAX: usize = 1_024;

/// Bounds of a journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JournalLimits {
    /// Most pages of 4 KiB that the file may have; beyond it writing fails as on a full disk.
    pub pages_max: Option<u32>,
}

/// The journal of a run, owned: one writer thread behind a bounded queue.
#[derive(Debug)]
pub struct Journal {
    /// Nothing once the journal is being dropped.
    jobs: Option<SyncSender<Order>>,
    /// True if something was submitted since the last flush.
    unflushed: bool,
    answers: Receiver<Committed>,
    outstanding: VecDeque<Ticket>,
    last: Ticket,
    fence: Fence,
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
    /// Let go last, when the writer has ended.
    _lock: RunLock,
}

impl Journal {
    /// Takes the run in `dir` for `claim` and reads what is known of it. `wake` is called from the writer thread
    /// whenever answers are there to be polled, and once when the thread ends.
    ///
    /// # Errors
    /// Refuses a run that is driven by somebody else, another run, a newer schema, a damaged file, links and
    /// other people's files; fails if the directory cannot be written. Nothing is changed then.
    pub fn open(
        dir: &Path,
        claim: &OwnerClaim,
        wake: Box<dyn Fn() + Send>,
    ) -> Result<(Self, Recovered), OpenError> {
        Self::open_with(dir, claim, JournalLimits::default(), wake)
    }

    /// As [`open`](Self::open), with bounds.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(
        dir: &Path,
        claim: &OwnerClaim,
        limits: JournalLimits,
        wake: Box<dyn Fn() + Send>,
    ) -> Result<(Self, Recovered), OpenError> {
        let paths = StatePaths::new(dir);
        rights::make_dir(dir)?;
        rights::narrow_files(&paths)?;
        let lock = lock(&paths)?;
        succeed::finish(&paths)?;
        let was_used = lock.was_used().map_err(|error| OpenError::io(&paths.lock(), error))?;
        let shared = Arc::new(Shared::default());
        let beside = Beside::note(&paths.journal());
        let opened = open::open_writing(&paths, was_used).and_then(|mut conn| {
            let taken = take(&mut conn, &paths, claim, was_used)?;
            serve(&mut conn, limits, &shared).map_err(|e| OpenError::sql(&paths.journal(), e))?;
            Ok((conn, taken))
        });
        let (conn, taken) = opened.map_err(|error| beside.after(error))?;
        if !was_used {
            let marked = lock.mark_used(claim.run);
            marked.map_err(|error| OpenError::io(&paths.lock(), error))?;
        }
        taken.used.into_iter().for_each(|hash| shared.use_plan(hash));
        let recovered = taken.recovered;
        shared.fence.store(recovered.fence.get(), Ordering::SeqCst);
        let (jobs, queue) = sync_channel(QUEUE_MAX);
        let (answer, answers) = channel();
        let locks = OperationLocks::new(paths.clone());
        let writer = Writer {
            conn,
            holder: Holder {
                controller: claim.controller(),
                machine: claim.machine.clone(),
                fence: recovered.fence,
            },
            locks: locks.map_err(|error| OpenError::io(&paths.operation_locks(), error))?,
            current: Current::default(),
            at: claim.started,
            jobs: queue,
            answers: answer,
            shared: Arc::clone(&shared),
            failed: None,
            until_prune: prune::due(0),
            wake: Wake(wake),
        };
        let thread = thread::Builder::new().name("journal".to_owned());
        let writer = thread.spawn(|| writer.run()).map_err(|error| OpenError::io(dir, error))?;
        let journal = Self {
            jobs: Some(jobs),
            unflushed: false,
            answers,
            outstanding: VecDeque::new(),
            last: Ticket(0),
            fence: recovered.fence,
            shared,
            writer: Some(writer),
            _lock: lock,
        };
        Ok((journal, recovered))
    }

    /// The fence under which this journal writes.
    pub const fn fence(&self) -> Fence {
        self.fence
    }

    /// Reads the fence that the journal was last seen to have: another one than [`fence`](Self::fence) once a newer
    /// driver took the run, so that effects whose intents are durable already are not sent any more (D11).
    pub fn fence_reader(&self) -> Arc<dyn Fn() -> Fence + Send + Sync> {
        let shared = Arc::clone(&self.shared);
        Arc::new(move || Fence::new(shared.fence.load(Ordering::SeqCst)))
    }

    fn order(&self, order: Order) {
        // A writer that is gone answers through `poll`, which sees its closed channel.
        self.jobs.as_ref().map(|jobs| jobs.send(order)).and_then(Result::ok).unwrap_or_default();
    }

    /// Waits for the next answer; nothing if none is outstanding.
    pub fn wait(&mut self) -> Option<Committed> {
        self.flush();
        let ticket = self.outstanding.pop_front()?;
        match self.answers.recv() {
            Ok(answer) => Some(answer),
            Err(RecvError) => Some(Committed { ticket, result: Err(StoreError::WriterGone) }),
        }
    }
}

impl Store for Journal {
    fn submit(&mut self, commit: Commit) -> Ticket {
        self.last = Ticket(self.last.0.saturating_add(1));
        self.outstanding.push_back(self.last);
        self.order(Order::Apply(Box::new((self.last, commit))));
        self.unflushed = true;
        self.last
    }

    fn flush(&mut self) {
        if std::mem::take(&mut self.unflushed) {
            self.order(Order::Sync);
        }
    }

    fn is_used(&self, hash: &PlanHash) -> bool {
        self.shared.is_used(hash)
    }

    fn stats(&self) -> StoreStats {
        StoreStats {
            syncs: self.shared.syncs.load(Ordering::Relaxed),
            commits: self.shared.commits.load(Ordering::Relaxed),
            rows: self.shared.rows.load(Ordering::Relaxed),
        }
    }

    fn poll(&mut self) -> Option<Committed> {
        self.flush();
        let ticket = *self.outstanding.front()?;
        let answer = match self.answers.try_recv() {
            Ok(answer) => answer,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => {
                Committed { ticket, result: Err(StoreError::WriterGone) }
            }
        };
        self.outstanding.pop_front();
        Some(answer)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.flush();
        // Closing the queue ends the writer after what it holds; only then may the lock go.
        drop(self.jobs.take());
        if let Some(writer) = self.writer.take() {
            // A writer that panicked wrote nothing after that, and its open transaction is void.
            writer.join().unwrap_or_default();
        }
    }
}

/// Takes the lock, or says who has it.
pub(crate) fn lock(paths: &StatePaths) -> Result<RunLock, OpenError> {
    let path = paths.lock();
    rights::check_own(&path, false)?;
    let taken = RunLock::take(&path).map_err(|error| OpenError::io(&path, error))?;
    taken.ok_or_else(|| {
        // Who holds it is told as far as it can be read; that it is held is certain. Whoever took it a moment ago has
        // not written yet that it is the owner, and the one before it must not be named in its place.
        let owner = open::open_reading(paths).ok().and_then(|conn| OwnerRecord::find(&conn).ok());
        let owner = owner.flatten().filter(|owner| RunLock::is_of(&path, owner.pid));
        OpenError::Held { dir: paths.dir().to_owned(), owner: owner.map(Box::new) }
    })
}

struct Taken {
    /// What the journal held, with the fence of the new owner.
    recovered: Recovered,
    /// The plans that were confirmed.
    used: Vec<PlanHash>,
}

/// Reads everything, brings the schema up and writes the new owner, in one transaction: a file that is another run's,
/// or that cannot be read, keeps every byte.
fn take(
    conn: &mut Connection,
    paths: &StatePaths,
    claim: &OwnerClaim,
    was_used: bool,
) -> Result<Taken, OpenError> {
    let path = paths.journal();
    let sql = |error| OpenError::sql(&path, error);
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
    match schema::check(&tx) {
        Err(SchemaError::Empty) if was_used => {
            let what = "it is empty, although a journal was kept here".to_owned();
            return Err(OpenError::Damaged { path, what });
        }
        Err(SchemaError::Empty) => {}
        Ok(()) | Err(SchemaError::Older { .. }) => {
            let previous = OwnerRecord::find(&tx).map_err(sql)?;
            if let Some(owner) = previous.filter(|owner| owner.run != claim.run) {
                let dir = paths.dir().to_owned();
                return Err(OpenError::OtherRun { dir, expected: claim.run, found: owner.run });
            }
        }
        Err(error) => return Err(OpenError::schema(&path, error)),
    }
    schema::bring_up(&tx).map_err(|error| OpenError::schema(&path, error))?;
    let claim_it = || {
        let mut recovered = scan::scan(&tx)?;
        let used = scan::used_plans(&tx)?;
        recovered.fence = owner::take(&tx, claim, recovered.previous_owner.as_ref())?;
        let (controller, fence) = (claim.controller(), recovered.fence);
        let holder = Holder { controller, machine: claim.machine.clone(), fence };
        if let Some(held) = lease::take_all(&tx, &holder, claim.started)? {
            return Ok(Err(held));
        }
        recovered.unreadable.extend(ownership::clear(&tx, &recovered.records)?);
        ownership::fill(&tx, &recovered.records, &holder.controller, fence)?;
        tx.commit()?;
        Ok(Ok(Taken { recovered, used }))
    };
    claim_it().map_err(sql)?.map_err(|held| {
        let dir = paths.dir().to_owned();
        OpenError::Leased { dir, lease: Box::new(held) }
    })
}

/// Prepares the connection for its writer.
fn serve(
    conn: &mut Connection,
    limits: JournalLimits,
    shared: &Arc<Shared>,
) -> rusqlite::Result<()> {
    if let Some(pages) = limits.pages_max {
        conn.pragma_update(None, "max_page_count", pages)?;
    }
    // From here on the file is this driver's: the last one to close it may move its log.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    // The hook takes the place of the automatic checkpoint: the writer moves the log when it is idle.
    let pages = Arc::clone(shared);
    conn.wal_hook(Some(move |_log: &mut rusqlite::hooks::Wal, n: std::ffi::c_int| {
        pages.log_pages.store(u32::try_from(n).unwrap_or(0), Ordering::Relaxed);
        Ok(())
    }))
}
