//! What waits until a time, found by its key and by its time: what is not due costs nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
};

use tokio::time::Instant;

/// Values by key, each with the time until which it waits.
#[derive(Debug)]
pub(crate) struct Timed<K, V> {
    values: BTreeMap<K, (Instant, V)>,
    /// The same keys by time.
    times: BTreeSet<(Instant, K)>,
}

impl<K: Ord + Clone, V> Timed<K, V> {
    /// Nothing.
    pub(crate) const fn new() -> Self {
        Self { values: BTreeMap::new(), times: BTreeSet::new() }
    }

    /// Has `value` wait until `until`, in the place of what `key` had.
    pub(crate) fn insert(&mut self, key: K, until: Instant, value: V) {
        self.remove(&key);
        self.times.insert((until, key.clone()));
        self.values.insert(key, (until, value));
    }

    /// Takes what `key` has.
    pub(crate) fn remove(&mut self, key: &K) -> Option<(Instant, V)> {
        let (until, value) = self.values.remove(key)?;
        self.times.remove(&(until, key.clone()));
        Some((until, value))
    }

    /// Takes what the keys of `range` have.
    pub(crate) fn take_range(&mut self, range: RangeInclusive<K>) -> Vec<(Instant, V)> {
        let keys: Vec<K> = self.values.range(range).map(|(key, _)| key.clone()).collect();
        keys.iter().filter_map(|key| self.remove(key)).collect()
    }

    /// Takes what waits until `now` or less, the earliest first.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<V> {
        let mut due = Vec::new();
        while self.next_at().is_some_and(|at| at <= now) {
            let Some((_, key)) = self.times.pop_first() else { break };
            due.extend(self.values.remove(&key).map(|(_, value)| value));
        }
        due
    }

    /// The earliest time.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.times.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// What is due comes in the order of its times; what was replaced or taken is not due any more.
    #[test]
    fn what_is_due_comes_once_and_in_its_order() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut timed = Timed::new();
        for (key, seconds) in [(1, 3), (2, 1), (3, 2), (4, 9)] {
            timed.insert(key, at(seconds), key);
        }
        timed.insert(2, at(4), 20);
        assert_eq!(timed.remove(&3), Some((at(2), 3)));
        assert_eq!(timed.next_at(), Some(at(3)));
        assert_eq!(timed.take_due(at(2)), Vec::<i32>::new());
        assert_eq!(timed.take_due(at(4)), [1, 20]);
        assert_eq!(timed.take_range(1..=9), [(at(9), 4)]);
        assert_eq!(timed.next_at(), None);
    }
}
