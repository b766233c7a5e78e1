//! What a fold tells beyond the records: how steps ended, and what a person may want to know.

use alloc::{boxed::Box, string::String};
use core::fmt;

use super::{agent::AgentNews, health::ProbeVerdict, stage::StageName};
use crate::{
    checkpoint::StepMark,
    desired::{HookPoint, ProbeKind},
    effect::{ActionKind, FailureKind},
    hold::HoldCode,
    id::{AttemptOrdinal, GroupId, LogicalNodeId, OperationId, ProviderName, StepId},
    redact::Redacted,
};

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepEnd {
    /// Its effect was seen.
    Verified,
    /// It surely had no effect.
    NoEffect,
    /// It was taken back before it began.
    NotBegun,
    /// The provider said that it was done, and a look showed that it was not.
    NotDone,
    /// What it was confirmed against no longer holds: a newer controller has the run.
    ContextStale,
    /// It may have had one; looks decide.
    Ambiguous,
    /// It may have had one, and the driver that knew is gone; looks decide.
    AmbiguousAfterResume,
}

impl StepEnd {
    /// Every end.
    pub const ALL: [Self; 7] = [
        Self::Verified,
        Self::NoEffect,
        Self::NotBegun,
        Self::NotDone,
        Self::ContextStale,
        Self::Ambiguous,
        Self::AmbiguousAfterResume,
    ];

    /// Where a step forward stands that ended so.
    pub const fn mark(self) -> StepMark {
        match self {
            Self::Verified => StepMark::Verified,
            Self::NoEffect => StepMark::CancelledNoEffect,
            Self::NotBegun => StepMark::CancelledBeforeEffect,
            Self::NotDone => StepMark::AcceptedWithoutEffect,
            Self::ContextStale => StepMark::ContextStale,
            Self::Ambiguous => StepMark::AmbiguousEffect,
            Self::AmbiguousAfterResume => StepMark::AmbiguousAfterResume,
        }
    }

    /// True while looks are still to decide what became of it.
    pub const fn is_open(self) -> bool {
        match self {
            Self::Ambiguous | Self::AmbiguousAfterResume => true,
            Self::Verified
            | Self::NoEffect
            | Self::NotBegun
            | Self::NotDone
            | Self::ContextStale => false,
        }
    }
}

/// One step's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// The operation.
    pub operation: OperationId,
    /// The step.
    pub step: StepId,
    /// The slot.
    pub slot: LogicalNodeId,
    /// How it ended.
    pub end: StepEnd,
    /// What its failure was; nothing where no call of it failed.
    pub failure: Option<FailureKind>,
    /// What was said, cleaned; empty on success.
    pub message: Redacted,
}

/// What a note is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// A slot.
    Slot(LogicalNodeId),
    /// A whole group.
    Group(GroupId),
    /// A provider.
    Provider(ProviderName),
}

impl From<&LogicalNodeId> for About {
    fn from(slot: &LogicalNodeId) -> Self {
        Self::Slot(slot.clone())
    }
}

impl From<&GroupId> for About {
    fn from(group: &GroupId) -> Self {
        Self::Group(group.clone())
    }
}

impl From<&ProviderName> for About {
    fn from(provider: &ProviderName) -> Self {
        Self::Provider(provider.clone())
    }
}

/// Something worth telling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What it is about.
    pub about: About,
    /// What happened.
    pub what: NoteKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoteKind {
    /// A record appeared or moved.
    Stage {
        /// From where, unless it is new.
        from: Option<StageName>,
        /// To where.
        to: StageName,
    },
    /// An attempt or an effect failed.
    Failure {
        /// Of which command or hook, if it was one's.
        command: Option<ActionKind>,
        /// What was said.
        message: Redacted,
    },
    /// An effect's outcome is unknown.
    Ambiguous(ActionKind),
    /// A thing of unknown fate was found and taken over.
    Adopted(ActionKind),
    /// A hook is done with.
    Hook {
        /// Which.
        point: HookPoint,
        /// True if it completed, false if the stop goes on without it.
        completed: bool,
    },
    /// The agent of its workload joined, is not heard of, or is back.
    Agent(AgentNews),
    /// What a probe has shown amounts to something else now.
    Probe {
        /// Which.
        kind: ProbeKind,
        /// What.
        verdict: ProbeVerdict,
        /// What the last failure said; empty if it passes.
        said: Redacted,
    },
    /// A hold began.
    Held(HoldCode, Redacted),
    /// A hold ended.
    Released(HoldCode),
    /// A resource without a record was seen.
    Orphan(ProviderName, String),
    /// A provider cannot be observed.
    Blind(ProviderName, Redacted),
    /// A provider asks for a pause.
    Paused(ProviderName),
    /// The workload of a job ended well.
    Completed,
    /// The record was reaped.
    Reaped,
    /// An update began, failed or ended.
    Update(Redacted),
    /// It happened to the attempt of this ordinal, which stands beside the present one.
    Beside(AttemptOrdinal, Box<NoteKind>),
    /// An attempt took the place of another.
    Promoted {
        /// The one that gave way.
        from: AttemptOrdinal,
        /// The one that serves now.
        to: AttemptOrdinal,
    },
}

