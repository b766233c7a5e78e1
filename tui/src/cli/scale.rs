//! `levelhead scale`: other counts, live; the file is not touched.

use driver::view::Edit;
use reconciler_core::id::{GroupId, PlanHash};

use super::{
    args::Going,
    context::Context,
    converge,
    exit::{Exit, Failure, Outcome},
    plan,
};

/// How the change is confirmed, if not by asking.
pub(crate) struct How {
    pub(crate) dry_run: bool,
    pub(crate) confirm: Option<PlanHash>,
}

/// Sets `counts`.
pub(crate) async fn run(
    context: &Context,
    counts: Vec<(GroupId, u32)>,
    how: How,
    going: &Going,
) -> Outcome {
    let words: Vec<String> = counts.iter().map(|(group, n)| format!("{group}={n}")).collect();
    let mut names: Vec<&GroupId> = counts.iter().map(|(group, _)| group).collect();
    names.sort_unstable();
    if let Some([twice, _]) = names.windows(2).find(|pair| pair.first() == pair.last()) {
        return Err(Failure::new(Exit::Usage, format!("`{twice}` is given two counts")));
    }
    let edit = Edit::Counts { counts: counts.into_iter().collect() };
    if how.dry_run {
        let found = plan::dry_run(context, &edit).await?;
        let file = context.file_word();
        let words = words.join(" ");
        let next =
            context.command(&format!("scale {words} --file {file} --confirm {}", found.hash));
        plan::show(context, &found, &next)?;
        return Ok(Exit::Done);
    }
    match how.confirm {
        Some(hash) => converge::confirmed(context, edit, hash, going).await,
        None => converge::change(context, edit, going).await,
    }
}
