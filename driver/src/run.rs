//! The loop: the only place that waits.
//!
//! ```text
//! inbox ─▶ drain ─▶ pass (synchronous) ─▶ submit ─┬─ no intents: go on
//!   ▲                                             └─ intents: barrier until the journal has synced
//!   └── reports ◀── dispatcher ◀── durable intents ◀──────────┘
//! ```
//!
//! While a barrier is open, facts queue and no pass runs. Triggers coalesce: whatever came in since the last pass
//! is one pass (R63). Dropping the future stops the loop between two steps; the journal makes that safe.

use std::{sync::Arc, time::Duration};

use checkpoint::{paths::StatePaths, store::StoreError};
use reconciler_core::{
    fold::Fact, hold::HoldCode, id::GroupId, reconcile::RolloutChange, redact::Redacted,
};
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};

use crate::{
    api,
    handle::Handle,
    inbox::{StopReason, Wake},
    looping::Loop,
    pass::PassInput,
    publish::Published,
    state::Mode,
    watch_file::watch_file,
};

/// Every slot is decided anew this long after the last change, as an audit of the worklist.
const AUDIT_AFTER_CHANGE: Duration = Duration::from_mins(1);
/// Every slot is decided anew at least this often.
const AUDIT_IDLE: Duration = Duration::from_hours(1);
/// How long a driver that stops waits for effects under way; what is left is looked for by the next one.
const STOP_BOUND: Duration = Duration::from_secs(3);

/// How long who was answered last may take to read it before the socket is closed.
const CLOSE_BOUND: Duration = Duration::from_secs(1);

/// How a driver ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Why it stopped.
    pub reason: StopReason,
    /// Effects whose outcome the next driver has to look for.
    pub unfinished: usize,
}

/// Why a driver could not go on; nothing was dispatched that the journal does not know.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The journal failed.
    #[error("the journal failed; no effect was sent without it")]
    Journal(#[source] StoreError),
}

impl Loop {
    /// Drives with the control socket served and the followed file watched beside it.
    ///
    /// # Errors
    /// Fails when the journal does. A socket or a watch that fails is logged: the run matters more.
    pub(crate) async fn run_served(
        mut self,
        paths: StatePaths,
        listen: Option<api::Listen>,
        handle: Handle,
        inbox: mpsc::UnboundedSender<Wake>,
    ) -> Result<Ended, DriveError> {
        let mut beside = tokio::task::JoinSet::new();
        let mut serving = tokio::task::JoinSet::new();
        let (closing, closed) = oneshot::channel::<()>();
        let path = paths.socket();
        let clock = Arc::clone(&self.clock);
        let (doors, opened) = mpsc::unbounded_channel();
        self.agents.doors = Some(doors);
        let heard = inbox.clone();
        serving.spawn(async move {
            let socket = paths.socket();
            let serving = api::Serving { handle, paths, clock, listen, doors: opened, inbox: heard };
            if let Err(error) = api::serve(serving, closed).await {
                tracing::error!(%error, socket = %socket.display(), "the control socket is not served");
            }
        });
        if let Some(file) = self.follow.as_ref().map(|follow| follow.path.clone()) {
            drop(inbox.send(Wake::FileChanged));
            beside.spawn(async move {
                let changed = || inbox.send(Wake::FileChanged).is_ok();
                if let Err(error) = watch_file(&file, changed).await {
                    tracing::error!(%error, file = %file.display(), "the file is not watched");
                }
            });
        }
        let ended = self.run().await;
        beside.shutdown().await;
        self.refuse_all(ended.as_ref().err());
        let Self { inbox, publisher, store, .. } = self;
        // Nobody is waiting for news any more, and nothing more is asked.
        drop((inbox, publisher, closing));
        // What was answered last is still on its way to who asked.
        if tokio::time::timeout(CLOSE_BOUND, serving.join_next()).await.is_err() {
            tracing::debug!("somebody did not read the last answer");
        }
        serving.shutdown().await;
        // A driver whose run was taken leaves the socket to its successor.
        if ended.is_ok()
            && let Err(error) = std::fs::remove_file(&path)
        {
            tracing::debug!(%error, "the control socket was not there to be removed");
        }
        // The lock goes last: until then nobody else makes a socket there.
        drop(store);
        ended
    }

