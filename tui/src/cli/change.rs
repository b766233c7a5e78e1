//! The verbs that change a run by an edit of its live shape: shown, confirmed by a hash, or asked for.

use driver::view::Edit;

use super::{
    context::Context,
    converge,
    exit::{Exit, Outcome},
    flags::{Confirming, Going},
    plan, plan_text,
};

/// Shows `edit` or carries it out. `words` are the verb and what it names.
pub(crate) async fn run(
    context: &Context,
    edit: Edit,
    words: &str,
    how: &Confirming,
    going: &Going,
) -> Outcome {
    if how.dry_run {
        let found = plan::dry_run(context, &edit).await?;
        let next = context.command(&format!("{words} {}", plan_text::confirmation(&found)));
        plan::show(context, &found, &next)?;
        return Ok(Exit::Done);
    }
    match how.confirm {
        Some(hash) => converge::confirmed(context, edit, hash, going).await,
        None => converge::change(context, edit, words, going).await,
    }
}
