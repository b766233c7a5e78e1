//! One step of a plan.

use alloc::{string::String, vec::Vec};

use crate::{
    canonical::Canon,
    effect::{CommandKind, idempotency_key},
    id::{AttemptId, IdempotencyKey, LogicalNodeId},
    time::Millis,
};

/// One step of a plan's DAG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanStep {
    /// Unique within the plan: slot, attempt and place in the attempt.
    pub key: String,
    /// The slot.
    pub slot: LogicalNodeId,
    /// The attempt that it is for.
    pub attempt: AttemptId,
    /// What it does.
    pub action: CommandKind,
    /// Keys of the steps that must have succeeded first, sorted.
    pub after: Vec<String>,
    /// How long it may take.
    pub timeout: Millis,
    /// What undoes it; `None` where nothing does.
    pub inverse: Option<CommandKind>,
}

impl PlanStep {
    /// The key by which a provider recognises this request.
    pub fn idempotency_key(&self) -> IdempotencyKey {
        idempotency_key(self.attempt.uuid, self.action, "")
    }

    /// The step as a canonical value.
    pub fn canon(&self) -> Canon {
        Canon::object([
            ("key", Canon::text(&self.key)),
            ("slot", Canon::show(&self.slot)),
            ("attempt", Canon::show(self.attempt.uuid)),
            ("action", Canon::text(self.action.as_str())),
            ("after", Canon::list(self.after.iter().map(|key| Canon::text(key)))),
            ("timeout-ms", Canon::num(self.timeout.get())),
            ("inverse", self.inverse.map_or(Canon::Null, |i| Canon::text(i.as_str()))),
            ("idempotency-key", Canon::show(self.idempotency_key())),
        ])
    }
}

/// What undoes a command (clarification of actions and inverses in the design).
pub(super) const fn inverse(command: CommandKind) -> Option<CommandKind> {
    match command {
        CommandKind::CreateLease => Some(CommandKind::DestroyLease),
        CommandKind::StartBootstrap => Some(CommandKind::CancelBootstrap),
        CommandKind::CancelBootstrap => Some(CommandKind::StartBootstrap),
        CommandKind::DestroyLease => Some(CommandKind::CreateLease),
        CommandKind::LookupEndpoint | CommandKind::BootstrapConvergenceObserved => None,
    }
}
