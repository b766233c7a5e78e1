//! When an update begins, comes on, has failed, and is over (R175, C10, D4).

use alloc::{boxed::Box, format, string::String};

use crate::{
    desired::{GroupKind, OnFailure, RunNodeGroupSpec},
    hold::HoldCode,
    id::RevisionDigest,
    observed::{Failing, GroupState, Hooked, NoWayBack, Prior, Rollout},
    redact::Redacted,
    saga::{Decision, HoldMark, of_wave},
    time::{Millis, Timestamp},
};

/// What becomes of a group's update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RolloutChange {
    /// Nodes are to give way to another revision.
    Begin {
        /// Which.
        target: RevisionDigest,
        /// What served before, if anything did.
        prior: Option<Box<Prior>>,
        /// True if it goes back to what served before a failed update.
        reverts: bool,
        /// How long it may go without progress.
        patience: Millis,
    },
    /// More nodes of the new revision are ready than ever before.
    Progress {
        /// How many.
        done: u32,
        /// How long it may go without a further one.
        patience: Millis,
    },
    /// It has failed, and the group goes back to what served before.
    Revert {
        /// To what.
        to: Box<Prior>,
        /// What went wrong.
        text: Redacted,
    },
    /// It has failed, and the group is held as it stands.
    Fail {
        /// The hold.
        code: HoldCode,
        /// What went wrong.
        text: Redacted,
    },
    /// Every wanted node is of the new revision and ready, or none is wanted any more.
    End,
}

impl RolloutChange {
    /// The same change under an operation that goes back, if `goes_back`: an update that begins there is the way back,
    /// and is not reverted either (D10).
    #[must_use]
    pub fn under(mut self, goes_back: bool) -> Self {
        if let Self::Begin { reverts, .. } = &mut self {
            *reverts |= goes_back;
        }
        self
    }
}

/// Decides what becomes of one group's update.
pub(super) fn decide(
    known: Option<&Rollout>,
    state: Option<&GroupState>,
    wanted: Option<&RunNodeGroupSpec>,
    now: Timestamp,
) -> Option<RolloutChange> {
    let over = known.map(|_| RolloutChange::End);
    let Some((state, wanted)) = state.zip(wanted.filter(|wanted| wanted.count > 0)) else {
        return over;
    };
    let (target, patience) = (wanted.revision, wanted.policy.update.progress_deadline);
    let (outdated, _) = state.outdated(target);
    let Some(known) = known.filter(|known| known.target == target) else {
        if outdated == 0 && (known.is_none() || state.seconds() == 0) {
            return over;
        }
        let before = known.map(|known| known.prior.clone());
        let reverts = before.iter().flatten().any(|prior| prior.revision == target);
        // What a newer shape finds half done never served: the prior revision stays what it was.
        let prior = before.unwrap_or_else(|| state.serving_beside(target));
        let prior = prior.filter(|prior| prior.revision != target).map(Box::new);
        return Some(RolloutChange::Begin { target, prior, reverts, patience });
    };
    let ready = state.ready_at(target);
    if outdated == 0 && state.seconds() == 0 && ready >= serving(wanted) {
        return Some(RolloutChange::End);
    }
    if ready > known.done {
        return Some(RolloutChange::Progress { done: ready, patience });
    }
    failed(known, state, wanted, now)
}

/// How many nodes of a group are to serve: those of a job never do, nor those that are declared off.
fn serving(wanted: &RunNodeGroupSpec) -> u32 {
    match wanted.policy.kind {
        GroupKind::Job => 0,
        GroupKind::Service => wanted.count.saturating_sub(wanted.power.off_count(wanted.count)),
    }
}

fn failed(
    known: &Rollout,
    state: &GroupState,
    wanted: &RunNodeGroupSpec,
    now: Timestamp,
) -> Option<RolloutChange> {
    let deadline = known.deadline.filter(|_| state.hold().is_none())?;
    let failing = known.failing.as_ref().filter(|_| deadline <= now || turns_back(known, state));
    let why = if let Some(Failing { slot, why }) = failing {
        format!("{slot}: {why}")
    } else if state.stuck(known.target) > 0 {
        String::from("a node of the new revision is held")
    } else if deadline <= now {
        String::from("no further node of the new revision became ready in time")
    } else {
        return None;
    };
    let short = known.target.short();
    let progress = format!("{why}; {} of {} are ready", state.ready_at(known.target), wanted.count);
    let fail = |code, end: &str| {
        let text = Redacted::new(&format!("the update to {short} has failed: {progress}; {end}"));
        Some(RolloutChange::Fail { code, text })
    };
    let hold = |end| fail(HoldCode::UpdateStalled, end);
    match (wanted.policy.update.on_failure, known.way_back(known.target)) {
        (OnFailure::Hold, _) => hold("it stays as it is until it is released or changed"),
        (OnFailure::Rollback, Err(NoWayBack::GoesBack)) => {
            fail(HoldCode::RestoredHealthFailed, "it was itself a way back, so it is not reverted")
        }
        (OnFailure::Rollback, Err(NoWayBack::NothingServed)) => {
            hold("nothing served before, so there is no way back")
        }
        (OnFailure::Rollback, Ok(prior)) => {
            if let Some(Hooked { slot, point }) = &known.hooked {
                let end = format!(
                    "the {} hook of {slot} has run, and what it did cannot be taken back; release \
                     the group to go on, or update it to what should be",
                    point.as_str()
                );
                return fail(HoldCode::IrreversibleHook, &end);
            }
            let text = format!(
                "the update to {short} has failed: {progress}; back to {}",
                prior.revision.short()
            );
            let to = Box::new(prior.clone());
            Some(RolloutChange::Revert { to, text: Redacted::new(&text) })
        }
    }
}

/// True if the failure that was noted is what counts among all that the wave came to: a doubt of another node of the
/// new revision comes first, and is looked into before anything is taken back (R129).
fn turns_back(known: &Rollout, state: &GroupState) -> bool {
    let attempts = state.records().flat_map(|record| record.attempts());
    let doubted = attempts.filter(|one| one.revision == known.target && one.ambiguity.is_some());
    let doubts = doubted.map(|_| Decision::Hold(HoldMark::AmbiguousEffect));
    of_wave(doubts.chain([Decision::CompensateEarlier])).is_some_and(Decision::turns_back)
}
