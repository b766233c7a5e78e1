//! The whole declared shape, its generation, and its expansion into slots.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    vec::Vec,
};

use serde::{Deserialize, Serialize};

use super::{
    Brief, GateError, Guardrail, LogicalNodeSpec, NodeSpec, Power, RunNodeGroupSpec, gate,
    groups::Groups,
};
use crate::{
    id::{AttemptOrdinal, Generation, GroupId, LogicalNodeId, RunName, Uuid},
    limits,
};

/// Why a set of groups is not a shape, or may not follow the present one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// Two groups have one name.
    #[error("group `{0}` is declared twice")]
    DuplicateGroup(GroupId),
    /// More groups than a run may have.
    #[error("{0} groups are declared; at most {max} are allowed", max = limits::GROUPS_MAX)]
    TooManyGroups(usize),
    /// More nodes than a group may have.
    #[error("group `{group}` wants {count} nodes; at most {max} are allowed", max = limits::GROUP_COUNT_MAX)]
    CountTooLarge {
        /// The group.
        group: GroupId,
        /// What it wants.
        count: u32,
    },
    /// More nodes than a run may have.
    #[error("{0} nodes are wanted in all; at most {max} are allowed", max = limits::NODES_MAX)]
    TooManyNodes(u64),
    /// The gates between its groups make no sense.
    #[error(transparent)]
    Gate(#[from] GateError),
    /// The shape belongs to another run.
    #[error("the shape is for run {found}, this is run {expected}")]
    WrongRun {
        /// The run that is driven.
        expected: Uuid,
        /// The run that the shape names.
        found: Uuid,
    },
    /// The generation went back.
    #[error("generation {found} is older than the present {present}")]
    GenerationRegressed {
        /// The present generation.
        present: Generation,
        /// The one that was offered.
        found: Generation,
    },
    /// The content changed under one generation.
    #[error("generation {0} was given again with other content")]
    SilentChange(Generation),
}

/// What should be, as of one generation. Immutable: an edit makes a new one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterShape {
    /// The name of the run.
    pub run: RunName,
    /// The identity of the run.
    pub uuid: Uuid,
    /// Rises with every change of content.
    pub generation: Generation,
    groups: Groups,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    guardrails: Vec<Guardrail>,
}

impl ClusterShape {
    /// Makes a shape of `groups`.
    ///
    /// # Errors
    /// Refuses a duplicate group, too many groups, a count over the limit, and gates that make no sense.
    pub fn new(
        run: RunName,
        uuid: Uuid,
        generation: Generation,
        groups: impl IntoIterator<Item = RunNodeGroupSpec>,
    ) -> Result<Self, ShapeError> {
        let mut map = BTreeMap::new();
        for spec in groups {
            if spec.count > limits::GROUP_COUNT_MAX {
                return Err(ShapeError::CountTooLarge { group: spec.group, count: spec.count });
            }
            let group = spec.group.clone();
            if map.insert(group.clone(), Arc::new(spec)).is_some() {
                return Err(ShapeError::DuplicateGroup(group));
            }
        }
        if map.len() > limits::GROUPS_MAX {
            return Err(ShapeError::TooManyGroups(map.len()));
        }
        let nodes = map.values().map(|group| u64::from(group.count));
        let nodes = nodes.fold(0_u64, u64::saturating_add);
        if nodes > limits::NODES_MAX {
            return Err(ShapeError::TooManyNodes(nodes));
        }
        gate::check(&map)?;
        Ok(Self { run, uuid, generation, groups: map.into(), guardrails: Vec::new() })
    }

    /// The same shape with these guardrails in the place of its own.
    #[must_use]
    pub fn guarded(self, guardrails: Vec<Guardrail>) -> Self {
        Self { guardrails, ..self }
    }

    /// What it forbids of plans, and what it wants said before.
    pub fn guardrails(&self) -> &[Guardrail] {
        &self.guardrails
    }

