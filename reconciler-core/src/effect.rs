//! What a command becomes on its way to a provider, and what comes back.

use alloc::{boxed::Box, vec::Vec};
use core::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    desired::HookPoint,
    id::{
        AttemptId, Fence, IdempotencyKey, LogicalNodeId, OperationId, ProviderName, StepId, Uuid,
    },
    lease::{Endpoint, Handle, LeaseFacts},
    ownership::Admission,
    redact::Redacted,
    time::Millis,
};

pub use crate::{
    action::Action,
    command::CommandKind,
    hook::{HookRun, HookSight, HookState},
    key::idempotency_key,
    kind::ActionKind,
    lease::HandleFacts,
    request::{NodeManagerCommand, NodeRequest},
    workload::{ExitStatus, WorkloadState},
};

/// One step's effect, as it is journaled before it happens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// The operation that covers it.
    pub operation: OperationId,
    /// The step.
    pub step: StepId,
    /// The fence under which it goes out.
    pub fence: Fence,
    /// The slot.
    pub slot: LogicalNodeId,
    /// The attempt.
    pub attempt: AttemptId,
    /// Who performs it.
    pub provider: ProviderName,
    /// What.
    pub action: Action,
    /// The key that a repeat of the same request carries.
    pub key: IdempotencyKey,
    /// How long it may take.
    pub timeout: Millis,
    /// The evidence on which its provider had room for it, where what the provider has is declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admission: Option<Box<Admission>>,
}

/// What became of a dispatched intent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectReport {
    /// The step.
    pub step: StepId,
    /// The slot.
    pub slot: LogicalNodeId,
    /// The attempt.
    pub attempt: AttemptId,
    /// Which command or hook.
    pub command: ActionKind,
    /// Its result.
    pub result: EffectResult,
    /// What a look right after it showed, where a look says more than the result.
    pub look: Option<Look>,
}

/// What a successful effect brought.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EffectOutcome {
    /// `CreateLease`: the lease, and the endpoint where it is known at once.
    Leased {
        /// The lease.
        lease: LeaseFacts,
        /// Where it is reached.
        endpoint: Option<Endpoint>,
    },
    /// `LookupEndpoint`: the endpoint, or not yet.
    Endpoint(Option<Endpoint>),
    /// `StartBootstrap`: the workload runs.
    Started {
        /// What the provider knows of it.
        workload: Handle,
    },
    /// `BootstrapConvergenceObserved`: the session is closed.
    Closed,
    /// `CancelBootstrap`: session and workload are gone.
    Cancelled,
    /// `DestroyLease`: the lease is given back; absence is still to be seen.
    Released,
    /// A hook: it ended with status 0.
    Hooked(HookPoint),
}

impl EffectOutcome {
    /// The command or hook that it answers.
    pub const fn answers(&self) -> ActionKind {
        ActionKind::Command(match self {
            Self::Leased { .. } => CommandKind::CreateLease,
            Self::Endpoint(_) => CommandKind::LookupEndpoint,
            Self::Started { .. } => CommandKind::StartBootstrap,
            Self::Closed => CommandKind::BootstrapConvergenceObserved,
            Self::Cancelled => CommandKind::CancelBootstrap,
            Self::Released => CommandKind::DestroyLease,
            Self::Hooked(point) => return ActionKind::Hook(*point),
        })
    }
}

/// Whether the world may have changed although the effect failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// It surely did not happen.
    Definite,
    /// It may have happened.
    Ambiguous,
}

/// What kind of failure it was; policy follows this, never a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureClass {
    /// Credentials were refused.
    Auth,
    /// A quota is used up.
    Quota,
    /// The provider has nothing to give at present.
    Capacity,
    /// The provider asks for a pause.
    RateLimited {
        /// How long, in milliseconds.
        retry_after: Millis,
    },
    /// The thing is not there.
    NotFound,
    /// The request can never work.
    Invalid,
    /// The provider cannot be reached or broke off.
    Unavailable,
    /// No answer in time.
    TimedOut,
    /// The provider's code or program crashed.
    Crashed,
    /// The workload, a verify command or a hook failed.
    Workload,
    /// Somebody with a newer fence owns it.
    Fenced,
    /// It was taken back before it began, because the controller stops; nobody's failure.
    Withdrawn,
}

