//! Keys while a text is typed in the footer.

use super::gate::may_edit;
use crate::console::{
    filter::Filter,
    keymap::{Intent, Say, Typing},
    message::Cmd,
    model::Model,
    popup::Entry,
};

const FILTER_LEN_MAX: usize = 120;
const COUNT_LEN_MAX: usize = 6;

/// Acts on what a key means.
pub(super) fn act(model: &mut Model, intent: Intent) -> Vec<Cmd> {
    let Some(entry) = model.entry.take() else { return Vec::new() };
    match (entry, intent) {
        (entry, Intent::Text(Typing::Char(c))) => model.entry = Some(typed(entry, c)),
        (entry, Intent::Text(Typing::Erase)) => model.entry = Some(erased(entry)),
        (Entry::Filter { text, .. }, Intent::Say(Say::Accept)) => filter_by(model, &text),
        (Entry::Filter { before, .. }, Intent::Say(Say::Back)) => filter_by(model, &before),
        (Entry::Count { group, text }, Intent::Say(Say::Accept)) => {
            let live = model.live_group(&group).map(|view| view.want);
            match (text.parse(), live) {
                (Ok(want), Some(live)) if may_edit(model) => model.draft.set(&group, live, want),
                (Ok(_), None) => model.flash(format!("{group} is gone")),
                (Ok(_), Some(_)) | (Err(_), _) => {}
            }
        }
        (Entry::Count { .. }, Intent::Say(Say::Back)) => {}
        (entry, _) => model.entry = Some(entry),
    }
    if let Some(Entry::Filter { text, .. }) = &model.entry {
        let text = text.clone();
        filter_by(model, &text);
    }
    Vec::new()
}

fn filter_by(model: &mut Model, text: &str) {
    model.filter = Filter::new(text);
    model.relist();
}

fn typed(mut entry: Entry, c: char) -> Entry {
    match &mut entry {
        Entry::Filter { text, .. } if text.len() < FILTER_LEN_MAX && !c.is_control() => {
            text.push(c);
        }
        Entry::Count { text, .. } if text.len() < COUNT_LEN_MAX && c.is_ascii_digit() => {
            text.push(c);
        }
        Entry::Filter { .. } | Entry::Count { .. } => {}
    }
    entry
}

fn erased(mut entry: Entry) -> Entry {
    let (Entry::Filter { text, .. } | Entry::Count { text, .. }) = &mut entry;
    text.pop();
    entry
}
