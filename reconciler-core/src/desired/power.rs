//! What operators asked of a group's workloads beside its shape: which rest, and how often they were to begin anew.
//!
//! None of it changes what a node is, so none of it replaces one.

use alloc::{collections::BTreeSet, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::canonical::Canon;

/// Which workloads of a group are to run, and how often they were asked to begin anew.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Power {
    /// True if none of them is to run.
    off: bool,
    /// Single slots that are not to run.
    off_slots: BTreeSet<u32>,
    /// How often the whole group was asked to begin anew.
    round: u32,
    /// How often single slots were, where that is more often: (index, round) in order of the index.
    rounds: Vec<(u32, u32)>,
}

impl Power {
    /// All off from the beginning.
    pub fn switched_off() -> Self {
        Self { off: true, ..Self::default() }
    }

    /// True if nothing was ever asked for.
    pub fn is_plain(&self) -> bool {
        !self.off && self.off_slots.is_empty() && self.round == 0 && self.rounds.is_empty()
    }

    /// True if the workload of `index` is not to run.
    pub fn is_off(&self, index: u32) -> bool {
        self.off || (!self.off_slots.is_empty() && self.off_slots.contains(&index))
    }

    /// True if the whole group is off.
    pub const fn is_all_off(&self) -> bool {
        self.off
    }

    /// The single slots below `count` that are off, unless all are.
    pub fn off_slots(&self, count: u32) -> impl Iterator<Item = u32> {
        self.off_slots.range(..count).copied()
    }

    /// How many of the first `count` slots are off.
    pub fn off_count(&self, count: u32) -> u32 {
        if self.off {
            return count;
        }
        u32::try_from(self.off_slots(count).count()).unwrap_or(u32::MAX)
    }

    /// The round that the workload of `index` is to be of.
    pub fn round(&self, index: u32) -> u32 {
        if self.rounds.is_empty() {
            return self.round;
        }
        self.place(index)
            .ok()
            .and_then(|at| self.rounds.get(at))
            .map_or(0, |(_, n)| *n)
            .max(self.round)
    }

    /// The round that every workload of the group is to be of, at the least.
    pub const fn least_round(&self) -> u32 {
        self.round
    }

    /// The slots that are to be of a round of their own, with that round.
    pub fn slot_rounds(&self) -> impl Iterator<Item = (u32, u32)> {
        self.rounds.iter().copied()
    }

    /// The same with the whole group on or off.
    #[must_use]
    pub fn switched(&self, off: bool) -> Self {
        Self { off, off_slots: BTreeSet::new(), ..self.clone() }
    }

    /// The same with one slot of `count` on or off; the others stay as they are.
    #[must_use]
    pub fn switched_slot(&self, index: u32, off: bool, count: u32) -> Self {
        let mut next = self.clone();
        if self.off && !off {
            next.off = false;
            next.off_slots = (0..count).collect();
        }
        if off && !next.off {
            next.off_slots.insert(index);
        } else {
            next.off_slots.remove(&index);
        }
        next
    }

    /// The same with the whole group asked to begin anew.
    #[must_use]
    pub fn anew(&self) -> Self {
        let most = self.rounds.iter().fold(self.round, |most, (_, round)| most.max(*round));
        Self { round: most.saturating_add(1), rounds: Vec::new(), ..self.clone() }
    }

    /// The same with one slot asked to begin anew.
    #[must_use]
    pub fn anew_slot(&self, index: u32) -> Self {
        let mut next = self.clone();
        let round = (index, self.round(index).saturating_add(1));
        match self.place(index) {
            Ok(at) => next.rounds.iter_mut().skip(at).take(1).for_each(|known| *known = round),
            Err(at) => next.rounds.insert(at, round),
        }
        next
    }

    fn place(&self, index: u32) -> Result<usize, usize> {
        self.rounds.binary_search_by_key(&index, |(index, _)| *index)
    }

    /// The same with the rounds of `live`, which never go back: another declaration begins nothing anew.
    #[must_use]
    pub fn with_rounds_of(&self, live: &Self) -> Self {
        Self { round: live.round, rounds: live.rounds.clone(), ..self.clone() }
    }

    /// As a canonical value: what is to rest and to begin anew is part of what a plan shows (P3).
    pub fn canon(&self) -> Canon {
        let rounds = self.rounds.iter().map(|(index, round)| {
            Canon::list([Canon::num((*index).into()), Canon::num((*round).into())])
        });
        Canon::object([
            ("off", Canon::Bool(self.off)),
            ("off-slots", Canon::list(self.off_slots.iter().map(|i| Canon::num((*i).into())))),
            ("round", Canon::num(self.round.into())),
            ("rounds", Canon::list(rounds)),
        ])
    }
}
