//! What is open and recoverable, from the journal alone: beside a driver and without one (R121, R122).

use std::collections::BTreeMap;

use checkpoint::{
    operation::{OpenOperation, OperationRow},
    scan::Recovered,
    step::StepRow,
    unreadable::{RowKind, Unreadable},
};
use reconciler_core::{
    checkpoint::{CheckpointError, CheckpointRow, Direction},
    hold::{Hold, HoldCode},
    id::{IdempotencyKey, OperationId},
    observed::NodeRecord,
    redact::Redacted,
    saga::{Compensation, audit},
};

use crate::view::{
    CheckpointView, OwnerView, RecoveryOperationView, RecoveryStepView, RecoveryVerb, RecoveryView,
    UnreadOperationView, VIEW_SCHEMA,
};

/// Everything that is open, with who owns the run.
pub(crate) fn listed(recovered: &Recovered, driven: bool) -> RecoveryView {
    let owner = recovered.previous_owner.as_ref().map(|owner| OwnerView {
        pid: owner.pid,
        host: owner.host.clone(),
        fence: owner.fence,
        since: owner.started,
        drives: driven,
    });
    let open = &recovered.open_operations;
    let unread = recovered.unreadable.iter().filter(|bad| bad.kind == RowKind::Operation);
    let unread = unread.filter_map(|bad| {
        Some(UnreadOperationView {
            id: bad.operation?,
            group: bad.key.clone(),
            problems: problem(bad).into_iter().collect(),
            columns: BTreeMap::new(),
            modes: vec![RecoveryVerb::Release],
        })
    });
    RecoveryView {
        schema: VIEW_SCHEMA,
        owner,
        operations: open
            .iter()
            .map(|open| operation_view(open, &recovered.unreadable, recovered))
            .collect(),
        unreadable: recovered.unreadable.iter().filter_map(problem).collect(),
        unread: unread.collect(),
    }
}

/// What of an operation cannot be read, and why; nothing for any other row.
fn problem(bad: &Unreadable) -> Option<String> {
    let what = match bad.kind {
        RowKind::Operation => "operation",
        RowKind::Step => "a step of operation",
        RowKind::Record
        | RowKind::GroupHold
        | RowKind::Rollout
        | RowKind::Lease
        | RowKind::Ownership
        | RowKind::Event => return None,
    };
    let id = bad.operation?;
    Some(format!("{what} {id} of {} cannot be read: {}", bad.key, bad.why))
}

