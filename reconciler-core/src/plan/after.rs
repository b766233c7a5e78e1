//! What comes before a step: the one before it of its own slot, and those of other groups that opened its gates.

use alloc::{vec, vec::Vec};
use core::{ops::Deref, slice};

use super::step::{PlanStep, StepKey, leads_to};

/// The keys of the steps that come before one, in order; mostly it is a single one, which takes no memory of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct After(Keys);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Keys {
    #[default]
    None,
    One(StepKey),
    More(Vec<StepKey>),
}

impl After {
    /// Adds a key in its place.
    fn insert(&mut self, key: StepKey) {
        self.0 = match core::mem::take(&mut self.0) {
            Keys::None => Keys::One(key),
            Keys::One(other) if other <= key => Keys::More(vec![other, key]),
            Keys::One(other) => Keys::More(vec![key, other]),
            Keys::More(mut keys) => {
                keys.insert(keys.partition_point(|known| *known <= key), key);
                Keys::More(keys)
            }
        };
    }
}

impl Deref for After {
    type Target = [StepKey];

    fn deref(&self) -> &[StepKey] {
        match &self.0 {
            Keys::None => &[],
            Keys::One(key) => slice::from_ref(key),
            Keys::More(keys) => keys,
        }
    }
}

impl FromIterator<StepKey> for After {
    fn from_iter<T: IntoIterator<Item = StepKey>>(keys: T) -> Self {
        let mut keys = keys.into_iter();
        let (first, second) = (keys.next(), keys.next());
        Self(match (first, second) {
            (Some(first), Some(second)) => {
                Keys::More([first, second].into_iter().chain(keys).collect())
            }
            (Some(only), None) => Keys::One(only),
            (None, _) => Keys::None,
        })
    }
}

impl<'a> IntoIterator for &'a After {
    type Item = &'a StepKey;
    type IntoIter = slice::Iter<'a, StepKey>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Brings steps, which come in the order in which they were taken, into the order of their slots, and lets each
/// follow the one before it of its slot.
pub(super) fn linked(steps: Vec<PlanStep>) -> Vec<PlanStep> {
    let mut places: Vec<usize> = (0..steps.len()).collect();
    // Stable: within a slot the order stays that of the projection.
    places.sort_by_key(|at| steps.get(*at).map(|step| &step.slot));
    let mut steps = in_places(steps, &places);
    let mut rest = &mut steps[..];
    while let [before, others @ ..] = rest {
        if let Some(step) = others.first_mut().filter(|step| step.slot == before.slot) {
            if leads_to(before.action, step.action) {
                step.after = After::default();
            }
            step.after.insert(before.key());
        }
        rest = others;
    }
    steps
}

/// The steps in another order: `places` names each place once.
pub(super) fn in_places(steps: Vec<PlanStep>, places: &[usize]) -> Vec<PlanStep> {
    // A step is large: where it is in its place already, it stays there.
    if places.iter().copied().eq(0..steps.len()) {
        return steps;
    }
    let mut steps: Vec<Option<PlanStep>> = steps.into_iter().map(Some).collect();
    let mut moved = Vec::with_capacity(steps.len());
    moved.extend(places.iter().filter_map(|at| steps.get_mut(*at)?.take()));
    moved
}
