//! What a pass can decide for a slot, and what the slots of a group share while it does.

use alloc::{boxed::Box, sync::Arc};

use super::{
    budget::Budget,
    gates::{self, Lack},
    reason::{Reason, Rung, rung_of},
};
use crate::{
    desired::{ClusterShape, RunNodeGroupSpec},
    effect::{ActionKind, HookRun, NodeManagerCommand},
    fold::Transition,
    hold::Hold,
    id::GroupId,
    observed::{ClusterState, Freeze},
    time::Timestamp,
};

/// What a slot does in this pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing: it is as it should be.
    Steady,
    /// It waits.
    Wait(Reason),
    /// A command goes out.
    Command(NodeManagerCommand),
    /// A hook runs.
    Hook(Box<HookRun>),
    /// It gets its first record.
    Start(Arc<RunNodeGroupSpec>),
    /// Its record changes.
    Move(Transition),
}

/// What a group's slots share.
pub(super) struct GroupContext<'a> {
    pub(super) observed: &'a ClusterState,
    pub(super) shape: &'a ClusterShape,
    pub(super) name: GroupId,
    pub(super) desired: Option<&'a Arc<RunNodeGroupSpec>>,
    /// The hold that keeps its slots from any step; not that of an update, which only freezes it.
    pub(super) hold: Option<&'a Hold>,
    /// Why nothing moves to the revision of its update.
    pub(super) freeze: Option<Freeze>,
    pub(super) owning: u32,
    pub(super) orphans: u32,
    /// How many more leases may come to be in this pass.
    pub(super) room: u32,
    /// How many more of those that serve may begin anew in this pass.
    pub(super) turns: u32,
    /// What its gates lack, once that was asked.
    pub(super) lacks: Option<Arc<[Lack]>>,
    /// Which groups go before what is to go of it, once that was asked.
    pub(super) dependents: Option<Arc<[GroupId]>>,
    /// How many more may come to be beside present attempts.
    pub(super) spare: u32,
    /// What its update may do, if nodes of another revision are there.
    pub(super) budget: Option<Budget>,
}

impl<'a> GroupContext<'a> {
    pub(super) fn wanted(&self, index: u32) -> Option<&'a Arc<RunNodeGroupSpec>> {
        self.desired.filter(|group| index < group.count)
    }

    pub(super) fn lacks(&mut self) -> &Arc<[Lack]> {
        let (observed, shape, desired) = (self.observed, self.shape, self.desired);
        self.lacks.get_or_insert_with(|| {
            desired.map_or_else(Arc::default, |spec| gates::lacks(observed, shape, spec))
        })
    }

    pub(super) fn dependents(&mut self) -> &Arc<[GroupId]> {
        let (observed, shape, name) = (self.observed, self.shape, &self.name);
        self.dependents.get_or_insert_with(|| gates::dependents(observed, shape, name))
    }
}

pub(super) fn wait(rung: Rung, until: Option<Timestamp>) -> Decision {
    Decision::Wait(Reason { rung, until })
}

/// The rung that a decision stands on.
pub(super) fn reason(decision: &Decision) -> Option<Reason> {
    let rung = match decision {
        Decision::Steady => return None,
        Decision::Wait(reason) => return Some(reason.clone()),
        Decision::Command(command) => Rung::Step(command.kind().into()),
        Decision::Hook(hook) => Rung::Step(ActionKind::Hook(hook.point)),
        Decision::Start(_) => Rung::Insert,
        Decision::Move(transition) => rung_of(transition),
    };
    Some(Reason { rung, until: None })
}