impl Certainty {
    /// Its name in the journal.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Definite => "definite",
            Self::Ambiguous => "ambiguous",
        }
    }
}

impl FailureClass {
    /// Every class; the pause that a provider may ask for is none in this list.
    pub const ALL: [Self; 12] = [
        Self::Auth,
        Self::Quota,
        Self::Capacity,
        Self::RateLimited { retry_after: Millis::ZERO },
        Self::NotFound,
        Self::Invalid,
        Self::Unavailable,
        Self::TimedOut,
        Self::Crashed,
        Self::Workload,
        Self::Fenced,
        Self::Withdrawn,
    ];

    /// Its name in the journal.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Quota => "quota",
            Self::Capacity => "capacity",
            Self::RateLimited { .. } => "rate-limited",
            Self::NotFound => "not-found",
            Self::Invalid => "invalid",
            Self::Unavailable => "unavailable",
            Self::TimedOut => "timed-out",
            Self::Crashed => "crashed",
            Self::Workload => "workload",
            Self::Fenced => "fenced",
            Self::Withdrawn => "withdrawn",
        }
    }
}

/// What a failure was, without its words: noted with the step that failed, as `CLASS/CERTAINTY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureKind {
    /// What kind.
    pub class: FailureClass,
    /// May it have happened all the same?
    pub certainty: Certainty,
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.class.as_str(), self.certainty.as_str())
    }
}

/// A text that names no kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no kind of failure is called so")]
pub struct UnknownFailure;

impl FromStr for FailureKind {
    type Err = UnknownFailure;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (class, certainty) = text.split_once('/').ok_or(UnknownFailure)?;
        let class = FailureClass::ALL.into_iter().find(|known| known.as_str() == class);
        let certainty = [Certainty::Definite, Certainty::Ambiguous]
            .into_iter()
            .find(|known| known.as_str() == certainty);
        class
            .zip(certainty)
            .map(|(class, certainty)| Self { class, certainty })
            .ok_or(UnknownFailure)
    }
}

/// A failed effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectFailure {
    /// May it have happened all the same?
    pub certainty: Certainty,
    /// What kind.
    pub class: FailureClass,
    /// What the provider said, cleaned.
    pub message: Redacted,
}

/// What became of an effect.
pub type EffectResult = Result<EffectOutcome, EffectFailure>;

/// What one look at one attempt by its id showed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Look {
    /// It could not be seen; nothing follows from that.
    Unknown {
        /// Why.
        why: Redacted,
    },
    /// The provider says by id that it does not exist: proof of absence.
    Absent,
    /// It exists.
    Present {
        /// The lease.
        lease: LeaseFacts,
        /// Where it is reached, if known.
        endpoint: Option<Endpoint>,
        /// Its workload.
        workload: WorkloadState,
        /// The hook that was begun last on it.
        #[serde(default)]
        hook: HookSight,
    },
}

/// One resource in a listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnedLease {
    /// The slot that it says it is for.
    pub slot: LogicalNodeId,
    /// The attempt that it says it is for.
    pub attempt: Uuid,
    /// The fence of its creation.
    pub fence: Fence,
    /// The lease.
    pub lease: LeaseFacts,
    /// Where it is reached, if the listing says so.
    pub endpoint: Option<Endpoint>,
    /// What runs on it, where the listing says so; `Unknown` elsewhere.
    pub workload: WorkloadState,
}

/// One listing of everything that a provider holds for this run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Listing {
    /// The provider vouches that nothing is missing.
    Complete(Vec<OwnedLease>),
    /// Some may be missing: presence counts, absence does not.
    Partial(Vec<OwnedLease>, Redacted),
    /// It could not be had; nothing follows from that.
    Unknown(Redacted),
}
