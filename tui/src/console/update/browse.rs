//! Keys over the panes: moving, filtering, drafting.

use reconciler_core::id::{GroupId, LogicalNodeId};

use super::{
    copy,
    gate::may_edit,
    plan, popup, recover, release, save,
    scroll::moved,
    sight::{detail, focus, resort, show},
    travel, write_back,
};
use crate::console::{
    filter::Filter,
    keymap::{Intent, Look, Say, Verb},
    layout::Pane,
    message::{Cmd, Perf},
    model::{Model, RowId},
    popup::{Entry, Popup},
    rows::Row,
};

/// Acts on what a key means.
pub(super) fn act(model: &mut Model, intent: Intent) -> Vec<Cmd> {
    match intent {
        Intent::Move(by) => {
            let (at, len) = model.focus_place();
            let page = model.list_height(model.pane).max(1);
            model.steer(model.pane, Some(moved(by, at, page, len)));
        }
        Intent::Look(look) => return look_at(model, look),
        Intent::Edit(Verb::Preview) => return preview(model),
        Intent::Edit(Verb::Release) => return release::begin(model),
        Intent::Edit(Verb::Recover) => return recover::begin(model),
        Intent::Edit(Verb::WriteBack) => write_back::begin(model),
        Intent::Edit(Verb::Down) if may_edit(model) => {
            return plan::ask_for(model, driver::view::Edit::Down);
        }
        Intent::Edit(verb) => edit(model, verb),
        Intent::Say(Say::Back) => back(model),
        Intent::Say(Say::Apply | Say::Yes | Say::Accept | Say::Switch | Say::Replan)
        | Intent::Text(_)
        | Intent::App(_) => {}
    }
    Vec::new()
}

fn look_at(model: &mut Model, look: Look) -> Vec<Cmd> {
    match look {
        Look::Pane(pane) => focus(model, pane),
        Look::NextPane => focus(model, model.pane.step(1)),
        Look::PriorPane => focus(model, model.pane.step(Pane::ALL.len().saturating_sub(1))),
        Look::Open => open(model),
        Look::Filter => type_filter(model),
        Look::Command => model.type_in(Entry::Command { text: String::new() }),
        Look::Copy => return copy::selected(model),
        Look::Backward => travel::step(model, travel::Way::Backward),
        Look::Forward => travel::step(model, travel::Way::Forward),
        Look::Reconnect => {
            model.flash("asking the driver anew");
            return vec![Cmd::Reconnect];
        }
        Look::Save => return save::shown(model),
        Look::Follow => follow(model),
        Look::NextMatch => matching(model, 1),
        Look::PriorMatch => matching(model, -1),
        Look::Wrap => {
            model.wraps = !model.wraps;
            focus(model, Pane::Events);
        }
        Look::Zone => {
            model.utc = !model.utc;
            model.flash(format!("times of day are those of {}", model.zone().name()));
        }
        Look::Mouse => {
            model.mouse = !model.mouse;
            model.flash(if model.mouse {
                "the mouse selects rows and scrolls; Shift and drag selects text"
            } else {
                "the mouse is the terminal's"
            });
        }
        Look::Sort => {
            model.order.key = model.order.key.next();
            resort(model);
        }
        Look::Reverse => {
            model.order.reversed = !model.order.reversed;
            resort(model);
        }
        Look::Overview => {
            model.overview = !model.overview;
            focus(model, Pane::Fleet);
            model.relist();
        }
        Look::Problems => {
            model.problems = !model.problems;
            model.relist();
        }
        Look::Pause => pause(model),
        // Only the box of a node has two ways to be read.
        Look::Raw => {}
        Look::Perf => model.perf = if model.perf.is_some() { None } else { Some(Perf::default()) },
        Look::Help => model.popup = Some(Popup::Help { top: 0 }),
        Look::Quit => return popup::quit(model),
    }
    Vec::new()
}

/// Stays with the newest of a list that grows at its head, or with what is selected there.
fn follow(model: &mut Model) {
    let view = model.shown.clone();
    match model.pane {
        Pane::Passes if model.passes.is_following() => {
            if let Some(pass) = view.as_ref().and_then(|view| view.passes.first()) {
                model.passes.pick(pass.pass);
            }
        }
        Pane::Events if model.events.is_following() => {
            if let Some(event) = view.as_ref().and_then(|view| view.events.first()) {
                model.events.pick(event.seq);
            }
        }
        Pane::Passes | Pane::Events => model.steer(model.pane, Some(0)),
        Pane::Groups | Pane::Fleet | Pane::Holds => {
            model.flash("passes and events are what is followed");
        }
    }
}

