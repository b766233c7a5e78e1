//! Builders of shapes, records and facts, each as small as a test needs it.

use std::sync::Arc;

use reconciler_core::{
    desired::{
        BootSpec, ClusterShape, GateCondition, GroupKind, NodeSpec, Policy, Power,
        RunNodeGroupSpec, ShapeError,
    },
    effect::{
        Action, ActionKind, Certainty, CommandKind, EffectFailure, EffectOutcome, EffectReport,
        FailureClass, HookSight, Look, OwnedLease, WorkloadState,
    },
    fixture::{Catalogue, parse, print},
    fold::{Fact, Verdict},
    id::{
        AttemptId, AttemptOrdinal, Fence, Generation, GroupId, IdempotencyKey, LogicalNodeId,
        OperationId, ProviderName, SessionId, StepId, Uuid,
    },
    observed::{
        Ambiguity, Backoff, ClusterState, Endpoint, FailureFacts, Handle, LeaseFacts, LeaseId,
        MemberFacts, NodeRecord, NodeStage, Pending, Remains, SessionFacts, SessionStage,
        StageName,
    },
    reconcile::{ReconcilePlan, reconcile},
    redact::Redacted,
    time::{Millis, Timestamp},
};

/// The identity of every test run.
pub(crate) const RUN: Uuid = Uuid::from_bytes([7; 16]);
/// The fence of every test driver.
pub(crate) const FENCE: Fence = Fence::new(3);
/// A time with room before it.
pub(crate) const T0: Timestamp = Timestamp::from_millis(1_000_000_000);

/// `T0` and so many milliseconds.
pub(crate) const fn at(ms: u64) -> Timestamp {
    T0.after(Millis::new(ms))
}

pub(crate) fn group(name: &str) -> GroupId {
    name.parse().expect("a group name")
}

pub(crate) fn slot(text: &str) -> LogicalNodeId {
    text.parse().expect("a slot")
}

pub(crate) fn provider() -> ProviderName {
    "fake".parse().expect("a provider name")
}

/// What a node is; another `image` is another revision.
pub(crate) fn node_spec(image: &str) -> NodeSpec {
    let mut spec = NodeSpec {
        role: "worker".to_owned(),
        provider: provider(),
        shape: reconciler_core::desired::DesiredNodeShape::default(),
        boot: BootSpec::default(),
        join: reconciler_core::desired::JoinMode::None,
    };
    spec.shape.image = Some(image.to_owned());
    spec
}

/// A shape of groups (name, count, image) under one policy.
pub(crate) fn shape_with(
    generation: u64,
    groups: &[(&str, u32, &str)],
    policy: &Policy,
) -> ClusterShape {
    let groups = groups.iter().map(|(name, count, image)| {
        RunNodeGroupSpec::new(group(name), *count, node_spec(image), policy.clone())
    });
    let name = "demo".parse().expect("a run name");
    ClusterShape::new(name, RUN, Generation::new(generation), groups).expect("a shape")
}

/// A group of one revision with gates, as (name, count, kind, what it waits for).
pub(crate) type Gated<'a> = (&'a str, u32, GroupKind, &'a [(&'a str, GateCondition)]);

