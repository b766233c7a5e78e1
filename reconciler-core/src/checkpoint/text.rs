//! The text form of checkpoints, read strictly.
//!
//! A text that is not in the table is an error, which callers turn into a hold before any provider is called
//! (R120); nothing is ever guessed from an unknown name.

use alloc::string::{String, ToString};
use core::{fmt, str::FromStr};

use serde::{Deserialize, Serialize, de, ser};

use super::{
    mark::{StepCheckpoint, StepMark},
    operation::OperationCheckpoint,
};
use crate::redact::Redacted;

/// Longest checkpoint text in bytes; the bound of the specification.
pub const CHECKPOINT_LEN_MAX: usize = 255;

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
            Some(Self { slot: slot.parse().ok()?, mark: StepMark::from_name(name)? })
        };
        known().ok_or_else(|| CheckpointError::Unknown(text.into()))
    }
}

impl FromStr for OperationCheckpoint {
    type Err = CheckpointError;
    fn from_str(text: &str) -> Result<Self, CheckpointError> {
        check_len(text)?;
        Self::OWN
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
            Self::IntentPersisted
            | Self::Finalizer(_)
            | Self::RestoredHealthVerified
            | Self::RestoredHealthHold
            | Self::Verified
            | Self::Compensated => f.write_str(self.row().name),
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