    /// The next generation of this shape with other groups; what stands beside the groups stays.
    fn regrouped(
        &self,
        groups: impl IntoIterator<Item = RunNodeGroupSpec>,
    ) -> Result<Self, ShapeError> {
        let next = Self::new(self.run.clone(), self.uuid, self.generation.next(), groups)?;
        Ok(next.guarded(self.guardrails.clone()))
    }

    /// Checks a shape that came from elsewhere as `new` checks its own.
    ///
    /// # Errors
    /// Refuses what `new` refuses.
    pub fn check(&self) -> Result<(), ShapeError> {
        let groups = self.groups.values().map(|group| RunNodeGroupSpec::clone(group));
        Self::new(self.run.clone(), self.uuid, self.generation, groups).map(drop)
    }

    /// The shape of a run that nobody gave one yet: generation 0, without groups.
    pub const fn empty(run: RunName, uuid: Uuid) -> Self {
        let generation = Generation::new(0);
        Self { run, uuid, generation, groups: Groups::none(), guardrails: Vec::new() }
    }

    /// The groups in order of their names.
    pub fn groups(&self) -> impl ExactSizeIterator<Item = &Arc<RunNodeGroupSpec>> {
        self.groups.values()
    }

    /// Every group's name with what it wants in brief, in order.
    pub(crate) fn briefs(&self) -> &[(GroupId, Option<Brief>)] {
        self.groups.briefs()
    }

    /// One group.
    pub fn group(&self, group: &GroupId) -> Option<&Arc<RunNodeGroupSpec>> {
        self.groups.get(group)
    }

    /// The group of a slot, if the slot is wanted.
    pub fn wanted(&self, slot: &LogicalNodeId) -> Option<&Arc<RunNodeGroupSpec>> {
        self.groups.get(&slot.group).filter(|group| slot.index < group.count)
    }

    /// How many nodes each group wants.
    pub fn counts(&self) -> BTreeMap<GroupId, u32> {
        self.groups.values().map(|group| (group.group.clone(), group.count)).collect()
    }

    /// How many of each group's nodes are switched off.
    pub fn offs(&self) -> BTreeMap<GroupId, u32> {
        let off = |group: &Arc<RunNodeGroupSpec>| group.power.off_count(group.count);
        self.groups.values().map(|group| (group.group.clone(), off(group))).collect()
    }

    /// The same shape with other counts, as the next generation; groups that are not named keep theirs.
    ///
    /// # Errors
    /// Refuses a count over the limit.
    pub fn with_counts(&self, counts: &BTreeMap<GroupId, u32>) -> Result<Self, ShapeError> {
        let groups = self.groups.values().map(|group| {
            let mut group = RunNodeGroupSpec::clone(group);
            group.count = counts.get(&group.group).copied().unwrap_or(group.count);
            group
        });
        self.regrouped(groups)
    }

    /// The same shape with other nodes in some groups, as the next generation; counts and policies stay.
    #[must_use]
    pub fn with_specs(&self, specs: impl IntoIterator<Item = (GroupId, Arc<NodeSpec>)>) -> Self {
        let groups = self.groups.changed(|groups| {
            for (name, spec) in specs {
                if let Some(group) = groups.get_mut(&name) {
                    let group = Arc::make_mut(group);
                    (group.revision, group.spec) = (spec.revision(), spec);
                }
            }
        });
        Self { groups, generation: self.generation.next(), ..self.clone() }
    }

    /// The same shape with `group` in the place of the one of its name, or added, as the next generation.
    ///
    /// # Errors
    /// Refuses what `new` refuses.
    pub fn with_group(&self, group: RunNodeGroupSpec) -> Result<Self, ShapeError> {
        let others = self.groups.values().filter(|other| other.group != group.group);
        let mut groups: Vec<_> = others.map(|other| RunNodeGroupSpec::clone(other)).collect();
        groups.push(group);
        self.regrouped(groups)
    }

    /// The same shape with every count at zero, as the next generation.
    #[must_use]
    pub fn emptied(&self) -> Self {
        let groups = self.groups.changed(|groups| {
            for group in groups.values_mut() {
                Arc::make_mut(group).count = 0;
            }
        });
        Self { groups, generation: self.generation.next(), ..self.clone() }
    }

