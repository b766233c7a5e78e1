//! The kinds of a step by name: the six commands, and the hooks, which are none.

use alloc::{format, string::String};

use serde::{Deserialize, Serialize};

use crate::{
    command::CommandKind,
    desired::{Hook, HookPoint, Policy},
    limits,
    time::Millis,
};

/// The kind of a step; stored and shown by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub enum ActionKind {
    /// A command of the node's manager.
    Command(CommandKind),
    /// The hook of that point.
    Hook(HookPoint),
}

impl ActionKind {
    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        let hook = || HookPoint::ALL.into_iter().find(|point| hook_name(*point) == name);
        let command = CommandKind::from_name(name).map(Self::Command);
        command.or_else(|| hook().map(Self::Hook))
    }

    /// How long it may take under `policy`.
    pub fn timeout(self, policy: &Policy) -> Millis {
        match self {
            Self::Command(command) => command.timeout(policy),
            Self::Hook(point) => {
                // One that is declared no more was bounded when it was.
                policy.hooks.at(point).map_or(limits::HOOK_TIMEOUT_MAX, Hook::effect_timeout)
            }
        }
    }

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Command(command) => command.as_str(),
            Self::Hook(point) => hook_name(point),
        }
    }
}

const fn hook_name(point: HookPoint) -> &'static str {
    match point {
        HookPoint::PreStart => "hook-pre-start",
        HookPoint::PostStart => "hook-post-start",
        HookPoint::PreStop => "hook-pre-stop",
        HookPoint::PostStop => "hook-post-stop",
    }
}

impl From<CommandKind> for ActionKind {
    fn from(command: CommandKind) -> Self {
        Self::Command(command)
    }
}

impl PartialEq<CommandKind> for ActionKind {
    fn eq(&self, command: &CommandKind) -> bool {
        *self == Self::Command(*command)
    }
}

impl From<ActionKind> for &'static str {
    fn from(kind: ActionKind) -> Self {
        kind.as_str()
    }
}

impl TryFrom<String> for ActionKind {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        Self::from_name(&name).ok_or_else(|| format!("`{name}` is neither a command nor a hook"))
    }
}
