//! What the console is told once, at its start, and how the environment decides colours and glyphs.

use super::keymap::Keymap;
use crate::place::Place;

/// How the console was started.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Options {
    /// Draw with ASCII alone.
    pub ascii: bool,
    /// Which palette.
    pub color: Color,
    /// Refuse every edit.
    pub read_only: bool,
    /// True if the driver lives in this process and ends with it.
    pub embedded: bool,
    /// How many seconds east of Greenwich times of day are told.
    pub offset: i32,
    /// Who acts, such as `op:alice`.
    pub who: String,
    /// Where the run is, for the commands that are shown.
    pub place: Place,
    /// Which key means what.
    pub keys: Keymap,
    /// Wrap frames so that a terminal shows each at once.
    pub sync: bool,
}

/// A palette.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// Bold, reverse and underline only.
    Mono,
    /// The terminal's own sixteen colours on its own background.
    Sixteen,
    /// The same without red and green: blue is as wanted, yellow is not.
    Blind,
}

impl Color {
    /// Chooses by the values of `NO_COLOR`, then `CLICOLOR_FORCE`, then `TERM`.
    pub fn from_env(no_color: Option<&str>, forced: Option<&str>, term: Option<&str>) -> Self {
        if no_color.is_some_and(|value| !value.is_empty()) {
            return Self::Mono;
        }
        let forced = forced.is_some_and(|value| !value.is_empty() && value != "0");
        let plain = term.is_none_or(|term| term.is_empty() || term.ends_with("-m"));
        if plain && !forced { Self::Mono } else { Self::Sixteen }
    }
}

/// True if ASCII glyphs are due: the locale (the first of `LC_ALL`, `LC_CTYPE`, `LANG` that is set) is not
/// UTF-8, or is one in which box lines and circles may be two columns wide.
pub fn ascii_from_locale(values: [Option<&str>; 3]) -> bool {
    let Some(locale) = values.into_iter().flatten().find(|value| !value.is_empty()) else {
        return true;
    };
    let locale = locale.to_ascii_lowercase();
    let utf8 = locale.contains("utf-8") || locale.contains("utf8");
    !utf8 || ["zh", "ja", "ko"].iter().any(|wide| locale.starts_with(wide))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_no_color_does_not_count() {
        assert_eq!(Color::from_env(Some(""), None, Some("xterm")), Color::Sixteen);
        assert_eq!(Color::from_env(Some("1"), None, Some("xterm")), Color::Mono);
        assert_eq!(Color::from_env(None, None, None), Color::Mono);
    }

    #[test]
    fn colours_that_are_forced_give_way_to_a_refusal_alone() {
        assert_eq!(Color::from_env(None, Some("1"), Some("vt220-m")), Color::Sixteen);
        assert_eq!(Color::from_env(None, Some("0"), Some("vt220-m")), Color::Mono);
        assert_eq!(Color::from_env(Some("1"), Some("1"), Some("xterm")), Color::Mono);
    }

    #[test]
    fn glyphs_follow_the_first_locale_that_is_set() {
        assert!(!ascii_from_locale([None, Some(""), Some("de_DE.UTF-8")]));
        assert!(ascii_from_locale([Some("C"), None, Some("de_DE.UTF-8")]));
        assert!(ascii_from_locale([None, None, None]));
        assert!(ascii_from_locale([None, None, Some("ja_JP.UTF-8")]));
    }
}
