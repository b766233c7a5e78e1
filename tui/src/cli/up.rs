//! `levelhead up`: plan, ask, go, and wait until everything is as the file says.

use super::{
    change,
    context::Context,
    exit::Outcome,
    flags::{Confirming, Going},
};

/// Brings everything up.
pub(crate) async fn run(context: &Context, how: &Confirming, going: &Going) -> Outcome {
    change::run(context, context.file_edit()?, "up", how, going).await
}
