//! `levelhead apply`: does what a plan showed, if what it was made from still holds.

use reconciler_core::id::PlanHash;

use super::{args::Going, context::Context, converge, exit::Outcome};

/// Applies the file's shape under the plan `hash`.
pub(crate) async fn run(context: &Context, hash: PlanHash, going: &Going) -> Outcome {
    converge::confirmed(context, context.file_edit(), hash, going).await
}