/// Selects the next node in the list of those that match, one way or the other.
fn matching(model: &mut Model, way: isize) {
    if model.filter.is_empty() && !model.problems {
        let key = model.keys("/");
        return model.flash(format!("there is no filter: {key} types one"));
    }
    focus(model, Pane::Fleet);
    let mut at = model.fleet.at();
    while let Some(next) = at.checked_add_signed(way).filter(|next| *next < model.rows.len()) {
        at = next;
        if let [Row::Node(_)] = model.rows.window(at, 1) {
            return model.steer(Pane::Fleet, Some(at));
        }
    }
    model.flash("there is no other match that way");
}

fn open(model: &mut Model) {
    match model.pane {
        Pane::Groups => {
            if let Some(group) = model.groups.selected().cloned() {
                model.fleet.pick(RowId::Group(group));
                focus(model, Pane::Fleet);
            }
        }
        Pane::Fleet => match model.fleet.selected().cloned() {
            Some(RowId::Group(_)) if model.overview => {
                model.overview = false;
                model.relist();
            }
            Some(RowId::Group(group)) => fold(model, group),
            Some(RowId::Node(slot)) => detail(model, slot),
            None => {}
        },
        Pane::Passes => travel::open(model),
        Pane::Events => {
            let view = model.shown.as_deref();
            let subject = view.and_then(|view| view.events.get(model.events.at()));
            detail_of(model, subject.map(|event| event.subject.clone()));
        }
        Pane::Holds => {
            let subject = model.holds.selected().map(|(subject, _)| subject.clone());
            detail_of(model, subject);
        }
    }
}

fn fold(model: &mut Model, group: GroupId) {
    if !model.folded.remove(&group) {
        model.folded.insert(group);
    }
    model.relist();
}

fn detail_of(model: &mut Model, subject: Option<String>) {
    let slot = subject.and_then(|subject| subject.parse::<LogicalNodeId>().ok());
    match slot.filter(|slot| model.node(slot).is_some()) {
        Some(slot) => detail(model, slot),
        None => model.flash("that is not about one node of the fleet"),
    }
}

fn back(model: &mut Model) {
    if model.past.is_some() {
        return travel::home(model);
    }
    if model.filter.is_empty() && !model.problems {
        return;
    }
    model.filter = Filter::default();
    model.problems = false;
    model.relist();
}

fn type_filter(model: &mut Model) {
    focus(model, Pane::Fleet);
    let text = model.filter.as_str().to_owned();
    model.type_in(Entry::Filter { before: text.clone(), text });
}

fn pause(model: &mut Model) {
    model.paused = !model.paused;
    if !model.paused && model.past.is_none() {
        show(model, model.live.clone());
    }
}

fn edit(model: &mut Model, verb: Verb) {
    if !may_edit(model) {
        return;
    }
    match verb {
        Verb::Undo => undo(model),
        Verb::Discard => model.draft.clear(),
        Verb::Nudge(by) => {
            if let Some((group, live)) = chosen(model) {
                model.draft.nudge(&group, live, by);
            }
        }
        Verb::Count => {
            if let Some((group, _)) = chosen(model) {
                model.type_in(Entry::Count { group, text: String::new() });
            }
        }
        Verb::Preview | Verb::Release | Verb::Recover | Verb::WriteBack | Verb::Down => {}
    }
}

/// The group that is edited and its live count; says so if there is none.
fn chosen(model: &mut Model) -> Option<(GroupId, u32)> {
    let group = model.chosen_group().cloned();
    let live = group.as_ref().and_then(|group| model.live_group(group)).map(|view| view.want);
    let both = group.zip(live);
    if both.is_none() {
        model.flash("no group is selected");
    }
    both
}

/// What comes back may be true already, or its group may be gone.
fn undo(model: &mut Model) {
    if !model.draft.undo() {
        model.flash("nothing to undo");
    }
    if let Some(live) = model.live.clone() {
        model.draft.follow(&live);
    }
}

fn preview(model: &mut Model) -> Vec<Cmd> {
    if may_edit(model) { plan::ask(model) } else { Vec::new() }
}
