//! Folding a look by id: the only way by which an unknown outcome or an absence is resolved (D6, D7).

use super::{
    NoteKind, StepEnd, Verdict, ending, failure,
    folding::{Folding, ambiguity},
    hooks,
    seen::{look_again, present},
    stages::{self, without_lease},
};
use crate::{
    effect::{ActionKind, CommandKind, ExitStatus, FailureClass, Look, WorkloadState},
    id::SessionId,
    limits,
    observed::{Ambiguity, FailureFacts, NodeStage, Remains},
    redact::Redacted,
    time::Millis,
};

/// Folds one look at the record's attempt.
pub(super) fn fold_look(f: &mut Folding<'_>, look: Look, visibility: Millis) -> Verdict {
    if f.record.pending.is_some() {
        // What is on its way will tell by itself.
        return Verdict::Unchanged;
    }
    match (f.record.ambiguity.clone(), look) {
        (Some(open), Look::Unknown { .. }) => look_again(f, open),
        (Some(open), Look::Absent) => absent_after_effect(f, open, visibility),
        (Some(open), seen @ Look::Present { .. }) => {
            match open.command {
                ActionKind::Hook(point) => hooks::resolve(f, &open, point, seen),
                ActionKind::Command(command) => resolve(f, &open, command, seen),
            }
            Verdict::Applied
        }
        (None, Look::Unknown { .. }) => Verdict::Unchanged,
        (None, Look::Absent) => absent(f, visibility),
        (None, Look::Present { lease, endpoint, workload, hook: _ }) => {
            present(f, lease, endpoint, workload)
        }
    }
}

/// The attempt is not there, and an effect's outcome was open.
fn absent_after_effect(f: &mut Folding<'_>, mut open: Ambiguity, visibility: Millis) -> Verdict {
    let creates = open.command == CommandKind::CreateLease;
    let first = *open.first_miss.get_or_insert(f.now);
    let young = !f.record.stage.is_ready() && f.now.since(f.record.since) < visibility;
    if (creates || young) && f.now.since(first) < visibility {
        // It may exist and not be visible yet (C3): a second look after that long proves it.
        open.look_at = first.after(visibility);
        f.record.ambiguity = Some(open);
        return Verdict::Applied;
    }
    let stops = open.command == CommandKind::CancelBootstrap && f.record.deletion.is_none();
    let ends =
        open.command == CommandKind::DestroyLease || open.command == CommandKind::CancelBootstrap;
    let cleanup = ends && !stops;
    let message = match (creates, cleanup) {
        (true, _) => "the lease was not made",
        (false, true) => "",
        (false, false) => "the lease is gone",
    };
    let end = if cleanup { StepEnd::Verified } else { StepEnd::NoEffect };
    f.settle(end, Redacted::new(message));
    f.record.ambiguity = None;
    let stage = f.record.stage.clone();
    if cleanup || f.record.deletion.is_some() {
        f.enter(without_lease(stage));
    } else {
        let lost = failure::lost(f.now, message);
        if creates {
            // Same attempt, same key: it was never made, so it is made once (C2).
            f.record.retry = None;
            failure::charge(f, &lost, false);
            f.enter(NodeStage::New);
        } else {
            failure::fail(f, lost, Remains::Nothing);
        }
    }
    Verdict::Applied
}

