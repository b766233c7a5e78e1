//! The table of keys.

use super::intent::{App, Intent, Look, Move, Say, Scope, Typing, Verb};
use crate::console::{layout::Pane, message::Key};

/// One line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Binding {
    /// Where it holds.
    pub(crate) scope: Scope,
    /// The keys.
    pub(crate) keys: &'static [Key],
    /// How the keys are written.
    pub(crate) shown: &'static str,
    /// What they mean.
    pub(crate) intent: Intent,
    /// What that is, for the help; empty where the line above says it.
    pub(crate) what: &'static str,
    /// The word for the footer; empty if it is not shown there.
    pub(crate) hint: &'static str,
    /// True if it edits, so that a read-only console hides it.
    pub(crate) edits: bool,
}

const fn bind(
    scope: Scope,
    keys: &'static [Key],
    shown: &'static str,
    intent: Intent,
    what: &'static str,
    hint: &'static str,
) -> Binding {
    let says = matches!(intent, Intent::Say(Say::Apply | Say::Yes | Say::Replan));
    let edits = matches!(intent, Intent::Edit(_)) || (says && !matches!(scope, Scope::Leaving));
    Binding { scope, keys, shown, intent, what, hint, edits }
}

use Intent as I;
use Key::{Char, Ctrl};
use Scope as S;

