//! The one place where an intent becomes durable: both stores call this after their sync, nothing else does.

use reconciler_core::{durable::Durable, effect::Intent};

/// Vouches that `intents` stand on disk.
pub(super) fn seal(intents: Vec<Intent>) -> Vec<Durable<Intent>> {
    let seal_one = |intent: Intent| {
        let (operation, step, fence) = (intent.operation, intent.step, intent.fence);
        Durable::seal(intent, operation, step, fence)
    };
    intents.into_iter().map(seal_one).collect()
}
