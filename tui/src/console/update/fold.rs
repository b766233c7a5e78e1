//! One arm per message.

use ratatui::layout::Rect;

use super::{click, key, link, plan, recover, release, told, write_back};
use crate::console::{
    layout::Tier,
    link::Reply,
    message::{Cmd, Farewell, Moment, Msg},
    model::{Link, Model},
    popup::{PlanStage, Popup},
    release::ReleaseStage,
    wake,
};

/// Folds a message into the model; what it returns is to be done in order.
pub fn update(model: &mut Model, msg: Msg) -> Vec<Cmd> {
    let mut cmds = folded(model, msg);
    cmds.extend(told::due(model));
    cmds
}

fn folded(model: &mut Model, msg: Msg) -> Vec<Cmd> {
    match msg {
        Msg::Tick(now) => tick(model, now),
        Msg::Painted(now) => painted(model, now),
        Msg::Key(key, at) => {
            // It was read before now.
            if at.mono > model.now.mono {
                tick(model, at);
            }
            model.dirty = true;
            return key::press(model, key, at);
        }
        Msg::Click { column, row } => {
            model.dirty = true;
            click::on(model, column, row);
        }
        Msg::Saved(saved) => {
            model.dirty = true;
            model.flash(match saved {
                Ok(files) => format!("wrote {files}"),
                Err(why) => format!("not written: {why}"),
            });
        }
        Msg::Resize { width, height } => {
            model.screen = Rect::new(0, 0, width, height);
            model.settle();
            model.dirty = true;
        }
        Msg::Connecting => {
            model.link = Link::Connecting;
            model.dirty = true;
        }
        Msg::Snapshot(view) => link::snapshot(model, view),
        Msg::Lagging(since) => {
            model.link = Link::Lagging(since);
            model.dirty = true;
        }
        Msg::LinkLost(lost) => link::lost(model, lost),
        Msg::Reply(reply) => {
            model.dirty = true;
            replied(model, reply);
        }
        // It is shown with the next frame: a frame for what the last one cost would never end.
        Msg::Perf(perf) => model.perf = model.perf.map(|_| perf),
        Msg::Hangup => return vec![Cmd::Quit(Farewell::HungUp)],
        Msg::Terminate(signal) => return vec![Cmd::Quit(Farewell::Signal(signal))],
        Msg::Stop => return vec![Cmd::Suspend],
        Msg::Resumed => {
            model.dirty = true;
            return vec![Cmd::Redraw];
        }
    }
    Vec::new()
}

fn replied(model: &mut Model, reply: Reply) {
    match reply {
        Reply::Plan(id, answer) => plan::planned(model, id, answer),
        Reply::Applied(id, answer) => plan::applied(model, id, answer),
        Reply::Release(id, answer) => release::reply(model, id, answer),
        Reply::Operations(id, answer) => recover::reply(model, id, answer),
        Reply::Explained(id, answer) => told::reply(model, id, answer),
        Reply::Written(_, answer) => write_back::reply(model, answer),
    }
}

/// Time went on: the screen is stale only if something on it reads differently by now.
fn tick(model: &mut Model, now: Moment) {
    let steady = now.since(model.now.mono);
    let wall = now.wall.since(model.now.wall);
    let back = now.wall < model.now.wall;
    let stale = wake::next_wake(model).is_some_and(|due| back || steady.max(wall) >= due);
    model.now = now;
    if model.rows_due.is_some_and(|due| back || now.wall >= due) {
        model.relist();
    }
    if model.flash.as_ref().is_some_and(|flash| now.mono > flash.until) {
        model.flash = None;
        model.dirty = true;
    }
    model.dirty |= stale;
}

/// A screen that is too small for a plan has not shown it.
fn painted(model: &mut Model, now: Moment) {
    if model.layout().tier == Tier::TooSmall {
        return;
    }
    if let Some(Popup::Plan { stage, .. }) = &mut model.popup
        && let PlanStage::Prompt(prompt) = stage.as_mut()
    {
        prompt.painted(now.mono);
    }
    if let Some(Popup::Release { stage, .. }) = &mut model.popup
        && let ReleaseStage::Prompt(prompt) = stage.as_mut()
    {
        prompt.painted(now.mono);
    }
}
