//! What the console is told once, at its start, and how the environment decides colours and glyphs.

use crate::place::Place;

/// How the console was started.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// Chooses by the values of `NO_COLOR` and `TERM`.
    pub fn from_env(no_color: Option<&str>, term: Option<&str>) -> Self {
        let refused = no_color.is_some_and(|value| !value.is_empty());
        let plain = term.is_none_or(|term| term.is_empty() || term.ends_with("-m"));
        if refused || plain { Self::Mono } else { Self::Sixteen }
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
        assert_eq!(Color::from_env(Some(""), Some("xterm")), Color::Sixteen);
        assert_eq!(Color::from_env(Some("1"), Some("xterm")), Color::Mono);
        assert_eq!(Color::from_env(None, None), Color::Mono);
    }

    #[test]
    fn glyphs_follow_the_first_locale_that_is_set() {
        assert!(!ascii_from_locale([None, Some(""), Some("de_DE.UTF-8")]));
        assert!(ascii_from_locale([Some("C"), None, Some("de_DE.UTF-8")]));
        assert!(ascii_from_locale([None, None, None]));
        assert!(ascii_from_locale([None, None, Some("ja_JP.UTF-8")]));
    }
}
