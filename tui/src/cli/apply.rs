//! `levelhead apply`: does what a plan showed, if what it was made from still holds.

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use driver::view::{PlanView, VIEW_SCHEMA};
use reconciler_core::id::PlanHash;

use super::{
    args::Going,
    context::Context,
    converge,
    exit::{Exit, Failure, Outcome, chain},
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
    let hash = match (confirm.hash, confirm.plan) {
        (Some(hash), None) => hash,
        (_, Some(path)) => kept(&path)?,
        (None, None) => return Err(Failure::new(Exit::Usage, "no plan is confirmed")),
    };
    converge::confirmed(context, context.file_edit(), hash, going).await
}

/// The hash of a kept plan, if the plan still is the one that has it.
fn kept(path: &Path) -> Result<PlanHash, Failure> {
    let shown = path.display();
    let invalid = |message: String| {
        let hint = "make it again with `levelhead plan --json`; a kept plan is not edited";
        Failure::new(Exit::Invalid, message).hint(hint)
    };
    let mut text = String::new();
    let read =
        File::open(path).and_then(|file| file.take(PLAN_BYTES_MAX).read_to_string(&mut text));
    if let Err(error) = read {
        return Err(Failure::new(Exit::Invalid, format!("cannot read {shown}: {error}")));
    }
    let plan: PlanView = serde_json::from_str(&text)
        .map_err(|error| invalid(format!("{shown} is no plan of this version: {error}")))?;
    if plan.schema != VIEW_SCHEMA {
        return Err(invalid(format!("{shown} has form {}, not {VIEW_SCHEMA}", plan.schema)));
    }
    plan.check().map_err(|error| invalid(format!("{shown}: {}", chain(&error))))?;
    Ok(plan.hash)
}
