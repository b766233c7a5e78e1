//! Hooks: commands of the operator's own that run on a node before and after its workload starts or stops.
//!
//! They say how a node is *treated*: another hook replaces no node (C13), and is the one that runs next. What a hook
//! did cannot be taken back (R138).

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{canonical::Canon, limits, time::Millis};

/// When a hook runs. Orders as within one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HookPoint {
    /// On the lease, before the workload starts.
    PreStart,
    /// Once the workload runs, before it counts as joined.
    PostStart,
    /// While the workload still runs, before it is asked to end.
    PreStop,
    /// Once the workload was ended, while the lease is still there.
    PostStop,
}

impl HookPoint {
    /// All four, in the order of a session.
    pub const ALL: [Self; 4] = [Self::PreStart, Self::PostStart, Self::PreStop, Self::PostStop];

    /// The word for it in messages and requests; the desired-state file writes it with an underscore.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PreStart => "pre-start",
            Self::PostStart => "post-start",
            Self::PreStop => "pre-stop",
            Self::PostStop => "post-stop",
        }
    }

    /// True if it belongs to a start: when it fails, the attempt has failed. A stop goes on without it.
    pub const fn is_of_start(self) -> bool {
        matches!(self, Self::PreStart | Self::PostStart)
    }
}

/// One declared hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hook {
    /// Program and arguments; no shell is involved.
    pub argv: Vec<String>,
    /// How long it may take before it is ended and has failed.
    pub timeout: Millis,
}

impl Hook {
    /// How long the effect may take: beyond the hook's own time its provider has to end it and to say so.
    pub const fn effect_timeout(&self) -> Millis {
        Millis::new(self.timeout.get().saturating_add(limits::HOOK_REPORT.get()))
    }
}

/// The hooks of a group, each at most once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hooks {
    /// Before each start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pre_start: Option<Hook>,
    /// After each start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_start: Option<Hook>,
    /// Before each stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pre_stop: Option<Hook>,
    /// After each stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_stop: Option<Hook>,
}

impl Hooks {
    /// The hook that runs at `point`, if one is declared.
    pub const fn at(&self, point: HookPoint) -> Option<&Hook> {
        match point {
            HookPoint::PreStart => self.pre_start.as_ref(),
            HookPoint::PostStart => self.post_start.as_ref(),
            HookPoint::PreStop => self.pre_stop.as_ref(),
            HookPoint::PostStop => self.post_stop.as_ref(),
        }
    }

    /// The declared ones, in the order of a session.
    pub fn declared(&self) -> impl Iterator<Item = (HookPoint, &Hook)> {
        HookPoint::ALL.into_iter().filter_map(|point| Some((point, self.at(point)?)))
    }

    /// True if none is declared.
    pub const fn is_empty(&self) -> bool {
        let Self { pre_start, post_start, pre_stop, post_stop } = self;
        pre_start.is_none() && post_start.is_none() && pre_stop.is_none() && post_stop.is_none()
    }

    /// The hooks as a canonical value.
    pub(super) fn canon(&self) -> Canon {
        Canon::object(self.declared().map(|(point, hook)| {
            let argv = Canon::list(hook.argv.iter().map(|arg| Canon::text(arg)));
            let timeout = Canon::num(hook.timeout.get());
            (point.as_str(), Canon::object([("argv", argv), ("timeout-ms", timeout)]))
        }))
    }
}