/// A shape of groups with gates.
pub(crate) fn gated(
    generation: u64,
    image: &str,
    groups: &[Gated<'_>],
) -> Result<ClusterShape, ShapeError> {
    let groups = groups.iter().map(|(name, count, kind, after)| {
        let after = after.iter().map(|(on, condition)| (group(on), *condition)).collect();
        let policy = Policy { kind: *kind, after, ..Policy::default() };
        RunNodeGroupSpec::new(group(name), *count, node_spec(image), policy)
    });
    let name = "demo".parse().expect("a run name");
    ClusterShape::new(name, RUN, Generation::new(generation), groups)
}

/// The shape with one group's power changed, as the next generation.
pub(crate) fn powered(
    shape: &ClusterShape,
    name: &str,
    change: impl FnOnce(&Power) -> Power,
) -> ClusterShape {
    let name = group(name);
    let power = change(&shape.group(&name).expect("the group").power);
    shape.with_power([(name, power)].into())
}

/// A shape of groups (name, count) of one revision under the default policy.
pub(crate) fn shape(groups: &[(&str, u32)]) -> ClusterShape {
    let groups: Vec<_> = groups.iter().map(|(name, count)| (*name, *count, "v1")).collect();
    shape_with(1, &groups, &Policy::default())
}

/// A fresh record of `text` as `shape` wants it.
pub(crate) fn record(shape: &ClusterShape, text: &str) -> NodeRecord {
    let slot = slot(text);
    let group = shape.group(&slot.group).expect("the group of the record").clone();
    let spec = shape.stamp(&group, slot, shape.generation, AttemptOrdinal::new(1));
    NodeRecord::fresh(spec, Backoff::default(), T0)
}

/// The same record in `stage`.
pub(crate) fn in_stage(shape: &ClusterShape, text: &str, stage: NodeStage) -> NodeRecord {
    let mut record = record(shape, text);
    record.stage = stage;
    record
}

/// The same record after `change`.
pub(crate) fn with(mut record: NodeRecord, change: impl FnOnce(&mut NodeRecord)) -> NodeRecord {
    change(&mut record);
    record
}

pub(crate) fn lease(id: &str) -> LeaseFacts {
    LeaseFacts { id: LeaseId::new(id), fence: FENCE, handle: Handle::default() }
}

pub(crate) fn session(id: u64) -> SessionFacts {
    SessionFacts {
        id: SessionId::new(id),
        stage: SessionStage::WaitingForSwactorJoin,
        seq: 0,
        started_at: T0,
        workload: Handle::default(),
    }
}

pub(crate) fn member() -> MemberFacts {
    MemberFacts {
        session: SessionId::new(1),
        joined_at: T0,
        ready_at: T0,
        workload: Handle::default(),
    }
}

pub(crate) fn failure(class: FailureClass) -> FailureFacts {
    FailureFacts { at: T0, class, message: Redacted::new("it broke") }
}

/// A stage of each name with the facts of a usual life; due times lie as far after `T0` as the default policy says.
pub(crate) fn stage(name: StageName) -> NodeStage {
    let (lease, endpoint) = (lease("l-1"), Endpoint::default());
    match name {
        StageName::New => NodeStage::New,
        StageName::LeaseRequested => NodeStage::LeaseRequested,
        StageName::LeaseCreated => {
            NodeStage::LeaseCreated { lease, endpoint: None, probe_at: None }
        }
        StageName::EndpointKnown => NodeStage::EndpointKnown { lease, endpoint },
        StageName::BootstrapRunning => {
            NodeStage::BootstrapRunning { lease, endpoint, session: session(1), settle_at: at(250) }
        }
        StageName::SwactorJoined => {
            NodeStage::SwactorJoined { lease, endpoint, session: session(1), joined_at: T0 }
        }
        StageName::HandedOff => {
            NodeStage::HandedOff { lease, endpoint, member: member(), stable_at: at(10_000) }
        }
        StageName::Dormant => {
            NodeStage::Dormant { lease, endpoint, member: member(), completed: None }
        }
        StageName::Failed => NodeStage::Failed {
            failure: failure(FailureClass::Workload),
            remains: Remains::Session { lease, session: session(1) },
        },
        StageName::Destroyed => NodeStage::Destroyed { at: T0, failure: None },
    }
}

pub(crate) fn pending(command: impl Into<ActionKind>, step: u64, deadline: Timestamp) -> Pending {
    Pending {
        operation: OperationId::new(1),
        step: StepId::new(step),
        command: command.into(),
        key: IdempotencyKey::from_bytes([1; 32]),
        fence: FENCE,
        deadline,
    }
}

pub(crate) fn ambiguity(command: impl Into<ActionKind>, look_at: Timestamp) -> Ambiguity {
    Ambiguity {
        operation: OperationId::new(1),
        step: StepId::new(1),
        command: command.into(),
        since: T0,
        first_miss: None,
        looks: 0,
        look_at,
    }
}

/// A state of these records, as of `T0`, with nothing marked.
pub(crate) fn state(records: impl IntoIterator<Item = NodeRecord>) -> ClusterState {
    let mut state = ClusterState::restore(records, [], T0);
    drop(state.take_dirty());
    state
}

/// The kinds `v1` and `v2` under the default policy.
pub(crate) fn catalogue() -> Catalogue {
    let mut catalogue = Catalogue::default();
    for image in ["v1", "v2"] {
        catalogue.insert(image, node_spec(image), Policy::default());
    }
    catalogue
}

/// A state as text, as of `T0`; what a line leaves out is at its default.
pub(crate) fn fleet(text: &str) -> ClusterState {
    let whole = format!("at {}\nrun {RUN}\n{text}", T0.as_millis());
    parse(&whole, &catalogue()).unwrap_or_else(|error| panic!("{error}\n{whole}"))
}

/// The lines of a state's slots, without the head.
pub(crate) fn lines(state: &ClusterState) -> Vec<String> {
    let text = print(state, &catalogue(), RUN);
    let heads = ["at ", "run ", "group ", "provider "];
    let slots = text.lines().filter(|line| !heads.iter().any(|head| line.starts_with(head)));
    slots.map(str::to_owned).collect()
}

/// Decides the one slot of a state of one record.
pub(crate) fn decide(record: &NodeRecord, shape: &ClusterShape, now: Timestamp) -> ReconcilePlan {
    reconcile(&state([record.clone()]), shape, now)
}

/// The one command of a plan, if it has one.
pub(crate) fn command(plan: &ReconcilePlan) -> Option<CommandKind> {
    plan.per_node.first().map(|(_, action)| command_of(action.kind()))
}

/// The record of a slot.
pub(crate) fn of(state: &ClusterState, text: &str) -> Arc<NodeRecord> {
    Arc::clone(state.record(&slot(text)).expect("a record"))
}

/// Dispatches `kind` for a slot as step `step`.
pub(crate) fn dispatch(
    state: &mut ClusterState,
    text: &str,
    kind: impl Into<ActionKind>,
    step: u64,
    now: Timestamp,
) -> Verdict {
    let kind = kind.into();
    let record = of(state, text);
    let deadline = now.after(kind.timeout(&record.policy));
    let pending = pending(kind, step, deadline);
    state.fold(Fact::Dispatched { slot: slot(text), attempt: record.attempt, pending }, now)
}

/// A report on step `step` of a slot's present attempt.
pub(crate) fn report(
    state: &ClusterState,
    text: &str,
    step: u64,
    result: Result<EffectOutcome, EffectFailure>,
) -> EffectReport {
    let record = of(state, text);
    let create = ActionKind::from(CommandKind::CreateLease);
    let command = record.pending.as_ref().map_or(create, |p| p.command);
    EffectReport {
        step: StepId::new(step),
        slot: slot(text),
        attempt: record.attempt,
        command,
        result,
        look: None,
    }
}

/// Folds a report on step `step` of a slot's present attempt.
pub(crate) fn reported(
    state: &mut ClusterState,
    text: &str,
    step: u64,
    result: Result<EffectOutcome, EffectFailure>,
    now: Timestamp,
) -> Verdict {
    let report = report(state, text, step, result);
    state.fold(Fact::Reported(report), now)
}

pub(crate) fn definite(class: FailureClass) -> EffectFailure {
    EffectFailure { certainty: Certainty::Definite, class, message: Redacted::new("refused") }
}

pub(crate) fn ambiguous(class: FailureClass) -> EffectFailure {
    EffectFailure { certainty: Certainty::Ambiguous, class, message: Redacted::new("no answer") }
}

/// Folds a look at a slot's present attempt at a provider whose things show after five seconds.
pub(crate) fn looked(state: &mut ClusterState, text: &str, look: Look, now: Timestamp) -> Verdict {
    let attempt = of(state, text).attempt;
    let visibility = Millis::from_secs(5);
    state.fold(Fact::Looked { slot: slot(text), attempt, look, visibility }, now)
}

pub(crate) fn present(id: &str, workload: WorkloadState) -> Look {
    Look::Present { lease: lease(id), endpoint: None, workload, hook: HookSight::Untold }
}

pub(crate) fn owned(text: &str, attempt: AttemptId, id: &str) -> OwnedLease {
    OwnedLease {
        slot: slot(text),
        attempt: attempt.uuid,
        fence: FENCE,
        lease: lease(id),
        endpoint: None,
        workload: WorkloadState::Unknown,
    }
}

/// The kind of a command, to read a plan's list by.
pub(crate) fn kinds(plan: &[(LogicalNodeId, Action)]) -> Vec<(String, CommandKind)> {
    plan.iter().map(|(slot, step)| (slot.to_string(), command_of(step.kind()))).collect()
}

/// The command of a step where no hook is declared.
pub(crate) fn command_of(kind: ActionKind) -> CommandKind {
    match kind {
        ActionKind::Command(command) => command,
        ActionKind::Hook(point) => panic!("nobody declared a {} hook", point.as_str()),
    }
}
