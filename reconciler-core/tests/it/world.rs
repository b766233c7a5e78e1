//! A fake world of one provider, and a driver without a disk that works on it pass by pass.
//!
//! Every pass checks the laws of a single decision (`laws_single`); what a trace may do to the world stands in
//! `trace`.

use std::collections::{BTreeMap, BTreeSet};

use reconciler_core::{
    desired::{ClusterShape, GroupKind},
    effect::{
        Action, ActionKind, CommandKind, EffectFailure, EffectOutcome, EffectReport, ExitStatus,
        FailureClass, HookSight, Listing, Look, NodeManagerCommand, OwnedLease, WorkloadState,
    },
    fold::{Fact, Verdict},
    id::{AttemptId, AttemptOrdinal, LogicalNodeId, StepId, Uuid},
    observed::{ClusterState, Endpoint, Handle, Side},
    reconcile::{Parked, ReconcilePlan},
    redact::Redacted,
    time::{Millis, Timestamp},
};

use crate::fleet::{FENCE, ambiguous, definite, lease, pending, provider, state};
use crate::laws_single;
use crate::thing::Thing;

/// How long a new thing may stay invisible here.
const VISIBILITY: Millis = Millis::from_secs(5);
/// How far two listings must be apart here.
pub(crate) const GRACE: Millis = Millis::from_secs(60);

/// An effect on its way.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    pub(crate) slot: LogicalNodeId,
    pub(crate) attempt: AttemptId,
    pub(crate) step: StepId,
    pub(crate) action: Action,
    pub(crate) deadline: Timestamp,
}

/// What becomes of an effect.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fate {
    Succeed,
    Refuse(FailureClass),
    /// It breaks off; whether it happened is not said.
    BreakOff {
        happened: bool,
    },
}

/// The world and its driver.
pub(crate) struct World {
    pub(crate) shape: ClusterShape,
    pub(crate) state: ClusterState,
    pub(crate) now: Timestamp,
    /// The latest time that any clock of this world ever showed.
    pub(crate) seen: Timestamp,
    pub(crate) things: BTreeMap<Uuid, Thing>,
    pub(crate) flights: Vec<Flight>,
    /// Reports that come after their step was given up.
    pub(crate) late: Vec<EffectReport>,
    /// Every command that went out.
    pub(crate) log: Vec<(LogicalNodeId, AttemptOrdinal, ActionKind)>,
    /// True once a listing lied: what follows from that is not the decider's fault.
    pub(crate) lied: bool,
    /// True where no lease comes with its endpoint, as a plan predicts it.
    pub(crate) endpoints_late: bool,
    /// True once a shape let more exist than it wants.
    pub(crate) surges: bool,
    /// How many updates were taken back.
    pub(crate) reverts: u32,
    /// The identity of every attempt that there was.
    used: BTreeSet<Uuid>,
    waiting: BTreeSet<LogicalNodeId>,
    parked: Parked,
    next_step: u64,
}

impl World {
    pub(crate) fn new(shape: ClusterShape, now: Timestamp) -> Self {
        let mut world = Self {
            state: state([]),
            shape: shape.clone(),
            now,
            seen: now,
            things: BTreeMap::new(),
            flights: Vec::new(),
            late: Vec::new(),
            log: Vec::new(),
            lied: false,
            endpoints_late: false,
            surges: false,
            reverts: 0,
            used: BTreeSet::new(),
            waiting: BTreeSet::new(),
            parked: Parked::default(),
            next_step: 0,
        };
        world.reshape(shape);
        world
    }

    /// Another shape is wanted from now on.
    pub(crate) fn reshape(&mut self, shape: ClusterShape) {
        self.surges |= shape.groups().any(|group| group.policy.update.surge(group.count) > 0);
        let before = core::mem::replace(&mut self.shape, shape);
        for group in before.groups().chain(self.shape.groups()) {
            self.state.mark_group(&group.group, group.count);
        }
    }

