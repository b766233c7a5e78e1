//! Probes: what is asked of a workload over and over, to know whether it came up, serves, and is to be kept.
//!
//! They say how a node is *treated*: another probe replaces no node (C13), and is the one that is asked next.

use alloc::{string::String, sync::Arc, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{canonical::Canon, limits, time::Millis};

/// What a probe is for. Orders as they are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeKind {
    /// Whether it came up; until it did, the others are not asked. Failing, it ends the attempt.
    Startup,
    /// Whether it is to be kept. Failing, the node is replaced, as often as the budget allows.
    Liveness,
    /// Whether it serves. Failing, it is counted as missing, and never ended for that.
    Readiness,
}

impl ProbeKind {
    /// All three, in the order in which they are waited for.
    pub const ALL: [Self; 3] = [Self::Startup, Self::Liveness, Self::Readiness];

    /// The word for it in the desired-state file, in messages and in texts of fleets.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Liveness => "liveness",
            Self::Readiness => "readiness",
        }
    }
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ProbeCheck {
    /// A command in the node's own ground, which passes with status 0; no shell is involved.
    Exec {
        /// Program and arguments.
        argv: Vec<String>,
    },
    /// A request to a port of the node, which passes with a status of 200 to 299.
    Http {
        /// The name of the port.
        port: String,
        /// What is asked for, with the slash that it begins with.
        path: String,
    },
    /// A connection to a port of the node, which passes once it stands.
    Tcp {
        /// The name of the port.
        port: String,
    },
}

/// One declared probe.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Probe {
    /// What is asked.
    pub check: ProbeCheck,
    /// How long after the start, or after the startup probe passed, it is asked first.
    pub initial_delay: Millis,
    /// The time from one question to the next.
    pub interval: Millis,
    /// How long an answer may take before it counts as a failure.
    pub timeout: Millis,
    /// So many passes in a row count.
    pub successes: u32,
    /// So many failures in a row count.
    pub failures: u32,
}

impl Probe {
    /// A probe with the usual times and thresholds.
    pub const fn new(check: ProbeCheck) -> Self {
        Self {
            check,
            initial_delay: Millis::ZERO,
            interval: limits::PROBE_INTERVAL,
            timeout: limits::PROBE_TIMEOUT,
            successes: limits::PROBE_SUCCESSES,
            failures: limits::PROBE_FAILURES,
        }
    }

    fn canon(&self) -> Canon {
        let check = match &self.check {
            ProbeCheck::Exec { argv } => {
                let argv = Canon::list(argv.iter().map(|arg| Canon::text(arg)));
                Canon::object([("exec", argv)])
            }
            ProbeCheck::Http { port, path } => {
                Canon::object([("http", Canon::text(path)), ("port", Canon::text(port))])
            }
            ProbeCheck::Tcp { port } => Canon::object([("tcp", Canon::text(port))]),
        };
        Canon::object([
            ("check", check),
            ("initial-delay-ms", Canon::num(self.initial_delay.get())),
            ("interval-ms", Canon::num(self.interval.get())),
            ("timeout-ms", Canon::num(self.timeout.get())),
            ("successes", Canon::num(self.successes.into())),
            ("failures", Canon::num(self.failures.into())),
        ])
    }
}

/// How often the nodes of one slot may be replaced because their liveness probe failed (R176).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LivenessBudget {
    /// So many times.
    pub restarts: u32,
    /// Within so long.
    pub window: Millis,
}

impl Default for LivenessBudget {
    fn default() -> Self {
        Self { restarts: limits::LIVENESS_RESTARTS, window: limits::LIVENESS_WINDOW }
    }
}

/// The probes of a group, each at most once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Probes {
    /// Whether it came up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup: Option<Arc<Probe>>,
    /// Whether it is to be kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub liveness: Option<Arc<Probe>>,
    /// Whether it serves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readiness: Option<Arc<Probe>>,
    /// What a failing liveness probe may cost.
    pub budget: LivenessBudget,
}

impl Probes {
    /// The probe of `kind`, if one is declared.
    pub const fn of(&self, kind: ProbeKind) -> Option<&Arc<Probe>> {
        match kind {
            ProbeKind::Startup => self.startup.as_ref(),
            ProbeKind::Liveness => self.liveness.as_ref(),
            ProbeKind::Readiness => self.readiness.as_ref(),
        }
    }

    /// The declared ones, in the order in which they are waited for.
    pub fn declared(&self) -> impl Iterator<Item = (ProbeKind, &Arc<Probe>)> {
        ProbeKind::ALL.into_iter().filter_map(|kind| Some((kind, self.of(kind)?)))
    }

    /// True if none is declared.
    pub const fn is_empty(&self) -> bool {
        self.startup.is_none() && self.liveness.is_none() && self.readiness.is_none()
    }

    /// The probes as a canonical value.
    pub(super) fn canon(&self) -> Canon {
        let budget = [
            ("liveness-restarts", Canon::num(self.budget.restarts.into())),
            ("liveness-window-ms", Canon::num(self.budget.window.get())),
        ];
        let probes = self.declared().map(|(kind, probe)| (kind.as_str(), probe.canon()));
        Canon::object(probes.chain(budget))
    }
}
