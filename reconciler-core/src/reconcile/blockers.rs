//! What stands in a slot's way, with the command that leads on where a person is needed (P6, P7).

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{explain::Sight, reason::Rung};
use crate::{hold::Hold, observed::GroupState};

impl Sight<'_> {
    fn asked_for_pause(&self) -> Vec<String> {
        let provider = self.record.map(|record| &record.spec.provider);
        provider.map(|provider| format!("{provider} asked for a pause")).into_iter().collect()
    }

    /// What takes the places that the slot would need.
    fn takers(&self) -> Vec<String> {
        let orphans = self.state.into_iter().flat_map(GroupState::orphans);
        let named = orphans.map(|(provider, owned)| {
            format!("{provider} holds {}, which no record accounts for", owned.lease.id)
        });
        let deleting = self.state.map_or(0, GroupState::deleting);
        let going =
            (deleting > 0).then(|| format!("{deleting} nodes of the group are on their way out"));
        named.chain(going).collect()
    }

    /// What has to go or to come before the slot moves.
    pub(super) fn blockers(&self, rung: &Rung) -> Vec<String> {
        match rung {
            Rung::GroupHeld(code) => {
                let group = &self.slot.group;
                alloc::vec![format!(
                    "{} on the group; {}",
                    code.as_str(),
                    Hold::way_out(group.as_str())
                )]
            }
            Rung::Held(code, _) => {
                alloc::vec![format!("{}; {}", code.as_str(), Hold::way_out(&self.slot.to_string()))]
            }
            Rung::Overshoot { .. } => self.takers(),
            Rung::ProviderPaused => self.asked_for_pause(),
            Rung::Parallelism => {
                alloc::vec![String::from("as many effects are on their way as are allowed")]
            }
            Rung::UpdatePaused => {
                alloc::vec![format!("a pause; levelhead update {} --resume", self.slot.group)]
            }
            Rung::EffectPending(command) | Rung::Ambiguous(command) => {
                alloc::vec![format!("the outcome of {}", command.as_str())]
            }
            Rung::Gate(lacks) => lacks.iter().map(ToString::to_string).collect(),
            Rung::Dependents(groups) => {
                groups.iter().map(|group| format!("nodes of {group} that go first")).collect()
            }
            Rung::Off => alloc::vec![format!("it is off; levelhead start {}", self.slot)],
            Rung::Turn { ready, want } => alloc::vec![format!("{ready} of {want} nodes are ready")],
            Rung::Steady
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
