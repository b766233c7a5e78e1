//! `levelhead recovery`: what is open, and what a person does with it.

use driver::{
    Offline,
    view::{
        CheckpointView, Edit, RecoveryOperationView, RecoveryStepView, RecoveryVerb, RecoveryView,
        ShownOperationView, UnreadOperationView,
    },
};
use reconciler_core::id::OperationId;

use super::{
    change,
    context::Context,
    exit::{Exit, Outcome},
    flags::Powering,
    out,
    recovery_args::RecoveryCommand,
    style,
};

/// Carries out what was typed; without a verb it lists.
pub(crate) async fn run(context: &Context, verb: Option<RecoveryCommand>) -> Outcome {
    match verb {
        None => list(context),
        Some(RecoveryCommand::Show { id, .. }) => show(context, id),
        Some(RecoveryCommand::Resume { id, rest }) => {
            change(context, id, RecoveryVerb::Resume, &rest).await
        }
        Some(RecoveryCommand::Rollback { id, rest }) => {
            change(context, id, RecoveryVerb::Rollback, &rest).await
        }
        Some(RecoveryCommand::Release { id, rest }) => {
            change(context, id, RecoveryVerb::Release, &rest).await
        }
    }
}

async fn change(
    context: &Context,
    operation: OperationId,
    verb: RecoveryVerb,
    rest: &Powering,
) -> Outcome {
    let words = format!("recovery {} {operation}", verb.as_str());
    change::run(context, Edit::Recover { operation, verb }, &words, &rest.how, &rest.going).await
}

fn list(context: &Context) -> Outcome {
    let view = Offline::open(&context.paths)?.recovery(context.is_driven()?);
    if context.global.json {
        out::json(&view)?;
        return Ok(Exit::Done);
    }
    for line in listed(&view) {
        out::line(line);
    }
    let first = view.operations.first().map(|one| one.id);
    let Some(first) = first.or(view.unread.first().map(|one| one.id)) else {
        return Ok(Exit::Done);
    };
    out::line(format!("next: {}", context.command(&format!("recovery show {first}"))));
    Ok(Exit::Done)
}

/// The list as text.
fn listed(view: &RecoveryView) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(owner) = &view.owner {
        let drives = if owner.drives { "drives since" } else { "is gone; drove since" };
        lines.push(format!(
            "owner: process {} on {} {drives} {}, fence {}",
            owner.pid,
            owner.host,
            style::time(owner.since),
            owner.fence
        ));
    }
    for one in &view.operations {
        lines.extend(head(one));
    }
    for one in &view.unread {
        lines.extend(unread(one));
    }
    // What cannot be read of an operation stands with it.
    let told: Vec<&String> = view
        .unread
        .iter()
        .flat_map(|one| &one.problems)
        .chain(view.operations.iter().flat_map(|one| &one.problems))
        .collect();
    lines.extend(view.unreadable.iter().filter(|line| !told.contains(line)).cloned());
    if view.operations.is_empty() && view.unreadable.is_empty() {
        lines.push("nothing is open".to_owned());
    }
    lines
}

/// An operation that cannot be read.
fn unread(one: &UnreadOperationView) -> Vec<String> {
    let mut lines =
        vec![format!("operation {} of {}: nobody can tell how far it came", one.id, one.group)];
    lines.extend(one.problems.iter().map(|problem| format!("  {problem}")));
    lines.extend(one.columns.iter().map(|(name, text)| format!("  {name}: {text}")));
    lines.extend(modes(&one.modes));
    lines
}

/// What can be done with an operation.
fn modes(modes: &[RecoveryVerb]) -> Option<String> {
    let names: Vec<&str> = modes.iter().map(|mode| mode.as_str()).collect();
    (!names.is_empty()).then(|| format!("  can be: {}", names.join(", ")))
}

fn head(one: &RecoveryOperationView) -> Vec<String> {
    let mut lines = vec![
        format!("operation {} of {}: {}, {}", one.id, one.group, one.status, one.direction),
        format!("  plan {}, fence {}, since {}", one.plan, one.fence, style::time(one.opened_at)),
        format!("  goal: {}", one.goals),
        format!("  checkpoint {}", checkpoint(&one.checkpoint)),
    ];
    lines.extend(one.rollback_plan.map(|plan| format!("  turned back by plan {plan}")));
    lines.extend(one.back_to.iter().map(|to| format!("  can be taken back to: {to}")));
    lines.extend(one.restored.map(|proven| {
        let word = if proven { "serves again" } else { "does not serve" };
        format!("  what was before {word}")
    }));
    lines.extend(one.holds.iter().map(|hold| format!("  hold {hold}")));
    let open = one.steps.iter().filter(|step| step.finished_at.is_none()).count();
    lines.push(format!("  {} steps, {open} of them in doubt or on their way", one.steps.len()));
    lines.extend(one.problems.iter().map(|problem| format!("  {problem}")));
    lines.extend(modes(&one.modes));
    lines
}

fn checkpoint(view: &CheckpointView) -> String {
    let class = view.class.as_deref().unwrap_or("unknown");
    let text = if view.text.is_empty() { "(no text)" } else { &view.text };
    let problem = view.problem.iter().map(|problem| format!(" ({problem})"));
    format!("{text}: class {class}, lane {}{}", view.lane, problem.collect::<String>())
}

fn show(context: &Context, id: OperationId) -> Outcome {
    let view = Offline::operation(&context.paths, id)?;
    if context.global.json {
        out::json(&view)?;
        return Ok(Exit::Done);
    }
    let (lines, modes) = match &view {
        ShownOperationView::Read(one) => {
            (head(one).into_iter().chain(one.steps.iter().map(step)).collect(), &one.modes)
        }
        ShownOperationView::Unread(one) => (unread(one), &one.modes),
    };
    lines.into_iter().for_each(out::line);
    for mode in modes {
        let words = format!("recovery {} {id} --dry-run", mode.as_str());
        out::line(format!("next: {}", context.command(&words)));
    }
    Ok(Exit::Done)
}

fn step(step: &RecoveryStepView) -> String {
    let inverse = step.inverse.as_deref().unwrap_or("nothing");
    let failed = step.failure.as_ref().map(|kind| {
        let (retry, recovery) = (step.retry.as_deref(), step.recovery.as_deref());
        let known =
            retry.zip(recovery).map(|(retry, then)| format!(" (retry {retry}, then {then})"));
        format!(", failed as {kind}{}", known.unwrap_or_default())
    });
    let said = if step.result.is_empty() { String::new() } else { format!(": {}", step.result) };
    format!(
        "  step {} {} {}.{} {} (try {}, undone by {inverse}) {}{}{said}",
        step.id,
        step.direction,
        step.slot,
        step.attempt,
        step.action,
        step.nth,
        checkpoint(&step.checkpoint),
        failed.unwrap_or_default()
    )
}
