//! Looks: at one attempt by its id, and at everything that an engine holds for a run.
//!
//! What cannot be read is unknown, never absent (P1), and one garbled container never hides another (C17). A listing
//! tells no ends: whoever waits for a container that it does not show running is woken, and looks by id.

use std::collections::BTreeSet;

use reconciler_core::{
    effect::{Listing, Look, OwnedLease, WorkloadState},
    id::{AttemptId, LogicalNodeId, Uuid},
    observed::LeaseFacts,
    redact::Redacted,
};

use super::{
    ground::{Container, Ground, Listed, lease},
    hook,
    labels::{self, Mark, Role},
    problem::{EngineError, Problem},
    state::{Run, handle},
    sweep,
    tail::tail,
    wake::with_why,
};

/// Looks at one attempt.
pub(super) async fn inspect(
    ground: &Ground,
    run: Uuid,
    slot: &LogicalNodeId,
    attempt: AttemptId,
    known: Option<&LeaseFacts>,
) -> Look {
    let limit = Ground::soon();
    let look = async {
        // The id that is known goes first: of two containers of one attempt, that one is the node. Where it is gone there is
        // nothing to ask for beside it.
        let known = match known {
            Some(known) => match ground.inspect(known.id.as_str(), limit).await? {
                Some(container) => Some(container),
                None => return Ok(Look::Absent),
            },
            None => None,
        };
        let all = ground.of_attempt(run, attempt.uuid, limit).await?;
        let container = if let Some(container) = known {
            container
        } else {
            let Some(node) = first_node(&all) else { return Ok(Look::Absent) };
            let Some(found) = ground.inspect(&node.id, limit).await? else {
                return Ok(Look::Absent);
            };
            found
        };
        let mark = container.mark_of(run, slot, attempt.uuid)?;
        let workload = workload(ground, &container).await;
        let hook = hook::seen(ground, &all, limit).await?;
        let endpoint = Some(ground.endpoint(&mark.ports));
        Ok(Look::Present { lease: lease(&container.id, mark.fence), endpoint, workload, hook })
    };
    let look: Result<Look, Problem> = look.await;
    look.unwrap_or_else(|problem| Look::Unknown { why: problem.told() })
}

/// The node among what belongs to an attempt; of two, the one that was made first.
fn first_node(all: &[Listed]) -> Option<&Listed> {
    all.iter()
        .filter(|one| one.is(Role::Node))
        .min_by(|a, b| a.created.cmp(&b.created).then_with(|| a.id.cmp(&b.id)))
}

async fn workload(ground: &Ground, container: &Container) -> WorkloadState {
    match &container.run {
        Run::Never => WorkloadState::Absent,
        Run::Running { started } => WorkloadState::Running { workload: handle(started) },
        Run::Ended { status, why, .. } => {
            let tail = with_why(why.clone(), &tail(ground, &container.id).await);
            WorkloadState::Exited { status: status.clone(), tail }
        }
        Run::Unclear => WorkloadState::Unknown,
    }
}

/// Lists what the engine holds for `run`.
pub(super) async fn list(ground: &Ground, run: Uuid) -> Listing {
    let limit = Ground::soon();
    let both = async {
        let volumes = sweep::volumes_of_run(ground, run, limit).await?;
        let ours = [(labels::RUN, run.to_string()), (labels::PROVIDER, ground.name.clone())];
        Ok((volumes, ground.list(ours, limit).await?))
    };
    let both: Result<_, EngineError> = both.await;
    let (volumes, all) = match both {
        Ok(both) => both,
        Err(error) => return Listing::Unknown(Redacted::new(&error.to_string())),
    };
    let running: BTreeSet<&str> =
        all.iter().filter(|one| one.runs).map(|one| one.id.as_str()).collect();
    ground.wakes.wake_others(&running);
    let (mut owned, mut bad) = (Vec::with_capacity(all.len()), Vec::new());
    for one in all.iter().filter(|one| !one.is(Role::Verify) && !one.is(Role::Hook)) {
        match Mark::read(&one.labels) {
            Ok(mark) => owned.push(OwnedLease {
                lease: lease(&one.id, mark.fence),
                endpoint: Some(ground.endpoint(&mark.ports)),
                workload: WorkloadState::Unknown,
                slot: mark.slot,
                attempt: mark.attempt.uuid,
                fence: mark.fence,
            }),
            Err(why) => bad.push(format!("container {}: {why}", one.name)),
        }
    }
    if bad.is_empty() {
        sweep::rests(ground, &all, volumes, limit).await;
    }
    owned.sort_unstable_by(|a, b| a.slot.cmp(&b.slot).then(a.attempt.cmp(&b.attempt)));
    if bad.is_empty() {
        Listing::Complete(owned)
    } else {
        Listing::Partial(owned, Redacted::new(&bad.join("; ")))
    }
}
