//! Folding what became of a hook.
//!
//! A start hook that fails fails its attempt. A stop hook that fails is tried again, and then the stop goes on without
//! it. One that was begun and whose end nobody saw is never repeated blind: its slot is held, or, where the node goes
//! for good, the node goes on.

use alloc::format;

use super::{
    NoteKind, StepEnd, failure,
    folding::Folding,
    seen::{look_again, present},
};
use crate::{
    desired::HookPoint,
    effect::{ActionKind, Certainty, ExitStatus, FailureClass, HookSight, HookState, Look},
    hold::HoldCode,
    key::session_key,
    observed::{Ambiguity, DeleteReason, FailureFacts, HookMark, NodeStage, Remains},
    redact::Redacted,
};

/// The hook of `point` ended well; its step is settled.
pub(super) fn completed(f: &mut Folding<'_>, point: HookPoint) {
    let Some(mark) = f.record.hook_mark(point) else { return };
    f.record.hooks.pass(mark);
    f.record.hooks.completed = f.record.hooks.completed.max(Some(mark));
    f.record.retry = None;
    f.hooked = Some(point);
    f.tell(NoteKind::Hook { point, completed: true });
}

/// The hook of `point` surely failed; its step is settled.
pub(super) fn failed(f: &mut Folding<'_>, point: HookPoint, facts: FailureFacts) {
    if point.is_of_start() && f.record.deletion.is_none() {
        let remains = remains(&f.record.stage);
        return failure::fail(f, facts, remains);
    }
    let command = Some(ActionKind::Hook(point));
    f.tell(NoteKind::Failure { command, message: facts.message.clone() });
    let hopeless = matches!(facts.class, FailureClass::Auth | FailureClass::Invalid);
    if hopeless || failure::is_last_try(f) {
        pass_by(f, point);
    } else {
        failure::retry_later(f, &facts.message);
    }
}

/// The node goes on without the hook of `point`.
fn pass_by(f: &mut Folding<'_>, point: HookPoint) {
    f.record.retry = None;
    if let Some(mark) = f.record.hook_mark(point) {
        f.record.hooks.pass(mark);
        f.tell(NoteKind::Hook { point, completed: false });
    }
}

/// Nobody can say how the hook of `point` ended.
fn unseen(f: &mut Folding<'_>, mark: HookMark, why: &str) {
    f.record.ambiguity = None;
    f.record.retry = None;
    f.hooked = Some(mark.point);
    let deletion = f.record.deletion.map(|deletion| deletion.reason);
    match deletion {
        Some(_) if mark.point.is_of_start() => {}
        Some(DeleteReason::Undesired) => pass_by(f, mark.point),
        Some(DeleteReason::Replaced | DeleteReason::Failed | DeleteReason::Rerun) | None => {
            f.record.hooks.doubt = Some(mark);
            let text = format!(
                "the {} hook {why}; see what it did, then release the slot, and it counts as run",
                mark.point.as_str()
            );
            failure::hold(f, HoldCode::HookUnknown, &Redacted::new(&text));
        }
    }
}

/// A person saw what became of the hook in doubt: it counts as run.
pub(super) fn vouched(f: &mut Folding<'_>) {
    if let Some(mark) = f.record.hooks.doubt.take() {
        f.record.hooks.pass(mark);
        f.record.hooks.completed = f.record.hooks.completed.max(Some(mark));
    }
}

/// A look while the outcome of a hook was open; the attempt is there.
pub(super) fn resolve(f: &mut Folding<'_>, open: &Ambiguity, point: HookPoint, seen: Look) {
    let Look::Present { lease, endpoint, workload, hook } = seen else { return };
    let Some(mark) = f.record.hook_mark(point) else {
        return f.overtaken("the node went on without it");
    };
    let session = Some(mark.session);
    let own = session_key(f.record.attempt.uuid, ActionKind::Hook(point), session);
    match hook {
        HookSight::Begun { key, state } if key == own => ended(f, open, mark, state),
        HookSight::Begun { .. } | HookSight::Nothing => not_begun(f, point),
        HookSight::Untold => unseen(f, mark, "may have run, and its provider cannot say"),
    }
    // What a workload does that is being stopped is the stop's own business.
    if !f.record.is_open() && !f.record.is_stopping() {
        let _same_record = present(f, lease, endpoint, workload);
    }
}

fn ended(f: &mut Folding<'_>, open: &Ambiguity, mark: HookMark, state: HookState) {
    let point = mark.point;
    match state {
        HookState::Running if f.now < open.since.after(open.command.timeout(&f.record.policy)) => {
            let _again = look_again(f, open.clone());
        }
        HookState::Running => unseen(f, mark, "still runs, long after its time"),
        HookState::Ended { status: ExitStatus::Unknown, .. } => {
            unseen(f, mark, "was begun, and nobody saw how it ended");
        }
        HookState::Ended { status: ExitStatus::Code(0), .. } => {
            f.settle(StepEnd::Verified, Redacted::default());
            f.record.ambiguity = None;
            f.tell(NoteKind::Adopted(ActionKind::Hook(point)));
            completed(f, point);
        }
        HookState::Ended { status, tail } => {
            let message = exit_text(point, &status, &tail);
            let kind = (FailureClass::Workload, Certainty::Definite);
            f.settle_failed(StepEnd::NoEffect, kind, message.clone());
            f.record.ambiguity = None;
            failed(f, point, FailureFacts { at: f.now, class: FailureClass::Workload, message });
        }
    }
}

/// It surely was not begun: it is taken up again, as often as one attempt allows.
fn not_begun(f: &mut Folding<'_>, point: HookPoint) {
    f.settle(StepEnd::NoEffect, Redacted::new("it was not begun"));
    f.record.ambiguity = None;
    if failure::tried_enough(f) {
        let text = format!("the {} hook could not be begun in three tries", point.as_str());
        let (class, message) = (FailureClass::Unavailable, Redacted::new(&text));
        failed(f, point, FailureFacts { at: f.now, class, message });
    }
}

fn remains(stage: &NodeStage) -> Remains {
    if let NodeStage::BootstrapRunning { lease, session, .. } = stage {
        return Remains::Session { lease: lease.clone(), session: session.clone() };
    }
    let lease = stage.lease().cloned();
    lease.map_or(Remains::Nothing, |lease| Remains::Lease { lease })
}

fn exit_text(point: HookPoint, status: &ExitStatus, tail: &Redacted) -> Redacted {
    let how = failure::exit_words(status);
    let text = format!("the {} hook {how}: {tail}", point.as_str());
    Redacted::new(text.trim_end_matches([':', ' ']))
}
