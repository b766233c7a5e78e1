//! The budget of an update: which nodes of a group may give way now, and which wait (D10, C10).
//!
//! Computed once per group and pass from counts that the folds keep. The slots are walked only while something
//! may give way, so an update costs one walk per node that is replaced. A node that does not serve costs no
//! availability: it gives way at once and is never waited for.

use alloc::vec::Vec;

use super::reason::Rung;
use crate::{
    desired::{RunNodeGroupSpec, UpdateMode},
    fold::forbids_everything,
    observed::{Freeze, GroupState, NodeRecord},
    time::Timestamp,
};

/// What one group may do for its update in this pass.
#[derive(Clone, Debug, Default)]
pub(super) struct Budget {
    /// Indices whose node may go now, though it serves; sorted.
    replace: Vec<u32>,
    /// Indices that may get a candidate beside their node; sorted.
    beside: Vec<u32>,
    mode: UpdateMode,
    /// Nodes of another revision that are not gone yet.
    left: u32,
    unavailable: u32,
    unavailable_max: u32,
    surge: u32,
    surge_max: u32,
    freeze: Option<Freeze>,
}

/// How a node of another revision gives way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It goes, and its successor follows.
    Goes,
    /// Its successor comes up beside it first.
    Beside,
    /// Others come first.
    Waits,
}

impl Budget {
    /// The budget of a group; none if no node of it is of another revision.
    pub(super) fn of(
        state: &GroupState,
        wanted: &RunNodeGroupSpec,
        freeze: Option<Freeze>,
        now: Timestamp,
    ) -> Option<Self> {
        let (outdated, left) = state.outdated(wanted.revision);
        if outdated == 0 {
            return None;
        }
        let (count, update) = (wanted.count, &wanted.policy.update);
        // What is declared off is missed by nobody.
        let to_serve = count.saturating_sub(wanted.power.off_count(count));
        let mut budget = Self {
            mode: update.mode,
            left,
            unavailable: to_serve.saturating_sub(state.ready_within(count)),
            unavailable_max: update.unavailable(count),
            surge: state.seconds(),
            surge_max: update.surge(count),
            freeze,
            ..Self::default()
        };
        if freeze.is_none() && state.hold().is_none() {
            match update.mode {
                UpdateMode::Rolling => budget.grant(state, wanted, now),
                UpdateMode::Recreate if left == 0 => budget.begin_anew(state, wanted),
                UpdateMode::Recreate => {}
            }
        }
        Some(budget)
    }

    /// Picks the next nodes, the lowest indices first.
    fn grant(&mut self, state: &GroupState, wanted: &RunNodeGroupSpec, now: Timestamp) {
        let mut may_add = self.surge_max.saturating_sub(self.surge);
        let mut may_take = self.unavailable_max.saturating_sub(self.unavailable);
        if may_add == 0 && may_take == 0 {
            return;
        }
        may_take = may_take.saturating_sub(young(state, wanted, now));
        let records = state.unsettled_as(wanted);
        for record in records.take_while(|record| record.slot.index < wanted.count) {
            if may_add == 0 && may_take == 0 {
                return;
            }
            if !gives_way(record, wanted) {
                continue;
            }
            if let Some(left) = may_add.checked_sub(1) {
                may_add = left;
                self.beside.push(record.slot.index);
            } else if let Some(left) = may_take.checked_sub(1) {
                may_take = left;
                self.replace.push(record.slot.index);
            }
        }
    }

    /// Every old node is gone: all successors begin together.
    fn begin_anew(&mut self, state: &GroupState, wanted: &RunNodeGroupSpec) {
        let records = state.records().take_while(|record| record.slot.index < wanted.count);
        let outdated = records.filter(|record| record.revision != wanted.revision);
        self.replace = outdated.map(|record| record.slot.index).collect();
    }

    /// The indices that have a turn now, sorted.
    pub(super) fn turns(&self) -> Vec<u32> {
        let mut turns: Vec<u32> = self.replace.iter().chain(&self.beside).copied().collect();
        turns.sort_unstable();
        turns
    }

    /// How a node of another revision gives way.
    pub(super) fn turn(&self, record: &NodeRecord) -> Turn {
        let index = record.slot.index;
        if self.freeze.is_some() {
            return Turn::Waits;
        }
        if self.mode == UpdateMode::Recreate {
            return Turn::Goes;
        }
        if self.beside.binary_search(&index).is_ok() {
            return Turn::Beside;
        }
        let serves = record.is_ready() || record.second.is_some();
        if !serves || self.replace.binary_search(&index).is_ok() { Turn::Goes } else { Turn::Waits }
    }

    /// Why a successor waits although nothing is left of its predecessor.
    pub(super) fn awaits_others(&self) -> Option<Rung> {
        let waits = self.freeze.is_none() && self.mode == UpdateMode::Recreate && self.left > 0;
        waits.then_some(Rung::AwaitOthersGone { left: self.left })
    }

    /// Why a node of another revision still serves.
    pub(super) const fn waits(&self) -> Rung {
        if let Some(freeze) = self.freeze {
            return Rung::of_freeze(freeze);
        }
        Rung::AwaitTurn {
            unavailable: self.unavailable,
            unavailable_max: self.unavailable_max,
            surge: self.surge,
            surge_max: self.surge_max,
        }
    }
}

/// True for a node that serves, is of another revision, and stands alone in its slot.
fn gives_way(record: &NodeRecord, wanted: &RunNodeGroupSpec) -> bool {
    record.is_ready()
        && record.revision != wanted.revision
        && record.second.is_none()
        && record.hold.as_ref().is_none_or(|hold| !forbids_everything(hold.code))
}

/// How many ready nodes of the wanted revision have not proved themselves yet; they count as missing.
pub(super) fn young(state: &GroupState, wanted: &RunNodeGroupSpec, now: Timestamp) -> u32 {
    let observation = wanted.policy.update.observation;
    if observation.get() == 0 {
        return 0;
    }
    let unproven = |record: &NodeRecord| {
        record.is_ready()
            && record.revision == wanted.revision
            && record.ready_since().is_some_and(|since| since.after(observation) > now)
    };
    let records = state.records().take_while(|record| record.slot.index < wanted.count);
    u32::try_from(records.filter(|record| unproven(record)).count()).unwrap_or(u32::MAX)
}
