//! The closed vocabulary of checkpoints: what each means (class) and what recovery does with it (lane).
//!
//! Parsing is strict. A text that is not in the table is an error, which callers turn into a hold before any
//! provider is called (R120); nothing is ever guessed from an unknown name.
//!
//! Not here: writing checkpoints (`checkpoint`), and acting on a lane (`driver`).

use alloc::{
    collections::BTreeMap,
    string::{String, ToString},
};
use core::{fmt, str::FromStr};

use serde::{Deserialize, Serialize, de, ser};

use crate::{id::LogicalNodeId, redact::Redacted};

/// Longest checkpoint text in bytes; the bound of the specification.
pub const CHECKPOINT_LEN_MAX: usize = 255;

/// What kind of moment a checkpoint marks; orders by precedence, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckpointClass {
    /// The intent is written, nothing was sent.
    Intent,
    /// The postcondition was seen.
    Verification,
    /// An effect is, or may be, on its way.
    ForwardEffect,
    /// It was broken off without an effect.
    Interruption,
    /// In doubt; nothing may be done until the doubt is gone.
    SafeHold,
    /// The operation is over. Never derived from steps, only written when it is closed.
    Terminal,
}

impl CheckpointClass {
    /// The class's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Intent => "intent",
            Self::Verification => "verification",
            Self::ForwardEffect => "forward-effect",
            Self::Interruption => "interruption",
            Self::SafeHold => "safe-hold",
            Self::Terminal => "terminal",
        }
    }

    /// Its place in the precedence, higher wins; the number that the journal sorts by.
    pub const fn rank(self) -> u8 {
        self as u8
    }
}

/// What recovery does with what it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecoveryLane {
    /// Go on from here; nothing is in doubt.
    Resume,
    /// Look first: an effect may have happened.
    Reobserve,
    /// Nothing is left to do.
    Complete,
    /// Stay held until an operator or an observation resolves the doubt.
    SafeHold,
}

impl RecoveryLane {
    /// The lane's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Resume => "resume",
            Self::Reobserve => "reobserve",
            Self::Complete => "complete",
            Self::SafeHold => "safe-hold",
        }
    }
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointRow {
    /// The exact name, without the slot.
    pub name: &'static str,
    /// What it means.
    pub class: CheckpointClass,
    /// What recovery does.
    pub lane: RecoveryLane,
}

const fn row(name: &'static str, class: CheckpointClass, lane: RecoveryLane) -> CheckpointRow {
    CheckpointRow { name, class, lane }
}

/// Where a step stands; written `<slot>:<name>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StepMark {
    /// Its intent is on disk; the effect may have been sent.
    EffectPending,
    /// The postcondition was seen after the effect.
    Verified,
    /// Cancelled, and nothing was sent.
    CancelledBeforeEffect,
    /// It was sent, failed, and a look showed no effect.
    CancelledNoEffect,
    /// It was sent, and nobody can say whether it happened.
    AmbiguousEffect,
    /// After a restart nobody can say whether it happened.
    AmbiguousAfterResume,
    /// The provider accepted it, and a look showed no effect.
    AcceptedWithoutEffect,
    /// What it was confirmed against no longer holds.
    ContextStale,
}

impl StepMark {
    /// Every mark, in the order of the table.
    pub const ALL: [Self; 8] = [
        Self::EffectPending,
        Self::Verified,
        Self::CancelledBeforeEffect,
        Self::CancelledNoEffect,
        Self::AmbiguousEffect,
        Self::AmbiguousAfterResume,
        Self::AcceptedWithoutEffect,
        Self::ContextStale,
    ];

    /// Its row (R109 to R112).
    pub const fn row(self) -> CheckpointRow {
        use CheckpointClass::{ForwardEffect, Interruption, SafeHold, Verification};
        use RecoveryLane::{Complete, Reobserve, Resume, SafeHold as Hold};
        match self {
            Self::EffectPending => row("effect-pending", ForwardEffect, Reobserve),
            Self::Verified => row("verified", Verification, Complete),
            Self::CancelledBeforeEffect => row("cancelled-before-effect", Interruption, Resume),
            Self::CancelledNoEffect => row("cancelled-no-effect", Interruption, Resume),
            Self::AmbiguousEffect => row("ambiguous-effect", SafeHold, Hold),
            Self::AmbiguousAfterResume => row("ambiguous-after-resume", SafeHold, Hold),
            Self::AcceptedWithoutEffect => row("accepted-without-effect", SafeHold, Hold),
            Self::ContextStale => row("context-stale", SafeHold, Hold),
        }
    }
}

