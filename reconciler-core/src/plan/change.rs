//! What a plan means for each slot, in one word and one line.

use crate::{
    desired::{ClusterShape, RunNodeGroupSpec},
    id::LogicalNodeId,
    observed::{ClusterState, NodeRecord, NodeStage, Side},
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
    /// The workload of a node is ended; its lease stays.
    Stop,
    /// The workload of a node that rests is started.
    Start,
    /// A workload begins anew.
    Restart,
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
        (Some(_), None) if target.group(&slot.group).is_some_and(|group| group.count == 0) => {
            (ChangeKind::Destroy, "its group wants no nodes")
        }
        (Some(_), None) => (ChangeKind::Destroy, "its index is beyond the count"),
        (Some(record), Some(wanted)) => {
            let frozen = observed.freeze(&slot.group, wanted.revision).is_some();
            if frozen && record.revision != wanted.revision {
                as_it_was(of_its_revision(record, wanted)?)
            } else {
                existing(record, wanted)?
            }
        }
    };
    Some(Change { slot: slot.clone(), kind, ready, why })
}

fn existing(record: &NodeRecord, wanted: &RunNodeGroupSpec) -> Option<(ChangeKind, &'static str)> {
    if record.revision != wanted.revision {
        return Some((ChangeKind::Replace, "what a node of its group is has changed"));
    }
    of_its_revision(record, wanted).or_else(|| beside(record, wanted))
}

/// A node that stays while the attempt beside it does not: what an update put there ends where the group goes back.
fn beside(record: &NodeRecord, wanted: &RunNodeGroupSpec) -> Option<(ChangeKind, &'static str)> {
    let second = record.side(Side::Second)?;
    let ends = second.deletion.is_none() && second.revision != wanted.revision;
    ends.then_some((ChangeKind::Repair, "it stays, and the candidate beside it is ended"))
}

/// The same for a node that keeps its revision, since the update of its group moves nothing at present.
const fn as_it_was((kind, why): (ChangeKind, &'static str)) -> (ChangeKind, &'static str) {
    let why = match kind {
        ChangeKind::Repair => "it comes back as it was: the update of its group moves nothing now",
        ChangeKind::Start => "it starts as it was: the update of its group moves nothing now",
        ChangeKind::Restart => {
            "it begins anew as it was: the update of its group moves nothing now"
        }
        ChangeKind::Create | ChangeKind::Replace | ChangeKind::Destroy | ChangeKind::Stop => why,
    };
    (kind, why)
}

fn of_its_revision(
    record: &NodeRecord,
    wanted: &RunNodeGroupSpec,
) -> Option<(ChangeKind, &'static str)> {
    let index = record.slot.index;
    if record.deletion.is_some() {
        return Some((ChangeKind::Repair, "it is being deleted, and wanted again"));
    }
    let behind = record.round < wanted.power.round(index);
    if wanted.power.is_off(index) {
        return record.may_run().then_some((ChangeKind::Stop, "it is switched off"));
    }
    if behind && record.is_completed() {
        return Some((ChangeKind::Restart, "its job is to run again"));
    }
    if behind && record.stage.has_workload() {
        return Some((ChangeKind::Restart, "it is to begin anew"));
    }
    if record.is_working() {
        return Some((ChangeKind::Repair, "its job runs, and is not completed yet"));
    }
    if record.is_ready() {
        return None;
    }
    let rests = matches!(record.stage, NodeStage::EndpointKnown { .. });
    if rests && record.next_session.get() > 1 && record.hold.is_none() {
        return Some((ChangeKind::Start, "it rests, and is switched on"));
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
