//! What a box over the panes shows: a title, lines that scroll, and a foot that stays.

use super::paint::Line;
use crate::console::palette::Role;

/// What a box shows.
pub(super) struct Content {
    /// Its title.
    pub(super) title: String,
    /// What scrolls.
    pub(super) body: Vec<Line>,
    /// What stays.
    pub(super) foot: Vec<Line>,
}

/// A blank line and one that names keys.
pub(super) fn keys(keys: &[(&str, &str)]) -> Vec<Line> {
    let mut line = Line::default();
    for (key, what) in keys {
        line = line.and(Role::Strong, *key).and(Role::Plain, format!(" {what}   "));
    }
    vec![Line::default(), line]
}
