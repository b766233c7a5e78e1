//! `levelhead up`: plan, ask, go, and wait until everything is as the file says.

use super::{args::Going, context::Context, converge, exit::Outcome};

/// Brings everything up.
pub(crate) async fn run(context: &Context, going: &Going) -> Outcome {
    converge::change(context, context.file_edit()?, going).await
}