/// Where one step stands, with the slot that it is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepCheckpoint {
    /// The slot.
    pub slot: LogicalNodeId,
    /// Where it stands.
    pub mark: StepMark,
}

impl StepCheckpoint {
    /// The checkpoint `mark` of `slot`.
    pub const fn new(slot: LogicalNodeId, mark: StepMark) -> Self {
        Self { slot, mark }
    }

    /// What it means.
    pub const fn class(&self) -> CheckpointClass {
        self.mark.row().class
    }

    /// What recovery does.
    pub const fn lane(&self) -> RecoveryLane {
        self.mark.row().lane
    }
}

/// Where an operation stands as a whole.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationCheckpoint {
    /// Opened; no step was written yet.
    IntentPersisted,
    /// The step that decides by precedence.
    Step(StepCheckpoint),
    /// Closed: all that it covered is done.
    Verified,
    /// Closed before all was done.
    Interrupted,
}

impl OperationCheckpoint {
    /// Its row (R108, R119); a step's row for a derived one.
    pub const fn row(&self) -> CheckpointRow {
        use CheckpointClass::{Intent, Terminal};
        use RecoveryLane::{Complete, Resume};
        match self {
            Self::IntentPersisted => row("intent-persisted", Intent, Resume),
            Self::Step(step) => step.mark.row(),
            Self::Verified => row("verified", Terminal, Complete),
            Self::Interrupted => row("interrupted", Terminal, Complete),
        }
    }
}

/// Derives where an operation stands from its steps in the order of their ids.
///
/// A later step of a slot speaks for that slot: a retry that was verified ends the failed try before it.
/// Among the slots the class of highest precedence decides, and the latest step within it.
pub fn derive_operation(steps: impl Iterator<Item = StepCheckpoint>) -> OperationCheckpoint {
    let mut newest = BTreeMap::new();
    for (order, step) in steps.enumerate() {
        newest.insert(step.slot, (order, step.mark));
    }
    newest
        .into_iter()
        .max_by_key(|(_, (order, mark))| (mark.row().class, *order))
        .map_or(OperationCheckpoint::IntentPersisted, |(slot, (_, mark))| {
            OperationCheckpoint::Step(StepCheckpoint { slot, mark })
        })
}

/// Why a text is not a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// There is no text.
    #[error("the checkpoint is empty")]
    Empty,
    /// The text is too long to be one.
    #[error("the checkpoint has {0} bytes; at most {CHECKPOINT_LEN_MAX} are allowed")]
    Oversize(usize),
    /// This version does not know it.
    #[error("checkpoint `{0}` is not known")]
    Unknown(Redacted),
}

fn check_len(text: &str) -> Result<(), CheckpointError> {
    match text.len() {
        0 => Err(CheckpointError::Empty),
        len if len > CHECKPOINT_LEN_MAX => Err(CheckpointError::Oversize(len)),
        _ => Ok(()),
    }
}

impl FromStr for StepCheckpoint {
    type Err = CheckpointError;
    fn from_str(text: &str) -> Result<Self, CheckpointError> {
        check_len(text)?;
        let known = || {
            let (slot, name) = text.split_once(':')?;
            let mark = StepMark::ALL.into_iter().find(|mark| mark.row().name == name)?;
            Some(Self { slot: slot.parse().ok()?, mark })
        };
        known().ok_or_else(|| CheckpointError::Unknown(text.into()))
    }
}

impl FromStr for OperationCheckpoint {
    type Err = CheckpointError;
    fn from_str(text: &str) -> Result<Self, CheckpointError> {
        check_len(text)?;
        [Self::IntentPersisted, Self::Verified, Self::Interrupted]
            .into_iter()
            .find(|own| own.row().name == text)
            .map_or_else(|| text.parse().map(Self::Step), Ok)
    }
}

impl fmt::Display for StepCheckpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.slot, self.mark.row().name)
    }
}

impl fmt::Display for OperationCheckpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(step) => fmt::Display::fmt(step, f),
            Self::IntentPersisted | Self::Verified | Self::Interrupted => {
                f.write_str(self.row().name)
            }
        }
    }
}

