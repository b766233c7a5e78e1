//! Why a slot is where it is: made of the same values that decided (P7).

use alloc::sync::Arc;
use core::fmt;

use serde::{Deserialize, Serialize};

use super::gates::Lack;
use crate::{
    desired::ProbeKind,
    effect::ActionKind,
    fold::Transition,
    hold::HoldCode,
    id::{AttemptOrdinal, GroupId},
    observed::{DeleteReason, Freeze, NodeRecord, ProbeVerdict},
    redact::Redacted,
    time::Timestamp,
};

/// The rung of the ladder that held, with the facts that it read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rung {
    /// It is as it should be.
    Steady,
    /// A command goes out, or a hook runs.
    Step(ActionKind),
    /// A record is made.
    Insert,
    /// The attempt is to go.
    BeginDelete(DeleteReason),
    /// Nothing of the attempt is left.
    MarkDestroyed,
    /// A fresh attempt begins.
    Restart,
    /// It ran for the settle time.
    Settle,
    /// It was ready for the stable interval.
    Rest,
    /// An effect ran out of time.
    Expire,
    /// A stage ran out of time.
    TimeOut,
    /// It is treated differently from now on.
    Retune,
    /// The record goes.
    Reap,
    /// An effect is on its way.
    EffectPending(ActionKind),
    /// An effect's outcome is unknown; it is being looked for.
    Ambiguous(ActionKind),
    /// The whole group is held.
    GroupHeld(HoldCode),
    /// The slot is held.
    Held(HoldCode, Redacted),
    /// It failed, and waits before the next attempt.
    Backoff {
        /// Consecutive failures.
        failures: u32,
        /// How many are allowed.
        attempts: u32,
    },
    /// An effect failed, and is tried again later.
    Retry {
        /// How often it failed.
        tries: u32,
        /// What was said.
        message: Redacted,
    },
    /// The provider asked for a pause.
    ProviderPaused,
    /// As many effects are on their way as are allowed.
    Parallelism,
    /// More would exist than are wanted.
    Overshoot {
        /// How many a provider may hold by record.
        owning: u32,
        /// How many it holds without a record.
        orphans: u32,
        /// How many are wanted.
        count: u32,
    },
    /// The gates of its group are closed: these groups have not come far enough.
    Gate(Arc<[Lack]>),
    /// It is to go, and nodes of these groups depend on it and go first.
    Dependents(Arc<[GroupId]>),
    /// It is switched off, and rests.
    Off,
    /// It is to begin anew once every other node of its group serves.
    Turn {
        /// How many serve.
        ready: u32,
        /// How many are to.
        want: u32,
    },
    /// The workload of its job runs, and has not ended yet.
    Working,
    /// The workload of its job ended well.
    Completed,
    /// Its endpoint is not known yet.
    AwaitEndpoint,
    /// Its workload runs, and has not run long enough to count as joined.
    Settling,
    /// Its agent has not joined, or has not said that the workload runs.
    AwaitAgent,
    /// It is ready, and has not been for long enough to count as stable.
    Stabilising,
    /// Its probe does not pass: what the answers amount to, and what the last failure said.
    AwaitProbe(ProbeKind, ProbeVerdict, Redacted),
    /// Its probe fails, and ends the attempt.
    GiveUp(ProbeKind),
    /// It is of another revision, and the budget of the update is used up.
    AwaitTurn {
        /// How many of the wanted nodes do not serve.
        unavailable: u32,
        /// How many may not.
        unavailable_max: u32,
        /// How many slots have a second attempt.
        surge: u32,
        /// How many may.
        surge_max: u32,
    },
    /// It is of another revision, and the update is paused.
    UpdatePaused,
    /// Nodes of another revision are still there, and all of them go before the first new one comes.
    AwaitOthersGone {
        /// How many.
        left: u32,
    },
    /// It is of another revision, and serves until the attempt of this ordinal can.
    AwaitCandidate(AttemptOrdinal),
    /// It is gone, and the attempt of this ordinal beside it is not yet.
    AwaitSecondGone(AttemptOrdinal),
    /// A candidate begins beside it.
    Candidate,
    /// It is ready, and has not been for the observation time of the update.
    Observing,
    /// It is ready, and a fresh look is awaited before it takes over.
    Verifying,
    /// It takes the place of the present attempt.
    Promote,
}

/// A rung, and when its answer changes by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// Which rung.
    pub rung: Rung,
    /// Until when it waits, if it waits for a time.
    pub until: Option<Timestamp>,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rung.fmt(f)
    }
}

