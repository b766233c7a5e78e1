//! The dispatcher: admits durable intents, and starts each when its provider's turn, share and permit allow.
//!
//! It upholds: one effect per step (R66), at most `parallelism` effects at once (R98), exactly one report per
//! step and never silence (R65), a fence read anew before each effect (D11). What one effect does stands in
//! `perform`, what one look or listing does in `look`; how they and watches are asked for in `observe`. Nothing here decides what should happen.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use reconciler_core::{
    durable::Durable,
    effect::{EffectFailure, EffectReport, FailureClass, Intent},
    id::{ProviderName, Uuid},
    limits,
};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::{
    dedup::{Admission, Identity},
    ground::Ground,
    job::{Job, LaneKind},
    look,
    perform::{ambiguous, definite, perform},
    preflights::{Now, built_in},
    report::{Report, ReportSink},
    room::Room,
    shared::{FenceReader, Shared},
};
use crate::{seam::Provider, secret::Secrets};

/// How a dispatcher works.
#[derive(Clone)]
pub struct Settings {
    /// The run.
    pub run: Uuid,
    /// Effects under way at once, at most; held between 1 and the specification's upper bound.
    pub parallelism: usize,
    /// The secrets of nodes: there before an effect that needs them, and in no report.
    pub secrets: Secrets,
    /// The providers whose capacity is declared: they give no lease that was not admitted.
    pub metered: BTreeSet<ProviderName>,
    /// The time.
    pub now: Now,
}

/// Carries durable intents to providers; every method must be called from within the driver's runtime.
pub struct Dispatcher {
    pub(super) shared: Arc<Shared>,
}

/// A permit of the provider's own, and for an effect one of all.
type Permits = (OwnedSemaphorePermit, Option<OwnedSemaphorePermit>);

