//! `levelhead down`: everything goes, and nothing is left behind.

use driver::view::Edit;

use super::{args::Going, context::Context, converge, exit::Outcome};

/// Takes everything down.
pub(crate) async fn run(context: &Context, going: &Going) -> Outcome {
    converge::change(context, Edit::Down, going).await
}
