//! The last passes and events, in bounded rings: what the ribbon and the lists of the console are made of.

use std::{collections::BTreeMap, sync::Arc};

use reconciler_core::{
    id::LogicalNodeId,
    observed::{NodeRecord, StageName},
};

use crate::{
    ring::Ring,
    view::{EventView, PassView},
};

/// Passes that a ribbon can show.
pub(crate) const RIBBON_LEN: usize = 32;
/// Passes that the list shows.
const PASSES: usize = 100;
/// Events that the list shows; older ones are in the journal.
const EVENTS: usize = 200;

/// The last passes.
type Passes = Ring<PassEntry, PASSES>;
/// The last events.
type Events = Ring<EventView, EVENTS>;

/// The letter of a slot without a record.
const NOTHING: char = '.';

/// One pass and how it moved the slots.
#[derive(Debug)]
pub(crate) struct PassEntry {
    pub(crate) view: PassView,
    /// The letter of each slot that changed, before the pass.
    before: Vec<(LogicalNodeId, char)>,
}

/// The last passes and events; cloning shares them.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    passes: Passes,
    events: Events,
}

/// The history as it is written, which knows where the newest event of each subject stands.
#[derive(Debug, Default)]
pub(crate) struct Chronicle {
    history: History,
    next_event: u64,
    /// How many events were put into the ring.
    pushed: u64,
    /// Which of those is the newest of each subject; of those that left the ring some.
    newest: BTreeMap<String, u64>,
}

impl Chronicle {
    /// Takes back the events that the journal shows, newest first.
    pub(crate) fn restore(events: Vec<EventView>, next_event: u64) -> Self {
        let mut kept = Self { next_event, ..Self::default() };
        events.into_iter().take(EVENTS).rev().for_each(|event| kept.keep(event));
        kept
    }

    /// What there is to see of it.
    pub(crate) const fn history(&self) -> &History {
        &self.history
    }

    /// Notes a pass.
    pub(crate) fn push_pass(&mut self, view: PassView, before: Vec<(LogicalNodeId, char)>) {
        self.history.passes.push(Arc::new(PassEntry { view, before }));
    }

    /// Notes an event; a repeat of the subject's newest one raises its count, as the journal does.
    pub(crate) fn push_event(&mut self, mut event: EventView) {
        let age = self.newest.get(&event.subject).and_then(|at| self.age(*at));
        if let Some(known) = age.and_then(|age| self.history.events.get_mut(age))
            && (&known.kind, &known.text) == (&event.kind, &event.text)
        {
            let known = Arc::make_mut(known);
            known.count = known.count.saturating_add(1);
            known.at = event.at;
            known.pass = event.pass;
            return;
        }
        event.seq = self.next_event;
        self.next_event = self.next_event.saturating_add(1);
        self.keep(event);
    }

    fn keep(&mut self, event: EventView) {
        self.newest.insert(event.subject.clone(), self.pushed);
        self.history.events.push(Arc::new(event));
        self.pushed = self.pushed.saturating_add(1);
        // Now and then, so that a subject costs its share of a look through all of them.
        if self.newest.len() > EVENTS.saturating_mul(4) {
            let newest = std::mem::take(&mut self.newest);
            self.newest = newest.into_iter().filter(|(_, at)| self.age(*at).is_some()).collect();
        }
    }

    /// How many events came after the one that was put in as number `at`, as long as it is shown.
    fn age(&self, at: u64) -> Option<usize> {
        let later = self.pushed.saturating_sub(at).saturating_sub(1);
        usize::try_from(later).ok().filter(|age| *age < EVENTS)
    }
}

impl History {
    /// The passes, newest first.
    pub(crate) fn passes(&self) -> impl Iterator<Item = &PassView> {
        self.passes.iter().map(|entry| &entry.view)
    }

    /// The events, newest first.
    pub(crate) fn events(&self) -> impl Iterator<Item = &EventView> {
        self.events.iter()
    }

