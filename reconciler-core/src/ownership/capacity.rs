//! Capacity: what nodes ask of a provider, what it has, and whether one more fits (D16, R92).
//!
//! A provider whose capacity is declared gives nothing that is not declared: what nobody vouches for is not there.

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    desired::DesiredNodeShape,
    id::{GroupId, IdempotencyKey, ProviderName},
    limits,
    time::Timestamp,
};

/// A kind of thing that a provider has so much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// Nodes, whatever they take.
    Nodes,
    /// Processors, in thousandths.
    Cpus,
    /// Memory, in mebibytes.
    Memory,
    /// Graphics processors.
    Gpus,
}

impl Resource {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Nodes, Self::Cpus, Self::Memory, Self::Gpus];

    /// The name under which it is declared.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::Cpus => "cpus",
            Self::Memory => "memory",
            Self::Gpus => "gpus",
        }
    }

    /// So much of it, as people write it.
    pub fn text(self, amount: u64) -> String {
        match self {
            Self::Nodes | Self::Gpus => format!("{amount}"),
            Self::Cpus => {
                let (whole, part) = (amount.checked_div(1_000), amount.checked_rem(1_000));
                let text = format!("{}.{:03}", whole.unwrap_or(0), part.unwrap_or(0));
                String::from(text.trim_end_matches('0').trim_end_matches('.'))
            }
            Self::Memory => format!("{amount} MiB"),
        }
    }
}

/// What one node takes, or several together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Demand {
    /// Nodes.
    pub nodes: u64,
    /// Thousandths of a processor.
    pub cpu_millis: u64,
    /// Mebibytes.
    pub memory_mib: u64,
    /// Graphics processors.
    pub gpus: u64,
}

impl Demand {
    /// What one node of `shape` takes; what it does not ask for counts as nothing.
    pub fn of(shape: &DesiredNodeShape) -> Self {
        Self {
            nodes: 1,
            cpu_millis: shape.cpu_millis.unwrap_or(0).into(),
            memory_mib: shape.memory_mib.unwrap_or(0).into(),
            gpus: shape.gpus.unwrap_or(0).into(),
        }
    }

    /// How much of `resource`.
    pub const fn get(&self, resource: Resource) -> u64 {
        match resource {
            Resource::Nodes => self.nodes,
            Resource::Cpus => self.cpu_millis,
            Resource::Memory => self.memory_mib,
            Resource::Gpus => self.gpus,
        }
    }

    /// Both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            nodes: self.nodes.saturating_add(other.nodes),
            cpu_millis: self.cpu_millis.saturating_add(other.cpu_millis),
            memory_mib: self.memory_mib.saturating_add(other.memory_mib),
            gpus: self.gpus.saturating_add(other.gpus),
        }
    }

    /// What is left without `other`.
    #[must_use]
    pub const fn less(self, other: Self) -> Self {
        Self {
            nodes: self.nodes.saturating_sub(other.nodes),
            cpu_millis: self.cpu_millis.saturating_sub(other.cpu_millis),
            memory_mib: self.memory_mib.saturating_sub(other.memory_mib),
            gpus: self.gpus.saturating_sub(other.gpus),
        }
    }

    /// So many of them.
    #[must_use]
    pub const fn times(self, n: u64) -> Self {
        Self {
            nodes: self.nodes.saturating_mul(n),
            cpu_millis: self.cpu_millis.saturating_mul(n),
            memory_mib: self.memory_mib.saturating_mul(n),
            gpus: self.gpus.saturating_mul(n),
        }
    }
}

/// What a provider is declared to have; what is not declared is not there, but for nodes, which then are unbounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capacity {
    /// Nodes at most.
    pub nodes: Option<u64>,
    /// Thousandths of a processor.
    pub cpu_millis: Option<u64>,
    /// Mebibytes.
    pub memory_mib: Option<u64>,
    /// Graphics processors.
    pub gpus: Option<u64>,
}

impl Capacity {
    /// How much of `resource` there is.
    pub fn get(&self, resource: Resource) -> u64 {
        match resource {
            Resource::Nodes => self.nodes.unwrap_or(u64::MAX),
            Resource::Cpus => self.cpu_millis.unwrap_or(0),
            Resource::Memory => self.memory_mib.unwrap_or(0),
            Resource::Gpus => self.gpus.unwrap_or(0),
        }
    }

    /// The first resource of which `used` and `asked` together are more than there is.
    pub fn lacks(&self, used: &Demand, asked: &Demand) -> Option<Resource> {
        Resource::ALL.into_iter().find(|resource| {
            let wanted = asked.get(*resource);
            wanted > 0 && used.get(*resource).saturating_add(wanted) > self.get(*resource)
        })
    }
}

