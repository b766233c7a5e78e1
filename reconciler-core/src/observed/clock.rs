//! Time passes: what falls due is marked, and a clock that went back is noticed (D12, C8).
//!
//! How a record's times are pulled in then stands in `pull.rs`; what a time means is decided by the ladder.

use alloc::vec::Vec;

use super::{cluster::ClusterState, due::next_due, pull::pull_in, record::NodeRecord};
use crate::{id::LogicalNodeId, time::Timestamp};

impl ClusterState {
    /// The slots that are due, taken off the index and marked as changed so that the next pass decides them.
    pub fn mark_due(&mut self, now: Timestamp) {
        while let Some((group, indices)) = self.due.pop_due(now) {
            for index in indices {
                let slot = LogicalNodeId::new(group.clone(), index);
                self.reindex(&slot, now, None);
                self.dirty.push(slot);
            }
        }
        self.mark_overdue(now);
        self.notice_time(now);
    }

    /// Takes note of the time of a pass. Costs nothing unless the clock went back.
    fn notice_time(&mut self, now: Timestamp) {
        let before = core::mem::replace(&mut self.latest, now);
        if now < before {
            self.clock_went_back(before, now);
        }
    }

    fn clock_went_back(&mut self, before: Timestamp, now: Timestamp) {
        self.pull_in_rollouts(now);
        for provider in self.providers.values_mut() {
            provider.paused_until = provider.paused_until.map(|at| now.after(at.since(before)));
        }
        let records: Vec<_> = self.groups().flat_map(|(_, g)| g.records().cloned()).collect();
        for record in records {
            let mut pulled = NodeRecord::clone(&record);
            pull_in(&mut pulled, now);
            if pulled != *record {
                self.put(pulled, now);
            } else if next_due(&record, now) != record.due {
                // What fell due by the old clock lies ahead again.
                self.reindex(&record.slot, now, record.due);
            }
        }
        let later = |(at, _): &(Timestamp, u32)| *at > now;
        let ahead: Vec<_> = self
            .groups()
            .filter(|(_, group)| group.reaped_at > now || group.doubts.iter().any(later))
            .map(|(group, _)| group.clone())
            .collect();
        for group in ahead {
            if let Some(state) = self.group_mut(&group) {
                state.reaped_at = state.reaped_at.min(now);
                for (at, _) in &mut state.doubts {
                    *at = (*at).min(now);
                }
            }
        }
    }
}
