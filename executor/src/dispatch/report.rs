//! What the dispatcher tells the driver; each value is one observation to fold.

use std::{sync::Arc, time::Duration};

use reconciler_core::{
    desired::{Probe, ProbeKind},
    effect::{EffectReport, Listing, Look},
    id::{AttemptId, LogicalNodeId, ProviderName, SessionId},
    observed::{Handle, ProbeAnswer},
    redact::Redacted,
};

use crate::seam::{Exit, SessionObservation};

/// One observation on its way to the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// What became of a dispatched intent; exactly one per step.
    Effect(EffectReport),
    /// How far a bootstrap session has come.
    Session {
        /// The slot.
        slot: LogicalNodeId,
        /// The attempt.
        attempt: AttemptId,
        /// The session.
        session: SessionId,
        /// What it reported.
        observation: SessionObservation,
    },
    /// What a provider holds for the run.
    Listed {
        /// Which provider.
        provider: ProviderName,
        /// What it said.
        listing: Listing,
        /// How long after its creation a thing may still lack in this listing (C3).
        visibility: Duration,
    },
    /// What a look at one attempt by its id showed.
    Looked {
        /// Which provider.
        provider: ProviderName,
        /// The slot.
        slot: LogicalNodeId,
        /// The attempt.
        attempt: AttemptId,
        /// What it showed.
        look: Look,
    },
    /// A workload was asked by one of its probes.
    Probed {
        /// The slot.
        slot: LogicalNodeId,
        /// The attempt.
        attempt: AttemptId,
        /// The session of the workload.
        session: SessionId,
        /// Which probe.
        kind: ProbeKind,
        /// What was asked.
        probe: Arc<Probe>,
        /// What came of it.
        answer: ProbeAnswer,
    },
    /// What was written last in a session.
    Said {
        /// The slot.
        slot: LogicalNodeId,
        /// The attempt.
        attempt: AttemptId,
        /// The session.
        session: SessionId,
        /// The last lines, cleaned.
        tail: Redacted,
    },
    /// A watched workload ended.
    Exited {
        /// The slot.
        slot: LogicalNodeId,
        /// The attempt.
        attempt: AttemptId,
        /// Which workload.
        workload: Handle,
        /// How.
        exit: Exit,
    },
}

/// Takes reports; called from the dispatcher's own tasks, and must not block.
pub type ReportSink = Arc<dyn Fn(Report) + Send + Sync>;
