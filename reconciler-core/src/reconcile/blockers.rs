//! What stands in a slot's way, and the command that leads on where a person is needed (P6, P7).

use alloc::{
    format,
    string::{String, ToString},
    vec,
    vec::Vec,
};
use core::fmt;

use super::{gates::Lack, reason::Rung, sight::Sight};
use crate::{hold::Hold, id::LogicalNodeId, observed::GroupState};

/// What has to go or to come before a slot moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocker {
    /// What it is.
    pub what: String,
    /// The command that leads on, where a person is needed.
    pub way_out: Option<String>,
}

impl Blocker {
    const fn only(what: String) -> Self {
        Self { what, way_out: None }
    }
}

impl fmt::Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, way_out } = self;
        match way_out {
            Some(command) => write!(f, "{what}; {command}"),
            None => f.write_str(what),
        }
    }
}

impl Rung {
    /// The command with which a person leads on a slot that stands here, where there is one.
    pub(super) fn way_out(&self, slot: &LogicalNodeId) -> Option<String> {
        match self {
            Self::GroupHeld(_) => Some(Hold::way_out(slot.group.as_str())),
            Self::Held(..) => Some(Hold::way_out(&slot.to_string())),
            Self::UpdatePaused => Some(format!("levelhead update {} --resume", slot.group)),
            Self::Off => Some(format!("levelhead start {slot}")),
            Self::Gate(lacks) => switched_on(lacks),
            Self::Steady
            | Self::Step(_)
            | Self::Insert
            | Self::BeginDelete(_)
            | Self::MarkDestroyed
            | Self::Restart
            | Self::Settle
            | Self::Rest
            | Self::Expire
            | Self::TimeOut
            | Self::Retune
            | Self::Reap
            | Self::EffectPending(_)
            | Self::Ambiguous(_)
            | Self::Backoff { .. }
            | Self::Retry { .. }
            | Self::ProviderPaused
            | Self::Parallelism
            | Self::Overshoot { .. }
            | Self::Dependents(_)
            | Self::Turn { .. }
            | Self::Working
            | Self::Completed
            | Self::AwaitEndpoint
            | Self::Settling
            | Self::Stabilising
            | Self::AwaitAgent
            | Self::AwaitProbe(..)
            | Self::GiveUp(_)
            | Self::AwaitTurn { .. }
            | Self::AwaitOthersGone { .. }
            | Self::AwaitCandidate(_)
            | Self::AwaitSecondGone(_)
            | Self::Candidate
            | Self::Observing
            | Self::Verifying
            | Self::Promote => None,
        }
    }
}

/// The command that starts what a gate lacks because it is switched off.
fn switched_on(lacks: &[Lack]) -> Option<String> {
    let off: Vec<&str> =
        lacks.iter().filter(|lack| lack.off > 0).map(|lack| lack.group.as_str()).collect();
    (!off.is_empty()).then(|| format!("levelhead start {}", off.join(" ")))
}

impl Sight<'_> {
    fn asked_for_pause(&self) -> Vec<Blocker> {
        let provider = self.record.map(|record| &record.spec.provider);
        let asked = provider.map(|provider| format!("{provider} asked for a pause"));
        asked.into_iter().map(Blocker::only).collect()
    }

    /// What takes the places that the slot would need.
    fn takers(&self) -> Vec<Blocker> {
        let orphans = self.state.into_iter().flat_map(GroupState::orphans);
        let named = orphans.map(|(provider, owned)| {
            format!("{provider} holds {}, which no record accounts for", owned.lease.id)
        });
        let deleting = self.state.map_or(0, GroupState::deleting);
        let going =
            (deleting > 0).then(|| format!("{deleting} nodes of the group are on their way out"));
        named.chain(going).map(Blocker::only).collect()
    }

    /// What has to go or to come before the slot moves.
    pub(super) fn blockers(&self, rung: &Rung) -> Vec<Blocker> {
        let led = |what: String| vec![Blocker { what, way_out: rung.way_out(self.slot) }];
        match rung {
            Rung::GroupHeld(code) => led(format!("{} on the group", code.as_str())),
            Rung::Held(code, _) => led(code.as_str().to_string()),
            Rung::Overshoot { .. } => self.takers(),
            Rung::ProviderPaused => self.asked_for_pause(),
            Rung::Parallelism => {
                led(String::from("as many effects are on their way as are allowed"))
            }
            Rung::UpdatePaused => led(String::from("a pause")),
            Rung::EffectPending(command) | Rung::Ambiguous(command) => {
                led(format!("the outcome of {}", command.as_str()))
            }
            Rung::Gate(lacks) => lacks
                .iter()
                .map(|lack| Blocker {
                    what: lack.to_string(),
                    way_out: switched_on(core::slice::from_ref(lack)),
                })
                .collect(),
            Rung::Dependents(groups) => {
                let named = groups.iter().map(|group| format!("nodes of {group} that go first"));
                named.map(Blocker::only).collect()
            }
            Rung::Off => led(String::from("it is off")),
            Rung::AwaitAgent => led(String::from("its agent")),
            Rung::AwaitProbe(kind, ..) => led(format!("its {} probe", kind.as_str())),
            Rung::Turn { ready, want } => led(format!("{ready} of {want} nodes are ready")),
            Rung::Steady
            | Rung::Working
            | Rung::Completed
            | Rung::Step(_)
            | Rung::Insert
            | Rung::BeginDelete(_)
            | Rung::MarkDestroyed
            | Rung::Restart
            | Rung::Settle
            | Rung::Rest
            | Rung::Expire
            | Rung::TimeOut
            | Rung::Retune
            | Rung::Reap
            | Rung::Backoff { .. }
            | Rung::Retry { .. }
            | Rung::AwaitEndpoint
            | Rung::Settling
            | Rung::Stabilising
            | Rung::GiveUp(_)
            | Rung::AwaitTurn { .. }
            | Rung::AwaitOthersGone { .. }
            | Rung::AwaitCandidate(_)
            | Rung::AwaitSecondGone(_)
            | Rung::Candidate
            | Rung::Observing
            | Rung::Verifying
            | Rung::Promote => Vec::new(),
        }
    }
}
