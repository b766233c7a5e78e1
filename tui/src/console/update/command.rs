//! A command that was typed by its name, and what can follow as it is typed.

use reconciler_core::id::{GroupId, LogicalNodeId, PassNumber};

use super::{
    browse, copy,
    gate::may_edit,
    plan, release,
    sight::{detail, filter_by, focus, resort},
    travel,
};
use crate::console::{
    filter::Filter,
    keymap::{COMMANDS, COUNT, GROUP, SUBJECT, UPDATE, named},
    layout::Pane,
    message::Cmd,
    model::{Model, RowId},
    order::SortKey,
    wish::{self, UPDATE_WAYS},
};

/// Names that the footer has room for.
const SHOWN_MAX: usize = 12;

/// Carries out what was typed.
pub(super) fn run(model: &mut Model, text: &str) -> Vec<Cmd> {
    let (name, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    let rest = rest.trim();
    if name.is_empty() {
        return Vec::new();
    }
    let Some(command) = named(name) else {
        let help = model.keys("?");
        model.flash(format!("there is no command {name}; {help} lists the keys, Tab completes"));
        return Vec::new();
    };
    if command.in_shell {
        return in_shell(model, command.name, rest);
    }
    match (rest.is_empty(), command.bare, command.takes) {
        (true, Some(intent), _) => return browse::act(model, intent),
        (true, None, takes) => model.flash(format!("{} {takes}", command.name)),
        (false, _, "") => model.flash(format!("nothing follows {}", command.name)),
        (false, ..) => return with(model, command.name, rest),
    }
    Vec::new()
}

fn with(model: &mut Model, name: &str, rest: &str) -> Vec<Cmd> {
    match name {
        "scale" => scale(model, rest),
        "filter" => {
            let filter = Filter::new(rest);
            if let Some(problem) = filter.complaint() {
                model.flash(problem.to_owned());
                return Vec::new();
            }
            focus(model, Pane::Fleet);
            filter_by(model, filter);
        }
        "sort" => match SortKey::ALL.into_iter().find(|key| key.name() == rest) {
            Some(key) => {
                model.order.key = key;
                resort(model);
            }
            None => model.flash("sort slot|stage|age|trouble"),
        },
        "pass" => match rest.parse() {
            Ok(pass) => travel::enter(model, PassNumber::new(pass)),
            Err(_) => model.flash("pass N"),
        },
        "go" => go(model, rest),
        "release" => return release::of(model, rest.to_owned()),
        "explain" => explain(model, rest),
        verb => return ask(model, verb, rest),
    }
    Vec::new()
}

/// Asks for the plan of what a verb does to what is named.
fn ask(model: &mut Model, verb: &str, rest: &str) -> Vec<Cmd> {
    let Some(edit) = wish::edit(verb, rest) else {
        let takes = named(verb).map_or("", |command| command.takes);
        model.flash(format!("{verb} {takes}"));
        return Vec::new();
    };
    if may_edit(model) { plan::ask_for(model, edit) } else { Vec::new() }
}

/// Gives out the command line of what a shell does.
fn in_shell(model: &mut Model, verb: &str, rest: &str) -> Vec<Cmd> {
    let mut words = format!("{verb} {rest}").trim_end().to_owned();
    if let ("logs", "", Some(RowId::Node(slot))) = (verb, rest, model.fleet.selected()) {
        words = format!("logs {slot}");
    }
    let line = model.options.place.command(&words);
    let cmds = copy::copied(model, Some(line.clone()));
    model.flash(format!("a shell does that, and the clipboard may have it now: {line}"));
    cmds
}

fn scale(model: &mut Model, rest: &str) {
    let words = rest.split([' ', '=']).filter(|word| !word.is_empty()).collect::<Vec<_>>();
    let parsed = match words.as_slice() {
        [group, count] => group.parse::<GroupId>().ok().zip(count.parse::<u32>().ok()),
        _ => None,
    };
    let Some((group, want)) = parsed else { return model.flash("scale GROUP N") };
    let Some(live) = model.live_group(&group).map(|view| view.want) else {
        return model.flash(format!("there is no group {group}"));
    };
    if may_edit(model) {
        model.draft.set(&group, live, want);
        let key = model.keys("p");
        model.flash(format!("drafted: {group} {live}->{want}; {key} shows its plan"));
    }
}

/// Explains a slot that is named; of a group, what its heading leads to.
fn explain(model: &mut Model, name: &str) {
    go(model, name);
    if let Some(RowId::Node(slot)) = model.fleet.selected().cloned()
        && slot.to_string() == name
    {
        detail(model, slot);
    }
}

/// Selects what is named, and shows it if something hides it.
pub(super) fn go(model: &mut Model, name: &str) {
    let Some(view) = model.shown.clone() else { return };
    let slot = name.parse::<LogicalNodeId>().ok().filter(|slot| model.node(slot).is_some());
    let group = name.parse::<GroupId>().ok();
    let group = group.filter(|group| view.groups.iter().any(|it| it.group == *group));
    let row = match (slot, group) {
        (Some(slot), _) => RowId::Node(slot),
        (None, Some(group)) => RowId::Group(group),
        (None, None) => return model.flash(format!("there is no {name}")),
    };
    if model.rows.find(&view, &row).is_none() {
        model.filter = Filter::default();
        model.problems = false;
        model.overview = false;
        model.folded.remove(row.group());
        if matches!(row, RowId::Group(_)) {
            model.order = crate::console::order::Order::default();
        }
        model.relist();
    }
    model.fleet.pick(row);
    focus(model, Pane::Fleet);
}

/// What the text can go on with, a handful at most.
pub(crate) fn candidates(model: &Model, text: &str) -> Vec<String> {
    let Some((name, rest)) = text.split_once(' ') else {
        let names = COMMANDS.iter().map(|command| command.name);
        return names.filter(|name| name.starts_with(text)).map(str::to_owned).collect();
    };
    let Some(command) = named(name) else { return Vec::new() };
    let all: Vec<String> = match (command.takes, rest.rsplit_once(' ')) {
        (UPDATE, Some((group, _))) => UPDATE_WAYS.map(|way| format!("{group} {way}")).into(),
        (COUNT | GROUP | UPDATE, None) => groups(model).collect(),
        (SUBJECT, None) => groups(model).chain(nodes(model)).collect(),
        (takes, None) if takes.contains('|') => takes.split('|').map(str::to_owned).collect(),
        (_, Some(_) | None) => Vec::new(),
    };
    let begins = all.into_iter().filter(|word| word.starts_with(rest));
    begins.take(SHOWN_MAX).map(|word| format!("{} {word}", command.name)).collect()
}

fn groups(model: &Model) -> impl Iterator<Item = String> {
    let view = model.live.as_deref();
    view.into_iter().flat_map(|view| &view.groups).map(|group| group.group.to_string())
}

fn nodes(model: &Model) -> impl Iterator<Item = String> {
    let view = model.live.as_deref();
    view.into_iter().flat_map(|view| &view.nodes).map(|node| node.slot.to_string())
}

/// The text as far as every way to go on with it agrees; with a space once it is one alone that takes more.
pub(super) fn completed(model: &Model, text: &str) -> String {
    let all = candidates(model, text);
    let Some(first) = all.first() else { return text.to_owned() };
    if all.len() == 1 {
        let more = named(first).is_some_and(|command| !command.takes.is_empty());
        let half = first.split(' ').count() == 2
            && (first.starts_with("scale ") || first.starts_with("update "));
        return if more || half { format!("{first} ") } else { first.clone() };
    }
    let mut common = first.clone();
    while !all.iter().all(|one| one.starts_with(&common)) {
        common.pop();
    }
    common
}
