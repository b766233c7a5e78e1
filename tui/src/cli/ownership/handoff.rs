//! `levelhead ownership handoff`: takes an operation over, exactly as it was named.

use checkpoint::{
    handoff::{Handoff, HandoffError},
    reader::Reader,
};
use driver::{StartError, system_clock};
use reconciler_core::{
    id::{Fence, IdError, OperationId},
    ownership::{Claimed, ControllerId, LeaseLength},
    time::Timestamp,
};

use super::args::HandoffArgs;
use crate::cli::{
    context::{Context, who},
    exit::{Exit, Failure, Outcome, chain},
    out,
};

/// What helps whoever names what moved.
const AGAIN: &str = "`levelhead ownership status` shows how it stands";

/// Hands the operation over.
pub(crate) fn run(context: &Context, args: &HandoffArgs) -> Outcome {
    let refused = |message: String| {
        Failure::new(Exit::Refused, format!("{message}; nothing was changed")).hint(AGAIN)
    };
    let length = LeaseLength::from_secs(args.lease).ok_or_else(|| {
        Failure::new(Exit::Usage, format!("a lease of {} s is not possible", args.lease))
            .hint("give 1 to 900 seconds")
    })?;
    let operation = OperationId::new(args.operation);
    let reader = Reader::open(context.paths.dir()).map_err(StartError::Journal)?;
    let leases = reader.leases().map_err(StartError::Journal)?;
    drop(reader);
    // The group is the journal's to say; all that moves was named.
    let Some(found) = leases.into_iter().find(|row| row.operation == operation) else {
        return Err(refused(format!("operation {operation} is not open")));
    };
    let handoff = Handoff {
        dir: context.paths.dir(),
        asked: Claimed {
            operation,
            group: found.group,
            plan: args.plan,
            fence: Fence::new(args.fence),
            owner: args.owner.clone(),
            until: Timestamp::from_millis(args.until),
        },
        to: taker().map_err(|error| Failure::new(Exit::Usage, error.to_string()))?,
        length,
        target: args.to,
        now: system_clock()(),
    };
    let done = handoff.perform().map_err(|error| match error {
        HandoffError::Journal(error) => StartError::Journal(error).into(),
        HandoffError::Refused { ref refusal, .. }
            if matches!(refusal, reconciler_core::ownership::HandoffRefusal::Stale(_)) =>
        {
            Failure::new(Exit::Stale, format!("{}; nothing was changed", chain(&error))).hint(AGAIN)
        }
        HandoffError::NotOpen(_)
        | HandoffError::Busy(_)
        | HandoffError::NoWayBack(_)
        | HandoffError::Refused { .. } => refused(chain(&error)),
    })?;
    if context.global.json {
        out::json(&done)?;
        return Ok(Exit::Done);
    }
    out::line(format!(
        "operation {operation} is {}'s under fence {}, to {}; {} attempts went with it",
        done.lease.owner, done.lease.fence, done.target, done.attached
    ));
    // The driver that takes the run does what it was handed over for.
    out::line(format!("next: {}", context.command("driver")));
    Ok(Exit::Done)
}

/// The name under which a person takes something over.
fn taker() -> Result<ControllerId, IdError> {
    who().replace(' ', ":").parse()
}