    /// The ribbon of every slot whose letter changed in the passes shown; for the others it is one letter.
    pub(crate) fn ribbons(&self) -> Ribbons {
        let shown = self.passes.iter().take(RIBBON_LEN).count();
        let mut changes: BTreeMap<LogicalNodeId, Vec<(usize, char)>> = BTreeMap::new();
        for (age, entry) in self.passes.iter().take(shown).enumerate() {
            for (slot, before) in &entry.before {
                changes.entry(slot.clone()).or_default().push((age, *before));
            }
        }
        Ribbons { shown, changes }
    }
}

/// How each slot's letter moved in the last passes.
pub(crate) struct Ribbons {
    shown: usize,
    changes: BTreeMap<LogicalNodeId, Vec<(usize, char)>>,
}

impl Ribbons {
    /// How many letters a ribbon has.
    pub(crate) const fn len(&self) -> usize {
        self.shown
    }

    /// The ribbon of `slot` that is `letter` now, oldest pass first.
    pub(crate) fn of(&self, slot: &LogicalNodeId, letter: char) -> String {
        let changes = self.changes.get(slot).map(Vec::as_slice).unwrap_or_default();
        let mut changes = changes.iter().peekable();
        let mut letters: Vec<char> = Vec::with_capacity(self.shown);
        let mut present = letter;
        for age in 0..self.shown {
            letters.push(present);
            if let Some((_, before)) = changes.next_if(|(at, _)| *at == age) {
                present = *before;
            }
        }
        letters.into_iter().rev().collect()
    }
}

/// The letter that stands for a slot in tracks, ribbons and histograms.
pub(crate) fn letter(record: Option<&NodeRecord>) -> char {
    let Some(record) = record else { return NOTHING };
    if record.hold.is_some() || record.ambiguity.is_some() {
        return '?';
    }
    if record.deletion.is_some() {
        return 'X';
    }
    match record.stage.name() {
        StageName::New | StageName::LeaseRequested => 'N',
        StageName::LeaseCreated => 'L',
        StageName::EndpointKnown => 'E',
        StageName::BootstrapRunning | StageName::SwactorJoined => 'B',
        StageName::HandedOff => 'H',
        StageName::Dormant => 'd',
        StageName::Failed | StageName::Destroyed => 'F',
    }
}

#[cfg(test)]
mod tests {
    use reconciler_core::{id::PassNumber, time::Timestamp};

    use super::*;

    fn event(subject: u64, text: u64) -> EventView {
        EventView {
            seq: 0,
            at: Timestamp::default(),
            pass: PassNumber::default(),
            subject: format!("web-{subject}"),
            kind: "stage".to_owned(),
            text: text.to_string(),
            count: 1,
        }
    }

    /// The plain way: whoever looks for the newest event of a subject looks through all that are shown.
    fn plainly(shown: &mut Vec<EventView>, next: &mut u64, event: EventView) {
        let newest = shown.iter_mut().find(|known| known.subject == event.subject);
        let same =
            |known: &&mut EventView| (&known.kind, &known.text) == (&event.kind, &event.text);
        if let Some(known) = newest.filter(same) {
            known.count += 1;
        } else {
            shown.insert(0, EventView { seq: *next, ..event });
            *next += 1;
        }
        shown.truncate(EVENTS);
    }

    /// R202: repeats are counted where they stand, however many subjects there are and wherever a driver took over.
    #[test]
    fn a_repeat_of_what_is_shown_is_counted() {
        for subjects in [1, 3, 150, 250, 2_000] {
            let (mut shown, mut next) = (Vec::new(), 7);
            let mut chronicle = Chronicle::restore(Vec::new(), next);
            for n in 0..3_000_u64 {
                let one = event((n * n) % subjects, n % 7 / 3);
                plainly(&mut shown, &mut next, one.clone());
                chronicle.push_event(one);
                if n % 1_000 == 999 {
                    chronicle = Chronicle::restore(shown.clone(), next);
                    // A driver that takes over counts on what the journal shows, its numbers with it.
                    let seqs: Vec<u64> = shown.iter().map(|event| event.seq).collect();
                    assert!(chronicle.history().events().map(|event| event.seq).eq(seqs));
                }
            }
            assert!(chronicle.history().events().eq(&shown), "{subjects}");
            assert!(chronicle.newest.len() <= EVENTS * 4);
        }
    }
}
