//! The footer: what is being typed or drafted, and the keys that work now.

use ratatui::buffer::Buffer;

use super::paint::{Ink, Line, lines};
use crate::console::{
    keymap::{self, Context},
    layout::{Layout, Tier},
    model::Model,
    palette::Role,
    popup::Entry,
    update::candidates,
};

/// Draws the footer; where there is one line only, a message outweighs the keys.
pub(super) fn draw(model: &Model, buf: &mut Buffer, ink: Ink, layout: &Layout) {
    let message = message(model);
    let keys = keys(model);
    let shown = match (layout.tier, message) {
        (Tier::Minimal, Some(message)) => vec![message],
        (Tier::Minimal, None) => vec![keys],
        (Tier::Full | Tier::Compact | Tier::TooSmall, message) => {
            vec![message.unwrap_or_default(), keys]
        }
    };
    lines(buf, ink, layout.footer, &shown);
}

fn message(model: &Model) -> Option<Line> {
    // What is being typed is seen, whatever there is to tell.
    match &model.entry {
        Some(Entry::Filter { text, .. }) => {
            let line = Line::of(Role::Strong, format!(" /{text}_"));
            let problem = model.filter.problem().map(|it| format!("  {it}")).unwrap_or_default();
            return Some(line.and(Role::Bad, problem));
        }
        Some(Entry::Command { text }) => return Some(command(model, text)),
        Some(Entry::Count { group, text }) => {
            return Some(Line::of(Role::Strong, format!(" want of {group}: {text}_")));
        }
        None => {}
    }
    let flash = model.flash.as_ref();
    let told = flash.map(|flash| Line::of(Role::Draft, format!(" {}", flash.text)));
    told.or_else(|| perf(model)).or_else(|| draft(model)).or_else(|| file(model))
}

/// A command as it is typed, and what it can go on with.
fn command(model: &Model, text: &str) -> Line {
    let line = Line::of(Role::Strong, format!(" :{text}_  "));
    let names = candidates(model, text);
    let takes = names.first().filter(|_| names.len() == 1).and_then(|name| keymap::named(name));
    let takes = takes.map(|command| command.takes).filter(|takes| !takes.is_empty());
    let all = names.iter().map(|name| name.rsplit(' ').next().unwrap_or(name));
    let line = line.and(Role::Faint, all.collect::<Vec<_>>().join(" "));
    line.and(Role::Faint, takes.map(|takes| format!(" {takes}")).unwrap_or_default())
}

/// What the last frame cost.
fn perf(model: &Model) -> Option<Line> {
    let perf = model.perf?;
    let text = format!(
        " frame {}.{:03} ms  {} bytes  {} passes unseen  waiting: {} keys, {} answers",
        perf.micros / 1_000,
        perf.micros % 1_000,
        perf.bytes,
        model.skipped,
        perf.keys,
        perf.replies
    );
    Some(Line::of(Role::Faint, text))
}

fn draft(model: &Model) -> Option<Line> {
    if model.draft.is_empty() {
        return None;
    }
    let mut parts = Vec::new();
    for (group, entry) in model.draft.iter() {
        let live = model.live_group(group).map_or(entry.base, |view| view.want);
        let (base, want) = (entry.base, entry.want);
        parts.push(if live == base {
            format!("{group} {base}->{want}")
        } else {
            format!("{group} conflict {base}->{want} (now {live})")
        });
    }
    let key = model.keys("p");
    let text =
        format!(" draft: {}. Nothing changes until you plan ({key}) and apply.", parts.join(", "));
    Some(Line::of(Role::Draft, text))
}

fn file(model: &Model) -> Option<Line> {
    let file = model.shown.as_deref()?.file.as_ref()?;
    if let Some(problem) = &file.problem {
        let problem = model.options.place.text(problem);
        return Some(Line::of(Role::Bad, format!(" {}: {problem}", file.path)));
    }
    let counts = file
        .differs
        .iter()
        .map(|(group, in_file, live)| (group, in_file.to_string(), live.to_string()));
    let revisions = file
        .revised
        .iter()
        .map(|(group, in_file, live)| (group, format!("revision {in_file}"), live.clone()));
    let mut differ = counts.chain(revisions);
    let (group, in_file, live) = differ.next()?;
    let more = match differ.count() {
        0 => String::new(),
        1 => "; 1 more group differs".to_owned(),
        more => format!("; {more} more groups differ"),
    };
    let text = format!(" {} says {group} {in_file}, live is {live}{more}", file.path);
    Some(Line::of(Role::Faint, text))
}

fn keys(model: &Model) -> Line {
    let mut line = Line::of(Role::Plain, " ");
    let looks_only = model.options.read_only || model.past.is_some();
    for scope in Context::of(model).scopes() {
        for bound in model.options.keys.bindings(*scope, looks_only) {
            if !bound.of.hint.is_empty() {
                line = line
                    .and(Role::Strong, &bound.shown)
                    .and(Role::Plain, format!(" {}  ", bound.of.hint));
            }
        }
    }
    line
}
