//! `Preflight`: what an effect must pass right before it goes out, whether it is the first of an operation or one that a
//! new driver goes on with (D16, R97).

use reconciler_core::effect::{EffectFailure, Intent};

use super::{Provider, Work};

/// One check. It changes nothing, and answers anew each time: what it said before counts for nothing.
///
/// A refusal is definite, since nothing was sent. Who cannot tell refuses: absent authority fails closed.
pub trait Preflight: Send + Sync {
    /// A stable word for it.
    fn name(&self) -> &'static str;

    /// Whether `intent` may go to `provider` now.
    ///
    /// # Cancel safety
    /// Dropping the future is like a refusal.
    fn check<'a>(
        &'a self,
        intent: &'a Intent,
        provider: &'a dyn Provider,
    ) -> Work<'a, Result<(), EffectFailure>>;
}