/// An operation that cannot be read as it is shown, with its columns as they stand.
pub(crate) fn unread_view(
    id: OperationId,
    bad: &[Unreadable],
    stands: Vec<(&'static str, Redacted)>,
) -> UnreadOperationView {
    let columns: BTreeMap<String, String> =
        stands.into_iter().map(|(name, text)| (name.to_owned(), text.to_string())).collect();
    let is_open = columns.get("closed_at").is_none_or(String::is_empty);
    UnreadOperationView {
        id,
        group: columns.get("node_group").cloned().unwrap_or_default(),
        problems: bad.iter().filter_map(problem).collect(),
        columns,
        modes: if is_open { vec![RecoveryVerb::Release] } else { Vec::new() },
    }
}

/// One operation as it is shown; `bad` are rows that cannot be read, its own among them.
pub(crate) fn operation_view(
    of: &OpenOperation,
    bad: &[Unreadable],
    recovered: &Recovered,
) -> RecoveryOperationView {
    let mine = bad.iter().filter(|bad| bad.operation == Some(of.row.id));
    let problems: Vec<String> = mine.filter_map(problem).collect();
    let OpenOperation { row, steps } = of;
    let mut tries: BTreeMap<IdempotencyKey, u32> = BTreeMap::new();
    let mut view = |step: &StepRow| {
        let nth = tries.entry(step.key).or_default();
        *nth = nth.saturating_add(1);
        step_view(step, *nth)
    };
    RecoveryOperationView {
        id: row.id,
        group: row.group.clone(),
        status: row.status.as_str().to_owned(),
        plan: row.plan,
        rollback_plan: row.rollback_plan,
        fence: row.fence,
        goals: row.goals.clone(),
        direction: row.direction.as_str().to_owned(),
        checkpoint: checkpoint_view(row.checkpoint.as_ref().map(|c| (c.to_string(), c.row()))),
        back_to: row.compensation.as_ref().map(back_to),
        restored: row.restored,
        superseded_by: row.superseded_by,
        opened_at: row.opened_at,
        updated_at: row.updated_at,
        closed_at: row.closed_at,
        holds: holds(row, recovered),
        modes: modes(of, problems.is_empty()),
        problems,
        steps: steps.iter().map(&mut view).collect(),
    }
}

fn step_view(step: &StepRow, nth: u32) -> RecoveryStepView {
    RecoveryStepView {
        id: step.step,
        slot: step.slot.clone(),
        attempt: step.attempt.ordinal.get(),
        nth,
        direction: step.direction.as_str().to_owned(),
        action: step.command.as_str().to_owned(),
        inverse: step.inverse.map(|inverse| inverse.as_str().to_owned()),
        provider: step.provider.clone(),
        fence: step.fence,
        checkpoint: checkpoint_view(
            step.checkpoint.as_ref().map(|c| (c.to_string(), c.mark.row())),
        ),
        failure: step.failure.as_deref().map(str::to_owned),
        retry: step.failed().map(|kind| kind.retry().as_str().to_owned()),
        recovery: step.failed().map(|kind| kind.remedy().as_str().to_owned()),
        result: step.result.to_string(),
        started_at: step.started_at,
        finished_at: step.finished_at,
    }
}

/// A checkpoint as it stands; what nobody can read is held (R120).
fn checkpoint_view(read: Result<(String, CheckpointRow), &CheckpointError>) -> CheckpointView {
    match read {
        Ok((text, row)) => CheckpointView {
            text,
            class: Some(row.class.as_str().to_owned()),
            lane: row.lane.as_str().to_owned(),
            problem: None,
        },
        Err(error) => CheckpointView {
            text: if let CheckpointError::Unknown(text) = error {
                text.to_string()
            } else {
                String::new()
            },
            class: None,
            lane: "safe-hold".to_owned(),
            problem: Some(error.to_string()),
        },
    }
}

fn back_to(compensation: &Compensation) -> String {
    match &compensation.before {
        None => "no such group".to_owned(),
        Some(before) => format!("{} nodes of revision {}", before.count, before.revision.short()),
    }
}

/// Which verbs an open operation takes.
fn modes(of: &OpenOperation, whole: bool) -> Vec<RecoveryVerb> {
    if of.row.closed_at.is_some() {
        return Vec::new();
    }
    let readable = whole
        && of.row.checkpoint.is_ok()
        && of.steps.iter().all(|step| step.checkpoint.is_ok())
        && audit(of.steps.iter().map(StepRow::written)).is_ok();
    let back = of.row.direction == Direction::Forward && of.row.compensation.is_some();
    let may = |verb: &RecoveryVerb| match verb {
        RecoveryVerb::Resume => readable,
        RecoveryVerb::Rollback => readable && back,
        RecoveryVerb::Release => true,
    };
    RecoveryVerb::ALL.into_iter().filter(may).collect()
}

/// What holds the group of an operation, or slots of it, as the journal has it.
fn holds(row: &OperationRow, recovered: &Recovered) -> Vec<String> {
    let line = |at: &str, hold: &Hold| format!("{at}: {}: {}", hold.code.as_str(), hold.text);
    let of_group = recovered.group_holds.iter().filter(|(group, _)| *group == row.group);
    let of_group = of_group.map(|(group, hold)| line(group.as_str(), hold));
    let attempts = recovered.records.iter().flat_map(NodeRecord::attempts);
    let of_slots = attempts.filter(|one| one.slot.group == row.group);
    let of_slots = of_slots.filter_map(|one| Some(line(&one.slot.to_string(), one.hold.as_ref()?)));
    let own =
        row.checkpoint.as_ref().err().map(|error| {
            format!("{}: {}: {error}", row.group, HoldCode::PlanningIncomplete.as_str())
        });
    own.into_iter().chain(of_group).chain(of_slots).collect()
}
