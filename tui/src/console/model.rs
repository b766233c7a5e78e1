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
    cursor::{Cursor, Items},
    draft::Draft,
    filter::Filter,
    glyphs::Glyphs,
    layout::{self, Layout},
    link::Lost,
    message::Moment,
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
    pub(crate) rows: Rows,
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
            rows: Rows::default(),
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

    /// Lists the fleet's rows anew; due when snapshot, filter or folding changed.
    pub(crate) fn relist(&mut self) {
        let sieve = Sieve {
            filter: &self.filter,
            problems: self.problems,
            folded: &self.folded,
            order: self.order,
            headings: self.overview,
        };
        self.rows = self.shown.as_deref().map(|view| Rows::new(view, sieve)).unwrap_or_default();
        self.census = self.shown.as_deref().map(Census::of).unwrap_or_default();
        self.settle();
    }

    /// Finds every selection again; due after anything that moves rows or changes the screen.
    pub(crate) fn settle(&mut self) {
        for pane in Pane::ALL {
            self.steer(pane, None);
        }
    }

    /// Selects the place `to` of a pane's list, or finds its selection again.
    pub(crate) fn steer(&mut self, pane: Pane, to: Option<usize>) {
        let Some(view) = self.shown.clone() else { return };
        let height = self.list_height(pane);
        match pane {
            Pane::Groups => move_to(
                &mut self.groups,
                to,
                &Items {
                    len: view.groups.len(),
                    height,
                    find: |id: &GroupId| view.groups.iter().position(|group| group.group == *id),
                    name: |at: usize| view.groups.get(at).map(|group| group.group.clone()),
                },
            ),
            Pane::Fleet => move_to(
                &mut self.fleet,
                to,
                &Items {
                    len: self.rows.len(),
                    height,
                    find: |id: &RowId| self.rows.find(&view, id),
                    name: |at: usize| self.rows.id(&view, at),
                },
            ),
            Pane::Passes => move_to(
                &mut self.passes,
                to,
                &Items {
                    len: view.passes.len(),
                    height,
                    find: |id: &PassNumber| view.passes.iter().position(|pass| pass.pass == *id),
                    name: |at: usize| view.passes.get(at).map(|pass| pass.pass),
                },
            ),
            Pane::Events => move_to(
                &mut self.events,
                to,
                &Items {
                    len: view.events.len(),
                    height,
                    find: |id: &u64| view.events.iter().position(|event| event.seq == *id),
                    name: |at: usize| view.events.get(at).map(|event| event.seq),
                },
            ),
            Pane::Holds => move_to(
                &mut self.holds,
                to,
                &Items {
                    len: view.holds.len(),
                    height,
                    find: |id: &HoldId| {
                        view.holds.iter().position(|hold| hold.subject == id.0 && hold.code == id.1)
                    },
                    name: |at: usize| {
                        view.holds.get(at).map(|hold| (hold.subject.clone(), hold.code))
                    },
                },
            ),
        }
    }

    /// How many rows of a pane's list are seen.
    pub(crate) fn list_height(&self, pane: Pane) -> usize {
        let layout = self.layout();
        if pane == Pane::Fleet && self.overview {
            let inside = layout.pane(pane, self.pane).map(|frame| layout.inside(frame));
            return usize::from(layout::overview(inside.unwrap_or_default()).0.height)
                .saturating_sub(1);
        }
        layout.list_height(pane, self.pane)
    }

    /// The first row of the focused list that is seen, and how long it is.
    pub(crate) fn focus_top(&self) -> (usize, usize) {
        let top = match self.pane {
            Pane::Groups => self.groups.top(),
            Pane::Fleet => self.fleet.top(),
            Pane::Passes => self.passes.top(),
            Pane::Events => self.events.top(),
            Pane::Holds => self.holds.top(),
        };
        (top, self.focus_place().1)
    }

    /// Where the focused list stands, and how long it is.
    pub(crate) fn focus_place(&self) -> (usize, usize) {
        let view = self.shown.as_deref();
        let count = |of: fn(&RunView) -> usize| view.map_or(0, of);
        match self.pane {
            Pane::Groups => (self.groups.at(), count(|view| view.groups.len())),
            Pane::Fleet => (self.fleet.at(), self.rows.len()),
            Pane::Passes => (self.passes.at(), count(|view| view.passes.len())),
            Pane::Events => (self.events.at(), count(|view| view.events.len())),
            Pane::Holds => (self.holds.at(), count(|view| view.holds.len())),
        }
    }
}

fn move_to<Id, F, N>(cursor: &mut Cursor<Id>, to: Option<usize>, items: &Items<F, N>)
where
    Id: Clone + PartialEq,
    F: Fn(&Id) -> Option<usize>,
    N: Fn(usize) -> Option<Id>,
{
    match to {
        Some(to) => cursor.go(to, items),
        None => cursor.settle(items),
    }
}
