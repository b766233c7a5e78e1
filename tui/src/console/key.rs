//! A key as the console knows it, and as it is written in help and in the file that binds others.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::text::clean;

/// A key as the console knows it; what is not listed is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Key {
    /// A printed character.
    Char(char),
    /// A letter with Control.
    Ctrl(char),
    /// Enter.
    Enter,
    /// Escape.
    Esc,
    /// Tab.
    Tab,
    /// Shift and Tab.
    BackTab,
    /// Backspace; never a verb.
    Backspace,
    /// Up.
    Up,
    /// Down.
    Down,
    /// Left.
    Left,
    /// Right.
    Right,
    /// Home.
    Home,
    /// End.
    End,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
}

/// The keys that are no characters, by their names.
const NAMED: [(&str, Key); 15] = [
    ("space", Key::Char(' ')),
    ("Enter", Key::Enter),
    ("Esc", Key::Esc),
    ("Tab", Key::Tab),
    ("S-Tab", Key::BackTab),
    ("Backspace", Key::Backspace),
    ("Up", Key::Up),
    ("Down", Key::Down),
    ("Left", Key::Left),
    ("Right", Key::Right),
    ("Home", Key::Home),
    ("End", Key::End),
    ("PgUp", Key::PageUp),
    ("PgDn", Key::PageDown),
    ("shift-tab", Key::BackTab),
];

/// Letters that with Control are other keys, or belong to terminals and to what multiplexes them.
const NOT_OURS: [char; 10] = ['a', 'b', 's', 'q', '\\', 'h', 'i', 'j', 'm', '['];

impl Key {
    /// True for what a terminal, or what runs between it and the console, keeps for itself.
    pub(crate) fn is_reserved(self) -> bool {
        matches!(self, Self::Ctrl(letter) if NOT_OURS.contains(&letter))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Ctrl(letter) => return write!(f, "Ctrl-{}", letter.to_ascii_uppercase()),
            Self::Char(' ') => "space",
            Self::Char(c) => return write!(f, "{c}"),
            Self::Enter => "Enter",
            Self::Esc => "Esc",
            Self::Tab => "Tab",
            Self::BackTab => "S-Tab",
            Self::Backspace => "Backspace",
            Self::Up => "Up",
            Self::Down => "Down",
            Self::Left => "Left",
            Self::Right => "Right",
            Self::Home => "Home",
            Self::End => "End",
            Self::PageUp => "PgUp",
            Self::PageDown => "PgDn",
        };
        f.write_str(name)
    }
}

/// A text that names no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no key is called so; write one character, Ctrl- and a letter, space, Enter, Esc, Tab, S-Tab, Backspace, Up, Down, Left, Right, Home, End, PgUp or PgDn"
)]
pub struct UnknownKey;

impl FromStr for Key {
    type Err = UnknownKey;

    fn from_str(text: &str) -> Result<Self, UnknownKey> {
        let mut chars = text.chars();
        if let (Some(c), None) = (chars.next(), chars.next()) {
            // What a terminal could not show as it is would be told by no help.
            return if clean(text, false) == text { Ok(Self::Char(c)) } else { Err(UnknownKey) };
        }
        if let Some((_, key)) = NAMED.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) {
            return Ok(*key);
        }
        let (held, letter) = text.split_once('-').ok_or(UnknownKey)?;
        let mut letters = letter.chars();
        match (letters.next(), letters.next()) {
            (Some(letter), None)
                if held.eq_ignore_ascii_case("ctrl") && letter.is_ascii_graphic() =>
            {
                Ok(Self::Ctrl(letter.to_ascii_lowercase()))
            }
            _ => Err(UnknownKey),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_is_written() {
        let others = ['x', 'X', '-', '[', '?'].map(Key::Char);
        for key in NAMED.iter().map(|(_, key)| *key).chain(others).chain([Key::Ctrl('r')]) {
            assert_eq!(key.to_string().parse(), Ok(key));
        }
        assert_eq!("ctrl-R".parse(), Ok(Key::Ctrl('r')));
        assert_eq!("SPACE".parse(), Ok(Key::Char(' ')));
        for bad in ["", "xx", "alt-x", "ctrl-", "ctrl-xx", "f12", "\u{1b}", "\u{202e}", "\u{200d}"]
        {
            assert_eq!(bad.parse::<Key>(), Err(UnknownKey), "{bad:?}");
        }
    }
}