    /// One pass: decide, check, apply, dispatch, look.
    pub(crate) fn pass(&mut self) -> ReconcilePlan {
        self.admitting(usize::MAX)
    }

    /// One pass with room for so many commands.
    pub(crate) fn admitting(&mut self, free: usize) -> ReconcilePlan {
        self.give_up_expired();
        self.state.mark_due(self.now);
        let mut slots = self.state.take_dirty();
        slots.append(&mut self.waiting);
        self.parked.release(&self.state, &self.shape, &mut slots);
        let mut plan = laws_single::decide(&self.state, &self.shape, self.now, &slots);
        plan.admit(free);
        let whole = plan.clone();
        self.waiting = plan.waiting.drain(..).collect();
        self.parked.park(&mut plan.parked);
        for (slot, transition) in plan.take_transitions() {
            laws_single::new_identity(&mut self.used, &transition);
            let verdict = self.state.fold(Fact::Decided { slot, transition }, self.now);
            assert_eq!(verdict, Verdict::Applied, "what was decided is always legal");
        }
        for (group, change) in plan.rollouts {
            self.update(group, change);
        }
        for (slot, command) in plan.per_node {
            self.dispatch(slot, Side::Present, command);
        }
        for (slot, command) in plan.per_second {
            self.dispatch(slot, Side::Second, command);
        }
        for slot in plan.looks {
            self.look(&slot, Side::Present);
        }
        for slot in plan.second_looks {
            self.look(&slot, Side::Second);
        }
        laws_single::consistent(&self.state, self.now);
        whole
    }

    fn dispatch(&mut self, slot: LogicalNodeId, side: Side, action: Action) {
        let record = self.state.record(&slot).and_then(|record| record.side(side));
        let record = record.expect("a command is for a record").clone();
        let kind = action.kind();
        self.check_hooked(&record, kind);
        self.next_step += 1;
        let deadline = self.now.after(action.timeout(&record.policy));
        let mut pending = pending(kind, self.next_step, deadline);
        pending.key = action.idempotency_key(record.attempt.uuid);
        let (attempt, step) = (record.attempt, pending.step);
        let fact = Fact::Dispatched { slot: slot.clone(), attempt, pending };
        assert_eq!(self.state.fold(fact, self.now), Verdict::Applied);
        self.log.push((slot.clone(), attempt.ordinal, kind));
        self.flights.push(Flight { slot, attempt, step, action, deadline });
    }

    /// What is over its deadline is given up: every second such effect took place all the same.
    fn give_up_expired(&mut self) {
        let (over, flying): (Vec<_>, Vec<_>) =
            self.flights.drain(..).partition(|f| f.deadline <= self.now);
        self.flights = flying;
        for flight in over {
            let result = match flight.step.get() % 2 {
                0 => self.perform(&flight),
                _ => Err(definite(FailureClass::Unavailable)),
            };
            self.late.push(report_of(&flight, result));
        }
    }

    /// Brings the flight at `at` to its end.
    pub(crate) fn deliver(&mut self, at: usize, fate: Fate) {
        if self.flights.is_empty() {
            return;
        }
        let flight = self.flights.remove(at % self.flights.len());
        let result = match fate {
            Fate::Succeed => self.perform(&flight),
            Fate::Refuse(class) => Err(definite(class)),
            Fate::BreakOff { happened } => {
                if happened {
                    let _unsaid = self.perform(&flight);
                }
                Err(ambiguous(FailureClass::Unavailable))
            }
        };
        let mut report = report_of(&flight, result);
        report.look = Some(self.sight(flight.attempt.uuid));
        let _stale_at_times = self.state.fold(Fact::Reported(report), self.now);
    }

