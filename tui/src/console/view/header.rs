//! The header: which run, who drives it, how it stands, and whether what is seen is fresh.

use driver::view::{RunState, RunView};
use ratatui::buffer::Buffer;
use reconciler_core::time::Timestamp;

use super::paint::{Ink, Line, lines};
use crate::console::{
    clock,
    layout::{Layout, Tier},
    link::Lost,
    model::{Link, Model},
    palette::Role,
};

/// Draws the header.
pub(super) fn draw(model: &Model, buf: &mut Buffer, ink: Ink, layout: &Layout) {
    if layout.tier == Tier::Minimal {
        return lines(buf, ink, layout.header, &[brief(model)]);
    }
    let gap = if layout.tier == Tier::Full { "   " } else { "  " };
    lines(buf, ink, layout.header, &[identity(model, gap), standing(model, gap)]);
}

/// When the countdown of the header ends: only a run that moves shows one.
pub(crate) fn due(view: &RunView) -> Option<Timestamp> {
    view.due.filter(|_| view.state == RunState::Converging)
}

fn identity(model: &Model, gap: &str) -> Line {
    let line = Line::of(Role::Strong, " levelhead");
    let rights = if model.options.read_only { "[RO]" } else { "[RW]" };
    let Some(view) = model.shown.as_deref() else {
        let (role, word) = freshness(model);
        return line.and(role, format!("{gap}{word}")).and(Role::Plain, format!("{gap}{rights}"));
    };
    let driver = match &view.driver {
        Some(driver) => format!("{gap}driver pid {}", driver.pid),
        None => format!("{gap}no driver"),
    };
    let (role, word) = freshness(model);
    let place = format!("{gap}gen {}{gap}pass {}", view.generation, view.pass);
    let place = if model.past.is_some() { String::new() } else { place };
    line.and(Role::Strong, format!("{gap}{}", view.run))
        .and(Role::Strong, format!("{gap}{rights}"))
        .and(Role::Plain, gap)
        .and(role, word)
        .and(Role::Plain, place)
        .and(Role::Plain, format!("{driver}{gap}{}", model.options.who))
}

fn freshness(model: &Model) -> (Role, String) {
    let behind = match (&model.live, &model.shown) {
        (Some(live), Some(shown)) => live.pass.get().saturating_sub(shown.pass.get()),
        (None | Some(_), None | Some(_)) => 0,
    };
    if let Some(pass) = model.past {
        return (Role::Hold, format!(" HISTORY pass {pass}, {behind} back "));
    }
    match &model.link {
        Link::Lost(lost) => {
            let age = clock::length(model.now.wall.since(lost.since));
            (Role::Bad, format!("STALE {age}"))
        }
        Link::Lagging(since) => {
            let age = clock::length(model.now.wall.since(*since));
            (Role::Draft, format!("LAGGING {age}"))
        }
        Link::Connecting => (Role::Draft, "CONNECTING".to_owned()),
        Link::Live if model.paused => (Role::Draft, format!("PAUSED -{behind} passes")),
        Link::Live => (Role::Good, "LIVE".to_owned()),
    }
}

fn standing(model: &Model, gap: &str) -> Line {
    let Some(view) = model.shown.as_deref() else { return disconnected(model, Line::default()) };
    let mut line = Line::of(Role::Plain, " ");
    if matches!(model.link, Link::Lost(_)) {
        return disconnected(model, badge(line, view, ""));
    }
    if model.past.is_some() {
        return line.and(Role::Hold, as_of(model, view));
    }
    let (role, word) = state(view.state);
    line =
        line.and(role, word).and(Role::Plain, format!("{gap}ready {}/{}", view.ready, view.want));
    line = badge(line, view, gap);
    let sum = |of: fn(&driver::view::GroupView) -> u32| {
        view.groups.iter().map(of).fold(0, u32::saturating_add)
    };
    let counts = [
        (Role::Bad, "failing", sum(|group| group.failing)),
        (Role::Busy, "deleting", sum(|group| group.deleting)),
        (Role::Bad, "orphans", u32::try_from(view.orphans.len()).unwrap_or(u32::MAX)),
    ];
    for (role, name, count) in counts {
        if count > 0 {
            line = line.and(Role::Plain, gap).and(role, format!("{name} {count}"));
        }
    }
    if let Some(left) = due(view).and_then(|due| clock::left(due, model.now.wall)) {
        line = line.and(Role::Plain, format!("{gap}next in {left}"));
    }
    if view.file.as_ref().is_some_and(|file| !file.revised.is_empty()) {
        line = line.and(Role::Draft, format!("{gap}not as the file says"));
    }
    let troubled = view.providers.iter().filter(|provider| provider.trouble.is_some());
    for provider in troubled {
        line = line.and(Role::Bad, format!("{gap}{} unseen", provider.name));
    }
    line
}

/// What stands where the state of the run does, while the past is shown.
fn as_of(model: &Model, view: &RunView) -> String {
    let woken = view.passes.first().map(|pass| format!(", woken by {}", pass.trigger));
    let woken = woken.unwrap_or_default();
    let (time, zone) = (model.zone().of_day(view.at), model.zone().name());
    let (on, home) = (model.keys("[ ]"), model.keys("Esc"));
    format!(" as of {time} {zone}{woken}: {on} go on, {home} the present ")
}

fn badge(line: Line, view: &RunView, gap: &str) -> Line {
    match view.holds.len() {
        0 => line,
        open => line.and(Role::Plain, gap).and(Role::Hold, format!("HOLD {open} (5)")),
    }
}

fn disconnected(model: &Model, line: Line) -> Line {
    let Link::Lost(Lost { why, incompatible, retry, .. }) = &model.link else { return line };
    let word = if *incompatible { " INCOMPATIBLE" } else { " DISCONNECTED" };
    let retry = retry.as_ref().map(|retry| match clock::left(retry.at, model.now.wall) {
        Some(left) => format!("retry {} in {left} (R now): ", retry.nth),
        None => format!("retry {}: ", retry.nth),
    });
    let retry = retry.unwrap_or_default();
    let from = match &model.shown {
        Some(view) => {
            let (time, zone) = (model.zone().of_day(view.at), model.zone().name());
            format!(". What is shown is from {time} {zone}")
        }
        None => String::new(),
    };
    line.and(Role::Bad, word)
        .and(Role::Plain, format!("  {retry}{why}{from}. Edits wait; the draft is kept."))
}

/// How the run stands, in one short line.
pub(super) fn brief(model: &Model) -> Line {
    let (fresh, word) = freshness(model);
    let Some(view) = model.shown.as_deref() else { return Line::of(fresh, word) };
    if model.past.is_some() {
        // How the run stood then, nobody kept.
        return badge(Line::of(fresh, word), view, " ");
    }
    let (role, name) = state(view.state);
    let line = Line::of(role, name).and(Role::Plain, format!(" {}/{}", view.ready, view.want));
    let line = badge(line, view, " ").and(Role::Plain, " ");
    let rights = if model.options.read_only { " [RO]" } else { "" };
    line.and(fresh, word).and(Role::Plain, format!("{rights} {}", view.run))
}

const fn state(state: RunState) -> (Role, &'static str) {
    match state {
        RunState::Converged => (Role::Good, "CONVERGED"),
        RunState::Converging => (Role::Busy, "CONVERGING"),
        RunState::Held => (Role::Hold, "HELD"),
        RunState::Unattended => (Role::Draft, "UNATTENDED"),
    }
}