/// The attempt is there, and an effect's outcome was open.
fn resolve(f: &mut Folding<'_>, open: &Ambiguity, command: CommandKind, seen: Look) {
    let Look::Present { lease, endpoint, workload, hook: _ } = seen else { return };
    let stage = f.record.stage.clone();
    let cannot_say = matches!(workload, WorkloadState::Unknown);
    let about_workload = matches!(
        command,
        CommandKind::StartBootstrap
            | CommandKind::CancelBootstrap
            | CommandKind::BootstrapConvergenceObserved
    );
    if about_workload && cannot_say {
        let _again = look_again(f, open.clone());
        return;
    }
    let happened = happened(command, &workload);
    f.settle(if happened { StepEnd::Verified } else { StepEnd::NoEffect }, Redacted::default());
    f.record.ambiguity = None;
    if happened {
        f.record.retry = None;
        f.tell(NoteKind::Adopted(open.command));
    }
    match (command, workload) {
        (CommandKind::CreateLease, _) => {
            f.enter(NodeStage::LeaseCreated { lease, endpoint, probe_at: None });
        }
        (CommandKind::StartBootstrap, WorkloadState::Running { workload }) => {
            stages::started(f, stage, workload);
        }
        (CommandKind::CancelBootstrap, WorkloadState::Absent | WorkloadState::Exited { .. }) => {
            stages::stopped(f, stage);
        }
        (CommandKind::StartBootstrap, WorkloadState::Absent) if failure::tried_enough(f) => {
            let message = Redacted::new("the workload could not be started in three tries");
            let facts = FailureFacts { at: f.now, class: FailureClass::Unavailable, message };
            failure::fail(f, facts, Remains::Lease { lease });
        }
        (CommandKind::BootstrapConvergenceObserved, WorkloadState::Running { .. })
            if failure::tried_enough(f) =>
        {
            fail_handoff(f, stage);
        }
        (CommandKind::LookupEndpoint | CommandKind::BootstrapConvergenceObserved, seen) => {
            let _verdict = present(f, lease, endpoint, seen);
        }
        (CommandKind::StartBootstrap, WorkloadState::Exited { status, tail })
            if f.record.deletion.is_none() =>
        {
            // It may be the end of an earlier session of this attempt: how this one ended was not seen.
            let again = f.record.next_session > SessionId::new(1);
            let status = if again { ExitStatus::Unknown } else { status };
            let message = failure::exit_text(&status, &tail);
            ending::ended_at_start(f, lease, &status, message);
        }
        (
            CommandKind::StartBootstrap | CommandKind::CancelBootstrap | CommandKind::DestroyLease,
            _,
        ) => {}
    }
}

/// True if what is seen shows that the command took effect.
const fn happened(command: CommandKind, seen: &WorkloadState) -> bool {
    match command {
        CommandKind::CreateLease => true,
        CommandKind::StartBootstrap => !matches!(seen, WorkloadState::Absent),
        CommandKind::CancelBootstrap => !matches!(seen, WorkloadState::Running { .. }),
        CommandKind::LookupEndpoint
        | CommandKind::DestroyLease
        | CommandKind::BootstrapConvergenceObserved => false,
    }
}

/// The session could not be closed as often as one attempt allows: the attempt failed.
fn fail_handoff(f: &mut Folding<'_>, stage: NodeStage) {
    let NodeStage::SwactorJoined { lease, session, .. } = stage else { return };
    let message = Redacted::new("its bootstrap session could not be closed in three tries");
    let facts = FailureFacts { at: f.now, class: FailureClass::Unavailable, message };
    failure::fail(f, facts, Remains::Session { lease, session });
}

/// The attempt is not there although nothing was on its way.
fn absent(f: &mut Folding<'_>, visibility: Millis) -> Verdict {
    if f.record.stage.lease().is_none() || f.record.is_completed() {
        // That the lease of a finished job is gone takes nothing from what it did.
        return Verdict::Unchanged;
    }
    let new = matches!(f.record.stage, NodeStage::LeaseCreated { .. });
    if new && f.now.since(f.record.since) < visibility {
        return Verdict::Unchanged;
    }
    f.record.retry = None;
    if f.record.deletion.is_some() || matches!(f.record.stage, NodeStage::Failed { .. }) {
        let stage = f.record.stage.clone();
        f.enter(without_lease(stage));
    } else {
        let lost = failure::lost(f.now, "the provider says that the lease does not exist");
        failure::fail(f, lost, Remains::Nothing);
    }
    Verdict::Applied
}

/// A destroy reported success: the lease is forgotten only when its absence was seen (D8, C5).
pub(super) fn fold_released(f: &mut Folding<'_>, seen: Option<&Look>) {
    match seen {
        Some(Look::Absent) => {
            f.settle(StepEnd::Verified, Redacted::default());
            f.record.pending = None;
            f.record.retry = None;
            let stage = f.record.stage.clone();
            f.enter(without_lease(stage));
        }
        Some(Look::Present { .. }) => {
            let message =
                Redacted::new("the provider reported success, and the lease is still there");
            f.settle(StepEnd::NotDone, message.clone());
            f.record.pending = None;
            f.tell(NoteKind::Failure {
                command: Some(CommandKind::DestroyLease.into()),
                message: message.clone(),
            });
            failure::retry_later(f, &message);
        }
        Some(Look::Unknown { .. }) | None => {
            let Some(pending) = f.record.pending.take() else { return };
            let mut open = ambiguity(&pending, f.now);
            open.look_at = f.now.after(limits::ENDPOINT_PROBE);
            f.record.ambiguity = Some(open);
            f.settle(StepEnd::Ambiguous, Redacted::new("the release could not be seen"));
        }
    }
}
