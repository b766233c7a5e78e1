//! What a provider gave: a lease, where it is reached, and what the provider needs to find it again.

use alloc::{boxed::Box, collections::BTreeMap, string::String, sync::Arc, vec::Vec};
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::id::Fence;

/// Facts that a provider keeps about a thing of its own; opaque to everyone else.
pub type HandleFacts = BTreeMap<String, String>;

/// The provider's own name for a lease.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LeaseId(Arc<str>);

impl LeaseId {
    /// Wraps a provider's id.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What a provider keeps about a lease or a workload of its own, shared and opaque.
///
/// A fleet holds some of these per node for as long as it lives, and they never change: a list in the order of its
/// names takes a fraction of what a map with room for more does.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Handle(Arc<Vec<(Box<str>, Box<str>)>>);

impl Handle {
    /// Keeps a provider's facts.
    pub fn new(facts: HandleFacts) -> Self {
        let facts = facts.into_iter().map(|(name, fact)| (name.into(), fact.into()));
        Self(Arc::new(facts.collect()))
    }

    /// One fact.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find_map(|(known, fact)| (known == name).then_some(fact))
    }

    /// All facts, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, fact)| (&**name, &**fact))
    }
}

/// As the map that it was made from.
impl Serialize for Handle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Handle {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        HandleFacts::deserialize(deserializer).map(Self::new)
    }
}

/// What a provider gave for an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseFacts {
    /// The provider's id for it.
    pub id: LeaseId,
    /// The fence under which it was created; provenance, not a lock.
    pub fence: Fence,
    /// What the provider needs to find it again.
    pub handle: Handle,
}

/// Where a node is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// A host name or address.
    pub host: Arc<str>,
    /// Its ports by name.
    pub ports: Arc<BTreeMap<String, u16>>,
}
