//! `levelhead ownership status`: leases on open operations, and what attempts own, from the journal.

use checkpoint::{
    lease::LeaseRow,
    ownership::{Owned, usage},
    reader::Reader,
    store::OpenError,
    unreadable::Unreadable,
};
use driver::{StartError, system_clock};
use reconciler_core::{
    ownership::{Finalizer, HandoffTarget, Ownership, Resource},
    time::Timestamp,
};
use serde_json::{Value, json};

use crate::cli::{
    context::Context,
    exit::{Exit, Failure, Outcome},
    out, style,
};

/// Shows who answers for what.
pub(crate) fn run(context: &Context) -> Outcome {
    let now = system_clock()();
    let (leases, owned) = match Reader::open(context.paths.dir()) {
        Ok(reader) => (
            reader.leases().map_err(StartError::Journal)?,
            reader.ownership().map_err(StartError::Journal)?,
        ),
        // A run that nobody drove yet owns nothing.
        Err(OpenError::Missing { .. }) => (Vec::new(), Owned::default()),
        Err(error) => return Err(Failure::from(StartError::Journal(error))),
    };
    if context.global.json {
        out::json(&json!({
            "schema": 1,
            "leases": leases.iter().map(|row| lease_json(row, now)).collect::<Vec<_>>(),
            "owned": owned.rows.iter().map(owned_json).collect::<Vec<_>>(),
            "unreadable": owned.unreadable.iter().map(unreadable_json).collect::<Vec<_>>(),
        }))?;
        return Ok(Exit::Done);
    }
    show(context, &leases, &owned.rows, now);
    show_unreadable(context, &owned.unreadable)?;
    Ok(Exit::Done)
}

/// Names what cannot be read, and the command that leads on: a driver makes it anew from the records.
fn show_unreadable(context: &Context, unreadable: &[Unreadable]) -> Result<(), Failure> {
    for bad in unreadable {
        out::line(format!("{}: what it owns cannot be read: {}", bad.key, bad.why));
    }
    if unreadable.is_empty() {
        return Ok(());
    }
    if context.is_driven()? {
        out::line("a driver makes it anew from the records as it takes the run: start it again");
    } else {
        out::line(format!("next: {}", context.command("driver")));
    }
    Ok(())
}

fn show(context: &Context, leases: &[LeaseRow], owned: &[Ownership], now: Timestamp) {
    out::line(format!("{:<10} {:<20} {:<24} {:>6}  LEASE", "OPERATION", "GROUP", "OWNER", "FENCE"));
    for row in leases {
        let left = row.lease.ends(now).since(now).get();
        let lease = if row.lease.is_over(now) {
            "over".to_owned()
        } else {
            format!("{} left", style::length(left))
        };
        let target = row.target.map_or_else(String::new, |what| format!(", to {what}"));
        out::line(format!(
            "{:<10} {:<20} {:<24} {:>6}  {lease}{target}",
            row.operation.to_string(),
            row.group,
            row.lease.owner,
            row.lease.fence.to_string(),
        ));
    }
    out::line(format!(
        "\n{:<20} {:>4} {:<16} {:>6} {:<24} STATE",
        "NODE", "TRY", "PROVIDER", "FENCE", "OWNER"
    ));
    for row in owned {
        out::line(format!(
            "{:<20} {:>4} {:<16} {:>6} {:<24} {}",
            row.identity.slot.to_string(),
            row.identity.attempt.ordinal.to_string(),
            row.identity.provider,
            row.tenure.fence.to_string(),
            row.tenure.controller,
            states(row)
        ));
    }
    for (provider, taken) in usage(owned) {
        let parts: Vec<String> = Resource::ALL
            .into_iter()
            .filter(|resource| taken.get(*resource) > 0)
            .map(|resource| format!("{} {}", resource.text(taken.get(resource)), resource.as_str()))
            .collect();
        out::line(format!("{provider}: {} taken", parts.join(", ")));
    }
    for row in leases.iter().filter(|row| row.lease.is_over(now)) {
        for target in targets(row) {
            out::line(format!("next: {}", handoff(context, row, target)));
        }
    }
}

/// What an operation can be taken over for; what it was handed over for before comes first.
fn targets(row: &LeaseRow) -> Vec<HandoffTarget> {
    let mut all = vec![HandoffTarget::Resume];
    if row.way_back {
        all.push(HandoffTarget::Rollback);
    }
    all.sort_by_key(|target| row.target != Some(*target));
    all
}

/// How far the deletion of an attempt has come; one word where nothing is deleted.
fn states(row: &Ownership) -> String {
    if row.tenure.deleting_at.is_none() {
        return row.tenure.finalizers.of(Finalizer::RuntimeAbsence).as_str().to_owned();
    }
    let state =
        |one: Finalizer| format!("{} {}", one.as_str(), row.tenure.finalizers.of(one).as_str());
    Finalizer::ALL.map(state).join(", ")
}

/// The command that takes an operation over, exactly as it stands.
fn handoff(context: &Context, row: &LeaseRow, target: HandoffTarget) -> String {
    context.command(&format!(
        "ownership handoff {} --plan {} --fence {} --owner {} --until {} --to {target}",
        row.operation,
        row.plan,
        row.lease.fence,
        row.lease.owner,
        row.lease.until.as_millis()
    ))
}

fn unreadable_json(bad: &Unreadable) -> Value {
    json!({ "slot": bad.key, "why": bad.why })
}

fn lease_json(row: &LeaseRow, now: Timestamp) -> Value {
    json!({
        "operation": row.operation, "group": row.group, "plan": row.plan,
        "owner": row.lease.owner, "fence": row.lease.fence, "until": row.lease.until,
        "over": row.lease.is_over(now), "handoffs": row.lease.handoffs, "target": row.target,
        "way_back": row.way_back,
    })
}

fn owned_json(row: &Ownership) -> Value {
    json!({
        "slot": row.identity.slot, "attempt": row.identity.attempt.uuid,
        "ordinal": row.identity.attempt.ordinal, "provider": row.identity.provider,
        "proof": row.proof(), "operation": row.tenure.operation,
        "controller": row.tenure.controller, "fence": row.tenure.fence,
        "handoffs": row.tenure.handoffs, "deleting_at": row.tenure.deleting_at,
        "finalizers": Finalizer::ALL.map(|one| {
            json!({ "name": one.as_str(), "state": row.tenure.finalizers.of(one).as_str() })
        }),
        "demand": row.demand, "admission": row.tenure.admission,
    })
}
