//! What each role of a text looks like; the only place that knows a colour.
//!
//! Colour only repeats what letter, word and place say already. Mono emits none at all, because a terminal
//! library that drops colours under `NO_COLOR` resets reverse video with them.

use ratatui::style::{Color as Ansi, Modifier, Style};

use super::options::Color;

/// What a piece of text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Ordinary text.
    Plain,
    /// A heading, or what moved.
    Strong,
    /// What matters less.
    Faint,
    /// As wanted.
    Good,
    /// On its way.
    Busy,
    /// An edit that is not applied, or a caution.
    Draft,
    /// Failed.
    Bad,
    /// Held.
    Hold,
    /// The selected row of the focused pane.
    Selected,
    /// The frame of the focused pane.
    Focus,
}

/// A palette.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Palette(pub(crate) Color);

impl Palette {
    /// The style of a role.
    pub(crate) const fn of(self, role: Role) -> Style {
        let plain = Style::new();
        let colored = matches!(self.0, Color::Sixteen | Color::Blind);
        let blind = matches!(self.0, Color::Blind);
        match role {
            Role::Selected => plain.add_modifier(Modifier::REVERSED),
            Role::Hold => {
                let style = plain.add_modifier(Modifier::BOLD.union(Modifier::REVERSED));
                if colored { style.fg(Ansi::Magenta) } else { style }
            }
            Role::Faint if colored => plain.fg(Ansi::DarkGray),
            Role::Good if blind => plain.fg(Ansi::Blue),
            Role::Bad if blind => plain.fg(Ansi::Yellow).add_modifier(Modifier::BOLD),
            Role::Draft if blind => plain.fg(Ansi::White).add_modifier(Modifier::BOLD),
            Role::Good if colored => plain.fg(Ansi::Green),
            Role::Busy if colored => plain.fg(Ansi::Cyan),
            Role::Draft if colored => plain.fg(Ansi::Yellow).add_modifier(Modifier::BOLD),
            Role::Bad if colored => plain.fg(Ansi::Red).add_modifier(Modifier::BOLD),
            Role::Strong | Role::Focus | Role::Draft | Role::Bad => {
                plain.add_modifier(Modifier::BOLD)
            }
            Role::Plain | Role::Faint | Role::Good | Role::Busy => plain,
        }
    }
}
