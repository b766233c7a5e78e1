//! `levelhead scale`: other counts, live; the file is not touched.

use driver::view::Edit;
use reconciler_core::id::GroupId;

use super::{
    change,
    context::Context,
    exit::{Exit, Failure, Outcome},
    flags::{Confirming, Going},
};

/// Sets `counts`.
pub(crate) async fn run(
    context: &Context,
    counts: Vec<(GroupId, u32)>,
    how: &Confirming,
    going: &Going,
) -> Outcome {
    let words: Vec<String> = counts.iter().map(|(group, n)| format!("{group}={n}")).collect();
    let mut names: Vec<&GroupId> = counts.iter().map(|(group, _)| group).collect();
    names.sort_unstable();
    if let Some([twice, _]) = names.windows(2).find(|pair| pair.first() == pair.last()) {
        return Err(Failure::new(Exit::Usage, format!("`{twice}` is given two counts")));
    }
    let edit = Edit::Counts { counts: counts.into_iter().collect() };
    let words = format!("scale {}", words.join(" "));
    change::run(context, edit, &words, how, going).await
}
