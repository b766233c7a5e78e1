//! What a provider gave: a lease, where it is reached, and what the provider needs to find it again.

use alloc::{collections::BTreeMap, string::String, sync::Arc};
use core::fmt;

use serde::{Deserialize, Serialize};

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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Handle(Arc<HandleFacts>);

impl Handle {
    /// Wraps a provider's facts.
    pub fn new(facts: HandleFacts) -> Self {
        Self(Arc::new(facts))
    }

    /// One fact.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All facts.
    pub fn facts(&self) -> &HandleFacts {
        &self.0
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
