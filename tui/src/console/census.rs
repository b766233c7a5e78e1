//! How many nodes of each group stand at which letter: counted once for each snapshot that is shown, never in a frame.

use std::collections::BTreeMap;

use driver::view::RunView;
use reconciler_core::id::GroupId;

use super::stage;

/// The letters in the order of a life; what keeps a node from it comes last.
const LETTERS: [char; 9] = ['N', 'L', 'E', 'B', 'H', 'd', 'F', '?', 'X'];

/// The counts of every group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Census(BTreeMap<GroupId, [u32; LETTERS.len()]>);

impl Census {
    /// Counts every node once, as the one letter that it is shown by. What is wanted and not there is no node.
    pub(crate) fn of(view: &RunView) -> Self {
        let mut counts = BTreeMap::new();
        for run in view.nodes.chunk_by(|a, b| a.slot.group == b.slot.group) {
            let Some(first) = run.first() else { continue };
            let group: &mut [u32; LETTERS.len()] =
                counts.entry(first.slot.group.clone()).or_default();
            for node in run.iter().filter(|node| node.attempt > 0) {
                let at = LETTERS.iter().position(|letter| *letter == stage::letter_of(node));
                if let Some(count) = at.and_then(|at| group.get_mut(at)) {
                    *count = count.saturating_add(1);
                }
            }
        }
        Self(counts)
    }

    /// Letters and counts of a group, such as `E1H4?1`.
    pub(crate) fn text(&self, group: &GroupId) -> String {
        let counts = self.0.get(group).copied().unwrap_or_default();
        let there = LETTERS.iter().zip(counts).filter(|(_, count)| *count > 0);
        let each: Vec<String> = there.map(|(letter, count)| format!("{letter}{count}")).collect();
        each.concat()
    }
}