impl fmt::Display for Rung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steady => f.write_str("steady"),
            Self::Step(command) => write!(f, "takes the step {}", command.as_str()),
            Self::Insert => f.write_str("wanted and not there: gets a record"),
            Self::BeginDelete(reason) => write!(f, "is to go: {}", reason.as_str()),
            Self::MarkDestroyed => f.write_str("nothing of it is left"),
            Self::Restart => f.write_str("begins a fresh attempt"),
            Self::Settle => f.write_str("ran for its settle time: joined"),
            Self::Rest => f.write_str("was ready for its stable interval"),
            Self::Expire => f.write_str("no answer came in time"),
            Self::TimeOut => f.write_str("ran out of time in this stage"),
            Self::Retune => f.write_str("takes over a changed policy"),
            Self::Reap => f.write_str("no longer wanted and gone: its record goes"),
            Self::EffectPending(command) => write!(f, "waits for {}", command.as_str()),
            Self::Ambiguous(command) => unknown(f, *command),
            Self::GroupHeld(code) => write!(f, "its group is held: {}", code.as_str()),
            Self::Held(code, text) => write!(f, "held, {}: {text}", code.as_str()),
            Self::Backoff { failures, attempts } => {
                write!(f, "backs off after failure {failures} of {attempts}")
            }
            Self::Retry { tries, message } => write!(f, "tries again after {tries}: {message}"),
            Self::ProviderPaused => f.write_str("its provider asked for a pause"),
            Self::Parallelism => f.write_str("waits for a free place among the effects in flight"),
            Self::Overshoot { owning, orphans, count } => write!(
                f,
                "would be one too many: {owning} with a record and {orphans} without one exist, {count} are wanted"
            ),
            Self::Gate(lacks) => listed(f, "waits for ", lacks),
            Self::Dependents(groups) => listed(f, "is to go after what depends on it: ", groups),
            Self::Off => f.write_str("switched off: rests without a workload"),
            Self::Turn { ready, want } => {
                write!(f, "begins anew in its turn: {ready} of {want} are ready")
            }
            Self::Working => f.write_str("its job runs, and is not completed yet"),
            Self::Completed => f.write_str("completed: its workload ended well"),
            Self::AwaitEndpoint => f.write_str("waits for its endpoint"),
            Self::Settling => f.write_str("its workload runs; waits for the settle time"),
            Self::AwaitAgent => f.write_str("waits for its agent to say that its workload runs"),
            Self::Stabilising => f.write_str("ready; waits for the stable interval"),
            Self::AwaitProbe(kind, verdict, said) => await_probe(f, *kind, *verdict, said),
            Self::GiveUp(kind) => gives_up(f, *kind),
            Self::AwaitTurn { unavailable, unavailable_max, surge, surge_max } => {
                in_turn(f, (*unavailable, *unavailable_max), (*surge, *surge_max))
            }
            Self::UpdatePaused => f.write_str("of another revision; the update is paused"),
            Self::AwaitOthersGone { left } => {
                write!(f, "waits until {left} nodes of another revision are gone")
            }
            Self::AwaitCandidate(ordinal) => {
                write!(f, "of another revision; serves until attempt {ordinal} takes over")
            }
            Self::AwaitSecondGone(ordinal) => {
                write!(f, "gone; waits until attempt {ordinal} beside it is gone too")
            }
            Self::Candidate => f.write_str("of another revision: a candidate begins beside it"),
            Self::Observing => f.write_str("ready; waits for the observation time of the update"),
            Self::Verifying => f.write_str("ready; looked at once more before it takes over"),
            Self::Promote => f.write_str("passed every gate: takes over"),
        }
    }
}

fn listed(f: &mut fmt::Formatter<'_>, before: &str, items: &[impl fmt::Display]) -> fmt::Result {
    f.write_str(before)?;
    for (n, item) in items.iter().enumerate() {
        write!(f, "{}{item}", if n > 0 { ", " } else { "" })?;
    }
    Ok(())
}

fn await_probe(
    f: &mut fmt::Formatter<'_>,
    kind: ProbeKind,
    verdict: ProbeVerdict,
    said: &Redacted,
) -> fmt::Result {
    let kind = kind.as_str();
    match verdict {
        ProbeVerdict::Failing => write!(f, "its {kind} probe fails")?,
        ProbeVerdict::Unproven | ProbeVerdict::Passing => {
            write!(f, "waits for its {kind} probe to pass")?;
        }
    }
    if said.as_str().is_empty() { Ok(()) } else { write!(f, ": {said}") }
}

