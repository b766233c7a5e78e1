//! What a driver did since it took its run, in numbers: the counters of its metrics.

use std::{collections::BTreeMap, sync::Arc};

use checkpoint::store::StoreStats;

use crate::view::PassView;

/// Upper bounds of the buckets of pass times, in microseconds: from a steady fleet to one that is far too slow.
pub(crate) const PASS_BOUNDS: [u64; 8] =
    [100, 500, 1_000, 5_000, 25_000, 100_000, 500_000, 2_500_000];

/// The counters; each only rises while a driver lives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) passes: u64,
    pub(crate) micros: u64,
    pub(crate) facts: u64,
    pub(crate) transitions: u64,
    pub(crate) failures: u64,
    /// Passes that took at most as long as the bound of the same place, and longer than that before it.
    pub(crate) took: [u64; PASS_BOUNDS.len()],
    /// What the journal did, in the kept commits and in syncs.
    pub(crate) store: StoreStats,
    /// Effects by the name of their action.
    pub(crate) effects: Arc<BTreeMap<&'static str, u64>>,
}

impl Totals {
    /// Counts a pass and the effects that it sent.
    pub(crate) fn count(&mut self, pass: &PassView, effects: impl Iterator<Item = &'static str>) {
        raise(&mut self.passes, 1);
        raise(&mut self.micros, pass.micros);
        raise(&mut self.facts, u64::from(pass.facts));
        raise(&mut self.transitions, u64::from(pass.transitions));
        raise(&mut self.failures, u64::from(pass.failures));
        let place = PASS_BOUNDS.iter().position(|bound| pass.micros <= *bound);
        if let Some(took) = place.and_then(|place| self.took.get_mut(place)) {
            raise(took, 1);
        }
        for action in effects {
            raise(Arc::make_mut(&mut self.effects).entry(action).or_default(), 1);
        }
    }
}

fn raise(counter: &mut u64, by: u64) {
    *counter = counter.saturating_add(by);
}
