//! `levelhead plan`: what would be done, and the hash that confirms it.

use driver::{
    Begin, Offline,
    view::{Edit, PlanView, Refusal, RefusalKind},
};

use reconciler_core::id::PlanHash;

use super::{
    attach,
    context::Context,
    exit::{Exit, Failure, Outcome},
    out, plan_text,
};

/// Shows the plan towards the file's shape; `offline`, as the journal alone leads to it, and says that nobody looked
/// (R83).
pub(crate) async fn run(context: &Context, offline: bool, detailed: bool) -> Outcome {
    let edit = context.file_edit()?;
    let plan = if offline { unseen(context, &edit)? } else { dry_run(context, &edit).await? };
    let next = if offline {
        context.command("plan")
    } else {
        context.command(&format!("apply {}", plan_text::confirmation(&plan)))
    };
    show(context, &plan, &next)?;
    Ok(if detailed && !plan.empty { Exit::Changes } else { Exit::Done })
}

/// Plans `edit` on what the journal says.
fn unseen(context: &Context, edit: &Edit) -> Result<PlanView, Failure> {
    let options = context.options(Begin::Waiting, std::time::Duration::ZERO);
    let plan = Offline::open(&context.paths)?.plan_unseen(&options, edit)?;
    Ok(context.place.plan(plan))
}

/// Plans `edit` without changing anything: by the driver that runs, or on a look of our own.
pub(crate) async fn dry_run(context: &Context, edit: &Edit) -> Result<PlanView, Failure> {
    for tried in 1.. {
        let Some(link) = context.attached().await? else { break };
        match link.plan(edit.clone()).await {
            // It ended before it answered: whoever has the run then is asked.
            Err(error) if attach::is_gone(&error) && tried < attach::DRIVERS_TRIED => {}
            answer => return Ok(context.place.plan(answer?)),
        }
    }
    let options = context.options(Begin::Waiting, std::time::Duration::ZERO);
    Ok(context.place.plan(Offline::open(&context.paths)?.plan(&options, edit).await?))
}

/// True if `hash` is of a plan that succeeded, and `edit` asks for nothing more: doing it again is done already (R106).
pub(crate) async fn is_done(
    context: &Context,
    edit: &Edit,
    hash: PlanHash,
) -> Result<bool, Failure> {
    // Elsewhere the journal is the driver's to ask, and it knows that the plan was used.
    if context.named.is_some() || !Offline::has_succeeded(&context.paths, hash)? {
        return Ok(false);
    }
    Ok(dry_run(context, edit).await.is_ok_and(|present| present.empty))
}

/// Checks without taking the run that `hash` still is the plan of `edit`, and gives that.
pub(crate) async fn still_holds(
    context: &Context,
    edit: &Edit,
    hash: PlanHash,
) -> Result<PlanView, Failure> {
    let present = dry_run(context, edit).await?;
    if present.hash == hash {
        return Ok(present);
    }
    let used = Offline::was_used(&context.paths, hash)?;
    let message = if used {
        "this plan was confirmed before; a plan is good for one use"
    } else {
        "what the plan was made from has changed"
    };
    let mut moved = vec![
        format!("the live generation is {}", present.base),
        format!("{} plans were confirmed so far", present.serial),
        format!("the plan would now be {}", present.hash),
    ];
    if !used {
        // Nobody kept what the plan was made from: the file knows its age, the journal what happened lately.
        moved.extend(written(context, edit));
        moved.extend(Offline::open(&context.paths)?.news());
    }
    Err(Refusal {
        kind: RefusalKind::Stale,
        message: message.to_owned(),
        moved,
        hint: Some("make the plan again, look at it, and confirm its new hash".to_owned()),
    }
    .into())
}

/// When the file was written last, where the plan is made from it.
fn written(context: &Context, edit: &Edit) -> Option<String> {
    if !matches!(edit, Edit::File { .. }) {
        return None;
    }
    let age = context.file.metadata().ok()?.modified().ok()?.elapsed().ok()?;
    Some(format!("{} was written {} s ago", context.file.display(), age.as_secs()))
}

/// Prints a plan as data, with the command that carries it out.
pub(crate) fn show(context: &Context, plan: &PlanView, next: &str) -> Result<(), Failure> {
    if context.global.json {
        return out::json(plan);
    }
    for line in plan_text::lines(plan) {
        out::line(line);
    }
    // A pause has no step, and is worth carrying out all the same.
    if !plan.empty {
        out::line(format!("next: {next}"));
    }
    Ok(())
}
