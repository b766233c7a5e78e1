//! What a pass changed, as rows of the commit that makes it durable.

use std::collections::{BTreeSet, VecDeque};

use checkpoint::{
    event::{EventWrite, Subject},
    record::{GroupWrite, RecordWrite, RolloutWrite},
    step::StepWrite,
    store::{Commit, Ticket},
};
use reconciler_core::{
    fold::{About, Note, NoteKind, Settlement},
    id::{GroupId, LogicalNodeId},
    redact::Redacted,
    time::Timestamp,
};
use tracing::Level;

use crate::{pass::Tally, state::State, told::Told, view::EventView};

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
        let mut holds = self.cluster.take_dirty_groups();
        holds.append(&mut self.unwritten_holds);
        for group in holds {
            let hold = self.cluster.group(&group).and_then(|g| g.hold().cloned());
            self.note_health(&group, commit);
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
            // Every step of every node: for the journal, and too much for a log that people read.
            let is_step = matches!(note.what, NoteKind::Stage { .. } | NoteKind::Reaped);
            let level = if is_step { Level::DEBUG } else { Level::INFO };
            self.write_event(
                Told { level, subject, kind, text: Redacted::new(&text) },
                now,
                commit,
            );
        }
        let groups = changed.iter().map(|slot| &slot.group).chain(self.operations.going_back());
        let groups: BTreeSet<GroupId> = groups.cloned().collect();
        self.close_operations(&groups, now, commit);
    }

    /// Writes one event that people should read.
    pub(crate) fn tell(
        &mut self,
        subject: Subject,
        kind: &'static str,
        text: &str,
        now: Timestamp,
        commit: &mut Commit,
    ) {
        let text = Redacted::new(text);
        self.write_event(Told { level: Level::INFO, subject, kind, text }, now, commit);
    }

    /// Writes one event, keeps it for the lists, and notes it for the log.
    fn write_event(&mut self, told: Told, now: Timestamp, commit: &mut Commit) {
        let pass = self.counters.pass.next();
        let Told { subject, kind, text, .. } = &told;
        self.history.push_event(EventView {
            seq: 0,
            at: now,
            pass,
            subject: subject.to_string(),
            kind: (*kind).to_owned(),
            text: text.to_string(),
            count: 1,
        });
        let (subject, kind, text) = (subject.clone(), (*kind).into(), text.clone());
        commit.events.push(EventWrite { subject, kind, text, at: now, pass });
        self.told.push(told);
    }
}

/// Events on their way to the log, which has nothing that the journal refused.
#[derive(Default)]
pub(crate) struct Untold {
    waiting: VecDeque<(Ticket, Vec<Told>)>,
    kept: Vec<Told>,
}

impl Untold {
    /// Takes the events of the commit that got `ticket`.
    pub(crate) fn wait(&mut self, ticket: Ticket, told: Vec<Told>) {
        if !told.is_empty() {
            self.waiting.push_back((ticket, told));
        }
    }

    /// Notes that the commits up to `ticket` were answered; `is_kept` says how for the last one.
    pub(crate) fn settle(&mut self, ticket: Ticket, is_kept: bool) {
        while self.waiting.front().is_some_and(|(waits, _)| *waits <= ticket) {
            let Some((_, told)) = self.waiting.pop_front() else { return };
            if is_kept {
                self.kept.extend(told);
            }
        }
    }

    /// True if something was kept that is not logged yet.
    pub(crate) fn is_due(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Logs what was kept since the last call. A log may be slow: nothing that is decided waits for it.
    pub(crate) fn log(&mut self) {
        for Told { level, subject, kind, text } in self.kept.drain(..) {
            if level == Level::DEBUG {
                tracing::debug!(%subject, kind, "{text}");
            } else {
                tracing::info!(%subject, kind, "{text}");
            }
        }
    }
}

fn step_write(settlement: Settlement, now: Timestamp) -> StepWrite {
    let Settlement { step, end, failure, message: result, .. } = settlement;
    let finished_at = (!end.is_open()).then_some(now);
    StepWrite { step, mark: end.mark(), failure, result, finished_at }
}

/// What a note is about, in the journal's terms.
fn subject(note: &Note) -> Subject {
    match &note.about {
        About::Slot(slot) => Subject::Slot(slot.clone()),
        About::Group(group) => Subject::Group(group.clone()),
        About::Provider(provider) => Subject::Provider(provider.clone()),
    }
}