/// Why one more does not fit: what is asked, what is free, and who holds the rest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Shortage {
    /// Where.
    pub provider: ProviderName,
    /// Of what.
    pub resource: Resource,
    /// How much is asked for.
    pub asked: u64,
    /// How much is there in all.
    pub capacity: u64,
    /// How much of it is taken.
    pub used: u64,
    /// By which groups, the largest first.
    pub holders: Vec<(GroupId, u64)>,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Holders that are named; the number says the rest.
        const NAMED: usize = 4;
        let Self { provider, resource, asked, capacity, used, holders } = self;
        let free = capacity.saturating_sub(*used);
        write!(
            f,
            "provider {provider} has no capacity: {} {} asked for, {} of {} free",
            resource.text(*asked),
            resource.as_str(),
            resource.text(free),
            resource.text(*capacity),
        )?;
        for (n, (group, amount)) in holders.iter().take(NAMED).enumerate() {
            let before = if n == 0 { "; held by" } else { "," };
            write!(f, "{before} {group} ({})", resource.text(*amount))?;
        }
        match holders.len().saturating_sub(NAMED) {
            0 => Ok(()),
            n => write!(f, " and {n} more"),
        }
    }
}

/// The evidence on which a lease was admitted; bound into its intent (R97).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Admission {
    /// What the provider was declared to have.
    pub capacity: Capacity,
    /// What was taken, this one included.
    pub used: Demand,
    /// The digest of both, with provider and demand.
    pub digest: IdempotencyKey,
    /// Until when it counts.
    pub until: Timestamp,
}

/// Everything that is taken of one provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    by: BTreeMap<GroupId, Demand>,
    all: Demand,
}

impl Usage {
    /// Takes `demand` for `group`.
    pub fn add(&mut self, group: &GroupId, demand: Demand) {
        let held = self.by.entry(group.clone()).or_default();
        *held = held.and(demand);
        self.all = self.all.and(demand);
    }

    /// Everything together.
    pub const fn all(&self) -> Demand {
        self.all
    }
}

/// What is declared and what is taken, by provider. Only providers whose capacity is declared are in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    of: BTreeMap<ProviderName, (Capacity, Usage)>,
}

impl Ledger {
    /// A ledger of providers of which nothing is taken.
    pub fn new(declared: impl IntoIterator<Item = (ProviderName, Capacity)>) -> Self {
        let of = declared.into_iter().map(|(name, has)| (name, (has, Usage::default())));
        Self { of: of.collect() }
    }

    /// True if no provider's capacity is declared: then everything fits, and nothing need be counted.
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// True if the capacity of `provider` is declared.
    pub fn covers(&self, provider: &ProviderName) -> bool {
        self.of.contains_key(provider)
    }

    /// Notes that `group` holds `demand` at `provider`, whether or not it fits.
    pub fn hold(&mut self, provider: &ProviderName, group: &GroupId, demand: Demand) {
        if let Some((_, usage)) = self.of.get_mut(provider) {
            usage.add(group, demand);
        }
    }

    /// Takes `demand` for `group` at `provider`, and gives the evidence; none where no capacity is declared.
    ///
    /// # Errors
    /// Says what lacks, and takes nothing.
    pub fn admit(
        &mut self,
        provider: &ProviderName,
        group: &GroupId,
        demand: Demand,
        now: Timestamp,
    ) -> Result<Option<Admission>, Shortage> {
        self.fits(provider, demand)?;
        let Some((capacity, usage)) = self.of.get_mut(provider) else { return Ok(None) };
        usage.add(group, demand);
        let used = usage.all();
        let text =
            format!("levelhead/admission/1 {provider} {group} {demand:?} {used:?} {capacity:?}");
        Ok(Some(Admission {
            capacity: *capacity,
            used,
            digest: IdempotencyKey::of(text.as_bytes()),
            until: now.after(limits::ADMISSION_LENGTH),
        }))
    }

    /// Whether `demand` fits at `provider` beside what is taken.
    ///
    /// # Errors
    /// Says what lacks.
    pub fn fits(&self, provider: &ProviderName, demand: Demand) -> Result<(), Shortage> {
        let Some((capacity, usage)) = self.of.get(provider) else { return Ok(()) };
        let Some(resource) = capacity.lacks(&usage.all, &demand) else { return Ok(()) };
        let holds = usage.by.iter().map(|(group, held)| (group.clone(), held.get(resource)));
        let mut holders: Vec<_> = holds.filter(|(_, amount)| *amount > 0).collect();
        holders.sort_by(|(a, more), (b, less)| less.cmp(more).then_with(|| a.cmp(b)));
        Err(Shortage {
            provider: provider.clone(),
            resource,
            asked: demand.get(resource),
            capacity: capacity.get(resource),
            used: usage.all.get(resource),
            holders,
        })
    }
}