impl NoteKind {
    /// True if it tells of a failure.
    pub fn is_failure(&self) -> bool {
        match self {
            Self::Failure { .. } => true,
            Self::Beside(_, what) => what.is_failure(),
            Self::Stage { .. }
            | Self::Ambiguous(_)
            | Self::Adopted(_)
            | Self::Hook { .. }
            | Self::Agent(_)
            | Self::Probe { .. }
            | Self::Held(..)
            | Self::Released(_)
            | Self::Orphan(..)
            | Self::Blind(..)
            | Self::Paused(_)
            | Self::Completed
            | Self::Reaped
            | Self::Update(_)
            | Self::Promoted { .. } => false,
        }
    }

    /// A stable word for the kind.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Stage { .. } | Self::Completed | Self::Reaped | Self::Promoted { .. } => "stage",
            Self::Beside(_, what) => what.word(),
            Self::Update(_) => "update",
            Self::Failure { .. } => "failure",
            Self::Ambiguous(_) | Self::Adopted(_) => "effect",
            Self::Hook { .. } => "hook",
            Self::Agent(_) => "agent",
            Self::Probe { .. } => "probe",
            Self::Held(..) | Self::Released(_) => "hold",
            Self::Orphan(..) => "orphan",
            Self::Blind(..) | Self::Paused(_) => "provider",
        }
    }
}

impl fmt::Display for NoteKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stage { from: None, to } => write!(f, "begins as {}", to.as_str()),
            Self::Stage { from: Some(from), to } => {
                write!(f, "{} -> {}", from.as_str(), to.as_str())
            }
            Self::Failure { command: Some(command), message } => {
                write!(f, "{} failed: {message}", command.as_str())
            }
            Self::Failure { command: None, message } => write!(f, "failed: {message}"),
            Self::Ambiguous(command) => {
                write!(f, "outcome of {} is unknown; looking", command.as_str())
            }
            Self::Adopted(command) => write!(f, "found what {} had made", command.as_str()),
            Self::Hook { point, completed: true } => {
                write!(f, "the {} hook completed", point.as_str())
            }
            Self::Hook { point, completed: false } => {
                write!(f, "goes on without its {} hook", point.as_str())
            }
            Self::Agent(AgentNews::Joined(_)) => f.write_str("its agent joined"),
            Self::Agent(AgentNews::Lost) => {
                f.write_str("its agent is not heard of; how its workload fares is not known")
            }
            Self::Agent(AgentNews::Back) => f.write_str("its agent is heard of again"),
            Self::Probe { kind, verdict: ProbeVerdict::Failing, said } => {
                write!(f, "the {} probe fails: {said}", kind.as_str())
            }
            Self::Probe { kind, verdict: ProbeVerdict::Passing, .. } => {
                write!(f, "the {} probe passes", kind.as_str())
            }
            Self::Probe { kind, verdict: ProbeVerdict::Unproven, .. } => {
                write!(f, "the {} probe is asked anew", kind.as_str())
            }
            Self::Held(code, text) => write!(f, "held, {}: {text}", code.as_str()),
            Self::Released(code) => write!(f, "no longer held ({})", code.as_str()),
            Self::Orphan(provider, lease) => {
                write!(f, "{provider} holds {lease}, which no record accounts for; left alone")
            }
            Self::Blind(provider, why) => write!(f, "{provider} could not be observed: {why}"),
            Self::Paused(provider) => write!(f, "{provider} asks for a pause"),
            Self::Completed => f.write_str("completed"),
            Self::Reaped => f.write_str("gone"),
            Self::Update(text) => text.fmt(f),
            Self::Beside(ordinal, what) => write!(f, "attempt {ordinal}: {what}"),
            Self::Promoted { from, to } => {
                write!(f, "attempt {to} takes the place of attempt {from}")
            }
        }
    }
}
