//! What is done to a world from above: holds are released, what no record accounts for is taken away, and an update
//! that failed is taken back.

use reconciler_core::{
    fold::{Fact, Verdict},
    hold::Hold,
    id::GroupId,
    reconcile::RolloutChange,
};

use crate::world::World;

impl World {
    /// Releases every hold.
    pub(crate) fn release_all(&mut self) {
        let held: Vec<_> = self
            .state
            .groups()
            .flat_map(|(_, g)| g.records())
            .filter(|r| r.attempts().any(|one| one.hold.is_some()))
            .map(|r| r.slot.clone())
            .collect();
        for slot in held {
            assert_eq!(self.state.fold(Fact::ReleasedSlot(slot), self.now), Verdict::Applied);
        }
        let stalled = |hold: &Hold| hold.code.is_of_update();
        let held = self.state.groups().filter(|(_, group)| group.hold().is_some_and(stalled));
        for group in held.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
            let _released = self.state.fold(Fact::ReleasedGroup(group), self.now);
        }
    }

    /// An operator takes away what no record accounts for.
    pub(crate) fn quarantine(&mut self) {
        let state = &self.state;
        self.things.retain(|attempt, thing| {
            let record = state.record(&thing.slot);
            record.is_some_and(|r| r.attempts().any(|one| one.attempt.uuid == *attempt))
        });
    }

    /// Takes note of what becomes of an update; one that failed is taken back by another shape.
    pub(crate) fn update(&mut self, group: GroupId, change: RolloutChange) {
        if let RolloutChange::Revert { to, .. } = &change {
            let back = self.shape.with_specs([(group, to.spec.clone())]);
            self.reverts += 1;
            return self.reshape(back);
        }
        let verdict = self.state.fold(Fact::Rollout { group, change }, self.now);
        assert_eq!(verdict, Verdict::Applied);
    }
}