fn gives_up(f: &mut fmt::Formatter<'_>, kind: ProbeKind) -> fmt::Result {
    write!(f, "its {} probe fails: the attempt is over", kind.as_str())
}

fn unknown(f: &mut fmt::Formatter<'_>, command: ActionKind) -> fmt::Result {
    write!(f, "the outcome of {} is unknown: looking before anything else", command.as_str())
}

fn in_turn(f: &mut fmt::Formatter<'_>, missing: (u32, u32), extra: (u32, u32)) -> fmt::Result {
    let ((missing, missing_max), (extra, extra_max)) = (missing, extra);
    write!(
        f,
        "of another revision; waits for its turn: {missing} of {missing_max} may be missing, \
         {extra} of {extra_max} may exist beyond the count"
    )
}

impl Rung {
    /// Why nothing moves to the revision of an update.
    pub(super) const fn of_freeze(freeze: Freeze) -> Self {
        match freeze {
            Freeze::Paused => Self::UpdatePaused,
            Freeze::Stalled(code) => Self::GroupHeld(code),
        }
    }

    /// Where a record stands that needs nothing.
    pub fn at_rest(record: &NodeRecord) -> Self {
        if record.is_completed() {
            Self::Completed
        } else if record.is_working() {
            Self::Working
        } else {
            Self::Steady
        }
    }

    /// The stable name of the rung.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Step(_) => "step",
            Self::Insert => "insert",
            Self::BeginDelete(_) => "begin-delete",
            Self::MarkDestroyed => "mark-destroyed",
            Self::Restart => "restart",
            Self::Settle => "settle",
            Self::Rest => "rest",
            Self::Expire => "expire",
            Self::TimeOut => "time-out",
            Self::Retune => "retune",
            Self::Reap => "reap",
            Self::EffectPending(_) => "effect-pending",
            Self::Ambiguous(_) => "ambiguous",
            Self::GroupHeld(_) => "group-held",
            Self::Held(..) => "held",
            Self::Backoff { .. } => "backoff",
            Self::Retry { .. } => "retry",
            Self::ProviderPaused => "provider-paused",
            Self::Parallelism => "parallelism",
            Self::Overshoot { .. } => "overshoot",
            Self::Gate(_) => "gate",
            Self::Dependents(_) => "dependents",
            Self::Off => "off",
            Self::Turn { .. } => "turn",
            Self::Working => "working",
            Self::Completed => "completed",
            Self::AwaitEndpoint => "await-endpoint",
            Self::Settling => "settling",
            Self::AwaitAgent => "await-agent",
            Self::Stabilising => "stabilising",
            Self::AwaitProbe(..) => "await-probe",
            Self::GiveUp(_) => "give-up",
            Self::AwaitTurn { .. } => "await-turn",
            Self::UpdatePaused => "update-paused",
            Self::AwaitOthersGone { .. } => "await-others-gone",
            Self::AwaitCandidate(_) => "await-candidate",
            Self::AwaitSecondGone(_) => "await-second-gone",
            Self::Candidate => "candidate",
            Self::Observing => "observing",
            Self::Verifying => "verifying",
            Self::Promote => "promote",
        }
    }
}

/// The rung that a change of a record stands on.
pub(super) fn rung_of(transition: &Transition) -> Rung {
    match transition {
        Transition::Insert(_) => Rung::Insert,
        Transition::BeginDelete(reason) => Rung::BeginDelete(*reason),
        Transition::MarkDestroyed => Rung::MarkDestroyed,
        Transition::Restart(_) => Rung::Restart,
        Transition::Settle => Rung::Settle,
        Transition::Rest => Rung::Rest,
        Transition::Expire => Rung::Expire,
        Transition::TimeOut => Rung::TimeOut,
        Transition::GiveUp(kind) => Rung::GiveUp(*kind),
        Transition::Retune(_) => Rung::Retune,
        Transition::Hold(hold) => Rung::Held(hold.code, hold.text.clone()),
        Transition::Reap => Rung::Reap,
        Transition::Candidate(_) => Rung::Candidate,
        Transition::Promote => Rung::Promote,
        Transition::Beside(transition) => rung_of(transition),
    }
}

impl DeleteReason {
    /// The reason in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Undesired => "no longer wanted",
            Self::Replaced => "another revision is wanted",
            Self::Failed => "it failed",
            Self::Rerun => "it is to run again",
        }
    }
}
