//! Writes live counts back into the text of a desired-state file (D14).
//!
//! Only the digits of the counts are replaced, at the places that the parser names, so that every comment,
//! space and line end stays as it was written.

use std::{collections::BTreeMap, ops::Range};

use reconciler_core::{id::GroupId, limits};
use toml::de::{DeTable, DeValue};

/// Why counts could not be written back; the text was not changed.
#[derive(Debug, thiserror::Error)]
pub enum WriteBackError {
    /// The text is not TOML.
    #[error("the file is not valid TOML")]
    Syntax(#[source] toml::de::Error),
    /// The file does not declare the group.
    #[error("group `{0}` does not stand in the file")]
    NoGroup(GroupId),
    /// The group has no whole number as its count.
    #[error("group `{0}` has no count in the file that could be replaced")]
    NoCount(GroupId),
    /// The count is over the limit.
    #[error("group `{group}` cannot have {count} nodes; at most {max} are allowed", max = limits::GROUP_COUNT_MAX)]
    TooLarge {
        /// The group.
        group: GroupId,
        /// The count.
        count: u32,
    },
}

/// The text with other counts for the named groups.
///
/// # Errors
/// Refuses text that is not TOML, a group or count that does not stand in it, and a count over the limit.
pub fn with_counts(text: &str, counts: &BTreeMap<GroupId, u32>) -> Result<String, WriteBackError> {
    let tree = DeTable::parse(text).map_err(WriteBackError::Syntax)?;
    let mut edits: Vec<(Range<usize>, u32)> = Vec::new();
    for (group, count) in counts {
        if *count > limits::GROUP_COUNT_MAX {
            return Err(WriteBackError::TooLarge { group: group.clone(), count: *count });
        }
        let groups = tree.get_ref().get("group").and_then(|groups| groups.get_ref().as_table());
        let table = groups
            .and_then(|groups| groups.get(group.as_str()))
            .and_then(|table| table.get_ref().as_table())
            .ok_or_else(|| WriteBackError::NoGroup(group.clone()))?;
        let value = table.get("count").ok_or_else(|| WriteBackError::NoCount(group.clone()))?;
        let DeValue::Integer(number) = value.get_ref() else {
            return Err(WriteBackError::NoCount(group.clone()));
        };
        if u32::from_str_radix(number.as_str(), number.radix()).ok() != Some(*count) {
            edits.push((value.span(), *count));
        }
    }
    // From the end, so that earlier places stay where they are.
    edits.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
    let mut out = text.to_owned();
    for (span, count) in edits {
        out.replace_range(span, &count.to_string());
    }
    Ok(out)
}
