//! Everything that the console knows; what is on the screen is a function of it and nothing else.

use std::{collections::BTreeSet, sync::Arc};

use driver::view::{Edit, GroupView, NodeView, RunView};
use ratatui::layout::Rect;
use reconciler_core::{
    hold::HoldCode,
    id::{GroupId, LogicalNodeId, PassNumber},
    time::{Millis, Timestamp},
};

use super::{
    census::Census,
    clock::Zone,
    cursor::Cursor,
    draft::Draft,
    filter::Filter,
    glyphs::Glyphs,
    keymap::Context,
    layout::Layout,
    link::Lost,
    message::{Moment, Perf},
    options::Options,
    order::Order,
    palette::Palette,
    popup::{Entry, Pending, PlanStage, Popup},
    rows::{Rows, Sieve},
};
pub use super::{layout::Pane, rows::RowId};

/// How the link stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// Nothing was heard yet.
    Connecting,
    /// Snapshots come.
    Live,
    /// They may come, and nothing did since then.
    Lagging(Timestamp),
    /// They do not.
    Lost(Lost),
}

/// A note in the footer that goes by itself.
#[derive(Clone, Debug)]
pub(crate) struct Flash {
    /// What it says.
    pub(crate) text: String,
    /// When it goes, by the steady clock.
    pub(crate) until: Millis,
}

/// Which hold: the slot or group, and why.
pub(crate) type HoldId = (String, HoldCode);

/// The console's state.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Model {
    pub(crate) options: Options,
    pub(crate) screen: Rect,
    pub(crate) now: Moment,
    pub(crate) link: Link,
    pub(crate) live: Option<Arc<RunView>>,
    pub(crate) shown: Option<Arc<RunView>>,
    pub(crate) paused: bool,
    /// The pass whose end is shown, while it is not the present.
    pub(crate) past: Option<PassNumber>,
    pub(crate) order: Order,
    pub(crate) overview: bool,
    /// True if the selected event shows its whole text.
    pub(crate) wraps: bool,
    /// True if times of day are those of UTC, wherever this is.
    pub(crate) utc: bool,
    /// True if clicks and the wheel are taken, where they are of use.
    pub(crate) mouse: bool,
    pub(crate) pane: Pane,
    pub(crate) groups: Cursor<GroupId>,
    pub(crate) fleet: Cursor<RowId>,
    pub(crate) passes: Cursor<PassNumber>,
    pub(crate) events: Cursor<u64>,
    pub(crate) holds: Cursor<HoldId>,
    /// What frames cost, where that is shown.
    pub(crate) perf: Option<Perf>,
    /// Passes that were never seen here: the newest snapshot wins.
    pub(crate) skipped: u64,
    pub(crate) rows: Rows,
    /// When time alone changes which rows there are.
    pub(crate) rows_due: Option<Timestamp>,
    pub(crate) census: Census,
    pub(crate) folded: BTreeSet<GroupId>,
    pub(crate) filter: Filter,
    pub(crate) problems: bool,
    pub(crate) entry: Option<Entry>,
    pub(crate) draft: Draft,
    /// What a plan was last asked for.
    pub(crate) asked: Option<Edit>,
    pub(crate) popup: Option<Popup>,
    pub(crate) pending: Vec<Pending>,
    pub(crate) flash: Option<Flash>,
    pub(crate) last_key: Option<Millis>,
    pub(crate) last_interrupt: Option<Millis>,
    pub(crate) last_suspend: Option<Millis>,
    pub(crate) next_id: u64,
    pub(crate) dirty: bool,
}

impl Model {
    /// A console that has heard nothing yet, on a screen of the given size.
    pub fn new(options: Options, width: u16, height: u16) -> Self {
        Self {
            options,
            screen: Rect::new(0, 0, width, height),
            now: Moment::default(),
            link: Link::Connecting,
            live: None,
            shown: None,
            paused: false,
            past: None,
            order: Order::default(),
            overview: false,
            wraps: false,
            utc: false,
            mouse: false,
            pane: Pane::Fleet,
            groups: Cursor::new(),
            fleet: Cursor::new(),
            passes: Cursor::following(),
            events: Cursor::following(),
            holds: Cursor::new(),
            perf: None,
            skipped: 0,
            rows: Rows::default(),
            rows_due: None,
            census: Census::default(),
            folded: BTreeSet::new(),
            filter: Filter::default(),
            problems: false,
            entry: None,
            draft: Draft::default(),
            asked: None,
            popup: None,
            pending: Vec::new(),
            flash: None,
            last_key: None,
            last_interrupt: None,
            last_suspend: None,
            next_id: 1,
            dirty: true,
        }
    }

    /// True if the screen no longer shows the state; reading it marks it as shown.
    pub const fn take_dirty(&mut self) -> bool {
        let dirty = self.dirty;
        self.dirty = false;
        dirty
    }