    /// Drives until it is told to stop or the journal fails.
    ///
    /// # Errors
    /// Fails when the journal does.
    async fn run(&mut self) -> Result<Ended, DriveError> {
        self.begin();
        loop {
            if let Some(reason) = self.stop {
                return self.finish(reason).await;
            }
            let wake = self.woken().await;
            self.step(wake)?;
            if self.untold.is_due() {
                // What was sent off begins before it is written down for people, which may take as long.
                tokio::task::yield_now().await;
                self.untold.log();
            }
        }
    }

    /// Looks at the world for the first time, and shows what is known.
    pub(crate) fn begin(&mut self) {
        self.list_all();
        self.publish();
    }

    /// Waits until there may be something to do; an event, or nothing if a time came.
    ///
    /// # Cancel safety
    /// Dropping the future loses no event.
    pub(crate) async fn woken(&mut self) -> Option<Wake> {
        let until = self.wake_at();
        tokio::select! {
            biased;
            wake = self.inbox.recv() => Some(wake.unwrap_or(Wake::Stop(StopReason::Done))),
            () = tokio::time::sleep_until(until) => None,
        }
    }

    /// Does all that can be done at this moment, without waiting.
    ///
    /// # Errors
    /// Fails when the journal does.
    pub(crate) fn step(&mut self, wake: Option<Wake>) -> Result<(), DriveError> {
        if let Some(wake) = wake {
            self.take(wake);
        }
        while let Ok(wake) = self.inbox.try_recv() {
            self.take(wake);
        }
        self.poll_store()?;
        self.turn();
        // One sync for all that the passes of this turn have to write; it begins before anybody is told or shown.
        self.store.flush();
        // Who waits for the end of what was under way is told when that is over.
        let shown = self.publisher.borrow().clone();
        let over = shown.under_way && !self.is_under_way();
        let looked = !shown.has_looked() && self.listings.first_round_over();
        if std::mem::take(&mut self.unpublished) || over || looked {
            self.publish();
        }
        Ok(())
    }

    fn take(&mut self, wake: Wake) {
        match wake {
            Wake::Report(report) => self.take_report(report),
            Wake::Agent(heard) => self.hear(heard),
            Wake::Committed => {}
            Wake::FileChanged => self.news.file = true,
            Wake::Ask(ask) if self.listings.first_round_over() => self.answer(ask),
            Wake::Ask(ask) => self.early.push(ask),
            Wake::Checked(checked) => self.take_checked(*checked),
            Wake::Stop(reason) => self.stop = Some(reason),
        }
    }

    /// Everything that can be done without waiting.
    fn turn(&mut self) {
        self.list_due();
        if !self.listings.first_round_over() {
            return;
        }
        if std::mem::take(&mut self.news.file) {
            self.read_file();
        }
        for ask in std::mem::take(&mut self.early) {
            self.answer(ask);
        }
        if self.state.mode == Mode::Driving && !std::mem::replace(&mut self.watches, true) {
            self.watch_all();
            self.look_for_missing();
        }
        self.attend_agents();
        self.audit();
        if self.state.mode == Mode::Driving {
            self.probe_due();
            self.ask_last_lines();
        }
        while self.may_pass() && self.has_work() {
            self.one_pass();
            // Who asks meanwhile does not wait for the rest of a burst.
            if !self.inbox.is_empty() {
                break;
            }
        }
        self.finish_releases();
        self.finish_recoveries();
    }

    pub(crate) fn one_pass(&mut self) {
        let now = (self.clock)();
        let input = PassInput {
            facts: self.facts.take(),
            trigger: std::mem::replace(&mut self.trigger, "due"),
            room: self.dispatcher.room(),
            now,
        };
        let output = self.state.pass(input);
        let ticket = output.commit.map(|commit| {
            let effects = !commit.intents.is_empty();
            let ticket = self.submit(commit);
            self.barrier = effects.then_some(ticket);
            self.release_agents(ticket);
            self.audit_at = self.audit_at.min(Instant::now() + AUDIT_AFTER_CHANGE);
            self.next_pass = Instant::now() + self.pace;
            ticket
        });
        self.note_entering(ticket);
        self.take_back(output.reverts);
        for (slot, attempt) in &output.looks {
            self.look(slot, *attempt);
        }
        for slot in &output.changed {
            if self.state.cluster.record(slot).is_none() {
                self.dispatcher.forget(slot, self.state.fence);
            }
            self.watch(slot);
            self.judge_waiting(slot);
        }
        self.news.next_step = output.again && self.state.mode == Mode::Driving;
        if self.news.next_step {
            self.trigger = "next step";
        }
        if std::mem::take(&mut self.news.listed) {
            self.look_for_missing();
            self.look_for_health();
        }
        // What a group that was being taken back refused may be taken up now.
        self.news.file |= std::mem::take(&mut self.state.taken_back) && self.follow.is_some();
        self.finish_releases();
        self.unpublished = true;
    }

