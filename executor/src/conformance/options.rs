//! What the battery may use, and the usual choice of it.

use std::time::Duration;

use reconciler_core::{
    desired::DesiredNodeShape,
    id::{Fence, GroupId, ProviderName, Uuid},
};

/// What the battery may use.
#[derive(Clone, Debug)]
pub struct BatteryOptions {
    /// The name of the provider in specs.
    pub provider: ProviderName,
    /// A run of its own: whatever is listed for it counts as the battery's.
    pub run: Uuid,
    /// The group of its nodes.
    pub group: GroupId,
    /// What its nodes need; an image where the provider wants one.
    pub shape: DesiredNodeShape,
    /// A workload that goes on until it is ended.
    pub stays: Vec<String>,
    /// A workload that ends by itself with a status other than zero.
    pub fails: Vec<String>,
    /// A command that succeeds on a fresh node, and fails where it has succeeded before.
    pub once: Vec<String>,
    /// The longest wait for one answer, and for one thing to show.
    pub bound: Duration,
    /// Time between the polite and the forced end of a workload.
    pub grace: Duration,
    /// The fence of the trial; the provider must not have seen a higher one.
    pub fence: Fence,
}

impl BatteryOptions {
    /// The usual options; `run` must be a fresh UUID, because providers remember keys that derive from it.
    pub fn new(provider: ProviderName, group: GroupId, run: Uuid) -> Self {
        let owned = |argv: &[&str]| argv.iter().map(|&text| text.to_owned()).collect();
        Self {
            provider,
            run,
            group,
            shape: DesiredNodeShape::default(),
            stays: owned(&["sleep", "3600"]),
            fails: owned(&["false"]),
            once: owned(&["mkdir", "conformance-once"]),
            bound: Duration::from_mins(1),
            grace: Duration::from_secs(2),
            fence: Fence::new(2),
        }
    }
}
