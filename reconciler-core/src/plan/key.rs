//! The name of a step (R79).

use alloc::string::{String, ToString};
use core::{fmt, str::FromStr};

use crate::{
    canonical::push_num,
    effect::ActionKind,
    id::{AttemptOrdinal, IdError, LogicalNodeId},
};

/// The name of a step, unique within its plan. Orders by slot, then by attempt.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepKey {
    /// The slot.
    pub slot: LogicalNodeId,
    /// Which of its attempts.
    pub ordinal: AttemptOrdinal,
    /// What is done to it; within one attempt a predicted step succeeds at once, so it never comes twice.
    pub action: ActionKind,
}

/// What a step's name says, borrowed; orders as the name does.
pub(super) type KeyRef<'a> = (&'a LogicalNodeId, AttemptOrdinal, ActionKind);

impl StepKey {
    pub(super) const fn parts(&self) -> KeyRef<'_> {
        (&self.slot, self.ordinal, self.action)
    }

    pub(super) fn push(&self, out: &mut String) {
        push_key(out, &self.slot, self.ordinal, self.action);
    }
}

pub(super) fn push_key(
    out: &mut String,
    slot: &LogicalNodeId,
    ordinal: AttemptOrdinal,
    action: ActionKind,
) {
    slot.push(out);
    out.push('.');
    push_num(out, ordinal.get());
    out.push('.');
    out.push_str(action.as_str());
}

impl fmt::Display for StepKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.push(&mut text);
        f.pad(&text)
    }
}

impl FromStr for StepKey {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let rule =
            "it must be a slot, an attempt's number and an action, such as web-0.1.CreateLease";
        let bad = || IdError { what: "step", text: text.to_string(), rule };
        let (rest, action) = text.rsplit_once('.').ok_or_else(bad)?;
        let (slot, ordinal) = rest.rsplit_once('.').ok_or_else(bad)?;
        let ordinal = ordinal.parse().map_err(|_bad| bad())?;
        let action = ActionKind::from_name(action).ok_or_else(bad)?;
        Ok(Self { slot: slot.parse()?, ordinal: AttemptOrdinal::new(ordinal), action })
    }
}
