//! A hook on its way to a provider, and what a provider can say of it afterwards.

use serde::{Deserialize, Serialize};

use crate::{
    desired::{Hook, HookPoint},
    id::{IdempotencyKey, SessionId},
    lease::{Endpoint, LeaseFacts},
    redact::Redacted,
    request::NodeRequest,
    workload::ExitStatus,
};

/// One run of a hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookRun {
    /// When it runs.
    pub point: HookPoint,
    /// The session that it belongs to.
    pub session: SessionId,
    /// What runs, and for how long at most.
    pub hook: Hook,
    /// The attempt, and what its node is.
    pub request: NodeRequest,
    /// The lease that it runs on.
    pub lease: LeaseFacts,
    /// How that is reached, where it is known.
    pub endpoint: Endpoint,
}

/// What a look shows of the hook that was begun last on a lease.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HookSight {
    /// The provider does not say; nothing follows from that.
    #[default]
    Untold,
    /// None was begun.
    Nothing,
    /// One was begun.
    Begun {
        /// The key of its request.
        key: IdempotencyKey,
        /// What became of it.
        state: HookState,
    },
}

/// What became of a hook that was begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HookState {
    /// It runs.
    Running,
    /// It ended: well with status 0; with an unknown one, nobody saw how.
    Ended {
        /// How.
        status: ExitStatus,
        /// Its last lines, cleaned.
        tail: Redacted,
    },
}
