//! Folding an attempt that a look showed, where nothing of it is open; and putting off a look that told nothing.

use super::{NoteKind, Verdict, ending, failure, folding::Folding};
use crate::{
    effect::{CommandKind, ExitStatus, WorkloadState},
    observed::{Ambiguity, Endpoint, LeaseFacts, NodeStage, Remains},
    redact::Redacted,
};

/// The look told nothing: the next one comes later, each time after a longer while.
pub(super) fn look_again(f: &mut Folding<'_>, mut open: Ambiguity) -> Verdict {
    let nth = open.looks;
    open.looks = nth.saturating_add(1);
    let wait = failure::delay(&f.record.policy.restart, nth, f.record.attempt);
    open.look_at = f.now.after(wait);
    f.record.ambiguity = Some(open);
    Verdict::Applied
}

/// The attempt is there, and nothing was on its way.
pub(super) fn present(
    f: &mut Folding<'_>,
    lease: LeaseFacts,
    endpoint: Option<Endpoint>,
    workload: WorkloadState,
) -> Verdict {
    if f.record.stage.lease().is_none() {
        return found(f, lease, endpoint);
    }
    let mut was_doubted = f.record.missing_since.take().is_some();
    if !matches!(workload, WorkloadState::Unknown) {
        was_doubted |= f.record.suspect_since.take().is_some();
    }
    if let (NodeStage::LeaseCreated { endpoint: known @ None, .. }, Some(_)) =
        (&mut f.record.stage, &endpoint)
    {
        *known = endpoint;
        return Verdict::Applied;
    }
    let failed = matches!(f.record.stage, NodeStage::Failed { .. });
    let runs = f.record.stage.has_workload() && !failed && f.record.deletion.is_none();
    let end = match workload {
        WorkloadState::Exited { status, tail } => {
            let message = failure::exit_text(&status, &tail);
            Some((status, message))
        }
        WorkloadState::Absent => {
            Some((ExitStatus::Unknown, Redacted::new("its lease has no workload")))
        }
        WorkloadState::Running { .. } | WorkloadState::Unknown => None,
    };
    let lease = f.record.stage.lease().cloned();
    let Some(((status, message), lease)) = end.filter(|_| runs).zip(lease) else {
        return if was_doubted { Verdict::Applied } else { Verdict::Unchanged };
    };
    ending::ended(f, lease, &status, message);
    Verdict::Applied
}

/// A lease is there that was thought gone or never made: it is owned, so it is taken over (C2, C3).
fn found(f: &mut Folding<'_>, lease: LeaseFacts, endpoint: Option<Endpoint>) -> Verdict {
    let next = match f.record.stage.clone() {
        NodeStage::New => NodeStage::LeaseCreated { lease, endpoint, probe_at: None },
        NodeStage::Failed { failure, .. } => {
            NodeStage::Failed { failure, remains: Remains::Lease { lease } }
        }
        NodeStage::LeaseRequested
        | NodeStage::LeaseCreated { .. }
        | NodeStage::EndpointKnown { .. }
        | NodeStage::BootstrapRunning { .. }
        | NodeStage::SwactorJoined { .. }
        | NodeStage::HandedOff { .. }
        | NodeStage::Dormant { .. }
        | NodeStage::Destroyed { .. } => return Verdict::Unchanged,
    };
    f.record.missing_since = None;
    f.tell(NoteKind::Adopted(CommandKind::CreateLease.into()));
    f.enter(next);
    Verdict::Applied
}