    /// Does in the world what a command asks for.
    fn perform(&mut self, flight: &Flight) -> Result<EffectOutcome, EffectFailure> {
        let attempt = flight.attempt.uuid;
        let command = match &flight.action {
            Action::Hook(run) => return self.run_hook(flight, run),
            Action::Command(command) => command,
        };
        if let NodeManagerCommand::CreateLease(_) = command {
            return Ok(self.create(flight));
        }
        let gone = Err(definite(FailureClass::NotFound));
        if let NodeManagerCommand::DestroyLease(_) = command {
            return self.things.remove(&attempt).map_or(gone, |_| Ok(EffectOutcome::Released));
        }
        let Some(thing) = self.things.get_mut(&attempt) else { return gone };
        Ok(match command.kind() {
            CommandKind::LookupEndpoint => EffectOutcome::Endpoint(Some(Endpoint::default())),
            CommandKind::StartBootstrap => {
                thing.workload = WorkloadState::Running { workload: Handle::default() };
                EffectOutcome::Started { workload: Handle::default() }
            }
            CommandKind::CancelBootstrap => {
                thing.workload = WorkloadState::Absent;
                EffectOutcome::Cancelled
            }
            CommandKind::CreateLease
            | CommandKind::DestroyLease
            | CommandKind::BootstrapConvergenceObserved => EffectOutcome::Closed,
        })
    }

    /// Creates by key: a second request for one attempt gives the same lease.
    fn create(&mut self, flight: &Flight) -> EffectOutcome {
        let attempt = flight.attempt.uuid;
        let others =
            self.things.iter().filter(|(uuid, t)| t.slot == flight.slot && **uuid != attempt);
        let spare = usize::from(self.surges);
        assert!(self.lied || others.count() <= spare, "two leases of a slot only by surge (R30)");
        let thing = self.things.entry(attempt).or_insert_with(|| Thing {
            slot: flight.slot.clone(),
            lease: lease(&format!("l-{attempt}")),
            workload: WorkloadState::Absent,
            hook: HookSight::Nothing,
            hooks: BTreeMap::new(),
        });
        // Every second lease comes with its endpoint, where any does.
        let early = !self.endpoints_late && flight.step.get().is_multiple_of(2);
        let endpoint = early.then(Endpoint::default);
        EffectOutcome::Leased { lease: thing.lease.clone(), endpoint }
    }

    /// What a look by id shows.
    pub(crate) fn sight(&self, attempt: Uuid) -> Look {
        self.things.get(&attempt).map_or(Look::Absent, |thing| Look::Present {
            lease: thing.lease.clone(),
            endpoint: None,
            workload: thing.workload.clone(),
            hook: thing.hook.clone(),
        })
    }

    /// Looks at one attempt of a slot by its id.
    pub(crate) fn look(&mut self, slot: &LogicalNodeId, side: Side) {
        let record = self.state.record(slot).and_then(|record| record.side(side));
        let Some(attempt) = record.map(|record| record.attempt) else { return };
        self.look_at(slot, attempt);
    }

    /// Looks at every attempt that a listing lacked.
    pub(crate) fn look_missing(&mut self) {
        for (slot, attempt) in self.state.missing() {
            self.look_at(&slot, attempt);
        }
    }

    fn look_at(&mut self, slot: &LogicalNodeId, attempt: AttemptId) {
        let look = self.sight(attempt.uuid);
        let fact = Fact::Looked { slot: slot.clone(), attempt, look, visibility: VISIBILITY };
        let _verdict = self.state.fold(fact, self.now);
    }

    /// Everything that the provider holds.
    pub(crate) fn inventory(&self) -> Vec<OwnedLease> {
        let owned = |(attempt, thing): (&Uuid, &Thing)| OwnedLease {
            slot: thing.slot.clone(),
            attempt: *attempt,
            fence: FENCE,
            lease: thing.lease.clone(),
            endpoint: None,
            workload: thing.workload.clone(),
        };
        self.things.iter().map(owned).collect()
    }

