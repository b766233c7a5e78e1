//! The drifts of one slot, read from its record.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{
    kind::{Drift, DriftKind, DriftSubject},
    spec,
};
use crate::{
    desired::RunNodeGroupSpec,
    effect::FailureClass,
    hold::{Hold, HoldCode},
    id::LogicalNodeId,
    observed::{FailureFacts, NodeRecord, NodeStage},
};

/// A wanted slot without a record.
pub(super) fn missing(slot: LogicalNodeId) -> Drift {
    let both = ("a node", "no record");
    Drift::new(DriftSubject::Slot(slot), DriftKind::Missing, both, "wanted, and not there")
}

/// What forbids to act on the slot at all, if anything does.
pub(super) fn forbidden(record: &NodeRecord) -> Option<Drift> {
    let hold = record.hold.as_ref()?;
    let (kind, expected, reason) = match hold.code {
        HoldCode::Unrecognised => {
            (DriftKind::UnknownState, "a record that makes sense", "its record makes no sense")
        }
        HoldCode::NewerFence => {
            (DriftKind::Fence, "no newer fence than ours", "a newer controller may own it")
        }
        HoldCode::DuplicateIdentity => (
            DriftKind::DuplicateIdentity,
            "one lease of the attempt",
            "one identity was observed in two places",
        ),
        HoldCode::CrashLoop
        | HoldCode::Refused
        | HoldCode::CleanupRefused
        | HoldCode::Implausible
        | HoldCode::MassUnhealthy
        | HoldCode::ExitUnknown
        | HoldCode::UpdateStalled
        | HoldCode::HookUnknown
        | HoldCode::IrreversibleHook
        | HoldCode::RestoredHealthFailed
        | HoldCode::PlanningIncomplete
        | HoldCode::HandedOver => return None,
    };
    let both = (expected, hold.text.to_string());
    Some(Drift::new(DriftSubject::Slot(record.slot.clone()), kind, both, reason).of_hold())
}

/// Every drift of a slot that has a record.
pub(super) fn of_record(
    record: &NodeRecord,
    wanted: Option<&RunNodeGroupSpec>,
    out: &mut Vec<Drift>,
) {
    if let Some(drift) = forbidden(record) {
        // Nothing else that such a record says can be relied on.
        out.push(drift);
        return;
    }
    let subject = || DriftSubject::Slot(record.slot.clone());
    let stage = || record.stage.name().as_str();
    let start = out.len();
    match wanted {
        None => {
            let both = ("no node", format!("a record in stage {}", stage()));
            out.push(Drift::new(subject(), DriftKind::Unwanted, both, "it is no longer wanted"));
        }
        Some(wanted) => of_wanted(record, wanted, out),
    }
    if let Some(open) = &record.ambiguity {
        let both = ("a known outcome", format!("{} without an answer", open.command.as_str()));
        let reason = "whether its last effect happened is not known";
        out.push(Drift::new(subject(), DriftKind::OutcomeUnknown, both, reason));
    }
    if record.missing_since.is_some() {
        let lease = record.stage.lease().map_or("a lease", |lease| lease.id.as_str());
        let both = (format!("lease {lease}"), "a complete listing without it");
        let reason = "the last complete listing lacks it";
        out.push(Drift::new(subject(), DriftKind::ReportedMissing, both, reason));
    }
    if record.suspect_since.is_some() {
        let both = ("a running workload", "a listing that says that it ended");
        let reason = "too many are said to have ended at once for it to be believed";
        out.push(Drift::new(subject(), DriftKind::Unhealthy, both, reason));
    }
    if let Some(hold) = &record.hold {
        hand_over(&subject(), hold, start, out);
    }
}

/// What a hold stops is for a person; a hold with nothing else to show is shown by itself.
fn hand_over(subject: &DriftSubject, hold: &Hold, start: usize, out: &mut Vec<Drift>) {
    if out.len() == start {
        let both = ("a node that may move", format!("hold {}", hold.code.as_str()));
        out.push(Drift::new(subject.clone(), DriftKind::Failed, both, "it is held"));
    }
    let mine = out.split_off(start);
    out.extend(mine.into_iter().map(Drift::held));
}

fn of_wanted(record: &NodeRecord, wanted: &RunNodeGroupSpec, out: &mut Vec<Drift>) {
    let subject = || DriftSubject::Slot(record.slot.clone());
    if record.revision != wanted.revision {
        spec::differences(&record.slot, &wanted.spec, &record.spec, out);
    } else if record.policy != wanted.policy {
        let both = ("the declared policy", "an older one");
        let reason = "it is treated as its group was before the last change";
        out.push(Drift::new(subject(), DriftKind::Policy, both, reason));
    }
    let off = wanted.power.is_off(record.slot.index);
    let settles = record.stage.workload().is_some() && (off || is_behind(record, wanted));
    if settles {
        out.push(of_power(record, off));
    }
    if settles || (off && !matches!(record.stage, NodeStage::Failed { .. })) {
        // Of a slot that rests, or is about to, there is nothing else to say.
        return;
    }
    match &record.stage {
        NodeStage::New | NodeStage::LeaseRequested => {
            let both = ("a node", format!("stage {}, no lease", record.stage.name().as_str()));
            out.push(Drift::new(subject(), DriftKind::Missing, both, "wanted, and not there"));
        }
        NodeStage::LeaseCreated { lease, .. } | NodeStage::EndpointKnown { lease, .. } => {
            let both = ("a running workload", format!("lease {} without one", lease.id));
            let reason = "its lease is there and nothing runs on it";
            out.push(Drift::new(subject(), DriftKind::Created, both, reason));
        }
        NodeStage::Failed { failure, .. } => out.push(failed(record, failure)),
        NodeStage::Destroyed { failure, .. } => {
            let found = match failure {
                Some(failure) => format!("nothing, after: {}", failure.message),
                None => "nothing".to_string(),
            };
            let reason = "wanted, and nothing of it is left";
            out.push(Drift::new(subject(), DriftKind::Missing, ("a node", found), reason));
        }
        NodeStage::BootstrapRunning { .. } | NodeStage::SwactorJoined { .. } => {}
        NodeStage::HandedOff { endpoint, .. } | NodeStage::Dormant { endpoint, .. } => {
            let reached: Vec<&str> = endpoint.ports.keys().map(String::as_str).collect();
            out.extend(spec::unreached_ports(&record.slot, &record.spec, &reached));
        }
    }
}

/// True if a workload runs since before its slot was last asked to begin anew.
fn is_behind(record: &NodeRecord, wanted: &RunNodeGroupSpec) -> bool {
    record.round < wanted.power.round(record.slot.index)
}

/// A workload that runs although it is to rest, or to begin anew.
fn of_power(record: &NodeRecord, off: bool) -> Drift {
    let (expected, reason) = if off {
        ("no workload", "it runs, and is switched off")
    } else {
        ("a workload begun anew", "it was asked to begin anew, and runs since before")
    };
    let subject = DriftSubject::Slot(record.slot.clone());
    Drift::new(subject, DriftKind::Policy, (expected, "a running workload"), reason)
}

fn failed(record: &NodeRecord, failure: &FailureFacts) -> Drift {
    let subject = DriftSubject::Slot(record.slot.clone());
    let both = ("a running node", failure.message.to_string());
    if failure.class == FailureClass::Workload {
        Drift::new(subject, DriftKind::Exited, both, "its workload ended")
    } else {
        Drift::new(subject, DriftKind::Failed, both, "its attempt failed")
    }
}
