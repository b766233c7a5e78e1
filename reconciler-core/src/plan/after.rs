//! What comes before a step: the one before it of its own slot, and those of other groups that opened its gates.

use alloc::{vec, vec::Vec};
use core::{ops::Deref, slice};

use super::key::StepKey;

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
    pub(super) fn insert(&mut self, key: StepKey) {
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
