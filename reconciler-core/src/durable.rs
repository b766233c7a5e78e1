//! The proof that an intent stands on disk.
//!
//! Dispatch consumes a `Durable`, so an effect without its journaled intent cannot be written down (P2). It is
//! neither `Clone` nor readable from bytes, and its constructor is called in one file of `checkpoint`, which
//! tidy enforces.

use crate::id::{Fence, OperationId, StepId};

/// A value whose intent was synced under (operation, step, fence).
#[derive(Debug)]
pub struct Durable<T> {
    value: T,
    operation: OperationId,
    step: StepId,
    fence: Fence,
}

impl<T> Durable<T> {
    /// Vouches that `value` was synced. For the journal's commit alone.
    #[doc(hidden)]
    pub const fn seal(value: T, operation: OperationId, step: StepId, fence: Fence) -> Self {
        Self { value, operation, step, fence }
    }

    /// The operation that it belongs to.
    pub const fn operation(&self) -> OperationId {
        self.operation
    }

    /// The step that it is.
    pub const fn step(&self) -> StepId {
        self.step
    }

    /// The fence under which it was written.
    pub const fn fence(&self) -> Fence {
        self.fence
    }

    /// The value, to look at.
    pub const fn get(&self) -> &T {
        &self.value
    }

    /// Gives up the proof and takes the value: the effect happens now.
    pub fn redeem(self) -> T {
        self.value
    }
}
