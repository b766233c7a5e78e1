//! The operator's edits that nothing knows of yet: counts per group, with undo and conflicts.
//!
//! A draft never leaves the console except inside a plan request.

use std::collections::BTreeMap;

use driver::view::{Edit, PlanView, RunView};
use reconciler_core::{id::GroupId, limits::GROUP_COUNT_MAX};

const UNDO_MAX: usize = 200;

/// One edited count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The live count on which the edit was based.
    pub(crate) base: u32,
    /// The count that is wanted instead.
    pub(crate) want: u32,
}

/// All edits of this console.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    entries: BTreeMap<GroupId, Entry>,
    undo: Vec<(GroupId, Option<Entry>)>,
}

impl Draft {
    /// True if nothing is edited.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The edit of a group, if any.
    pub(crate) fn get(&self, group: &GroupId) -> Option<Entry> {
        self.entries.get(group).copied()
    }

    /// Every edit, by group.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&GroupId, Entry)> {
        self.entries.iter().map(|(group, entry)| (group, *entry))
    }

    /// Wants `want` of a group whose live count is `live`; the live count itself is no edit.
    pub(crate) fn set(&mut self, group: &GroupId, live: u32, want: u32) {
        let before = self.get(group);
        let want = want.min(GROUP_COUNT_MAX);
        let base = before.map_or(live, |entry| entry.base);
        let after = (want != live).then_some(Entry { base, want });
        if before == after {
            return;
        }
        if self.undo.len() >= UNDO_MAX {
            self.undo.remove(0);
        }
        self.undo.push((group.clone(), before));
        self.put(group.clone(), after);
    }

    /// Wants `by` more (or fewer) of a group.
    pub(crate) fn nudge(&mut self, group: &GroupId, live: u32, by: i32) {
        let now = self.get(group).map_or(live, |entry| entry.want);
        self.set(group, live, now.saturating_add_signed(by));
    }

    /// Takes the last edit back; false if there is none.
    pub(crate) fn undo(&mut self) -> bool {
        let Some((group, before)) = self.undo.pop() else { return false };
        self.put(group, before);
        true
    }

    /// Drops every edit.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.undo.clear();
    }

    fn put(&mut self, group: GroupId, entry: Option<Entry>) {
        match entry {
            Some(entry) => drop(self.entries.insert(group, entry)),
            None => drop(self.entries.remove(&group)),
        }
    }

    /// Follows the live shape: an edit that came true ends; returns the groups that are gone.
    pub(crate) fn follow(&mut self, view: &RunView) -> Vec<GroupId> {
        if self.entries.is_empty() {
            return Vec::new();
        }
        let live: BTreeMap<&GroupId, u32> =
            view.groups.iter().map(|group| (&group.group, group.want)).collect();
        self.entries.retain(|group, entry| live.get(group) != Some(&entry.want));
        let gone = self.entries.keys().filter(|group| !live.contains_key(group)).cloned().collect();
        self.entries.retain(|group, _| live.contains_key(group));
        gone
    }

    /// A plan was shown: whatever the live counts are by now, the operator has seen them.
    pub(crate) fn seen(&mut self, plan: &PlanView) {
        for group in &plan.groups {
            if let Some(entry) = self.entries.get_mut(&group.group) {
                entry.base = group.from;
            }
        }
    }

    /// An edit was accepted: it is no draft any longer, unless it was changed meanwhile.
    pub(crate) fn applied(&mut self, edit: &Edit) {
        let Edit::Counts { counts } = edit else { return };
        self.entries.retain(|group, entry| counts.get(group) != Some(&entry.want));
        self.undo.clear();
    }

    /// What to ask a plan for.
    pub(crate) fn edit(&self) -> Edit {
        if self.entries.is_empty() {
            return Edit::None;
        }
        let counts =
            self.entries.iter().map(|(group, entry)| (group.clone(), entry.want)).collect();
        Edit::Counts { counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn web() -> GroupId {
        "web".parse().unwrap()
    }

    #[test]
    fn an_edit_back_to_the_live_count_is_no_edit() {
        let mut draft = Draft::default();
        draft.nudge(&web(), 3, 1);
        assert_eq!(draft.get(&web()), Some(Entry { base: 3, want: 4 }));
        draft.nudge(&web(), 3, -1);
        assert!(draft.is_empty());
        assert_eq!(draft.edit(), Edit::None);
    }

    #[test]
    fn undo_walks_back_every_edit_and_then_says_so() {
        let mut draft = Draft::default();
        draft.nudge(&web(), 3, 10);
        draft.set(&web(), 3, 0);
        assert!(draft.undo());
        assert_eq!(draft.get(&web()).map(|entry| entry.want), Some(13));
        assert!(draft.undo());
        assert!(draft.is_empty());
        assert!(!draft.undo());
    }

    #[test]
    fn a_count_stays_within_zero_and_the_limit() {
        let mut draft = Draft::default();
        draft.nudge(&web(), 3, -10);
        assert_eq!(draft.get(&web()).map(|entry| entry.want), Some(0));
        draft.set(&web(), 3, u32::MAX);
        assert_eq!(draft.get(&web()).map(|entry| entry.want), Some(GROUP_COUNT_MAX));
    }

    #[test]
    fn an_applied_edit_that_was_changed_meanwhile_stays_a_draft() {
        let mut draft = Draft::default();
        draft.set(&web(), 3, 5);
        let sent = draft.edit();
        draft.set(&web(), 3, 6);
        draft.applied(&sent);
        assert_eq!(draft.get(&web()).map(|entry| entry.want), Some(6));
        draft.applied(&draft.edit());
        assert!(draft.is_empty());
    }
}
