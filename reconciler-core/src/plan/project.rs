//! The projection: `reconcile` on a predicted state in which every effect succeeds and time jumps to the next
//! due moment, until nothing is left to do.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{
    blocked::{is_blocking, stays_as_it_was},
    change,
    graph::{Graph, GraphError},
    header::{PlanHeader, PlanInput, Scope},
    impact::{Impact, Impacts},
    lifecycle::LifecyclePlan,
    link::{in_places, linked},
    openers::Openers,
    predicted::Predicted,
    probing::{any_awaits, awaits_word, words},
    step::{Condition, PlanStep, inverse},
    stored::{Specs, hash_plan},
};
use crate::{
    desired::{GroupKind, Policy},
    drift::{Drift, refusals},
    effect::{Action, EffectReport, ExitStatus, HookSight, Look, WorkloadState},
    fold::{Fact, Verdict},
    id::{GroupId, IdempotencyKey, LogicalNodeId, OperationId, StepId},
    limits,
    observed::{ClusterState, Handle, NodeRecord, Pending, Side},
    reconcile::{Parked, Reason, reconcile_some},
    redact::Redacted,
    time::{Millis, Timestamp},
};

/// Why a plan could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProjectError {
    /// The predicted state never settles.
    #[error("the plan does not settle within {rounds} rounds; last moved: {slot}")]
    NeverSettles {
        /// How many rounds were tried.
        rounds: u64,
        /// A slot that still moved.
        slot: String,
    },
    /// The steps contradict each other.
    #[error("the steps of the plan contradict each other")]
    Graph(#[source] GraphError),
    /// The plan would act on groups in which something must not be guessed at (R160, R161, R164).
    #[error("{}", told(drifts))]
    Refused {
        /// What stands against it, in order; never empty.
        drifts: Vec<Drift>,
    },
}

fn told(drifts: &[Drift]) -> String {
    let first = drifts.first().map(ToString::to_string).unwrap_or_default();
    match drifts.len().saturating_sub(1) {
        0 => first,
        more => format!("{first}; and {more} more"),
    }
}

/// Plans the way from `observed` to the target shape.
///
/// # Errors
/// Refuses to act on a group in which identity, state or fence of a slot is in doubt, unless the whole group goes:
/// then that slot stays and the others go. Fails if the predicted state does not settle, which would be a fault of
/// the decider.
pub fn project(
    observed: &ClusterState,
    input: &PlanInput<'_>,
    scope: Scope<'_>,
    now: Timestamp,
) -> Result<LifecyclePlan, ProjectError> {
    let slots = slots(observed, input, scope);
    let meant = slots.iter().filter_map(|slot| change::of_slot(slot, observed, input.target));
    let changes = meant.collect();
    let mut projection = Projection::new(observed, input, slots);
    projection.run(now)?;
    if let Scope::All = scope {
        refuse_doubt(observed, input, &projection.steps)?;
    }
    let header = PlanHeader::new(observed, input, scope);
    projection.forget_who_did_as_asked();
    let specs = projection.specs;
    let steps = in_order(projection.steps).map_err(ProjectError::Graph)?;
    let impacts: Vec<Impact> = projection.impacts.finish(&projection.state, input.target).collect();
    let hash = hash_plan(&header, &specs, &steps, &impacts);
    let blocked = projection.blocked.into_iter().collect();
    let counts = counts(input);
    Ok(LifecyclePlan { header, specs, steps, changes, blocked, impacts, counts, hash })
}

fn in_order(steps: Vec<PlanStep>) -> Result<Vec<PlanStep>, GraphError> {
    let steps = linked(steps);
    let order = Graph::new(&steps)?.order(&steps)?;
    Ok(in_places(steps, &order))
}