    /// The same shape with another power for each of the named groups, as the next generation.
    #[must_use]
    pub fn with_power(&self, power: BTreeMap<GroupId, Power>) -> Self {
        let groups = self.groups.changed(|groups| {
            for (name, power) in power {
                if let Some(group) = groups.get_mut(&name) {
                    Arc::make_mut(group).power = power;
                }
            }
        });
        Self { groups, generation: self.generation.next(), ..self.clone() }
    }

    /// The same shape with the rounds that `live` has: what a declaration does not know of, it does not undo.
    #[must_use]
    pub fn with_rounds_of(&self, live: &Self) -> Self {
        let groups = self.groups.changed(|groups| {
            for (name, group) in groups {
                let Some(live) = live.groups.get(name) else { continue };
                let power = group.power.with_rounds_of(&live.power);
                if power != group.power {
                    Arc::make_mut(group).power = power;
                }
            }
        });
        Self { groups, ..self.clone() }
    }

    /// The same shape without the named groups, as the next generation.
    ///
    /// # Errors
    /// Refuses to take away what another group waits for.
    pub fn without(&self, names: &BTreeSet<GroupId>) -> Result<Self, ShapeError> {
        let left = self.groups.values().filter(|group| !names.contains(&group.group));
        let left = left.map(|group| RunNodeGroupSpec::clone(group));
        self.regrouped(left)
    }

    /// The same content under another generation.
    #[must_use]
    pub fn at_generation(&self, generation: Generation) -> Self {
        Self { generation, ..self.clone() }
    }

    /// The same shape with the digests that this version makes: what another version wrote is brought up (C13).
    #[must_use]
    pub fn redigested(&self) -> Self {
        let group = |(name, group): (&GroupId, &Arc<RunNodeGroupSpec>)| {
            let present = group.redigested();
            let same = present.revision == group.revision;
            (name.clone(), if same { Arc::clone(group) } else { Arc::new(present) })
        };
        let groups: BTreeMap<_, _> = self.groups.iter().map(group).collect();
        Self { groups: groups.into(), ..self.clone() }
    }

    /// True if both declare the same groups and guardrails, whatever their generations and the version of their
    /// digests.
    pub fn same_content(&self, other: &Self) -> bool {
        let groups = self.groups.len() == other.groups.len()
            && self.groups.values().zip(other.groups.values()).all(|(a, b)| a.same_content(b));
        let beside = self.guardrails == other.guardrails;
        groups && beside && self.uuid == other.uuid && self.run == other.run
    }

    /// Checks that `next` may follow this shape (R20 to R22).
    ///
    /// # Errors
    /// Refuses another run, an older generation, and changed content under the same generation.
    pub fn may_become(&self, next: &Self) -> Result<(), ShapeError> {
        if next.uuid != self.uuid {
            return Err(ShapeError::WrongRun { expected: self.uuid, found: next.uuid });
        }
        if next.generation < self.generation {
            return Err(ShapeError::GenerationRegressed {
                present: self.generation,
                found: next.generation,
            });
        }
        if next.generation == self.generation && !self.same_content(next) {
            return Err(ShapeError::SilentChange(self.generation));
        }
        Ok(())
    }

    /// Every wanted slot in order, each with its first attempt (R18).
    pub fn expand(&self) -> Vec<LogicalNodeSpec> {
        let slots = |group: &Arc<RunNodeGroupSpec>| {
            let group = Arc::clone(group);
            (0..group.count).map(move |index| {
                let slot = LogicalNodeId::new(group.group.clone(), index);
                self.stamp(&group, slot, self.generation, AttemptOrdinal::new(1))
            })
        };
        self.groups.values().flat_map(slots).collect()
    }

    /// The spec of one attempt of one slot of `group`, which got its record in the generation `born`.
    pub fn stamp(
        &self,
        group: &RunNodeGroupSpec,
        slot: LogicalNodeId,
        born: Generation,
        ordinal: AttemptOrdinal,
    ) -> LogicalNodeSpec {
        group.stamp(self.uuid, slot, born, ordinal)
    }
}
