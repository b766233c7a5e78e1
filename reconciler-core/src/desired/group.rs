//! A declared group and what a node of it *is*.
//!
//! `NodeSpec` is hashed into the revision: a change of it replaces nodes. How a node is *treated* stands in
//! [`Policy`](super::Policy) and never replaces one (C13).

use alloc::{
    collections::BTreeMap,
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};

use serde::{Deserialize, Serialize};

use super::{Policy, Power, SecretRef, revision};
use crate::{
    canonical::Canon,
    id::{
        AttemptId, AttemptOrdinal, Generation, GroupId, LogicalNodeId, ProviderName,
        RevisionDigest, Uuid,
    },
    time::Millis,
};

/// What a node needs of its provider; a provider refuses what it cannot give.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DesiredNodeShape {
    /// The image that it runs, where the provider has images.
    pub image: Option<String>,
    /// Processors, in thousandths of one.
    pub cpu_millis: Option<u32>,
    /// Memory in mebibytes.
    pub memory_mib: Option<u32>,
    /// Disk in gibibytes.
    pub disk_gib: Option<u32>,
    /// Graphics processors.
    pub gpus: Option<u32>,
    /// Free labels that the provider is given.
    pub labels: BTreeMap<String, String>,
}

/// A command that must succeed on the node before its workload starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyCommand {
    /// Program and arguments; no shell is involved.
    pub argv: Vec<String>,
    /// How long it may take.
    pub timeout: Millis,
}

/// How a node is brought up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootSpec {
    /// Program and arguments of the workload; no shell is involved.
    pub command: Vec<String>,
    /// Its environment, beyond the small one that every node gets.
    pub env: BTreeMap<String, String>,
    /// Variables of its environment whose values are secret: where each is read from, at each start.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secret_env: BTreeMap<String, SecretRef>,
    /// The directory that it starts in; the lease's own if none is given.
    pub workdir: Option<String>,
    /// Names of the ports that it listens on, each allocated by the provider.
    pub ports: Vec<String>,
    /// Commands that must succeed first, in order.
    pub verify: Vec<VerifyCommand>,
}

/// When a node counts as joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JoinMode {
    /// As soon as its workload has run for the settle time.
    #[default]
    None,
    /// As soon as its startup probe passes, or at once where it has none: how long it ran counts for nothing.
    Probe,
    /// As soon as its agent has said that the workload runs, and that has run for the settle time.
    Agent,
}

/// What a node of a group is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSpec {
    /// What part the node plays, for people and labels.
    pub role: String,
    /// Which provider gives the lease.
    pub provider: ProviderName,
    /// What it needs.
    pub shape: DesiredNodeShape,
    /// How it comes up.
    pub boot: BootSpec,
    /// When it counts as joined.
    pub join: JoinMode,
}

impl NodeSpec {
    /// The spec as a canonical value; the bytes that the revision is made from.
    pub fn canon(&self) -> Canon {
        Canon::object([
            ("revision-version", Canon::num(revision::VERSION.into())),
            ("role", Canon::text(&self.role)),
            ("provider", Canon::text(self.provider.as_str())),
            ("shape", self.shape.canon()),
            ("boot", self.boot.canon()),
            (
                "join",
                Canon::text(match self.join {
                    JoinMode::None => "none",
                    JoinMode::Probe => "probe",
                    JoinMode::Agent => "agent",
                }),
            ),
        ])
    }

    /// The digest whose change means replacement.
    pub fn revision(&self) -> RevisionDigest {
        RevisionDigest::of(self.canon().write().as_bytes())
    }
}

impl DesiredNodeShape {
    fn canon(&self) -> Canon {
        let number = |n: Option<u32>| n.map_or(Canon::Null, |n| Canon::num(n.into()));
        Canon::object([
            ("image", self.image.as_deref().map_or(Canon::Null, Canon::text)),
            ("cpu-millis", number(self.cpu_millis)),
            ("memory-mib", number(self.memory_mib)),
            ("disk-gib", number(self.disk_gib)),
            ("gpus", number(self.gpus)),
            ("labels", Canon::text_map(&self.labels)),
        ])
    }
}

