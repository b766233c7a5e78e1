//! What accompanies every effect.

use std::time::Instant;

use reconciler_core::id::{
    AttemptId, Fence, IdempotencyKey, LogicalNodeId, OperationId, StepId, Uuid,
};

/// What accompanies every effect on its way to a provider.
#[derive(Clone, Debug)]
pub struct EffectContext {
    /// The run.
    pub run: Uuid,
    /// The slot that it is for.
    pub slot: LogicalNodeId,
    /// The attempt that it is for.
    pub attempt: AttemptId,
    /// The operation that covers it.
    pub operation: OperationId,
    /// Its step.
    pub step: StepId,
    /// A repeat of the same request carries the same key.
    pub key: IdempotencyKey,
    /// The controller's epoch; an enforcing provider refuses one lower than it has seen.
    pub fence: Fence,
    /// When the dispatcher gives up waiting; a provider that can, ends its own work by then.
    pub deadline: Instant,
}
