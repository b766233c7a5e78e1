//! What keeps a run from being as it should be, and whether it comes to that by itself or needs a person (P6, P7).
//!
//! Read from the decisions on the same state: what the decider does next, or waits for a time or an answer to do,
//! moves by itself; what waits for other nodes moves if any of them does. Where nothing moves, waiting is over.

use alloc::{string::String, vec::Vec};
use core::fmt;

use super::{
    budget::young,
    converged::group_converged,
    pass::ReconcilePlan,
    reason::{Reason, Rung},
};
use crate::{
    desired::{ClusterShape, RunNodeGroupSpec},
    hold::Hold,
    id::{GroupId, LogicalNodeId, ProviderName},
    limits,
    observed::{ClusterState, Freeze, GroupState, ProviderState},
    time::Timestamp,
};

/// Whom something waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// Nobody: it moves by itself, now or at its time.
    Itself,
    /// Other nodes, of its group or of others.
    Others,
    /// A person.
    Person,
}

/// Why something is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The rung on which slots stand.
    Rung(Rung),
    /// The hold of the whole group.
    Hold(Hold),
    /// A provider holds things of the group that no record accounts for.
    Orphan(ProviderName),
    /// The provider cannot be observed, so nothing is claimed of the group.
    Unobserved(ProviderName),
}

/// Slots of one group that stand where they are for one reason, or the group itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outstanding {
    /// The group.
    pub group: GroupId,
    /// The first of the slots; none where it is about the group itself.
    pub slot: Option<LogicalNodeId>,
    /// How many slots, or things.
    pub count: u32,
    /// Why.
    pub why: Why,
    /// Whom it waits for.
    pub waits_for: WaitsFor,
    /// The command that leads on, where there is one.
    pub way_out: Option<String>,
}

/// What keeps a run from being as it should be; nothing if it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outlook {
    /// In the order of the groups.
    pub outstanding: Vec<Outstanding>,
}

impl Outlook {
    /// True if something is not as it should be, and nothing of it moves before a person acts.
    ///
    /// What a provider does not show moves nothing; where that is all that is missing, the next listing may tell.
    pub fn is_stuck(&self) -> bool {
        let told = |one: &&Outstanding| !matches!(one.why, Why::Unobserved(_));
        let mut all = self.outstanding.iter().filter(told).peekable();
        all.peek().is_some() && all.all(|one| one.waits_for != WaitsFor::Itself)
    }
}

/// Says what is not as it should be; `plan` is what was decided on the same state at the same time.
///
/// Costs the number of groups where the run is as it should be, else that of the reasons.
pub fn outlook(
    observed: &ClusterState,
    desired: &ClusterShape,
    plan: &ReconcilePlan,
    now: Timestamp,
) -> Outlook {
    let mut outlook = Outlook::default();
    let declared = desired.groups().map(|spec| &spec.group);
    let gone = observed.groups().map(|(name, _)| name);
    let gone = gone.filter(|name| desired.group(name).is_none());
    for name in declared.chain(gone) {
        let seen = observed.group(name).map(AsRef::as_ref);
        let wanted = desired.group(name).map(AsRef::as_ref);
        let sight = Group { name, seen, wanted, observed, now };
        outlook.outstanding.extend(sight.outstanding(plan));
    }
    outlook.outstanding.sort_by(|a, b| (&a.group, &a.slot).cmp(&(&b.group, &b.slot)));
    outlook
}

/// One group as it is looked at.
struct Group<'a> {
    name: &'a GroupId,
    seen: Option<&'a GroupState>,
    wanted: Option<&'a RunNodeGroupSpec>,
    observed: &'a ClusterState,
    now: Timestamp,
}

