//! What a provider is given to ask a workload by a command in the node's own ground.

use std::time::Duration;

use reconciler_core::{
    desired::ProbeKind,
    effect::NodeRequest,
    observed::{Handle, LeaseFacts},
};

/// A command that asks a workload how it is. It changes nothing that anybody keeps, so that a second one does no harm.
#[derive(Clone, Debug)]
pub struct ProbeAsk {
    /// The attempt and its spec.
    pub request: NodeRequest,
    /// Its lease.
    pub lease: LeaseFacts,
    /// The workload that is asked.
    pub workload: Handle,
    /// What the answer is for: at most one command of each kind runs at a time.
    pub kind: ProbeKind,
    /// Program and arguments; the placeholders of the spec are to be filled, and no shell is involved.
    pub argv: Vec<String>,
    /// How long it may take; after that it is ended, and has failed.
    pub timeout: Duration,
}