impl BootSpec {
    fn canon(&self) -> Canon {
        let verify = self.verify.iter().map(|v| {
            Canon::object([
                ("argv", Canon::list(v.argv.iter().map(|a| Canon::text(a)))),
                ("timeout-ms", Canon::num(v.timeout.get())),
            ])
        });
        let secrets = self.secret_env.iter();
        let secrets = secrets.map(|(name, from)| (name.as_str(), Canon::text(&from.to_string())));
        // A spec without secrets reads as it did before there were any, so its digest is the same (C13).
        let secrets = (!self.secret_env.is_empty()).then(|| ("secret-env", Canon::object(secrets)));
        let parts = [
            ("command", Canon::list(self.command.iter().map(|a| Canon::text(a)))),
            ("env", Canon::text_map(&self.env)),
            ("workdir", self.workdir.as_deref().map_or(Canon::Null, Canon::text)),
            ("ports", Canon::list(self.ports.iter().map(|p| Canon::text(p)))),
            ("verify", Canon::list(verify)),
        ];
        Canon::object(parts.into_iter().chain(secrets))
    }
}

/// A declared set of like nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunNodeGroupSpec {
    /// Its name.
    pub group: GroupId,
    /// How many nodes there should be.
    pub count: u32,
    /// What each node is.
    pub spec: Arc<NodeSpec>,
    /// How each node is treated.
    pub policy: Arc<Policy>,
    /// The digest of `spec`, computed once.
    pub revision: RevisionDigest,
    /// What operators asked of its workloads.
    #[serde(default, skip_serializing_if = "Power::is_plain")]
    pub power: Power,
}

impl RunNodeGroupSpec {
    /// Makes a group and computes its revision; its workloads are on.
    pub fn new(group: GroupId, count: u32, spec: NodeSpec, policy: Policy) -> Self {
        let revision = spec.revision();
        let (spec, policy) = (Arc::new(spec), Arc::new(policy));
        Self { group, count, spec, policy, revision, power: Power::default() }
    }

    /// How many of its nodes are to have a workload.
    pub fn count_on(&self) -> u32 {
        self.count.saturating_sub(self.power.off_count(self.count))
    }

    /// What one attempt of one of its slots in the run `run` is to implement; `born` is the generation in which
    /// the slot got its record.
    pub fn stamp(
        &self,
        run: Uuid,
        slot: LogicalNodeId,
        born: Generation,
        ordinal: AttemptOrdinal,
    ) -> LogicalNodeSpec {
        let attempt = AttemptId::derive(run, &slot, born, ordinal);
        LogicalNodeSpec {
            round: self.power.round(slot.index),
            slot,
            attempt,
            born,
            spec: Arc::clone(&self.spec),
            policy: Arc::clone(&self.policy),
            revision: self.revision,
        }
    }

    /// True if both declare the same; the digest is derived, and may be of another version (C13).
    pub(super) fn same_content(&self, other: &Self) -> bool {
        let Self { group, count, spec, policy, revision: _, power } = self;
        *group == other.group
            && *power == other.power
            && *count == other.count
            && *spec == other.spec
            && *policy == other.policy
    }

    /// The same group with the digest that this version makes of its spec.
    ///
    /// What was written or sent by another version carries that one's digest, which is never compared (C13).
    pub(super) fn redigested(&self) -> Self {
        Self { revision: self.spec.revision(), ..self.clone() }
    }
}

/// One group's spec stamped with the slot and the attempt that it is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogicalNodeSpec {
    /// The slot.
    pub slot: LogicalNodeId,
    /// The attempt that is to implement it.
    pub attempt: AttemptId,
    /// The generation in which the slot got its record.
    #[serde(default)]
    pub born: Generation,
    /// What it is.
    pub spec: Arc<NodeSpec>,
    /// How it is treated.
    pub policy: Arc<Policy>,
    /// The digest of `spec`.
    pub revision: RevisionDigest,
    /// How often its slot was asked to begin anew.
    #[serde(default)]
    pub round: u32,
}