fn refuse_doubt(
    observed: &ClusterState,
    input: &PlanInput<'_>,
    steps: &[PlanStep],
) -> Result<(), ProjectError> {
    let stepped = |group: &GroupId| steps.iter().any(|step| step.slot.group == *group);
    let edited = |group: &GroupId| input.base.group(group) != input.target.group(group);
    let stays = |group: &GroupId| input.target.group(group).is_some_and(|spec| spec.count > 0);
    // A driver that waits for its first plan works under the fence after the one that the plan is bound to.
    let fence = input.fence.next();
    let against = refusals(observed, Some(fence)).into_iter();
    let against = against.filter(|(group, _)| stays(group) && (edited(group) || stepped(group)));
    let drifts: Vec<Drift> = against.map(|(_, drift)| drift).collect();
    if drifts.is_empty() { Ok(()) } else { Err(ProjectError::Refused { drifts }) }
}

fn counts(input: &PlanInput<'_>) -> BTreeMap<GroupId, (u32, u32)> {
    let mut counts = BTreeMap::new();
    for group in input.base.groups() {
        counts.entry(group.group.clone()).or_insert((0, 0)).0 = group.count;
    }
    for group in input.target.groups() {
        counts.entry(group.group.clone()).or_insert((0, 0)).1 = group.count;
    }
    counts
}

fn slots(
    observed: &ClusterState,
    input: &PlanInput<'_>,
    scope: Scope<'_>,
) -> BTreeSet<LogicalNodeId> {
    if let Scope::Slots(slots) = scope {
        return slots.clone();
    }
    let known = observed.groups().flat_map(|(_, group)| group.records().map(|r| r.slot.clone()));
    let wanted = input.target.groups().flat_map(|group| {
        (0..group.count).map(|index| LogicalNodeId::new(group.group.clone(), index))
    });
    known.chain(wanted).collect()
}

/// The key of a request that is only predicted: nothing is sent, so nothing needs to recognise it.
const UNSENT: IdempotencyKey = IdempotencyKey::from_bytes([0; 32]);

/// The steps that bring a node from nothing to readiness: the most frequent number, and so how many get room.
const STEPS_OF_A_LIFE: usize = 4;

struct Projection<'a> {
    state: ClusterState,
    input: &'a PlanInput<'a>,
    work: BTreeSet<LogicalNodeId>,
    /// True if any node here is of a job; without one, none needs to be looked for.
    has_jobs: bool,
    /// Slots whose job may end well.
    jobs: BTreeSet<LogicalNodeId>,
    /// True if a word of an agent or a probe may be awaited; without any, none is looked for.
    has_probes: bool,
    /// Slots with a probe that is to pass.
    probed: BTreeSet<LogicalNodeId>,
    parked: Parked,
    steps: Vec<PlanStep>,
    specs: Specs,
    openers: Openers,
    blocked: BTreeMap<LogicalNodeId, Reason>,
    predicted: Predicted,
    impacts: Impacts,
}

impl<'a> Projection<'a> {
    fn new(
        observed: &ClusterState,
        input: &'a PlanInput<'a>,
        work: BTreeSet<LogicalNodeId>,
    ) -> Self {
        let job = |policy: &Policy| policy.kind == GroupKind::Job;
        let of_job = |slot| observed.record(slot).is_some_and(|record| job(&record.policy));
        let has_jobs =
            input.target.groups().any(|group| job(&group.policy)) || work.iter().any(of_job);
        let ends = |slot: &&LogicalNodeId| observed.record(slot).is_some_and(|r| ends_well(r));
        Self {
            has_jobs,
            jobs: work.iter().filter(|_| has_jobs).filter(ends).cloned().collect(),
            has_probes: any_awaits(observed, input.target, &work),
            probed: work.iter().filter(|slot| awaits_word(observed, slot)).cloned().collect(),
            state: observed.predicted(&work),
            steps: Vec::with_capacity(work.len().saturating_mul(STEPS_OF_A_LIFE)),
            work,
            input,
            parked: Parked::default(),
            specs: Specs::new(),
            openers: Openers::new(input.target),
            blocked: BTreeMap::new(),
            predicted: Predicted::new(input.fence),
            impacts: Impacts::new(observed, input.target),
        }
    }