impl Dispatcher {
    /// A dispatcher at rest.
    pub fn new(
        settings: Settings,
        providers: BTreeMap<ProviderName, Arc<dyn Provider>>,
        fence: FenceReader,
        report: ReportSink,
    ) -> Self {
        let most = usize::try_from(limits::PARALLELISM_MAX).unwrap_or(usize::MAX);
        let parallelism = settings.parallelism.clamp(1, most);
        // One permit stays free for each other provider, so that one that hangs never delays them (P4).
        let share = parallelism.saturating_sub(providers.len().saturating_sub(1)).max(1);
        let grounds = providers
            .into_iter()
            .map(|(name, provider)| (name.clone(), Arc::new(Ground::new(name, provider, share))))
            .collect();
        let secrets = settings.secrets.clone();
        let shared = Shared {
            run: settings.run,
            fence,
            report: Arc::new(move |given| report(secrets.report(given))),
            preflights: built_in(settings.secrets, settings.metered, settings.now),
            grounds,
            watched: Mutex::default(),
            parallelism,
            permits: Arc::new(Semaphore::new(parallelism)),
            ledger: Mutex::default(),
            in_flight: AtomicUsize::new(0),
            settled: Notify::new(),
            closed: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Takes an intent whose record stands on disk; never blocks. What became of it is reported, once.
    pub fn dispatch(&self, intent: Durable<Intent>) {
        let proven = (intent.operation(), intent.step(), intent.fence());
        let intent = intent.redeem();
        let claimed = (intent.operation, intent.step, intent.fence);
        let identity = Identity::of(&intent);
        let shared = &self.shared;
        let admission = shared.ledger().admit(&identity);
        let refusal = match admission {
            Admission::UnderWay => return,
            Admission::Done(report) => {
                let shared = Arc::clone(shared);
                tokio::spawn(async move { (shared.report)(Report::Effect(*report)) });
                return;
            }
            Admission::Reused => definite(
                FailureClass::Invalid,
                &format!("step {} was dispatched for another request", identity.step),
            ),
            Admission::Forgotten => ambiguous(
                FailureClass::Unavailable,
                &format!("step {} is too old to tell whether it was performed", identity.step),
            ),
            Admission::Fresh if proven != claimed => {
                definite(FailureClass::Invalid, "the intent on disk is for another step")
            }
            Admission::Fresh => return shared.accept(intent),
        };
        shared.count_in(&identity.provider);
        shared.refuse(identity, refusal);
    }

    /// Effects that were dispatched and not yet reported.
    pub fn in_flight(&self) -> usize {
        self.shared.in_flight.load(Ordering::SeqCst)
    }

    /// How many more effects may go out now.
    pub fn room(&self) -> Room {
        let at = |(name, ground): (&ProviderName, &Arc<Ground>)| (name.clone(), ground.room());
        Room {
            free: self.shared.parallelism.saturating_sub(self.in_flight()),
            at: self.shared.grounds.iter().map(at).collect(),
        }
    }

    /// Stops accepting, reports everything that has not begun as not done, and waits up to `bound` for what has.
    ///
    /// Returns how many effects were still under way at the end; their steps stay pending in the journal.
    /// Workloads are left alone.
    pub async fn shutdown(&self, bound: Duration) -> usize {
        self.shared.closed.store(true, Ordering::SeqCst);
        self.shared.refuse_waiting();
        let idle = async {
            loop {
                let mut settled = std::pin::pin!(self.shared.settled.notified());
                settled.as_mut().enable();
                if self.in_flight() == 0 {
                    return;
                }
                settled.await;
            }
        };
        let closed = async {
            idle.await;
            for ground in self.shared.grounds.values() {
                ground.provider.close().await;
            }
        };
        match tokio::time::timeout(bound, closed).await {
            Ok(()) => 0,
            Err(_elapsed) => self.in_flight(),
        }
    }
}

impl Shared {
    /// Queues `job` in its lane at `ground`.
    pub(super) fn queue(self: &Arc<Self>, ground: &Arc<Ground>, job: Job) {
        let kind = job.lane();
        if ground.lane(kind).push(job) {
            let (shared, ground) = (Arc::clone(self), Arc::clone(ground));
            tokio::spawn(async move { shared.pump(&ground, kind).await });
        }
    }

    fn accept(self: &Arc<Self>, intent: Intent) {
        self.count_in(&intent.provider);
        let Some(ground) = self.grounds.get(&intent.provider) else {
            let message = format!("there is no provider `{}`", intent.provider);
            let refusal = definite(FailureClass::Invalid, &message);
            return self.refuse(Identity::of(&intent), refusal);
        };
        self.queue(ground, Job::Effect(Box::new(intent)));
        if self.is_closed() {
            // Also right for one that was queued just after the shutdown emptied the lanes.
            self.refuse_waiting();
        }
    }

    /// Starts the jobs of one lane in order until none is left.
    async fn pump(self: &Arc<Self>, ground: &Arc<Ground>, kind: LaneKind) {
        while ground.lane(kind).goes_on() {
            ground.bucket.take().await;
            let Some(permits) = self.permits(ground, kind).await else { continue };
            // The wait for a permit may have been long; a pause that began meanwhile holds.
            if ground.bucket.is_paused() {
                continue;
            }
            if let Some(job) = ground.lane(kind).pop() {
                let (shared, ground) = (Arc::clone(self), Arc::clone(ground));
                tokio::spawn(async move {
                    shared.work(&ground, job).await;
                    drop(permits);
                });
            }
        }
    }

    /// What a job of this lane must hold while it runs; `None` never happens, as no semaphore is closed.
    async fn permits(&self, ground: &Ground, kind: LaneKind) -> Option<Permits> {
        let own = match kind {
            LaneKind::Make | LaneKind::Tend => &ground.share,
            LaneKind::Look => &ground.looks,
        };
        let own = Arc::clone(own).acquire_owned().await.ok()?;
        let common = match kind {
            LaneKind::Make | LaneKind::Tend => {
                Some(Arc::clone(&self.permits).acquire_owned().await.ok()?)
            }
            LaneKind::Look => None,
        };
        Some((own, common))
    }

    async fn work(self: &Arc<Self>, ground: &Arc<Ground>, job: Job) {
        match job {
            Job::Effect(intent) => {
                let identity = Identity::of(&intent);
                let report = perform(self, ground, *intent).await;
                self.answer(&identity, report);
            }
            Job::List => look::list(self, ground).await,
            Job::Look { slot, attempt, lease } => {
                look::look(self, ground, slot, attempt, lease).await;
            }
            Job::LastLines { slot, attempt, session, lease } => {
                look::last_lines(self, ground, (slot, attempt, session), lease).await;
            }
        }
    }

    fn refuse_waiting(self: &Arc<Self>) {
        let jobs = self.grounds.values().flat_map(|ground| {
            LaneKind::ALL.into_iter().flat_map(|kind| ground.lane(kind).drain())
        });
        for job in jobs {
            if let Job::Effect(intent) = job {
                let refusal =
                    definite(FailureClass::Withdrawn, "the controller is stopping; not begun");
                self.refuse(Identity::of(&intent), refusal);
            }
        }
    }

    /// Answers a step without its effect; from a task of its own, as the caller may hold what the report needs.
    fn refuse(self: &Arc<Self>, identity: Identity, refusal: EffectFailure) {
        let shared = Arc::clone(self);
        tokio::spawn(async move {
            let report = EffectReport {
                step: identity.step,
                slot: identity.slot.clone(),
                attempt: identity.attempt,
                command: identity.kind,
                result: Err(refusal),
                look: None,
            };
            shared.answer(&identity, report);
        });
    }

    fn count_in(&self, provider: &ProviderName) {
        self.in_flight.fetch_add(1, Ordering::SeqCst);
        if let Some(ground) = self.grounds.get(provider) {
            ground.in_flight.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn answer(&self, identity: &Identity, report: EffectReport) {
        self.ledger().settle(identity, &report);
        (self.report)(Report::Effect(report));
        if let Some(ground) = self.grounds.get(&identity.provider) {
            ground.in_flight.fetch_sub(1, Ordering::SeqCst);
        }
        self.in_flight.fetch_sub(1, Ordering::SeqCst);
        self.settled.notify_waiters();
    }
}