    /// Takes back updates that failed; one that cannot be taken back is held as it stands.
    fn take_back(&mut self, groups: Vec<GroupId>) {
        if groups.is_empty() {
            return;
        }
        let now = self.now();
        match self.state.revert(groups.clone(), now) {
            Ok(commit) => drop(self.submit(commit)),
            Err(refusal) => {
                let text =
                    format!("the update failed, and cannot be taken back: {}", refusal.message);
                let text = Redacted::new(&text);
                for group in groups {
                    let change =
                        RolloutChange::Fail { code: HoldCode::UpdateStalled, text: text.clone() };
                    self.facts.push(Fact::Rollout { group, change });
                }
            }
        }
    }

    /// Decides every slot anew now and then: the worklist is an optimisation, and this is its check.
    fn audit(&mut self) {
        if Instant::now() < self.audit_at || self.state.mode == Mode::Waiting {
            return;
        }
        self.audit_at = Instant::now() + AUDIT_IDLE;
        self.trigger = "audit";
        self.state.mark_all();
    }

    fn poll_store(&mut self) -> Result<(), DriveError> {
        while let Some(committed) = self.store.poll() {
            self.open_commits = self.open_commits.saturating_sub(1);
            self.answers.settle(committed.ticket, committed.result.as_ref().err());
            self.untold.settle(committed.ticket, committed.result.is_ok());
            self.settle_entering(committed.ticket, committed.result.is_ok());
            match committed.result {
                Ok(intents) => intents.into_iter().for_each(|i| self.dispatcher.dispatch(i)),
                Err(error) if error.is_refusal() && self.barrier != Some(committed.ticket) => {
                    tracing::error!(%error, "the journal refused a commit");
                }
                Err(error) => return Err(DriveError::Journal(error)),
            }
            if self.barrier == Some(committed.ticket) {
                self.barrier = None;
            }
        }
        Ok(())
    }

    /// Stops at a safe point: what is under way gets a moment, and everything known is journaled.
    pub(crate) async fn finish(&mut self, reason: StopReason) -> Result<Ended, DriveError> {
        let unfinished = self.dispatcher.shutdown(STOP_BOUND).await;
        self.state.mode = Mode::Waiting;
        let patience = Instant::now() + STOP_BOUND;
        loop {
            // What became durable only now is handed over, and comes back as not begun.
            self.poll_store()?;
            let reported = self.dispatcher.in_flight() <= unfinished;
            while let Ok(wake) = self.inbox.try_recv() {
                self.take_last(wake);
            }
            let unwritten = !self.facts.is_empty() || self.state.cluster.has_dirty();
            if self.barrier.is_none() && unwritten {
                self.pass_all();
                self.publish();
            }
            let written = self.open_commits == 0 && self.facts.is_empty();
            if (reported && written) || Instant::now() >= patience {
                self.untold.log();
                return Ok(Ended { reason, unfinished });
            }
            self.store.flush();
            self.untold.log();
            let waited = tokio::time::timeout_at(patience, self.inbox.recv()).await;
            if let Ok(Some(wake)) = waited {
                self.take_last(wake);
            }
        }
    }

    /// Shows what is known now.
    pub(crate) fn publish(&mut self) {
        let applied = self.state.file_digest.as_deref();
        let file = self.follow.as_ref().map(|f| Arc::new(f.view(&self.state.shape, applied)));
        let now = self.now();
        self.state.totals.store = self.store.stats();
        let published = Published {
            under_way: self.is_under_way(),
            observed: self.listings.first_round_over(),
            ..self.state.published(&self.driver, file.as_ref(), now)
        };
        self.publisher.send_replace(Arc::new(published));
    }
}