    /// Folds a listing that was asked for just now.
    pub(crate) fn list(&mut self, listing: Listing) {
        let (provider, asked_at) = (provider(), self.now);
        let fact = Fact::Listed { provider, listing, asked_at, grace: GRACE, fence: FENCE };
        let _verdict = self.state.fold(fact, self.now);
    }

    /// The driver dies and another takes over from the journal.
    pub(crate) fn restart(&mut self) {
        for flight in core::mem::take(&mut self.flights) {
            match (flight.step.get() % 3, &flight.action) {
                (0, _) => drop(self.perform(&flight)),
                (1, Action::Hook(_)) => self.lose_hook(&flight),
                (_, _) => {}
            }
        }
        self.state = laws_single::journaled(&self.state, self.seen);
        self.parked = Parked::default();
        let _none_at_times = self.state.fold(Fact::Resumed, self.now);
        let shape = self.shape.clone();
        self.reshape(shape);
    }

    /// Takes a report that comes late: its step is over, so it changes nothing (R67).
    pub(crate) fn hear_late(&mut self) {
        for report in core::mem::take(&mut self.late) {
            let record = self.state.record(&report.slot);
            let attempt = record.and_then(|record| record.of_attempt(report.attempt));
            let over =
                attempt.is_none_or(|r| r.pending.as_ref().is_none_or(|p| p.step != report.step));
            let verdict = self.state.fold(Fact::Reported(report), self.now);
            assert!(!over || verdict == Verdict::Stale, "a late report changes nothing");
        }
    }

    pub(crate) fn advance(&mut self, length: Millis) {
        self.now = self.now.after(length);
        self.seen = self.seen.max(self.now);
    }

    /// Passes and successes until nothing moves; the number of rounds, or nothing if there is no end.
    pub(crate) fn settle(&mut self) -> Option<usize> {
        (0..64).find(|_| {
            self.fair_round();
            self.is_settled()
        })
    }

    fn fair_round(&mut self) {
        self.advance(Millis::from_secs(3_600));
        self.hear_late();
        self.release_all();
        self.quarantine();
        self.look_missing();
        self.list(Listing::Complete(self.inventory()));
        let _plan = self.pass();
        while !self.flights.is_empty() {
            self.deliver(0, Fate::Succeed);
        }
        self.finish_jobs();
    }

    /// Every job that runs ends well.
    pub(crate) fn finish_jobs(&mut self) {
        let records = laws_single::records(&self.state);
        let jobs = records.iter().filter(|record| record.policy.kind == GroupKind::Job);
        for record in jobs {
            let Some(thing) = self.things.get_mut(&record.attempt.uuid) else { continue };
            let running = matches!(thing.workload, WorkloadState::Running { .. });
            let Some(workload) = record.stage.workload().filter(|_| running).cloned() else {
                continue;
            };
            let (status, tail) = (ExitStatus::Code(0), Redacted::default());
            thing.workload = WorkloadState::Exited { status: status.clone(), tail: tail.clone() };
            let (slot, attempt) = (record.slot.clone(), record.attempt);
            let fact = Fact::Exited { slot, attempt, workload, status, tail };
            let _stale_at_times = self.state.fold(fact, self.now);
        }
    }

    /// True if everything is as wanted, stable, and nothing is left to decide.
    pub(crate) fn is_settled(&self) -> bool {
        let standing = reconciler_core::reconcile::standing(&self.state, &self.shape);
        standing.converged
            && self.state.missing().is_empty()
            && self.state.next_due().is_none()
            && reconciler_core::reconcile::reconcile(&self.state, &self.shape, self.now).is_empty()
    }
}

fn report_of(flight: &Flight, result: Result<EffectOutcome, EffectFailure>) -> EffectReport {
    EffectReport {
        step: flight.step,
        slot: flight.slot.clone(),
        attempt: flight.attempt,
        command: flight.action.kind(),
        result,
        look: None,
    }
}