    pub(crate) const fn is_dirty(&self) -> bool {
        self.dirty
    }

    pub(crate) const fn mark_dirty(&mut self) {
        self.dirty = true;
    }

    /// The focused pane.
    pub const fn pane(&self) -> Pane {
        self.pane
    }

    /// The selected row of the fleet table.
    pub const fn selected(&self) -> Option<&RowId> {
        self.fleet.selected()
    }

    /// True while something lies over the panes.
    pub const fn has_popup(&self) -> bool {
        self.popup.is_some()
    }

    /// Keys that are told over the panes, as they are bound here.
    pub(crate) fn keys(&self, usual: &str) -> String {
        self.options.keys.told(Context::Browse(self.pane), usual)
    }

    pub(crate) const fn glyphs(&self) -> Glyphs {
        Glyphs::new(self.options.ascii)
    }

    pub(crate) const fn palette(&self) -> Palette {
        Palette(self.options.color)
    }

    /// True while a driver can be asked.
    pub(crate) const fn is_linked(&self) -> bool {
        match self.link {
            Link::Live | Link::Lagging(_) => true,
            Link::Connecting | Link::Lost(_) => false,
        }
    }

    /// Where times of day are told.
    pub(crate) const fn zone(&self) -> Zone {
        if self.utc { Zone(0) } else { Zone(self.options.offset) }
    }

    /// True if the mouse is of use: what is there to be read is selected by the terminal itself.
    pub(crate) fn takes_mouse(&self) -> bool {
        self.mouse && self.popup.is_none() && self.pane != Pane::Events
    }

    pub(crate) fn layout(&self) -> Layout {
        Layout::of(self.screen)
    }

    pub(crate) fn flash(&mut self, text: impl Into<String>) {
        let until = Millis::new(self.now.mono.get().saturating_add(4_000));
        self.flash = Some(Flash { text: text.into(), until });
    }

    /// Begins a text field; what was told before is over.
    pub(crate) fn type_in(&mut self, entry: Entry) {
        self.flash = None;
        self.entry = Some(entry);
    }

    pub(crate) const fn take_id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id = id.saturating_add(1);
        id
    }

    /// The live view of a group, for edits.
    pub(crate) fn live_group(&self, id: &GroupId) -> Option<&GroupView> {
        self.live.as_ref()?.groups.iter().find(|group| group.group == *id)
    }

    /// The shown view of a slot; slots come in order.
    pub(crate) fn node(&self, slot: &LogicalNodeId) -> Option<&NodeView> {
        let nodes = &self.shown.as_ref()?.nodes;
        let at = nodes.binary_search_by(|node| node.slot.cmp(slot)).ok()?;
        nodes.get(at)
    }

    /// The group that a count key means, in the panes that select one.
    pub(crate) fn chosen_group(&self) -> Option<&GroupId> {
        match self.pane {
            Pane::Groups => self.groups.selected(),
            Pane::Fleet => self.fleet.selected().map(RowId::group),
            Pane::Passes | Pane::Events | Pane::Holds => None,
        }
    }

    /// True while an apply is without its answer.
    pub(crate) const fn is_applying(&self) -> bool {
        !self.pending.is_empty()
    }

    /// The stage of the plan on the screen.
    pub(crate) fn plan_stage(&self) -> Option<&PlanStage> {
        match &self.popup {
            Some(Popup::Plan { stage, .. }) => Some(stage),
            Some(
                Popup::Help { .. }
                | Popup::Detail { .. }
                | Popup::Release { .. }
                | Popup::Operations(_)
                | Popup::Pass { .. }
                | Popup::WriteBack
                | Popup::Quit,
            )
            | None => None,
        }
    }

    /// The time of which ages are told: of the past, its own.
    pub(crate) fn told_at(&self) -> Timestamp {
        let past = self.shown.as_deref().filter(|_| self.past.is_some());
        past.map_or(self.now.wall, |past| past.at)
    }

    /// Lists the fleet's rows anew; due when snapshot, filter or folding changed.
    pub(crate) fn relist(&mut self) {
        let now = self.told_at();
        let sieve = Sieve {
            filter: &self.filter,
            problems: self.problems,
            folded: &self.folded,
            order: self.order,
            headings: self.overview,
            now,
        };
        let shown = self.shown.as_deref();
        self.rows = shown.map(|view| Rows::new(view, sieve)).unwrap_or_default();
        let turns = shown.filter(|_| self.past.is_none());
        let turns = turns.and_then(|view| Rows::until_changes(view, sieve));
        self.rows_due = turns.map(|left| now.after(left));
        self.census = self.shown.as_deref().map(Census::of).unwrap_or_default();
        self.settle();
    }
}
