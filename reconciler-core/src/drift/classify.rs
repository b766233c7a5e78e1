//! Finds every drift of a run: providers, then groups, then slots, each once, in a stable order.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{
    kind::{Drift, DriftKind, DriftSubject},
    slot,
};
use crate::{
    desired::{ClusterShape, RunNodeGroupSpec},
    hold::HoldCode,
    id::{Fence, GroupId, LogicalNodeId, ProviderName, Uuid},
    observed::{ClusterState, GroupState},
};

/// Every drift between `observed` and `desired`, sorted; costs the number of nodes.
///
/// `fence` is that of the controller that asks, where there is one.
pub fn classify(
    observed: &ClusterState,
    desired: &ClusterShape,
    fence: Option<Fence>,
) -> Vec<Drift> {
    let mut out = Vec::new();
    providers(observed, desired, &mut out);
    let declared = desired.groups().map(|spec| &spec.group);
    let names: BTreeSet<&GroupId> =
        declared.chain(observed.groups().map(|(name, _)| name)).collect();
    for name in names {
        let spec = desired.group(name).map(AsRef::as_ref);
        let state = observed.group(name).map(AsRef::as_ref);
        group(name, spec, state, &mut out);
        if let Some(state) = state {
            unaccounted(state, fence, &mut out);
        }
    }
    sort(&mut out);
    out
}

/// The drifts that refuse the plans of their group, sorted. Costs the number of groups, and of nodes in those
/// groups alone in which something is held.
pub fn refusals(observed: &ClusterState, fence: Option<Fence>) -> Vec<(GroupId, Drift)> {
    let mut out = Vec::new();
    for (name, state) in observed.groups() {
        let mut found = Vec::new();
        if state.held() > 0 {
            found.extend(state.records().filter_map(|record| slot::forbidden(record)));
        }
        unaccounted(state, fence, &mut found);
        found.retain(|drift| drift.repair == super::Repair::Refused);
        sort(&mut found);
        out.extend(found.into_iter().map(|drift| (name.clone(), drift)));
    }
    out
}

fn sort(drifts: &mut Vec<Drift>) {
    drifts.sort_unstable_by(|a, b| {
        let key = |d: &Drift| (d.kind, d.repair);
        (&a.subject, key(a), &a.expected, &a.found).cmp(&(
            &b.subject,
            key(b),
            &b.expected,
            &b.found,
        ))
    });
    // A lease that is listed twice alike is one.
    drifts.dedup();
}

/// Providers that are in use and were not seen, or not in full (R162).
fn providers(observed: &ClusterState, desired: &ClusterShape, out: &mut Vec<Drift>) {
    let wanted = desired.groups().filter(|g| g.count > 0).map(|g| &g.spec.provider);
    let known = observed.providers().keys();
    let used: BTreeSet<&ProviderName> = wanted.chain(known).collect();
    for name in used {
        let state = observed.providers().get(name);
        let trouble = state.and_then(|state| state.trouble.as_ref());
        let partial = state.is_some_and(|state| state.partial);
        let (kind, found, reason) = match trouble {
            Some(why) if partial => (
                DriftKind::PartlyObserved,
                why.to_string(),
                "it showed a part of what it holds: what is not shown counts as there",
            ),
            Some(why) => (
                DriftKind::Unobserved,
                why.to_string(),
                "it could not be looked at: nothing is claimed of its nodes",
            ),
            None if state.is_none_or(|state| state.listed_at.is_none()) => (
                DriftKind::Unobserved,
                String::from("no listing yet"),
                "it was not looked at: nothing is claimed of its nodes",
            ),
            None => continue,
        };
        let both = ("a complete listing", found);
        out.push(Drift::new(DriftSubject::Provider(name.clone()), kind, both, reason));
    }
}

