//! The bootstrap session: what is to be started, and the sequenced reports of its progress.

use std::{sync::Arc, time::Duration};

use reconciler_core::{
    effect::NodeRequest,
    id::SessionId,
    observed::{Endpoint, LeaseFacts, SessionStage},
    redact::Redacted,
};

/// What a bootstrap session is to bring up.
#[derive(Clone, Debug)]
pub struct StartRequest {
    /// The attempt and its spec.
    pub request: NodeRequest,
    /// The lease to run it on.
    pub lease: LeaseFacts,
    /// Its endpoint, whose ports are substituted into command and environment.
    pub endpoint: Endpoint,
    /// The session's number within the attempt.
    pub session: SessionId,
    /// How long the verify commands may take in all.
    pub timeout: Duration,
}

/// One report of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionObservation {
    /// Rises by one with each report of the session, from 1.
    pub seq: u64,
    /// How far it has come.
    pub stage: SessionStage,
    /// A line to show, cleaned.
    pub line: Option<Redacted>,
}

/// Takes a session's reports; never blocks.
pub type SessionSink = Arc<dyn Fn(SessionObservation) + Send + Sync>;
