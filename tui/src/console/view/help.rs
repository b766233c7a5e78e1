//! The help, written by the table of keys itself, the focused pane first.

use super::{
    content::{Content, keys},
    paint::Line,
};
use crate::console::{
    keymap::{Context, Scope},
    model::Model,
    palette::Role,
    text,
};

/// The box of the help.
pub(super) fn content(model: &Model) -> Content {
    let here = Context::Browse(model.pane).scopes();
    let rest = Scope::ALL.iter().filter(|scope| !here.contains(scope));
    let mut body = Vec::new();
    let mut before = "";
    for scope in here.iter().chain(rest) {
        let bound = model.options.keys.bindings(*scope, model.options.read_only);
        let mut shown = bound.filter(|bound| !bound.of.what.is_empty()).peekable();
        if shown.peek().is_none() {
            continue;
        }
        if scope.title() != before {
            before = scope.title();
            body.push(Line::of(Role::Strong, before));
        }
        for binding in shown {
            let keys = format!("  {}", text::cell(&binding.shown, 14));
            body.push(Line::of(Role::Strong, keys).and(Role::Plain, binding.of.what));
        }
    }
    body.extend(legend());
    Content {
        title: format!("Keys in pane {}", model.pane.title()),
        body,
        foot: keys(model, &[("?", "close"), ("j k", "scroll")]),
    }
}

fn legend() -> Vec<Line> {
    let rows = [
        "N new  L lease  E endpoint  B bootstrap  H handed off  d dormant",
        "F failed  ? held  X being deleted  . not there",
        "the track is N-L-E-B-H; the ribbon has one letter per pass, the newest last;",
        "letters that may not follow each other are underlined",
    ];
    let head = Line::of(Role::Strong, "Letters");
    let rows = rows.into_iter().map(|row| Line::of(Role::Plain, format!("  {row}")));
    std::iter::once(head).chain(rows).collect()
}
