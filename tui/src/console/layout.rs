//! Where everything stands on a screen of a given size. Nothing is ever subtracted below zero.

use ratatui::layout::Rect;

/// One of the five panes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pane {
    /// The groups and their drafts.
    Groups,
    /// The nodes.
    Fleet,
    /// The last passes.
    Passes,
    /// The last events.
    Events,
    /// The open holds.
    Holds,
}

impl Pane {
    /// All five, in the order of their numbers.
    pub(crate) const ALL: [Self; 5] =
        [Self::Groups, Self::Fleet, Self::Passes, Self::Events, Self::Holds];

    /// Its title.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Groups => "Groups",
            Self::Fleet => "Fleet",
            Self::Passes => "Passes",
            Self::Events => "Events",
            Self::Holds => "Holds",
        }
    }

    /// Its number, from 1.
    pub(crate) const fn number(self) -> usize {
        match self {
            Self::Groups => 1,
            Self::Fleet => 2,
            Self::Passes => 3,
            Self::Events => 4,
            Self::Holds => 5,
        }
    }

    /// The one that is `by` further, around the end.
    pub(crate) fn step(self, by: usize) -> Self {
        let at = self.number().saturating_sub(1).saturating_add(by) % Self::ALL.len();
        Self::ALL.get(at).copied().unwrap_or(self)
    }
}

/// How much fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    /// Four panes at once.
    Full,
    /// One pane in a frame, with tabs.
    Compact,
    /// One pane without a frame.
    Minimal,
    /// Nothing but a note.
    TooSmall,
}

/// The areas of a screen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// How much fits.
    pub(crate) tier: Tier,
    /// The state of the run.
    pub(crate) header: Rect,
    /// The tabs; empty where all panes are seen.
    pub(crate) tabs: Rect,
    /// Between header and footer.
    pub(crate) body: Rect,
    /// Messages and keys.
    pub(crate) footer: Rect,
}

const SIDE_WIDTH: u16 = 38;
const FULL: (u16, u16) = (110, 30);
const COMPACT: (u16, u16) = (60, 16);
/// The smallest screen that shows a pane.
pub(crate) const MINIMAL: (u16, u16) = (40, 10);

impl Layout {
    /// Divides a screen.
    pub(crate) fn of(screen: Rect) -> Self {
        let fits = |(width, height)| screen.width >= width && screen.height >= height;
        let (tier, head, tab, foot) = if fits(FULL) {
            (Tier::Full, 2, 0, 2)
        } else if fits(COMPACT) {
            (Tier::Compact, 2, 1, 2)
        } else if fits(MINIMAL) {
            (Tier::Minimal, 1, 0, 1)
        } else {
            (Tier::TooSmall, 0, 0, 0)
        };
        let (header, rest) = split(screen, head);
        let (tabs, rest) = split(rest, tab);
        let (body, footer) = split(rest, rest.height.saturating_sub(foot));
        Self { tier, header, tabs, body, footer }
    }

    /// The frame of a pane, and whether it is seen while `focus` is focused.
    pub(crate) fn pane(&self, pane: Pane, focus: Pane) -> Option<Rect> {
        match self.tier {
            Tier::Full => self.tile(pane, focus),
            Tier::Compact | Tier::Minimal => (pane == focus).then_some(self.body),
            Tier::TooSmall => None,
        }
    }

    /// Holds and events share a tile; the holds come up when they are focused.
    fn tile(&self, pane: Pane, focus: Pane) -> Option<Rect> {
        let low = (self.body.height / 3).clamp(8, 14);
        let (top, bottom) = split(self.body, self.body.height.saturating_sub(low));
        let left = |area: Rect| Rect { width: SIDE_WIDTH.min(area.width), ..area };
        let right = |area: Rect| Rect {
            x: area.x.saturating_add(SIDE_WIDTH),
            width: area.width.saturating_sub(SIDE_WIDTH),
            ..area
        };
        match pane {
            Pane::Groups => Some(left(top)),
            Pane::Fleet => Some(right(top)),
            Pane::Passes => Some(left(bottom)),
            Pane::Events => (focus != Pane::Holds).then(|| right(bottom)),
            Pane::Holds => (focus == Pane::Holds).then(|| right(bottom)),
        }
    }

    /// What a frame leaves inside; the smallest tier has no frames.
    pub(crate) fn inside(&self, frame: Rect) -> Rect {
        if self.tier == Tier::Minimal {
            return frame;
        }
        Rect {
            x: frame.x.saturating_add(1),
            y: frame.y.saturating_add(1),
            width: frame.width.saturating_sub(2),
            height: frame.height.saturating_sub(2),
        }
    }

    /// How many rows of a pane's list are seen, below its column titles.
    pub(crate) fn list_height(&self, pane: Pane, focus: Pane) -> usize {
        let inside = self.pane(pane, focus).map(|frame| self.inside(frame)).unwrap_or_default();
        usize::from(list_part(pane, inside).0.height.saturating_sub(1))
    }
}

/// Divides the inside of a pane into its list and what explains the selection below it.
pub(crate) fn list_part(pane: Pane, inside: Rect) -> (Rect, Rect) {
    let below = match pane {
        Pane::Groups if inside.height >= 14 => 9,
        Pane::Holds if inside.height >= 6 => (inside.height / 2).min(6),
        Pane::Groups | Pane::Fleet | Pane::Passes | Pane::Events | Pane::Holds => 0,
    };
    split(inside, inside.height.saturating_sub(below))
}

/// Divides the inside of the fleet into its groups and the map of the selected one.
pub(crate) fn overview(inside: Rect) -> (Rect, Rect) {
    split(inside, (inside.height / 3).clamp(3, 12))
}

/// The first `height` rows, and the rest.
pub(crate) fn split(area: Rect, height: u16) -> (Rect, Rect) {
    let height = height.min(area.height);
    let upper = Rect { height, ..area };
    let lower = Rect {
        y: area.y.saturating_add(height),
        height: area.height.saturating_sub(height),
        ..area
    };
    (upper, lower)
}

/// A box of at most the given size in the middle of the screen; a small screen has no room for a margin.
pub(crate) fn centred(screen: Rect, width: u16, height: u16) -> Rect {
    let (across, down) = match Layout::of(screen).tier {
        Tier::Full | Tier::Compact => (4, 2),
        Tier::Minimal | Tier::TooSmall => (0, 0),
    };
    let width = width.min(screen.width.saturating_sub(across));
    let height = height.min(screen.height.saturating_sub(down));
    Rect {
        x: screen.x.saturating_add(screen.width.saturating_sub(width) / 2),
        y: screen.y.saturating_add(screen.height.saturating_sub(height) / 2),
        width,
        height,
    }
}
