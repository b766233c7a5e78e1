//! What a step does: one of the six commands, or a hook, which is no command (design, clarification of actions).

use alloc::boxed::Box;

use serde::{Deserialize, Serialize};

use crate::{
    desired::Policy,
    hook::HookRun,
    id::{IdempotencyKey, SessionId, Uuid},
    key::session_key,
    kind::ActionKind,
    lease::LeaseFacts,
    request::NodeManagerCommand,
    time::Millis,
};

/// What a step does, with all that it takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Action {
    /// A command of the node's manager.
    Command(NodeManagerCommand),
    /// A hook.
    Hook(Box<HookRun>),
}

impl Action {
    /// Which kind it is.
    pub const fn kind(&self) -> ActionKind {
        match self {
            Self::Command(command) => ActionKind::Command(command.kind()),
            Self::Hook(run) => ActionKind::Hook(run.point),
        }
    }

    /// How long it may take under `policy`.
    pub fn timeout(&self, policy: &Policy) -> Millis {
        match self {
            Self::Command(command) => command.timeout(policy),
            Self::Hook(run) => run.hook.effect_timeout(),
        }
    }

    /// The session that it is about, if it is about one.
    pub const fn session(&self) -> Option<SessionId> {
        match self {
            Self::Command(command) => command.session(),
            Self::Hook(run) => Some(run.session),
        }
    }

    /// The lease that it is about, if one was made.
    pub const fn lease(&self) -> Option<&LeaseFacts> {
        match self {
            Self::Command(command) => command.lease(),
            Self::Hook(run) => Some(&run.lease),
        }
    }

    /// The key by which a provider recognises a repeat of this request for `attempt` (D7).
    pub fn idempotency_key(&self, attempt: Uuid) -> IdempotencyKey {
        session_key(attempt, self.kind(), self.session())
    }
}

impl From<NodeManagerCommand> for Action {
    fn from(command: NodeManagerCommand) -> Self {
        Self::Command(command)
    }
}
