//! What a box over the panes shows: a title, lines that scroll, and a foot that stays.

use super::paint::Line;
use crate::console::{keymap::Context, model::Model, palette::Role};

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
///
/// They are given as they are bound usually, and told as they are bound here.
pub(super) fn keys(model: &Model, keys: &[(&str, &str)]) -> Vec<Line> {
    let mut line = Line::default();
    let context = Context::of(model);
    for (key, what) in keys {
        let key = model.options.keys.told(context, key);
        line = line.and(Role::Strong, key).and(Role::Plain, format!(" {what}   "));
    }
    vec![Line::default(), line]
}
