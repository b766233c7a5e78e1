//! Keys while a text is typed in the footer.

use super::{command, gate::may_edit, sight::filter_by};
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
        (Entry::Command { text }, Intent::Text(Typing::Complete)) => {
            model.entry = Some(Entry::Command { text: command::completed(model, &text) });
        }
        (Entry::Command { text }, Intent::Say(Say::Accept)) => return command::run(model, &text),
        // Taking back what was not typed leaves the field, as it does elsewhere.
        (Entry::Command { text }, Intent::Text(Typing::Erase)) if text.is_empty() => {}
        (entry, Intent::Text(Typing::Char(c))) => model.entry = Some(typed(entry, c)),
        (entry, Intent::Text(Typing::Erase)) => model.entry = Some(edited(entry, shorten)),
        (entry, Intent::Text(Typing::Clear)) => model.entry = Some(edited(entry, String::clear)),
        (Entry::Filter { text, before }, Intent::Say(Say::Accept)) => {
            let filter = Filter::new(&text);
            if let Some(problem) = filter.complaint() {
                model.flash(problem.to_owned());
                model.entry = Some(Entry::Filter { text, before });
            }
            filter_by(model, filter);
        }
        (Entry::Filter { before, .. }, Intent::Say(Say::Back)) => {
            filter_by(model, Filter::new(&before));
        }
        (Entry::Count { group, text }, Intent::Say(Say::Accept)) => {
            let live = model.live_group(&group).map(|view| view.want);
            match (text.parse(), live) {
                (Ok(want), Some(live)) if may_edit(model) => model.draft.set(&group, live, want),
                (Ok(_), None) => model.flash(format!("{group} is gone")),
                (Ok(_), Some(_)) | (Err(_), _) => {}
            }
        }
        (Entry::Count { .. } | Entry::Command { .. }, Intent::Say(Say::Back)) => {}
        (entry, _) => model.entry = Some(entry),
    }
    if let Some(Entry::Filter { text, .. }) = &model.entry {
        let filter = Filter::new(text);
        filter_by(model, filter);
    }
    Vec::new()
}

fn typed(mut entry: Entry, c: char) -> Entry {
    match &mut entry {
        Entry::Filter { text, .. } | Entry::Command { text }
            if text.len() < FILTER_LEN_MAX && !c.is_control() =>
        {
            text.push(c);
        }
        Entry::Count { text, .. } if text.len() < COUNT_LEN_MAX && c.is_ascii_digit() => {
            text.push(c);
        }
        Entry::Filter { .. } | Entry::Command { .. } | Entry::Count { .. } => {}
    }
    entry
}

fn shorten(text: &mut String) {
    text.pop();
}

fn edited(mut entry: Entry, edit: impl FnOnce(&mut String)) -> Entry {
    let (Entry::Filter { text, .. } | Entry::Command { text } | Entry::Count { text, .. }) =
        &mut entry;
    edit(text);
    entry
}