    fn run(&mut self, start: Timestamp) -> Result<(), ProjectError> {
        let slots = u64::try_from(self.work.len()).unwrap_or(u64::MAX).saturating_add(1);
        // A slot may bring up a candidate and take down what it replaces.
        let attempts = slots.saturating_mul(2);
        let rounds = attempts.saturating_mul(limits::PROJECTION_ROUNDS_PER_SLOT);
        let mut now = start;
        self.finish_pending(now);
        for _ in 0..rounds {
            if self.round(now) || self.finish_probes(now) || self.finish_jobs(now) {
                continue;
            }
            // Nothing moved: time jumps to the next moment at which something falls due.
            let Some(due) = self.state.next_due() else { return Ok(()) };
            now = now.max(due);
            self.state.mark_due(now);
            self.go_on();
        }
        let slot = self.work.first().map(ToString::to_string).unwrap_or_default();
        Err(ProjectError::NeverSettles { rounds, slot })
    }

    /// Who took steps and then stays as it was did as it was asked, and is not blocked.
    fn forget_who_did_as_asked(&mut self) {
        if self.blocked.is_empty() {
            return;
        }
        let stepped: BTreeSet<_> = self.steps.iter().map(|step| &step.slot).collect();
        let (state, target) = (&self.state, self.input.target);
        self.blocked
            .retain(|slot, _| !stepped.contains(slot) || !stays_as_it_was(slot, state, target));
    }

    /// What changed is decided next, and what waits for something outside its own record.
    fn go_on(&mut self) {
        let mut changed = self.state.take_dirty();
        changed.append(&mut self.work);
        self.work = changed;
    }

    /// One pass on the predicted state; true if anything moved.
    fn round(&mut self, now: Timestamp) -> bool {
        self.parked.release(&self.state, self.input.target, &mut self.work);
        let mut plan = reconcile_some(&self.state, self.input.target, now, &self.work);
        self.work = plan.waiting.drain(..).collect();
        self.parked.park(&mut plan.parked);
        for (slot, reason) in &plan.reasons {
            if is_blocking(&reason.rung) {
                self.blocked.insert(slot.clone(), reason.clone());
            } else {
                self.blocked.remove(slot);
            }
        }
        let moved = !plan.is_empty();
        for (group, change) in core::mem::take(&mut plan.rollouts) {
            self.fold(Fact::Rollout { group, change }, now);
        }
        for (slot, transition) in plan.take_transitions() {
            self.fold(Fact::Decided { slot, transition }, now);
        }
        let present = plan.per_node.iter().map(|(slot, command)| (slot, Side::Present, command));
        let second = plan.per_second.iter().map(|(slot, command)| (slot, Side::Second, command));
        for (slot, side, command) in present.chain(second) {
            self.succeed(slot, side, command, now);
        }
        self.impacts.note(&self.state);
        let looked = !plan.second_looks.is_empty();
        plan.second_looks.iter().for_each(|slot| self.sees(slot, now));
        self.state.forget_deadlines();
        let mut changed = self.state.take_dirty();
        if self.has_probes {
            let awaits = changed.iter().filter(|slot| awaits_word(&self.state, slot));
            self.probed.extend(awaits.cloned());
        }
        if self.has_jobs {
            let ends =
                |slot: &&LogicalNodeId| self.state.record(slot).is_some_and(|r| ends_well(r));
            self.jobs.extend(changed.iter().filter(ends).cloned());
        }
        changed.append(&mut self.work);
        self.work = changed;
        moved || looked
    }

    /// A look at the second attempt of a slot, which shows what should be there.
    fn sees(&mut self, slot: &LogicalNodeId, now: Timestamp) {
        let second = self.state.record(slot).and_then(|record| record.side(Side::Second));
        let Some((attempt, lease)) =
            second.and_then(|r| Some((r.attempt, r.stage.lease()?.clone())))
        else {
            return;
        };
        let workload = WorkloadState::Running { workload: Handle::default() };
        let hook = HookSight::Untold;
        let look = Look::Present { lease, endpoint: None, workload, hook };
        let (slot, visibility) = (slot.clone(), Millis::ZERO);
        let fact = Fact::Looked { slot, attempt, look, visibility };
        let _seen = self.state.fold(fact, now);
    }

