//! `levelhead down`: everything goes, and nothing is left behind.

use driver::view::Edit;

use super::{
    args::{Confirming, Going},
    change,
    context::Context,
    exit::Outcome,
};

/// Takes everything down.
pub(crate) async fn run(context: &Context, how: &Confirming, going: &Going) -> Outcome {
    let words = format!("down {}", context.file_word());
    change::run(context, Edit::Down, &words, how, going).await
}
