//! What waits for its turn at a provider, and the lane that it waits in.

use reconciler_core::{
    effect::{ActionKind, CommandKind, Intent},
    id::{AttemptId, LogicalNodeId, SessionId},
    observed::LeaseFacts,
};

/// Something that waits for its turn at a provider.
pub(super) enum Job {
    /// An effect that was admitted.
    Effect(Box<Intent>),
    /// A listing.
    List,
    /// A look by id.
    Look { slot: LogicalNodeId, attempt: AttemptId, lease: Option<LeaseFacts> },
    /// A look at what was written last in a session.
    LastLines { slot: LogicalNodeId, attempt: AttemptId, session: SessionId, lease: LeaseFacts },
}

/// The lanes of a provider; none waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LaneKind {
    /// What makes or starts something.
    Make,
    /// Every other effect.
    Tend,
    /// Looks and listings.
    Look,
}

impl LaneKind {
    /// All of them.
    pub(super) const ALL: [Self; 3] = [Self::Make, Self::Tend, Self::Look];
}

impl Job {
    /// The lane that it belongs in.
    pub(super) fn lane(&self) -> LaneKind {
        match self {
            Self::Effect(intent) => match intent.action.kind() {
                ActionKind::Command(CommandKind::CreateLease | CommandKind::StartBootstrap) => {
                    LaneKind::Make
                }
                ActionKind::Hook(point) if point.is_of_start() => LaneKind::Make,
                ActionKind::Hook(_)
                | ActionKind::Command(
                    CommandKind::LookupEndpoint
                    | CommandKind::BootstrapConvergenceObserved
                    | CommandKind::CancelBootstrap
                    | CommandKind::DestroyLease,
                ) => LaneKind::Tend,
            },
            Self::List | Self::Look { .. } | Self::LastLines { .. } => LaneKind::Look,
        }
    }
}
