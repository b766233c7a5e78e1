//! `levelhead update`: pauses an update that is under way, lets it go on, or takes it back.

use driver::view::Edit;
use reconciler_core::id::GroupId;

use super::{change, context::Context, exit::Outcome, flags::Powering, values::UpdateWhat};

/// Does `what` to the updates of `groups`.
pub(crate) async fn run(
    context: &Context,
    groups: Vec<GroupId>,
    what: &UpdateWhat,
    rest: &Powering,
) -> Outcome {
    let names: Vec<&str> = groups.iter().map(GroupId::as_str).collect();
    let names = names.join(" ");
    let (edit, flag) = if what.rollback {
        (Edit::Rollback { groups }, "--rollback")
    } else if what.pause {
        (Edit::Pause { groups }, "--pause")
    } else {
        (Edit::Resume { groups }, "--resume")
    };
    let words = format!("update {names} {flag}");
    change::run(context, edit, &words, &rest.how, &rest.going).await
}
