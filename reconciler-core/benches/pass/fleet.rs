//! Fleets to decide about: shapes of any size, and states that settled long ago.

use reconciler_core::{
    desired::{
        BootSpec, ClusterShape, DesiredNodeShape, JoinMode, NodeSpec, Policy, RunNodeGroupSpec,
    },
    effect::{ExitStatus, FailureClass},
    fold::Fact,
    id::{AttemptOrdinal, Fence, Generation, LogicalNodeId, SessionId, Uuid},
    limits,
    observed::{
        Backoff, ClusterState, Endpoint, FailureFacts, Handle, LeaseFacts, LeaseId, MemberFacts,
        NodeRecord, NodeStage, Remains,
    },
    redact::Redacted,
    time::{Millis, Timestamp},
};

/// When every fleet here settled.
pub(crate) const THEN: Timestamp = Timestamp::from_millis(1_000_000_000);
/// An hour later.
pub(crate) const NOW: Timestamp = THEN.after(Millis::from_secs(3_600));

fn spec(image: &str) -> NodeSpec {
    NodeSpec {
        role: "worker".to_owned(),
        provider: "fake".parse().expect("a provider name"),
        shape: DesiredNodeShape { image: Some(image.to_owned()), ..DesiredNodeShape::default() },
        boot: BootSpec::default(),
        join: JoinMode::None,
    }
}

/// A shape of `n` nodes in groups of at most `width`.
pub(crate) fn shape(n: u32, width: u32) -> ClusterShape {
    shape_of(n, width, "v1")
}

/// The same of nodes that run `image`.
pub(crate) fn shape_of(n: u32, width: u32, image: &str) -> ClusterShape {
    let width = width.min(limits::GROUP_COUNT_MAX);
    let groups = (0..n.div_ceil(width)).map(|at| {
        let name = format!("group{at:04}").parse().expect("a group name");
        RunNodeGroupSpec::new(name, width.min(n - at * width), spec(image), Policy::default())
    });
    let name = "bench".parse().expect("a run name");
    ClusterShape::new(name, Uuid::from_bytes([7; 16]), Generation::new(1), groups).expect("a shape")
}

/// What a record is made to be.
pub(crate) type Make = fn(u32, &mut NodeRecord);

/// The records of `shape`, each settled and then made something else by `make`.
pub(crate) fn state(shape: &ClusterShape, make: Make) -> ClusterState {
    let mut n = 0;
    let mut records = Vec::new();
    for group in shape.groups() {
        for index in 0..group.count {
            let slot = LogicalNodeId::new(group.group.clone(), index);
            let spec = shape.stamp(group, slot, shape.generation, AttemptOrdinal::new(1));
            let mut record = NodeRecord::fresh(spec, Backoff::default(), THEN);
            record.stage = dormant(index);
            make(n, &mut record);
            records.push(record);
            n += 1;
        }
    }
    let mut state = ClusterState::restore(records, [], NOW);
    drop(state.take_dirty());
    state
}

/// As it settled.
pub(crate) fn settled(_n: u32, _record: &mut NodeRecord) {}

/// Every node has a step to take; a third waits out a backoff, a tenth is of another revision.
pub(crate) fn mixed(n: u32, record: &mut NodeRecord) {
    record.stage = match n % 30 {
        0..10 => {
            let at = NOW.after(Millis::from_secs(5));
            record.backoff = Backoff { failures: 1, delays: 1, not_before: Some(at) };
            NodeStage::Destroyed { at: THEN, failure: None }
        }
        10..13 => {
            record.revision = reconciler_core::id::RevisionDigest::from_bytes([0; 32]);
            return;
        }
        13..20 => NodeStage::New,
        20..27 => {
            let (lease, endpoint) = (lease(n), Endpoint::default());
            NodeStage::EndpointKnown { lease, endpoint }
        }
        _ => {
            let message = Redacted::new("it broke");
            let failure = FailureFacts { at: THEN, class: FailureClass::Workload, message };
            NodeStage::Failed { failure, remains: Remains::Lease { lease: lease(n) } }
        }
    };
}

/// Every node waits for a moment within the next second.
pub(crate) fn waiting(n: u32, record: &mut NodeRecord) {
    record.stage = NodeStage::Destroyed { at: THEN, failure: None };
    let at = NOW.after(Millis::new(u64::from(n % 1_000) + 1));
    record.backoff = Backoff { failures: 1, delays: 1, not_before: Some(at) };
}

fn lease(n: u32) -> LeaseFacts {
    let id = LeaseId::new(&format!("lease-{n:08}"));
    LeaseFacts { id, fence: Fence::new(1), handle: Handle::default() }
}

fn dormant(n: u32) -> NodeStage {
    let member = MemberFacts {
        session: SessionId::new(1),
        joined_at: THEN,
        ready_at: THEN,
        workload: Handle::default(),
    };
    NodeStage::Dormant { lease: lease(n), endpoint: Endpoint::default(), member, completed: None }
}

/// The workload of a slot ended.
pub(crate) fn exited(state: &ClusterState, slot: LogicalNodeId) -> Fact {
    let attempt = state.record(&slot).expect("a record").attempt;
    let (workload, status) = (Handle::default(), ExitStatus::Code(1));
    Fact::Exited { slot, attempt, workload, status, tail: Redacted::default() }
}

/// `k` slots of `shape` in a scattered order, none twice.
pub(crate) fn scattered(shape: &ClusterShape, k: usize) -> Vec<LogicalNodeId> {
    let slots: Vec<_> = shape
        .groups()
        .flat_map(|g| (0..g.count).map(|index| LogicalNodeId::new(g.group.clone(), index)))
        .collect();
    // A step that shares no factor with any size here walks through all of them.
    let walk = (0..slots.len()).map(|n| (n * 7_919 + 11) % slots.len());
    walk.take(k).filter_map(|at| slots.get(at).cloned()).collect()
}
