//! What a pass changed, as rows of the commit that makes it durable.

use std::collections::BTreeSet;

use checkpoint::{
    event::{EventWrite, Subject},
    record::{GroupWrite, RecordWrite, RolloutWrite},
    step::StepWrite,
    store::Commit,
};
use reconciler_core::{
    checkpoint::StepMark,
    fold::{About, Note, NoteKind, Settlement, StepEnd},
    id::{GroupId, LogicalNodeId},
    redact::Redacted,
    time::Timestamp,
};

use crate::{pass::Tally, state::State, view::EventView};

impl State {
    /// Collects everything that changed into `commit`, and closes what is done.
    pub(crate) fn journal_changes(
        &mut self,
        changed: &BTreeSet<LogicalNodeId>,
        now: Timestamp,
        commit: &mut Commit,
        tally: &mut Tally,
    ) {
        commit.records.extend(changed.iter().map(|slot| match self.cluster.record(slot) {
            Some(record) => RecordWrite::Put(record.clone()),
            None => RecordWrite::Remove(slot.clone()),
        }));
        for group in self.cluster.take_dirty_groups() {
            let hold = self.cluster.group(&group).and_then(|g| g.hold().cloned());
            commit.groups.push(GroupWrite { group, hold });
        }
        for group in self.cluster.take_dirty_rollouts() {
            let rollout = self.cluster.rollout(&group).cloned();
            commit.rollouts.push(RolloutWrite { group, rollout });
        }
        let settled = self.cluster.take_settled();
        commit.steps.extend(settled.into_iter().map(|s| step_write(s, now)));
        let notes = self.cluster.take_notes();
        tally.failures += notes.iter().filter(|note| note.what.is_failure()).count();
        for note in &notes {
            let (subject, kind, text) = (subject(note), note.what.word(), note.what.to_string());
            if matches!(note.what, NoteKind::Stage { .. } | NoteKind::Reaped) {
                // Every step of every node: for the journal, and too much for a log that people read.
                tracing::debug!(%subject, kind, "{}", Redacted::new(&text));
                self.write_event(subject, kind, &text, now, commit);
            } else {
                self.tell(subject, kind, &text, now, commit);
            }
        }
        let groups: BTreeSet<GroupId> = changed.iter().map(|slot| slot.group.clone()).collect();
        self.close_operations(&groups, &mut commit.operations);
    }

    /// Logs one event and writes it.
    pub(crate) fn tell(
        &mut self,
        subject: Subject,
        kind: &'static str,
        text: &str,
        now: Timestamp,
        commit: &mut Commit,
    ) {
        tracing::info!(%subject, kind, "{}", Redacted::new(text));
        self.write_event(subject, kind, text, now, commit);
    }

    /// Writes one event, and keeps it for the lists.
    fn write_event(
        &mut self,
        subject: Subject,
        kind: &'static str,
        text: &str,
        now: Timestamp,
        commit: &mut Commit,
    ) {
        let text = Redacted::new(text);
        let pass = self.counters.pass.next();
        self.history.push_event(EventView {
            seq: 0,
            at: now,
            pass,
            subject: subject.to_string(),
            kind: kind.to_owned(),
            text: text.to_string(),
            count: 1,
        });
        commit.events.push(EventWrite { subject, kind: kind.into(), text, at: now, pass });
    }
}

fn step_write(settlement: Settlement, now: Timestamp) -> StepWrite {
    let (mark, finished_at) = match settlement.end {
        StepEnd::Verified => (StepMark::Verified, Some(now)),
        StepEnd::NoEffect => (StepMark::CancelledNoEffect, Some(now)),
        StepEnd::Ambiguous => (StepMark::AmbiguousEffect, None),
        StepEnd::AmbiguousAfterResume => (StepMark::AmbiguousAfterResume, None),
    };
    StepWrite { step: settlement.step, mark, result: settlement.message, finished_at }
}

/// What a note is about, in the journal's terms.
fn subject(note: &Note) -> Subject {
    match &note.about {
        About::Slot(slot) => Subject::Slot(slot.clone()),
        About::Group(group) => Subject::Group(group.clone()),
        About::Provider(provider) => Subject::Provider(provider.clone()),
    }
}