    /// Agents join and probes pass, once nothing else is left to do; true if there were any to do so.
    fn finish_probes(&mut self, now: Timestamp) -> bool {
        let slots = core::mem::take(&mut self.probed);
        let passed = words(&self.state, &slots);
        for fact in &passed {
            self.fold(fact.clone(), now);
        }
        self.work.extend(self.state.take_dirty());
        !passed.is_empty()
    }

    /// Jobs whose node serves end well, once nothing else is left to do; true if there were any.
    fn finish_jobs(&mut self, now: Timestamp) -> bool {
        let jobs = core::mem::take(&mut self.jobs);
        let records = jobs.iter().filter_map(|slot| self.state.record(slot).cloned());
        let done: Vec<_> = records.filter(|record| ends_well(record)).collect();
        for record in &done {
            let Some(workload) = record.stage.workload().cloned() else { continue };
            let (slot, attempt) = (record.slot.clone(), record.attempt);
            let (status, tail) = (ExitStatus::Code(0), Redacted::default());
            self.fold(Fact::Exited { slot, attempt, workload, status, tail }, now);
        }
        self.work.extend(self.state.take_dirty());
        !done.is_empty()
    }

    fn fold(&mut self, fact: Fact, now: Timestamp) {
        let verdict = self.state.fold(fact, now);
        debug_assert_eq!(verdict, Verdict::Applied);
    }

    /// Records the step, and folds the outcome that it would have.
    fn succeed(&mut self, slot: &LogicalNodeId, side: Side, command: &Action, now: Timestamp) {
        // What is needed of the record is taken out of it: a reference held over the folds would copy it.
        let Some(record) = self.state.record(slot).and_then(|record| record.side(side)) else {
            return;
        };
        let (attempt, revision) = (record.attempt, record.revision);
        let (requires, timeout) = (Condition::of(record), command.timeout(&record.policy));
        self.specs.entry(revision).or_insert_with(|| record.spec.canon().redacted());
        let action = command.kind();
        let step = StepId::new(u64::try_from(self.steps.len()).unwrap_or(u64::MAX));
        let pending = Pending {
            operation: OperationId::new(0),
            step,
            command: action,
            key: UNSENT,
            fence: self.input.fence,
            deadline: Timestamp::MAX,
        };
        let outcome = self.predicted.outcome(action);
        let verdict = self.state.fold_predicted(slot, attempt, pending, outcome, now);
        debug_assert_eq!(verdict, Verdict::Applied);
        let Some(record) = self.state.record(slot).and_then(|record| record.side(side)) else {
            return;
        };
        let planned = PlanStep {
            slot: slot.clone(),
            attempt,
            action,
            after: self.openers.edges(slot, action, self.input.target),
            requires,
            brings: Condition::of(record),
            timeout,
            inverse: inverse(action),
            revision,
            session: command.session(),
        };
        self.openers.note(&planned);
        self.steps.push(planned);
    }

    /// Effects that are on their way already succeed as well; they are no steps of this plan.
    fn finish_pending(&mut self, now: Timestamp) {
        let records = self.work.iter().filter_map(|slot| self.state.record(slot));
        let attempts = records.flat_map(|record| record.attempts());
        let on_the_way: Vec<_> = attempts.filter(|one| one.pending.is_some()).cloned().collect();
        for record in on_the_way {
            if let Some(pending) = &record.pending {
                let (command, step) = (pending.command, pending.step);
                let (slot, attempt) = (record.slot.clone(), record.attempt);
                let (result, look) = (Ok(self.predicted.outcome(command)), Some(Look::Absent));
                let report = EffectReport { step, slot, attempt, command, result, look };
                self.fold(Fact::Reported(report), now);
            }
        }
    }
}

/// True for the node of a job that serves: a fault-free future ends it well.
fn ends_well(record: &NodeRecord) -> bool {
    let free = !record.is_open() && record.hold.is_none();
    free && record.is_working()
}