impl Group<'_> {
    fn outstanding(&self, plan: &ReconcilePlan) -> Vec<Outstanding> {
        let mut rows: Vec<Outstanding> = self.unobserved().into_iter().collect();
        if group_converged(self.seen, self.wanted) {
            return rows;
        }
        let hold = self.seen.and_then(GroupState::hold);
        rows.extend(hold.map(|hold| Outstanding {
            way_out: Some(Hold::way_out(self.name.as_str())),
            ..self.about(Why::Hold(hold.clone()), WaitsFor::Person, 1)
        }));
        let reasons = self.of_group(&plan.reasons).chain(self.of_group(&plan.second_reasons));
        for (slot, reason) in reasons {
            let rung = if self.rests_outdated(slot, &reason.rung) {
                &Rung::UpdatePaused
            } else {
                &reason.rung
            };
            self.add(&mut rows, slot, rung);
        }
        let quiet = |slot: &LogicalNodeId| of(&plan.reasons, slot).is_none();
        let records = self.seen.into_iter().flat_map(GroupState::records);
        for record in records.filter(|record| record.is_working() && quiet(&record.slot)) {
            self.add(&mut rows, &record.slot, &Rung::Working);
        }
        let mut orphans: Vec<&ProviderName> =
            self.seen.into_iter().flat_map(GroupState::orphans).map(|(name, _)| name).collect();
        orphans.sort_unstable();
        for same in orphans.chunk_by(|a, b| a == b) {
            let count = u32::try_from(same.len()).unwrap_or(u32::MAX);
            let whose = same.first().map(|name| Why::Orphan((*name).clone()));
            rows.extend(whose.map(|why| self.about(why, WaitsFor::Person, count)));
        }
        if plan.rollouts.iter().any(|(group, _)| group == self.name) {
            // What becomes of the update is decided, and not folded yet.
            for row in &mut rows {
                row.waits_for = WaitsFor::Itself;
            }
        }
        rows
    }

    /// True for a node that rests as it is to, but at the revision that a paused update keeps it at.
    fn rests_outdated(&self, slot: &LogicalNodeId, rung: &Rung) -> bool {
        let record = self.seen.and_then(|seen| seen.record(slot.index));
        let outdated = record.zip(self.wanted).is_some_and(|(record, wanted)| {
            let paused = self.observed.freeze(self.name, wanted.revision) == Some(Freeze::Paused);
            paused && record.revision != wanted.revision
        });
        matches!(rung, Rung::Off) && outdated
    }

    fn unobserved(&self) -> Option<Outstanding> {
        let spec = self.wanted.filter(|spec| spec.count > 0)?;
        let provider = &spec.spec.provider;
        let blind = self.observed.providers().get(provider).is_some_and(ProviderState::is_blind);
        blind.then(|| self.about(Why::Unobserved(provider.clone()), WaitsFor::Itself, 1))
    }

    fn about(&self, why: Why, waits_for: WaitsFor, count: u32) -> Outstanding {
        let group = self.name.clone();
        Outstanding { group, slot: None, count, why, waits_for, way_out: None }
    }

    fn of_group<'p>(
        &self,
        reasons: &'p [(LogicalNodeId, Reason)],
    ) -> impl Iterator<Item = &'p (LogicalNodeId, Reason)> {
        let first = reasons.partition_point(|(slot, _)| slot.group < *self.name);
        let after = reasons.partition_point(|(slot, _)| slot.group <= *self.name);
        reasons.get(first..after).into_iter().flatten()
    }

    fn add(&self, rows: &mut Vec<Outstanding>, slot: &LogicalNodeId, rung: &Rung) {
        // The hold of the group stands for itself.
        let Some(waits_for) = self.waits_for(rung).filter(|_| !matches!(rung, Rung::GroupHeld(_)))
        else {
            return;
        };
        let same = |row: &Outstanding| matches!(&row.why, Why::Rung(known) if known == rung);
        let alike =
            |row: &Outstanding| matches!(&row.why, Why::Rung(known) if known.name() == rung.name());
        let full = rows.len() >= limits::OUTSTANDING_MAX;
        let at =
            rows.iter().position(same).or_else(|| rows.iter().position(alike).filter(|_| full));
        if let Some(row) = at.and_then(|at| rows.get_mut(at)) {
            row.count = row.count.saturating_add(1);
            return;
        }
        rows.push(Outstanding {
            slot: Some(slot.clone()),
            way_out: rung.way_out(slot),
            ..self.about(Why::Rung(rung.clone()), waits_for, 1)
        });
    }

    /// Whom a slot on `rung` waits for; nobody asks that of one that is as it should be.
    fn waits_for(&self, rung: &Rung) -> Option<WaitsFor> {
        match rung {
            Rung::Steady | Rung::Stabilising | Rung::Off | Rung::Completed => None,
            Rung::Held(..) | Rung::GroupHeld(_) | Rung::UpdatePaused => Some(WaitsFor::Person),
            Rung::AwaitTurn { .. } if self.observes() => Some(WaitsFor::Itself),
            Rung::Gate(_)
            | Rung::Dependents(_)
            | Rung::Turn { .. }
            | Rung::Overshoot { .. }
            | Rung::AwaitTurn { .. }
            | Rung::AwaitOthersGone { .. }
            | Rung::AwaitCandidate(_)
            | Rung::AwaitSecondGone(_) => Some(WaitsFor::Others),
            Rung::Step(_)
            | Rung::Insert
            | Rung::BeginDelete(_)
            | Rung::MarkDestroyed
            | Rung::Restart
            | Rung::Settle
            | Rung::Rest
            | Rung::Expire
            | Rung::TimeOut
            | Rung::Retune
            | Rung::Reap
            | Rung::EffectPending(_)
            | Rung::Ambiguous(_)
            | Rung::Backoff { .. }
            | Rung::Retry { .. }
            | Rung::ProviderPaused
            | Rung::Parallelism
            | Rung::AwaitEndpoint
            | Rung::Settling
            | Rung::AwaitAgent
            | Rung::AwaitProbe(..)
            | Rung::GiveUp(_)
            | Rung::Working
            | Rung::Candidate
            | Rung::Observing
            | Rung::Verifying
            | Rung::Promote => Some(WaitsFor::Itself),
        }
    }

    /// True while a node of the wanted revision has not been ready for its observation time.
    fn observes(&self) -> bool {
        self.seen.zip(self.wanted).is_some_and(|(seen, wanted)| young(seen, wanted, self.now) > 0)
    }
}

/// The reason of one slot among `reasons`, which are in the order of the slots.
fn of<'p>(reasons: &'p [(LogicalNodeId, Reason)], slot: &LogicalNodeId) -> Option<&'p Reason> {
    let at = reasons.binary_search_by(|(known, _)| known.cmp(slot)).ok()?;
    reasons.get(at).map(|(_, reason)| reason)
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rung(rung) => rung.fmt(f),
            Self::Hold(hold) => write!(f, "{}: {}", hold.code.as_str(), hold.text),
            Self::Orphan(provider) => {
                write!(f, "{provider} holds what no record accounts for; end it there by hand")
            }
            Self::Unobserved(provider) => write!(f, "{provider} cannot be observed"),
        }
    }
}
