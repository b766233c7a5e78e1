//! A whole fleet through all stages with a provider to which everything succeeds at once (SR4).

use reconciler_core::{
    desired::ClusterShape,
    effect::{Action, EffectOutcome, EffectReport, NodeManagerCommand},
    fold::{Fact, Verdict},
    id::{Fence, LogicalNodeId, OperationId, StepId},
    observed::{ClusterState, Endpoint, Handle, LeaseFacts, LeaseId, Pending},
    reconcile::reconcile_some,
    time::Timestamp,
};

use crate::fleet::NOW;
use crate::floor;
use crate::report::{Report, median, timed};

/// How many passes a life may take before something is wrong: a stage each, and a few for time to go on.
const PASSES_MAX: u32 = 32;

/// Brings every node of `shape` from nothing to stability: each pass decides what changed or fell due, and what it
/// decided is folded as the driver folds it.
pub(crate) fn run(shape: &ClusterShape) -> ClusterState {
    let mut state = ClusterState::default();
    let mut now = NOW;
    let mut world = World::default();
    for group in shape.groups() {
        state.mark_group(&group.group, group.count);
    }
    for _ in 0..PASSES_MAX {
        state.mark_due(now);
        let dirty = state.take_dirty();
        let mut plan = reconcile_some(&state, shape, now, &dirty);
        for (group, change) in std::mem::take(&mut plan.rollouts) {
            applied(&mut state, Fact::Rollout { group, change }, now);
        }
        for (slot, transition) in plan.take_transitions() {
            applied(&mut state, Fact::Decided { slot, transition }, now);
        }
        for (slot, command) in plan.per_node {
            world.act(&mut state, slot, &command, now);
        }
        drop((state.take_notes(), state.take_settled()));
        if !state.has_dirty() {
            let Some(due) = state.next_due() else { return state };
            now = now.max(due);
        }
    }
    panic!("a fleet to which everything succeeds settles within {PASSES_MAX} passes")
}

fn applied(state: &mut ClusterState, fact: Fact, now: Timestamp) {
    assert_eq!(state.fold(fact, now), Verdict::Applied);
}

/// A provider to which everything succeeds.
#[derive(Default)]
struct World {
    steps: u64,
}

impl World {
    /// Sends a command and hears of its success.
    fn act(
        &mut self,
        state: &mut ClusterState,
        slot: LogicalNodeId,
        action: &Action,
        now: Timestamp,
    ) {
        self.steps += 1;
        let step = StepId::new(self.steps);
        let record = state.record(&slot).expect("a record");
        let (attempt, kind) = (record.attempt, action.kind());
        let deadline = now.after(action.timeout(&record.policy));
        let (operation, key) = (OperationId::new(1), action.idempotency_key(attempt.uuid));
        let fence = Fence::new(1);
        let pending = Pending { operation, step, command: kind, key, fence, deadline };
        applied(state, Fact::Dispatched { slot: slot.clone(), attempt, pending }, now);
        let (result, look) = (Ok(self.outcome(action)), None);
        let report = EffectReport { step, slot, attempt, command: kind, result, look };
        applied(state, Fact::Reported(report), now);
    }

    fn outcome(&self, action: &Action) -> EffectOutcome {
        let command = match action {
            Action::Command(command) => command,
            Action::Hook(run) => return EffectOutcome::Hooked(run.point),
        };
        match command {
            NodeManagerCommand::CreateLease(_) => {
                let id = LeaseId::new(&format!("lease-{}", self.steps));
                let lease = LeaseFacts { id, fence: Fence::new(1), handle: Handle::default() };
                EffectOutcome::Leased { lease, endpoint: None }
            }
            NodeManagerCommand::LookupEndpoint(_) => {
                EffectOutcome::Endpoint(Some(Endpoint::default()))
            }
            NodeManagerCommand::StartBootstrap { .. } => {
                EffectOutcome::Started { workload: Handle::default() }
            }
            NodeManagerCommand::BootstrapConvergenceObserved { .. } => EffectOutcome::Closed,
            NodeManagerCommand::CancelBootstrap { .. } => EffectOutcome::Cancelled,
            NodeManagerCommand::DestroyLease(_) => EffectOutcome::Released,
        }
    }
}

/// SR4: the sum of all passes from nothing to a stable fleet, the answers of the provider folded in.
pub(crate) fn whole(report: &mut Report) {
    let n = 10_000;
    let shape = crate::fleet::shape(n, 1_000);
    let each = median(5, || timed(|| run(&shape))) / f64::from(n);
    report.against("SR4 all stages, 10k, per node", each, floor::merge(n, 21), None);
}
