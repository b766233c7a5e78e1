//! When the screen next reads differently although nothing happens: the only reason for a timer.

use reconciler_core::time::Millis;

use super::{
    clock,
    layout::{Pane, Tier},
    model::{Link, Model},
    popup::{PlanStage, Popup},
    release::ReleaseStage,
    rows::Row,
    stage, view,
};

/// How long until an age, a countdown or a note on the screen changes; nothing if none is shown.
pub(crate) fn next_wake(model: &Model) -> Option<Millis> {
    let now = model.now;
    let flash = model.flash.as_ref().map(|flash| {
        Millis::new(flash.until.get().saturating_sub(now.mono.get()).saturating_add(1))
    });
    let link = match &model.link {
        Link::Lost(lost) => {
            let age = clock::until_age_changes(lost.since, now.wall);
            let retry = lost.retry.and_then(|it| clock::until_left_changes(it.at, now.wall));
            Some(retry.map_or(age, |retry| retry.min(age)))
        }
        Link::Lagging(since) => Some(clock::until_age_changes(*since, now.wall)),
        Link::Connecting | Link::Live => None,
    };
    let rows = model.rows_due.map(|due| due.since(now.wall));
    [flash, link, rows, of_header(model), of_fleet(model), of_holds(model), of_popup(model)]
        .into_iter()
        .flatten()
        .min()
}

fn of_header(model: &Model) -> Option<Millis> {
    let view = model.shown.as_deref()?;
    let due = view::header_due(view)?;
    clock::until_left_changes(due, model.now.wall)
}

fn of_fleet(model: &Model) -> Option<Millis> {
    let layout = model.layout();
    layout.pane(Pane::Fleet, model.pane)?;
    let view = model.shown.as_deref()?;
    let height = layout.list_height(Pane::Fleet, model.pane);
    if model.overview || model.past.is_some() {
        return None;
    }
    let ages = layout.tier == Tier::Full;
    let nodes = model.rows.window(model.fleet.top(), height).iter().filter_map(|row| match row {
        Row::Node(at) => view.nodes.get(*at),
        Row::Group(_) => None,
    });
    let now = model.now.wall;
    nodes
        .flat_map(|node| {
            let age = ages.then(|| clock::until_age_changes(node.since, now));
            let due = stage::retry_at(node);
            [age, due.and_then(|due| clock::until_left_changes(due, now))]
        })
        .flatten()
        .min()
}

fn of_holds(model: &Model) -> Option<Millis> {
    let layout = model.layout();
    layout.pane(Pane::Holds, model.pane)?;
    let height = layout.list_height(Pane::Holds, model.pane);
    let holds = model.shown.as_deref()?.holds.iter();
    holds
        .skip(model.holds.top())
        .take(height)
        .map(|hold| clock::until_age_changes(hold.since, model.now.wall))
        .min()
}

fn of_popup(model: &Model) -> Option<Millis> {
    match model.popup.as_ref()? {
        Popup::Help { .. }
        | Popup::Operations(_)
        | Popup::Pass { .. }
        | Popup::WriteBack
        | Popup::Quit => None,
        Popup::Release { stage, .. } => match stage.as_ref() {
            ReleaseStage::Looking { since, .. } | ReleaseStage::Waiting { since, .. } => {
                Some(clock::until_age_changes(since.wall, model.now.wall))
            }
            ReleaseStage::Prompt(_) | ReleaseStage::Refused(_) | ReleaseStage::Unknown(_) => None,
        },
        Popup::Detail { slot, .. } => {
            let node = model.node(slot)?;
            let age = clock::until_age_changes(node.since, model.now.wall);
            let due = node.due.and_then(|due| clock::until_left_changes(due, model.now.wall));
            Some(due.map_or(age, |due| due.min(age)))
        }
        Popup::Plan { stage, .. } => match stage.as_ref() {
            PlanStage::Asking { since, .. } | PlanStage::Waiting { since, .. } => {
                Some(clock::until_age_changes(since.wall, model.now.wall))
            }
            PlanStage::Prompt(_)
            | PlanStage::Stale(_)
            | PlanStage::Refused(_)
            | PlanStage::Failed(_)
            | PlanStage::Unknown { .. } => None,
        },
    }
}
