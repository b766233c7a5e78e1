//! What a slot is explained from: the same that the ladder reads.

use crate::{
    desired::RunNodeGroupSpec,
    id::LogicalNodeId,
    observed::{ClusterState, GroupState, NodeRecord},
};

/// All that is known of one slot where it is explained.
pub(super) struct Sight<'a> {
    pub(super) slot: &'a LogicalNodeId,
    pub(super) record: Option<&'a NodeRecord>,
    pub(super) state: Option<&'a GroupState>,
    pub(super) group: Option<&'a RunNodeGroupSpec>,
    pub(super) observed: &'a ClusterState,
}
