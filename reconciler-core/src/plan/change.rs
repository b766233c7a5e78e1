//! What a plan means for each slot, in one word and one line.

use crate::{
    desired::ClusterShape,
    id::LogicalNodeId,
    observed::{ClusterState, NodeRecord, NodeStage},
};

/// What happens to a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// A node is made where none was.
    Create,
    /// A node gives way to one of another revision.
    Replace,
    /// A node that is on its way or broken is brought to readiness.
    Repair,
    /// A node goes.
    Destroy,
}

/// What happens to one slot, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The slot.
    pub slot: LogicalNodeId,
    /// What.
    pub kind: ChangeKind,
    /// True if the node serves at present.
    pub ready: bool,
    /// Why.
    pub why: &'static str,
}

/// What the target means for a slot as it stands; nothing if it simply stays.
pub(super) fn of_slot(
    slot: &LogicalNodeId,
    observed: &ClusterState,
    target: &ClusterShape,
) -> Option<Change> {
    let record = observed.record(slot).map(alloc::sync::Arc::as_ref);
    let ready = record.is_some_and(NodeRecord::is_ready);
    let (kind, why) = match (record, target.wanted(slot)) {
        (None, None) => return None,
        (None, Some(_)) => (ChangeKind::Create, "wanted, and not there"),
        (Some(_), None) if target.group(&slot.group).is_none() => {
            (ChangeKind::Destroy, "its group is no longer declared")
        }
        (Some(_), None) => (ChangeKind::Destroy, "its index is beyond the count"),
        (Some(record), Some(wanted)) => existing(record, wanted.revision == record.revision)?,
    };
    Some(Change { slot: slot.clone(), kind, ready, why })
}

fn existing(record: &NodeRecord, same_revision: bool) -> Option<(ChangeKind, &'static str)> {
    if !same_revision {
        return Some((ChangeKind::Replace, "what a node of its group is has changed"));
    }
    if record.deletion.is_some() {
        return Some((ChangeKind::Repair, "it is being deleted, and wanted again"));
    }
    if record.is_ready() {
        return None;
    }
    Some(match record.stage {
        NodeStage::Failed { .. } | NodeStage::Destroyed { .. } => {
            (ChangeKind::Repair, "it is not there any more")
        }
        NodeStage::New
        | NodeStage::LeaseRequested
        | NodeStage::LeaseCreated { .. }
        | NodeStage::EndpointKnown { .. }
        | NodeStage::BootstrapRunning { .. }
        | NodeStage::SwactorJoined { .. }
        | NodeStage::HandedOff { .. }
        | NodeStage::Dormant { .. } => (ChangeKind::Repair, "it is not ready yet"),
    })
}
