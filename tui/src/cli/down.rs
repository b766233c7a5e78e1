//! `levelhead down`: everything goes, and nothing is left behind.

use driver::view::Edit;

use super::{
    change,
    context::Context,
    exit::Outcome,
    flags::{Confirming, Going},
};

/// Takes everything down.
pub(crate) async fn run(context: &Context, how: &Confirming, going: &Going) -> Outcome {
    change::run(context, Edit::Down, "down", how, going).await
}
