//! The name of every action that a key can have, for the file that binds others; what can be typed behind a colon has
//! the same name there.

use super::intent::{App, Intent, Look, Move, Say, Typing, Verb};
use crate::console::layout::Pane;

/// The action's name within its scope.
pub(crate) const fn of(intent: Intent) -> &'static str {
    match intent {
        Intent::Move(by) => of_move(by),
        Intent::Look(look) => of_look(look),
        Intent::Edit(verb) => of_verb(verb),
        Intent::Say(say) => of_say(say),
        Intent::Text(Typing::Char(_)) => "type",
        Intent::Text(Typing::Erase) => "erase",
        Intent::Text(Typing::Clear) => "clear",
        Intent::Text(Typing::Complete) => "complete",
        Intent::App(App::Redraw) => "redraw",
        Intent::App(App::Suspend) => "suspend",
        Intent::App(App::Interrupt) => "interrupt",
    }
}

/// True for what keeps its key.
pub(crate) const fn is_fixed(intent: Intent) -> bool {
    matches!(intent, Intent::App(App::Interrupt))
}

const fn of_move(by: Move) -> &'static str {
    match by {
        Move::Up => "up",
        Move::Down => "down",
        Move::PageUp => "page-up",
        Move::PageDown => "page-down",
        Move::HalfUp => "half-up",
        Move::HalfDown => "half-down",
        Move::First => "first",
        Move::Last => "last",
    }
}

const fn of_look(look: Look) -> &'static str {
    match look {
        Look::Pane(Pane::Groups) => "groups",
        Look::Pane(Pane::Fleet) => "fleet",
        Look::Pane(Pane::Passes) => "passes",
        Look::Pane(Pane::Events) => "events",
        Look::Pane(Pane::Holds) => "holds",
        Look::NextPane => "next-pane",
        Look::PriorPane => "prior-pane",
        Look::Open => "open",
        Look::Filter => "filter",
        Look::Problems => "problems",
        Look::Pause => "pause",
        Look::Backward => "back",
        Look::Forward => "forward",
        Look::Sort => "sort",
        Look::Reverse => "reverse",
        Look::Overview => "overview",
        Look::Command => "command",
        Look::Copy => "copy",
        Look::Reconnect => "reconnect",
        Look::Save => "save",
        Look::Follow => "follow",
        Look::NextMatch => "match",
        Look::PriorMatch => "prior",
        Look::Wrap => "wrap",
        Look::Zone => "zone",
        Look::Mouse => "mouse",
        Look::Help => "help",
        Look::Quit => "quit",
        Look::Raw => "raw",
        Look::Perf => "perf",
    }
}

const fn of_verb(verb: Verb) -> &'static str {
    match verb {
        Verb::Nudge(1) => "more",
        Verb::Nudge(-1) => "fewer",
        Verb::Nudge(by) if by > 0 => "ten-more",
        Verb::Nudge(_) => "ten-fewer",
        Verb::Count => "count",
        Verb::Undo => "undo",
        Verb::Discard => "discard",
        Verb::Preview => "plan",
        Verb::Release => "release",
        Verb::Recover => "recovery",
        Verb::WriteBack => "write",
        Verb::Down => "down",
    }
}

const fn of_say(say: Say) -> &'static str {
    match say {
        Say::Apply => "apply",
        Say::Yes => "yes",
        Say::Accept => "accept",
        Say::Switch => "switch",
        Say::Replan => "replan",
        Say::Back => "leave",
    }
}