pub(super) static TABLE: &[Binding] = &[
    bind(S::Counts, &[Char('+')], "+ -", I::Edit(Verb::Nudge(1)), "one more, one fewer", "want"),
    bind(S::Counts, &[Char('-')], "", I::Edit(Verb::Nudge(-1)), "", ""),
    bind(S::Counts, &[Char('>')], "> <", I::Edit(Verb::Nudge(10)), "ten more, ten fewer", ""),
    bind(S::Counts, &[Char('<')], "", I::Edit(Verb::Nudge(-10)), "", ""),
    bind(S::Counts, &[Char('=')], "=", I::Edit(Verb::Count), "type a count", ""),
    bind(S::Counts, &[Char('u')], "u", I::Edit(Verb::Undo), "undo the last edit", ""),
    bind(S::Counts, &[Char('U')], "U", I::Edit(Verb::Discard), "drop the whole draft", ""),
    bind(
        S::Browse,
        &[Char('p')],
        "p",
        I::Edit(Verb::Preview),
        "show the plan of the draft",
        "plan",
    ),
    bind(
        S::Holds,
        &[Char('r')],
        "r",
        I::Edit(Verb::Release),
        "look anew at what is held, and release it",
        "release",
    ),
    bind(
        S::Holds,
        &[Char('v')],
        "v",
        I::Edit(Verb::Recover),
        "open operations: resume, roll back, release",
        "recover",
    ),
    bind(S::Browse, &[Char('?')], "?", I::Look(Look::Help), "these keys", "help"),
    bind(S::Browse, &[Char('q')], "q", I::Look(Look::Quit), "quit", "quit"),
    bind(
        S::Browse,
        &[Char('/')],
        "/",
        I::Look(Look::Filter),
        "filter: words, re: stage: group: hold: age> !",
        "filter",
    ),
    bind(
        S::Browse,
        &[Key::Enter, Key::Right, Char('l')],
        "Enter",
        I::Look(Look::Open),
        "details; fold a group",
        "detail",
    ),
    bind(S::Browse, &[Char('1')], "1-5", I::Look(Look::Pane(Pane::Groups)), "go to a pane", "pane"),
    bind(S::Browse, &[Char('2')], "", I::Look(Look::Pane(Pane::Fleet)), "", ""),
    bind(S::Browse, &[Char('3')], "", I::Look(Look::Pane(Pane::Passes)), "", ""),
    bind(S::Browse, &[Char('4')], "", I::Look(Look::Pane(Pane::Events)), "", ""),
    bind(S::Browse, &[Char('5')], "", I::Look(Look::Pane(Pane::Holds)), "", ""),
    bind(S::Browse, &[Char('x')], "x", I::Look(Look::Problems), "only what is wrong", "problems"),
    bind(S::Browse, &[Char(' ')], "space", I::Look(Look::Pause), "freeze the view", "pause"),
    bind(S::Browse, &[Char(':')], ":", I::Look(Look::Command), "a command by its name", "command"),
    bind(
        S::Browse,
        &[Char('[')],
        "[ ]",
        I::Look(Look::Backward),
        "the fleet as of the pass before, after",
        "past",
    ),
    bind(S::Browse, &[Char(']')], "", I::Look(Look::Forward), "", ""),
    bind(
        S::Browse,
        &[Char('o')],
        "o",
        I::Look(Look::Overview),
        "groups as stages, a letter for each node",
        "overview",
    ),
    bind(
        S::Browse,
        &[Char('s')],
        "s S",
        I::Look(Look::Sort),
        "by slot, stage, age, trouble; the other way round",
        "",
    ),
    bind(S::Browse, &[Char('S')], "", I::Look(Look::Reverse), "", ""),
    bind(
        S::Browse,
        &[Char('c')],
        "c",
        I::Look(Look::Copy),
        "copy what is selected; of a hold, its command",
        "",
    ),
    bind(S::Browse, &[Char('n')], "n N", I::Look(Look::NextMatch), "next, previous match", ""),
    bind(S::Browse, &[Char('N')], "", I::Look(Look::PriorMatch), "", ""),
    bind(S::Browse, &[Char('f')], "f", I::Look(Look::Follow), "follow the newest, or stay", ""),
    bind(S::Browse, &[Char('w')], "w", I::Look(Look::Wrap), "the whole text of an event", ""),
    bind(S::Browse, &[Char('e')], "e", I::Look(Look::Save), "write what is shown into files", ""),
    bind(S::Browse, &[Char('t')], "t", I::Look(Look::Zone), "times of day here, or in UTC", ""),
    bind(
        S::Browse,
        &[Char('m')],
        "m",
        I::Look(Look::Mouse),
        "mouse on, off; Shift and drag selects text",
        "",
    ),
    bind(S::Browse, &[Char('R')], "R", I::Look(Look::Reconnect), "ask the driver anew, now", ""),
    bind(
        S::Browse,
        &[Char('W')],
        "W",
        I::Edit(Verb::WriteBack),
        "write live counts into the file",
        "",
    ),
    bind(S::Browse, &[Key::Tab], "Tab", I::Look(Look::NextPane), "next pane", ""),
    bind(S::Browse, &[Key::BackTab], "S-Tab", I::Look(Look::PriorPane), "pane before", ""),
    bind(
        S::Browse,
        &[Key::Esc, Key::Left, Char('h')],
        "Esc",
        I::Say(Say::Back),
        "back to the present; drop the filter",
        "",
    ),
    bind(
        S::Prompt,
        &[Char('a')],
        "a",
        I::Say(Say::Apply),
        "apply, if it only makes nodes",
        "apply",
    ),
    bind(S::Prompt, &[Char('y')], "y", I::Say(Say::Yes), "apply, if it destroys", "yes"),
    bind(S::Prompt, &[Key::Tab, Key::BackTab], "Tab", I::Say(Say::Switch), "the other button", ""),
    bind(S::Prompt, &[Key::Enter], "Enter", I::Say(Say::Accept), "press the button", "press"),
    bind(S::Prompt, &[Char('r')], "r", I::Say(Say::Replan), "plan again", "re-plan"),
    bind(S::Prompt, &[Char('c')], "c", I::Look(Look::Copy), "copy the whole hash", ""),
    bind(
        S::Prompt,
        &[Key::Esc, Char('n'), Char('q')],
        "Esc",
        I::Say(Say::Back),
        "keep the draft",
        "cancel",
    ),
    bind(
        S::Typed,
        &[Key::Enter],
        "Enter",
        I::Say(Say::Accept),
        "apply, once the name stands there",
        "apply",
    ),
    bind(
        S::Typed,
        &[Key::Backspace],
        "Backspace",
        I::Text(Typing::Erase),
        "take a letter back",
        "",
    ),
    bind(S::Typed, &[Ctrl('w')], "Ctrl-W", I::Text(Typing::Clear), "take the name back", ""),
    bind(S::Typed, &[Key::Esc], "Esc", I::Say(Say::Back), "keep the draft", "cancel"),
    bind(S::Typed, &[Ctrl('r')], "Ctrl-R", I::Say(Say::Replan), "plan again", "re-plan"),
    bind(S::Answer, &[Char('r')], "r", I::Say(Say::Replan), "plan again", "re-plan"),
    bind(S::Answer, &[Key::Enter], "Enter", I::Say(Say::Accept), "close what is over", ""),
    bind(
        S::Answer,
        &[Key::Esc, Char('q')],
        "Esc",
        I::Say(Say::Back),
        "close; what was sent goes on",
        "close",
    ),
    bind(
        S::Reading,
        &[Key::Esc, Key::Left, Char('q'), Char('h'), Char('?')],
        "Esc",
        I::Say(Say::Back),
        "close",
        "close",
    ),
    bind(S::Reading, &[Char('c')], "c", I::Look(Look::Copy), "copy the text", "copy"),
    bind(
        S::Reading,
        &[Char('d')],
        "d",
        I::Look(Look::Raw),
        "a node as fleet text, or in words",
        "",
    ),
    bind(S::Reading, &[Char('[')], "[ ]", I::Look(Look::Backward), "the pass before, after", ""),
    bind(S::Reading, &[Char(']')], "", I::Look(Look::Forward), "", ""),
    bind(S::Choice, &[Key::Enter], "Enter", I::Say(Say::Accept), "show its plan", "plan"),
    bind(S::Choice, &[Key::Esc, Char('q')], "Esc", I::Say(Say::Back), "close", "close"),
    bind(S::Asked, &[Char('y')], "y", I::Say(Say::Yes), "write the file", "write"),
    bind(
        S::Asked,
        &[Key::Esc, Char('n'), Char('q')],
        "Esc",
        I::Say(Say::Back),
        "leave the file alone",
        "cancel",
    ),
    bind(S::Leaving, &[Char('y')], "y", I::Say(Say::Yes), "quit", "quit"),
    bind(S::Leaving, &[Key::Esc, Char('n'), Char('q')], "Esc", I::Say(Say::Back), "stay", "stay"),
    bind(S::Entry, &[Key::Enter], "Enter", I::Say(Say::Accept), "take it", "take it"),
    bind(
        S::Entry,
        &[Key::Backspace],
        "Backspace",
        I::Text(Typing::Erase),
        "take a letter back",
        "",
    ),
    bind(S::Entry, &[Ctrl('u')], "Ctrl-U", I::Text(Typing::Clear), "take all of it back", ""),
    bind(S::Entry, &[Key::Tab], "Tab", I::Text(Typing::Complete), "complete a command", "complete"),
    bind(S::Entry, &[Key::Esc], "Esc", I::Say(Say::Back), "leave it as it was", "cancel"),
    bind(S::Letters, &[Char('j')], "j k", I::Move(Move::Down), "down, up", "move"),
    bind(S::Letters, &[Char('k')], "", I::Move(Move::Up), "", ""),
    bind(S::Letters, &[Char('g')], "g G", I::Move(Move::First), "first, last", ""),
    bind(S::Letters, &[Char('G')], "", I::Move(Move::Last), "", ""),
    bind(S::Scroll, &[Key::Down], "arrows", I::Move(Move::Down), "down, up", ""),
    bind(S::Scroll, &[Key::Up], "", I::Move(Move::Up), "", ""),
    bind(S::Scroll, &[Key::PageDown], "PgUp PgDn", I::Move(Move::PageDown), "a page", ""),
    bind(S::Scroll, &[Key::PageUp], "", I::Move(Move::PageUp), "", ""),
    bind(S::Scroll, &[Ctrl('d')], "Ctrl-D Ctrl-U", I::Move(Move::HalfDown), "half a page", ""),
    bind(S::Scroll, &[Ctrl('u')], "", I::Move(Move::HalfUp), "", ""),
    bind(S::Scroll, &[Key::Home], "Home End", I::Move(Move::First), "first, last", ""),
    bind(S::Scroll, &[Key::End], "", I::Move(Move::Last), "", ""),
    bind(S::Always, &[Ctrl('c')], "Ctrl-C", I::App(App::Interrupt), "twice: quit", ""),
    bind(S::Always, &[Ctrl('l')], "Ctrl-L", I::App(App::Redraw), "paint anew", ""),
    bind(
        S::Always,
        &[Ctrl('z')],
        "Ctrl-Z",
        I::App(App::Suspend),
        "stop for now; `fg` continues",
        "",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::keymap::{Context, Keymap};

    #[test]
    fn no_key_means_two_things_in_one_context() {
        for context in Context::ALL {
            let mut seen: Vec<Key> = Vec::new();
            for scope in context.scopes() {
                for key in TABLE.iter().filter(|it| it.scope == *scope).flat_map(|it| it.keys) {
                    assert!(!seen.contains(key), "{key:?} twice in {context:?}");
                    seen.push(*key);
                }
            }
        }
    }

    #[test]
    fn reserved_keys_are_never_bound_and_erasing_is_never_a_verb() {
        for binding in TABLE {
            for key in binding.keys {
                assert!(!key.is_reserved(), "{key:?}");
                assert!(*key != Key::Backspace || binding.intent == Intent::Text(Typing::Erase));
            }
        }
    }

    #[test]
    fn a_text_field_takes_every_letter() {
        for c in ('a'..='z').chain('0'..='9').chain(['-', ' ', '/', '?']) {
            for context in [Context::Typed, Context::Entry] {
                let typed = Keymap::default().intent(context, Char(c));
                assert_eq!(typed, Some(Intent::Text(Typing::Char(c))));
            }
        }
    }
}
