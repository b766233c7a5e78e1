//! Folding the end of a workload: a job that ended well is complete, one whose end nobody saw is held, and anything
//! else is a failure.

use super::{
    NoteKind, Verdict, failure,
    folding::Folding,
    stages::{self, without_workload},
};
use crate::{
    desired::GroupKind,
    effect::{ExitStatus, FailureClass},
    hold::HoldCode,
    observed::{Backoff, FailureFacts, Handle, LeaseFacts, NodeStage, Remains},
    redact::Redacted,
};

/// Folds a report that `workload` ended.
pub(super) fn fold_exit(
    f: &mut Folding<'_>,
    workload: &Handle,
    status: &ExitStatus,
    tail: &Redacted,
) -> Verdict {
    if !f.record.ends_by_itself() {
        return Verdict::Unchanged;
    }
    let Some((lease, known)) = f.record.stage.lease().zip(f.record.stage.workload()) else {
        return Verdict::Unchanged;
    };
    if known != workload {
        // It is of an earlier session of this attempt (R59).
        return Verdict::Stale;
    }
    let lease = lease.clone();
    f.overtaken("the workload ended first");
    ended(f, lease, status, failure::exit_text(status, tail));
    Verdict::Applied
}

/// What the end of the record's workload means; `message` says it for people.
pub(super) fn ended(
    f: &mut Folding<'_>,
    lease: LeaseFacts,
    status: &ExitStatus,
    message: Redacted,
) {
    let job = f.record.policy.kind == GroupKind::Job;
    match status {
        ExitStatus::Code(0) if job => complete(f),
        ExitStatus::Unknown if job => hold_unseen(f, &message),
        ExitStatus::Code(_) | ExitStatus::Signal(_) | ExitStatus::Unknown => {
            let facts = FailureFacts { at: f.now, class: FailureClass::Workload, message };
            failure::fail(f, facts, Remains::Lease { lease });
        }
    }
}

/// The same for a workload that ended before its start was known.
pub(super) fn ended_at_start(
    f: &mut Folding<'_>,
    lease: LeaseFacts,
    status: &ExitStatus,
    message: Redacted,
) {
    if f.record.policy.kind == GroupKind::Job {
        let stage = f.record.stage.clone();
        stages::started(f, stage, Handle::default());
    }
    ended(f, lease, status, message);
}

/// The workload of a job is gone at a moment when its end is still to be told. True if that is to be awaited.
pub(super) fn awaits_end(f: &mut Folding<'_>, message: &Redacted) -> bool {
    if f.record.policy.kind != GroupKind::Job {
        return false;
    }
    if failure::is_last_try(f) {
        hold_unseen(f, message);
    } else {
        failure::retry_later(f, message);
    }
    true
}

/// A job is done: its node rests with its lease, and nothing about it is doubted any more.
fn complete(f: &mut Folding<'_>) {
    let now = f.now;
    let completed = Some(now);
    let next = match f.record.stage.clone() {
        NodeStage::BootstrapRunning { lease, endpoint, session, .. } => {
            let member = stages::member(session, now, now);
            NodeStage::Dormant { lease, endpoint, member, completed }
        }
        NodeStage::SwactorJoined { lease, endpoint, session, joined_at } => {
            let member = stages::member(session, joined_at, now);
            NodeStage::Dormant { lease, endpoint, member, completed }
        }
        NodeStage::HandedOff { lease, endpoint, member, .. }
        | NodeStage::Dormant { lease, endpoint, member, .. } => {
            NodeStage::Dormant { lease, endpoint, member, completed }
        }
        NodeStage::New
        | NodeStage::LeaseRequested
        | NodeStage::LeaseCreated { .. }
        | NodeStage::EndpointKnown { .. }
        | NodeStage::Failed { .. }
        | NodeStage::Destroyed { .. } => return,
    };
    f.record.backoff = Backoff::default();
    f.record.retry = None;
    f.record.missing_since = None;
    f.record.suspect_since = None;
    f.enter(next);
    f.record.since = now;
    f.tell(NoteKind::Completed);
}

/// Nobody saw how a job ended: it may have done its work, so it is not repeated unless someone says so.
fn hold_unseen(f: &mut Folding<'_>, message: &Redacted) {
    let stage = f.record.stage.clone();
    f.record.retry = None;
    f.record.missing_since = None;
    f.record.suspect_since = None;
    f.enter(without_workload(stage));
    failure::hold(f, HoldCode::ExitUnknown, message);
}

/// The release of a job whose end nobody saw: it runs again, as a fresh attempt.
pub(super) fn run_again(f: &mut Folding<'_>) {
    let Some(lease) = f.record.stage.lease().cloned() else { return };
    let message = Redacted::new("nobody saw how it ended, and it was released to run again");
    let failure = FailureFacts { at: f.now, class: FailureClass::Workload, message };
    f.enter(NodeStage::Failed { failure, remains: Remains::Lease { lease } });
}
