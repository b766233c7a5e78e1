//! A slot and its attempts: what is wanted, and what it is made to be.
//!
//! `LogicalNodeId` orders by group, then by index *as a number*, so `web-9` comes before `web-10`.

use alloc::{format, string::String};
use core::{fmt, str::FromStr};

use serde::{Deserialize, Serialize, de, ser};

use crate::{
    canonical::push_num,
    id::{AttemptOrdinal, Generation, GroupId, IdError, Uuid, fails, text_serde},
};

/// A slot: the stable logical node `{group}-{index}`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogicalNodeId {
    /// The group that it belongs to.
    pub group: GroupId,
    /// Its place in the group, from 0.
    pub index: u32,
}

impl LogicalNodeId {
    /// The slot `index` of `group`.
    pub const fn new(group: GroupId, index: u32) -> Self {
        Self { group, index }
    }

    /// Appends its text.
    pub(crate) fn push(&self, out: &mut String) {
        out.push_str(self.group.as_str());
        out.push('-');
        push_num(out, self.index.into());
    }
}

impl fmt::Display for LogicalNodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.width().is_some() {
            return f.pad(&format!("{}-{}", self.group, self.index));
        }
        write!(f, "{}-{}", self.group, self.index)
    }
}

impl FromStr for LogicalNodeId {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let rule = "it must be a group name, a hyphen and a number, such as web-0";
        let bad = || fails("slot", text, rule);
        let (group, index) = text.rsplit_once('-').ok_or_else(bad)?;
        let plain = index == "0" || !index.starts_with('0');
        if !plain || !index.bytes().all(|b| b.is_ascii_digit()) {
            return Err(bad());
        }
        let index = index.parse().map_err(|_bad| bad())?;
        Ok(Self { group: group.parse()?, index })
    }
}

text_serde!(LogicalNodeId);

/// One incarnation of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AttemptId {
    /// Which incarnation it is.
    pub ordinal: AttemptOrdinal,
    /// The UUID under which providers know it.
    pub uuid: Uuid,
}

impl AttemptId {
    /// The attempt `ordinal` of `slot`, which got its record in the generation `born` of the run `run`.
    pub fn derive(
        run: Uuid,
        slot: &LogicalNodeId,
        born: Generation,
        ordinal: AttemptOrdinal,
    ) -> Self {
        Self { ordinal, uuid: Uuid::of_attempt(run, slot, born, ordinal) }
    }
}
