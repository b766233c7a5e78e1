//! The stages that more than one kind of fact leads to.

use super::folding::Folding;
use crate::{
    observed::{Handle, MemberFacts, NodeStage, Remains, SessionFacts, SessionStage},
    time::Timestamp,
};

/// The workload runs: its session is open and its settle time begins.
pub(super) fn started(f: &mut Folding<'_>, stage: NodeStage, workload: Handle) {
    let (lease, endpoint) = match stage {
        NodeStage::LeaseCreated { lease, endpoint: Some(endpoint), .. }
        | NodeStage::EndpointKnown { lease, endpoint } => (lease, endpoint),
        NodeStage::New
        | NodeStage::LeaseRequested
        | NodeStage::LeaseCreated { endpoint: None, .. }
        | NodeStage::BootstrapRunning { .. }
        | NodeStage::SwactorJoined { .. }
        | NodeStage::HandedOff { .. }
        | NodeStage::Dormant { .. }
        | NodeStage::Failed { .. }
        | NodeStage::Destroyed { .. } => return,
    };
    let id = f.record.next_session;
    f.record.next_session = id.next();
    // What an earlier stop owed is not run for a workload that serves again.
    f.record.hooks.stopped = None;
    let session = SessionFacts {
        id,
        stage: SessionStage::WaitingForSwactorJoin,
        seq: 0,
        started_at: f.now,
        workload,
    };
    let settle_at = f.now.after(f.record.policy.settle);
    f.enter(NodeStage::BootstrapRunning { lease, endpoint, session, settle_at });
}

/// The member that a joined session becomes.
pub(super) fn member(session: SessionFacts, joined_at: Timestamp, now: Timestamp) -> MemberFacts {
    MemberFacts { session: session.id, joined_at, ready_at: now, workload: session.workload }
}

/// The workload was ended on purpose: what its stop still owes comes before the next start.
pub(super) fn stopped(f: &mut Folding<'_>, stage: NodeStage) {
    if f.record.policy.hooks.post_stop.is_some() {
        f.record.hooks.stopped = stage.session().or(f.record.hooks.stopped);
    }
    f.enter(without_workload(stage));
}

/// The stage once the workload is gone and the lease remains.
pub(super) fn without_workload(stage: NodeStage) -> NodeStage {
    match stage {
        NodeStage::BootstrapRunning { lease, endpoint, .. }
        | NodeStage::SwactorJoined { lease, endpoint, .. }
        | NodeStage::HandedOff { lease, endpoint, .. }
        | NodeStage::Dormant { lease, endpoint, .. } => {
            NodeStage::EndpointKnown { lease, endpoint }
        }
        NodeStage::Failed { failure, remains: Remains::Session { lease, .. } } => {
            NodeStage::Failed { failure, remains: Remains::Lease { lease } }
        }
        stage @ (NodeStage::New
        | NodeStage::LeaseRequested
        | NodeStage::LeaseCreated { .. }
        | NodeStage::EndpointKnown { .. }
        | NodeStage::Failed { .. }
        | NodeStage::Destroyed { .. }) => stage,
    }
}

/// The stage once nothing is left at the provider.
pub(super) fn without_lease(stage: NodeStage) -> NodeStage {
    match stage {
        NodeStage::Failed { failure, .. } => {
            NodeStage::Failed { failure, remains: Remains::Nothing }
        }
        stage @ NodeStage::Destroyed { .. } => stage,
        NodeStage::New
        | NodeStage::LeaseRequested
        | NodeStage::LeaseCreated { .. }
        | NodeStage::EndpointKnown { .. }
        | NodeStage::BootstrapRunning { .. }
        | NodeStage::SwactorJoined { .. }
        | NodeStage::HandedOff { .. }
        | NodeStage::Dormant { .. } => NodeStage::New,
    }
}
