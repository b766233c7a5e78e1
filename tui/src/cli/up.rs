//! `levelhead up`: plan, ask, go, and wait until everything is as the file says.

use super::{context::Context, converge, exit::Outcome, flags::Going};

/// Brings everything up.
pub(crate) async fn run(context: &Context, going: &Going) -> Outcome {
    converge::change(context, context.file_edit()?, going).await
}
