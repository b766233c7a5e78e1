//! Where each list of the console stands: selections are kept by what they are of, never by their place.

use driver::view::RunView;
use reconciler_core::id::{GroupId, PassNumber};

use super::{
    cursor::{Cursor, Items},
    layout::{self, Pane},
    model::{HoldId, Model},
    rows::RowId,
};

impl Model {
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
