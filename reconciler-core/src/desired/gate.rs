//! Gates between groups: what a group's nodes wait for before they get a lease or start.
//!
//! Whether a gate is open is decided in `reconcile`; here stands what may be declared at all.

use alloc::{collections::BTreeMap, string::String, sync::Arc, vec::Vec};

use serde::{Deserialize, Serialize};

use super::{GroupKind, RunNodeGroupSpec};
use crate::id::GroupId;

/// What a group must have come to before those that wait for it go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateCondition {
    /// The workload of each of its nodes runs, or ran to its good end.
    Started,
    /// Each of its nodes is ready.
    Ready,
    /// The workload of each of its nodes ended well; for jobs alone.
    Completed,
}

impl GateCondition {
    /// All three, from the least to the most.
    pub const ALL: [Self; 3] = [Self::Started, Self::Ready, Self::Completed];

    /// The word for it in the desired-state file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Ready => "ready",
            Self::Completed => "completed",
        }
    }
}

/// The gates of one group: what it waits for of each of the groups named.
pub type Gates = BTreeMap<GroupId, GateCondition>;

/// Why a set of gates makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// A group waits for one that is not declared.
    #[error("group `{group}` waits for `{on}`, which is not declared")]
    Unknown {
        /// Who waits.
        group: GroupId,
        /// For whom.
        on: GroupId,
    },
    /// A group waits for itself.
    #[error("group `{0}` waits for itself")]
    Itself(GroupId),
    /// Groups wait for each other in a ring.
    #[error("groups wait for each other in a ring: {}", ring(.0))]
    Cycle(Vec<GroupId>),
    /// A group waits for the completion of one whose workloads are not meant to end.
    #[error("group `{group}` waits until `{on}` is completed, which is no job and never is")]
    NoJob {
        /// Who waits.
        group: GroupId,
        /// For whom.
        on: GroupId,
    },
}

/// A ring as it is shown: each group, and the first again.
fn ring(groups: &[GroupId]) -> String {
    let mut text = String::new();
    for group in groups.iter().chain(groups.first()) {
        if !text.is_empty() {
            text.push_str(" -> ");
        }
        text.push_str(group.as_str());
    }
    text
}

/// Checks the gates of all groups together.
///
/// # Errors
/// Names the first group, in the order of names, that waits for what can never be.
pub(super) fn check(groups: &BTreeMap<GroupId, Arc<RunNodeGroupSpec>>) -> Result<(), GateError> {
    for (name, spec) in groups {
        for (on, condition) in &spec.policy.after {
            if on == name {
                return Err(GateError::Itself(name.clone()));
            }
            let (group, on) = (name.clone(), on.clone());
            let Some(wanted) = groups.get(&on) else {
                return Err(GateError::Unknown { group, on });
            };
            if *condition == GateCondition::Completed && wanted.policy.kind != GroupKind::Job {
                return Err(GateError::NoJob { group, on });
            }
        }
    }
    let after = groups.iter().map(|(name, spec)| (name, spec.policy.after.keys()));
    find_cycle(after).map_or(Ok(()), |ring| Err(GateError::Cycle(ring)))
}

/// The groups of a ring in the order in which each waits for the next, from the first by name; nothing without one.
///
/// Groups that nothing is known of do not wait for anything.
pub fn find_cycle<'a, I>(after: impl IntoIterator<Item = (&'a GroupId, I)>) -> Option<Vec<GroupId>>
where
    I: IntoIterator<Item = &'a GroupId>,
{
    let after: BTreeMap<&GroupId, Vec<&GroupId>> =
        after.into_iter().map(|(name, on)| (name, on.into_iter().collect())).collect();
    let mut open: BTreeMap<&GroupId, usize> = BTreeMap::new();
    let mut dependents: BTreeMap<&GroupId, Vec<&GroupId>> = BTreeMap::new();
    for (name, on) in &after {
        let known = on.iter().filter(|on| after.contains_key(*on));
        open.insert(name, known.clone().count());
        known.for_each(|on| dependents.entry(on).or_default().push(name));
    }
    let mut free: Vec<&GroupId> =
        open.iter().filter(|(_, n)| **n == 0).map(|(name, _)| *name).collect();
    while let Some(name) = free.pop() {
        open.remove(name);
        for waits in dependents.get(name).into_iter().flatten() {
            let Some(n) = open.get_mut(*waits) else { continue };
            *n = n.saturating_sub(1);
            if *n == 0 {
                free.push(waits);
            }
        }
    }
    // Whoever is left waits for another who is left: following them leads into a ring.
    let mut way: Vec<&GroupId> = open.keys().next().copied().into_iter().collect();
    while let Some(last) = way.last() {
        let next = after.get(last)?.iter().find(|on| open.contains_key(**on))?;
        if let Some(start) = way.iter().position(|seen| seen == next) {
            let ring = way.get(start..).unwrap_or_default();
            let first = ring.iter().enumerate().min_by_key(|(_, name)| **name);
            let first = first.map_or(0, |(at, _)| at);
            let (head, tail) = ring.split_at_checked(first)?;
            return Some(tail.iter().chain(head).map(|name| GroupId::clone(name)).collect());
        }
        way.push(next);
    }
    None
}