fn group(
    name: &GroupId,
    spec: Option<&RunNodeGroupSpec>,
    state: Option<&GroupState>,
    out: &mut Vec<Drift>,
) {
    let subject = || DriftSubject::Group(name.clone());
    if let Some(hold) = state.and_then(GroupState::hold) {
        let doubt = match hold.code {
            // Nothing of what was observed is in doubt.
            HoldCode::UpdateStalled
            | HoldCode::IrreversibleHook
            | HoldCode::RestoredHealthFailed
            | HoldCode::PlanningIncomplete
            | HoldCode::HandedOver => None,
            HoldCode::MassUnhealthy => {
                Some((DriftKind::MassUnhealthy, "too many look broken at once to act on it"))
            }
            HoldCode::CrashLoop
            | HoldCode::Refused
            | HoldCode::CleanupRefused
            | HoldCode::Implausible
            | HoldCode::Unrecognised
            | HoldCode::NewerFence
            | HoldCode::DuplicateIdentity
            | HoldCode::ExitUnknown
            | HoldCode::HookUnknown => {
                Some((DriftKind::Implausible, "too many vanished at once to believe it"))
            }
        };
        if let Some((kind, reason)) = doubt {
            let both = ("a believable observation", hold.text.to_string());
            out.push(Drift::new(subject(), kind, both, reason).of_hold());
        }
    }
    let count = spec.map_or(0, |spec| spec.count);
    let orphans = state.map_or(0, |g| u32::try_from(g.orphans().count()).unwrap_or(u32::MAX));
    let there = state.map_or(0, GroupState::owning).saturating_add(orphans);
    // What is switched off keeps the lease that it has, and needs none.
    let least = spec.map_or(0, RunNodeGroupSpec::count_on);
    if !(least..=count).contains(&there) {
        let both = (format!("{count} nodes"), format!("{there} at the providers"));
        out.push(Drift::new(subject(), DriftKind::Replicas, both, "another number is wanted"));
    }
    slots(name, spec, state, out);
}

fn slots(
    name: &GroupId,
    spec: Option<&RunNodeGroupSpec>,
    state: Option<&GroupState>,
    out: &mut Vec<Drift>,
) {
    let count = spec.map_or(0, |spec| spec.count);
    for record in state.into_iter().flat_map(GroupState::records) {
        let wanted = spec.filter(|spec| record.slot.index < spec.count);
        slot::of_record(record, wanted, out);
    }
    let known = |index: u32| state.is_some_and(|state| state.record(index).is_some());
    let missing = (0..count).filter(|index| !known(*index));
    out.extend(missing.map(|index| slot::missing(LogicalNodeId::new(name.clone(), index))));
}

/// What is there and no record accounts for: a second one of an attempt, a newer controller's, or any other.
fn unaccounted(state: &GroupState, fence: Option<Fence>, out: &mut Vec<Drift>) {
    let mut places: BTreeMap<(u32, Uuid), BTreeSet<(&ProviderName, &str)>> = BTreeMap::new();
    for (provider, owned) in state.orphans() {
        let identity = (owned.slot.index, owned.attempt);
        places.entry(identity).or_default().insert((provider, owned.lease.id.as_str()));
    }
    for (provider, owned) in state.orphans() {
        let subject = DriftSubject::Slot(owned.slot.clone());
        let found = format!("{provider} holds {}", owned.lease.id);
        let twins = places.get(&(owned.slot.index, owned.attempt)).map_or(0, BTreeSet::len);
        let record = state.record(owned.slot.index);
        let recorded = record.filter(|record| record.attempt.uuid == owned.attempt);
        let recorded = recorded.and_then(|record| record.stage.lease());
        let held = record.and_then(|record| record.hold.as_ref());
        let of_record = record.is_some_and(|record| record.attempt.uuid == owned.attempt);
        if of_record && held.is_some_and(|hold| hold.code == HoldCode::DuplicateIdentity) {
            // The hold tells it, with both names.
            continue;
        }
        if fence.is_some_and(|ours| owned.fence > ours) {
            let ours = fence.map(|fence| fence.to_string()).unwrap_or_default();
            let both = (format!("fence {ours} at most"), format!("{found}, fence {}", owned.fence));
            let reason = "a newer controller made it";
            out.push(Drift::new(subject, DriftKind::Fence, both, reason));
        } else if recorded.is_some() || twins > 1 {
            let expected = recorded
                .map_or_else(|| String::from("one lease"), |l| format!("lease {} alone", l.id));
            let reason = "one identity was observed in two places";
            out.push(Drift::new(subject, DriftKind::DuplicateIdentity, (expected, found), reason));
        } else {
            let both = ("only what a record accounts for", found);
            let reason = "no record accounts for it; it is counted and left alone";
            out.push(Drift::new(subject, DriftKind::Unmanaged, both, reason));
        }
    }
}