macro_rules! checkpoint_serde {
    ($name:ident) => {
        impl Serialize for $name {
            fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.to_string())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
            }
        }
    };
}

checkpoint_serde!(StepCheckpoint);
checkpoint_serde!(OperationCheckpoint);

#[cfg(test)]
mod tests {
    use alloc::{string::ToString, vec::Vec};

    use super::{
        CHECKPOINT_LEN_MAX, CheckpointClass as Class, CheckpointError, OperationCheckpoint,
        RecoveryLane as Lane, StepCheckpoint, StepMark, derive_operation,
    };

    fn step(text: &str) -> StepCheckpoint {
        text.parse().unwrap()
    }

    /// R108 to R112, R119: every identity has exactly its text, class and lane.
    #[test]
    fn each_identity_has_its_row() {
        let rows = [
            ("intent-persisted", Class::Intent, Lane::Resume),
            ("web-0:effect-pending", Class::ForwardEffect, Lane::Reobserve),
            ("web-0:verified", Class::Verification, Lane::Complete),
            ("web-0:cancelled-before-effect", Class::Interruption, Lane::Resume),
            ("web-0:cancelled-no-effect", Class::Interruption, Lane::Resume),
            ("web-0:ambiguous-effect", Class::SafeHold, Lane::SafeHold),
            ("web-0:ambiguous-after-resume", Class::SafeHold, Lane::SafeHold),
            ("web-0:accepted-without-effect", Class::SafeHold, Lane::SafeHold),
            ("web-0:context-stale", Class::SafeHold, Lane::SafeHold),
            ("verified", Class::Terminal, Lane::Complete),
            ("interrupted", Class::Terminal, Lane::Complete),
        ];
        for (text, class, lane) in rows {
            let checkpoint: OperationCheckpoint = text.parse().unwrap();
            assert_eq!(checkpoint.row().class, class, "{text}");
            assert_eq!(checkpoint.row().lane, lane, "{text}");
            assert_eq!(checkpoint.to_string(), text);
        }
        assert_eq!(rows.len(), StepMark::ALL.len() + 3);
        let mut names: Vec<_> = rows.iter().map(|(_, class, _)| class.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let known = ["forward-effect", "intent", "interruption", "safe-hold", "terminal"];
        assert_eq!(names, [&known[..], &["verification"]].concat());
    }

    /// R120: unknown, empty and oversize texts are errors, and nothing near a name passes for it.
    #[test]
    fn only_exact_texts_are_checkpoints() {
        assert_eq!("".parse::<StepCheckpoint>(), Err(CheckpointError::Empty));
        let long = "x".repeat(CHECKPOINT_LEN_MAX + 1);
        assert_eq!(long.parse::<OperationCheckpoint>(), Err(CheckpointError::Oversize(256)));
        let wrong = [
            "web-0:Verified",
            "web-0:verified ",
            " web-0:verified",
            "web-0: verified",
            "web:verified",
            "web-0:verified:verified",
            "web-0:intent-persisted",
            "effect-pending",
            "web-0:",
            ":verified",
            "safe-hold",
        ];
        for text in wrong {
            let found = text.parse::<OperationCheckpoint>();
            assert_eq!(found, Err(CheckpointError::Unknown(text.into())), "{text}");
        }
    }

    /// Clarification 2: safe-hold > interruption > forward-effect > verification > intent.
    #[test]
    fn the_class_of_highest_precedence_decides() {
        let ladder = [
            "web-0:verified",
            "web-1:effect-pending",
            "web-2:cancelled-no-effect",
            "web-3:ambiguous-effect",
        ];
        let derive = |texts: &[&str]| derive_operation(texts.iter().map(|t| step(t))).to_string();
        assert_eq!(derive(&[]), "intent-persisted");
        for (n, strongest) in ladder.iter().enumerate() {
            let mut some: Vec<&str> = ladder[..=n].to_vec();
            assert_eq!(derive(&some), *strongest);
            some.reverse();
            assert_eq!(derive(&some), *strongest);
        }
    }

    /// A retry that succeeded ends the failed try of the same slot; other slots keep their say.
    #[test]
    fn a_later_step_speaks_for_its_slot() {
        let steps = ["web-0:cancelled-no-effect", "web-1:effect-pending", "web-0:verified"];
        let derived = derive_operation(steps.iter().map(|t| step(t)));
        assert_eq!(derived.to_string(), "web-1:effect-pending");
    }
}
