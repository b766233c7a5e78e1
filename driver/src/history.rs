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
    next_event: u64,
}

impl History {
    /// Takes back the events that the journal shows, newest first.
    pub(crate) fn restore(events: Vec<EventView>, next_event: u64) -> Self {
        let mut kept = Events::default();
        events.into_iter().take(EVENTS).rev().for_each(|event| kept.push(Arc::new(event)));
        Self { passes: Passes::default(), events: kept, next_event }
    }

    /// Notes a pass.
    pub(crate) fn push_pass(&mut self, view: PassView, before: Vec<(LogicalNodeId, char)>) {
        self.passes.push(Arc::new(PassEntry { view, before }));
    }

    /// Notes an event; a repeat of the subject's newest one raises its count, as the journal does.
    pub(crate) fn push_event(&mut self, mut event: EventView) {
        let newest =
            self.events.iter().enumerate().find(|(_, known)| known.subject == event.subject);
        let repeated =
            newest.filter(|(_, known)| known.kind == event.kind && known.text == event.text);
        if let Some(known) = repeated.map(|(at, _)| at).and_then(|at| self.events.get_mut(at)) {
            let known = Arc::make_mut(known);
            known.count = known.count.saturating_add(1);
            known.at = event.at;
            known.pass = event.pass;
            return;
        }
        event.seq = self.next_event;
        self.next_event = self.next_event.saturating_add(1);
        self.events.push(Arc::new(event));
    }

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
