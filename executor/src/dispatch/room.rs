//! How many more effects may go out now, in all and at each provider: what a pass keeps to, so that a provider of
//! which nothing comes back fills no more than its share (P4, R98).

use std::collections::BTreeMap;

use reconciler_core::id::ProviderName;

/// Places for effects, as of one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// In all.
    pub(super) free: usize,
    /// At each provider.
    pub(super) at: BTreeMap<ProviderName, usize>,
}

impl Room {
    /// How many places are left at `provider`.
    pub fn left(&self, provider: &ProviderName) -> usize {
        self.at.get(provider).map_or(self.free, |own| self.free.min(*own))
    }

    /// Takes a place at `provider`; false if there is none. A provider that nobody knows has places: its effects
    /// are answered at once.
    pub fn take(&mut self, provider: &ProviderName) -> bool {
        if self.left(provider) == 0 {
            return false;
        }
        self.free -= 1;
        if let Some(own) = self.at.get_mut(provider) {
            *own -= 1;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::Room;

    /// P4, R98: a provider gets no more than its share, and all together no more than there is.
    #[test]
    fn a_provider_takes_no_more_than_its_share() {
        let (bad, good) = ("bad".parse().unwrap(), "good".parse().unwrap());
        let at = BTreeMap::from([(bad, 2), (good, 3)]);
        let mut room = Room { free: 4, at };
        let mut take = |name: &str, times| {
            let name = name.parse().unwrap();
            (0..times).filter(|_| room.take(&name)).count()
        };
        assert_eq!(take("bad", 5), 2);
        assert_eq!(take("good", 1), 1);
        assert_eq!(take("unknown", 1), 1);
        assert_eq!(take("good", 5), 0);
    }
}
