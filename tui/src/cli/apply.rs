//! `levelhead apply`: does what a plan showed, if what it was made from still holds.

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use driver::view::{PlanView, VIEW_SCHEMA};
use reconciler_core::id::PlanHash;

use super::{
    context::Context,
    converge,
    exit::{Exit, Failure, Outcome, chain},
    flags::Going,
    plan,
};

/// Largest kept plan that is read: that of some hundred thousand steps.
const PLAN_BYTES_MAX: u64 = 256 << 20;

/// What says which plan is meant: its hash, or the plan itself as it was kept.
pub(crate) struct Confirm {
    pub(crate) hash: Option<PlanHash>,
    pub(crate) plan: Option<PathBuf>,
}

/// Applies the file's shape under the plan that is meant.
pub(crate) async fn run(context: &Context, confirm: Confirm, going: &Going) -> Outcome {
    let (hash, kept) = match (confirm.hash, confirm.plan) {
        (Some(hash), None) => (hash, None),
        (_, Some(path)) => {
            let plan = read_kept(&path)?;
            (plan.hash, Some((path, plan)))
        }
        (None, None) => return Err(Failure::new(Exit::Usage, "no plan is confirmed")),
    };
    let edit = context.file_edit()?;
    let Some((path, kept)) = kept else {
        return converge::confirmed(context, edit, hash, going).await;
    };
    let present = plan::dry_run(context, &edit).await?;
    if present.hash == hash && !kept.is_shown_as(&present) {
        return Err(edited(format!(
            "{}: it does not show what its hash stands for",
            path.display()
        )));
    }
    let outcome = converge::confirmed(context, edit, hash, going).await;
    outcome.map_err(|failure| {
        if failure.exit != Exit::Stale || present.hash == hash {
            return failure;
        }
        let mut moved = kept.basis().moved(&present.basis());
        moved.retain(|line| !failure.details.contains(line));
        Failure { details: failure.details.into_iter().chain(moved).collect(), ..failure }
    })
}

/// What is said of a kept plan that is not as it was made.
fn edited(message: String) -> Failure {
    let hint = "make it again with `levelhead plan --json`; a kept plan is not edited";
    Failure::new(Exit::Invalid, message).hint(hint)
}

/// A kept plan, if it still is the one that has its hash.
fn read_kept(path: &Path) -> Result<PlanView, Failure> {
    let shown = path.display();
    let mut text = String::new();
    let read =
        File::open(path).and_then(|file| file.take(PLAN_BYTES_MAX).read_to_string(&mut text));
    if let Err(error) = read {
        let failure = Failure::new(Exit::Invalid, format!("cannot read {shown}: {error}"));
        return Err(failure.hint("`levelhead plan --json` prints a plan that can be kept"));
    }
    let plan: PlanView = serde_json::from_str(&text)
        .map_err(|error| edited(format!("{shown} is no plan of this version: {error}")))?;
    if plan.schema != VIEW_SCHEMA {
        return Err(edited(format!("{shown} has form {}, not {VIEW_SCHEMA}", plan.schema)));
    }
    if plan.offline {
        return Err(edited(format!("{shown} was made without a look: it confirms nothing")));
    }
    plan.check().map_err(|error| edited(format!("{shown}: {}", chain(&error))))?;
    Ok(plan)
}
