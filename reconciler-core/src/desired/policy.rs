//! How the nodes of a group are treated; changing it never replaces a node.

use serde::{Deserialize, Serialize};

use super::{Gates, Hooks, Probes, UpdatePolicy};
use crate::{canonical::Canon, limits, time::Millis};

/// How long each kind of effect and stage may take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeouts {
    /// Creating a lease.
    pub create: Millis,
    /// The whole search for an endpoint, from the lease's creation.
    pub endpoint: Millis,
    /// The whole bootstrap, verify commands included.
    pub bootstrap: Millis,
    /// Cancelling a bootstrap or workload; longer than the stop grace.
    pub cancel: Millis,
    /// Destroying a lease.
    pub destroy: Millis,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            create: limits::EFFECT_TIMEOUT,
            endpoint: limits::ENDPOINT_TIMEOUT,
            bootstrap: limits::BOOTSTRAP_TIMEOUT,
            cancel: limits::EFFECT_TIMEOUT,
            destroy: limits::EFFECT_TIMEOUT,
        }
    }
}

/// How failures are followed up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestartPolicy {
    /// Consecutive failures without reaching `Dormant` before a crash-loop hold.
    pub attempts: u32,
    /// The first delay.
    pub initial: Millis,
    /// The longest delay.
    pub cap: Millis,
    /// How many percent jitter may take off a delay, 0 to 50.
    pub jitter_percent: u32,
}

impl Default for RestartPolicy {
    fn default() -> Self {
        Self {
            attempts: limits::RESTART_ATTEMPTS_DEFAULT,
            initial: limits::BACKOFF_INITIAL,
            cap: limits::BACKOFF_CAP,
            jitter_percent: limits::BACKOFF_JITTER_PERCENT,
        }
    }
}

/// What the end of a workload means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroupKind {
    /// It is to run for ever: any end is a failure.
    #[default]
    Service,
    /// It is to end: an exit with status 0 completes its node.
    Job,
}

impl GroupKind {
    /// The word for it in the desired-state file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Service => "service",
            Self::Job => "job",
        }
    }
}

/// How a group's nodes are treated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// How failures are followed up.
    pub restart: RestartPolicy,
    /// How long things may take.
    pub timeouts: Timeouts,
    /// How long a workload must run before it counts as joined (join mode `none`).
    pub settle: Millis,
    /// How long a node must be ready before its failures are forgotten.
    pub stable: Millis,
    /// Time between the polite and the forced end of a workload.
    pub stop_grace: Millis,
    /// Most nodes that may vanish unproven at once; a fifth of the group, at least one, if not given.
    pub max_lost_per_pass: Option<u32>,
    /// What the end of a workload means.
    #[serde(default)]
    pub kind: GroupKind,
    /// What its nodes wait for before they get a lease or start.
    #[serde(default)]
    pub after: Gates,
    /// How nodes give way to another revision.
    #[serde(default)]
    pub update: UpdatePolicy,
    /// What runs before and after starts and stops.
    #[serde(default, skip_serializing_if = "Hooks::is_empty")]
    pub hooks: Hooks,
    /// What is asked of its workload while it runs.
    #[serde(default, skip_serializing_if = "Probes::is_empty")]
    pub probes: Probes,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            restart: RestartPolicy::default(),
            timeouts: Timeouts::default(),
            settle: limits::SETTLE_DEFAULT,
            stable: limits::STABLE_DEFAULT,
            stop_grace: limits::STOP_GRACE_DEFAULT,
            max_lost_per_pass: None,
            kind: GroupKind::default(),
            after: Gates::new(),
            update: UpdatePolicy::default(),
            hooks: Hooks::default(),
            probes: Probes::default(),
        }
    }
}

impl Policy {
    /// The policy as a canonical value: how nodes are treated is part of what a plan shows (P3).
    pub fn canon(&self) -> Canon {
        let (restart, timeouts) = (&self.restart, &self.timeouts);
        let lost_max = self.max_lost_per_pass.map_or(Canon::Null, |n| Canon::num(n.into()));
        let after = self.after.iter().map(|(on, c)| (on.as_str(), Canon::text(c.as_str())));
        let members = [
            ("restart-attempts", Canon::num(restart.attempts.into())),
            ("restart-initial-ms", Canon::num(restart.initial.get())),
            ("restart-cap-ms", Canon::num(restart.cap.get())),
            ("restart-jitter-percent", Canon::num(restart.jitter_percent.into())),
            ("timeout-create-ms", Canon::num(timeouts.create.get())),
            ("timeout-endpoint-ms", Canon::num(timeouts.endpoint.get())),
            ("timeout-bootstrap-ms", Canon::num(timeouts.bootstrap.get())),
            ("timeout-cancel-ms", Canon::num(timeouts.cancel.get())),
            ("timeout-destroy-ms", Canon::num(timeouts.destroy.get())),
            ("settle-ms", Canon::num(self.settle.get())),
            ("stable-ms", Canon::num(self.stable.get())),
            ("stop-grace-ms", Canon::num(self.stop_grace.get())),
            ("max-lost-per-pass", lost_max),
            ("kind", Canon::text(self.kind.as_str())),
            ("after", Canon::object(after)),
            ("update", self.update.canon()),
        ];
        // Left out where none is declared, so that a plan made before there were any keeps its hash.
        let hooks = (!self.hooks.is_empty()).then(|| ("hooks", self.hooks.canon()));
        let probes = (!self.probes.is_empty()).then(|| ("probes", self.probes.canon()));
        Canon::object(members.into_iter().chain(hooks).chain(probes))
    }

    /// How many of `count` nodes may vanish unproven at once before the listing is not believed (D6).
    pub fn lost_max(&self, count: u32) -> u32 {
        self.max_lost_per_pass.unwrap_or_else(|| share(count, limits::LOST_PERCENT_MAX).max(1))
    }

    /// How many of `count` nodes may look broken within [`limits::MASS_WINDOW`] by signs that prove nothing, before
    /// the group is held (C9).
    pub fn mass_max(&self, count: u32) -> u32 {
        share(count, limits::MASS_PERCENT_MAX).max(self.lost_max(count))
    }
}

/// So many percent of `count`, rounded down.
fn share(count: u32, percent: u32) -> u32 {
    let share = u64::from(count).saturating_mul(percent.into()) / 100;
    u32::try_from(share).unwrap_or(u32::MAX)
}
