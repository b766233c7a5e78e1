//! From a key to its meaning, and on to whatever has the keys.

use reconciler_core::time::Millis;

use super::{browse, entry, plan, popup, recover, release, write_back};
use crate::console::{
    keymap::{App, Context, Intent, Say},
    message::{Cmd, Farewell, Key, Moment},
    model::Model,
    popup::Popup,
};

/// Within which a key that asks twice must come again.
const TWICE: Millis = Millis::new(2_000);

/// A key that answers must come so long after the one before it. Fingers answer a question later than this; the
/// characters of a paste, which the terminal gives as keys, come closer.
const APART: Millis = Millis::new(50);

/// Acts on a key.
pub(super) fn press(model: &mut Model, key: Key, at: Moment) -> Vec<Cmd> {
    let before = model.last_key.replace(at.mono);
    let context = Context::of(model);
    let Some(intent) = model.options.keys.intent(context, key) else { return Vec::new() };
    if let Intent::App(app) = intent {
        return match app {
            App::Interrupt => interrupt(model, at),
            App::Suspend => suspend(model, at),
            App::Redraw => vec![Cmd::Redraw],
        };
    }
    if answers(context, intent) && before.is_some_and(|before| at.since(before) < APART) {
        model.flash(format!("a key this close behind another answers nothing: press {key} again"));
        return Vec::new();
    }
    let releases = matches!(model.popup, Some(Popup::Release { .. }));
    match context {
        Context::Browse(_) => browse::act(model, intent),
        Context::Entry => entry::act(model, intent),
        Context::Typed if releases => release::prompted(model, intent, at),
        Context::Answer if releases => release::answered(model, intent),
        Context::Choice => recover::act(model, intent),
        Context::Asked => write_back::act(model, intent),
        Context::Prompt | Context::Typed => plan::prompted(model, intent, at),
        Context::Answer => plan::answered(model, intent),
        Context::Reading | Context::Leaving => popup::act(model, intent),
    }
}

/// True for what says yes to a question, however it is asked.
const fn answers(context: Context, intent: Intent) -> bool {
    let typing = matches!(context, Context::Browse(_) | Context::Entry);
    !typing && matches!(intent, Intent::Say(Say::Apply | Say::Yes | Say::Accept))
}

fn interrupt(model: &mut Model, at: Moment) -> Vec<Cmd> {
    if model.last_interrupt.is_some_and(|last| at.since(last) <= TWICE) {
        return vec![Cmd::Quit(Farewell::Asked)];
    }
    model.last_interrupt = Some(at.mono);
    model.flash("Ctrl-C again within 2 s quits");
    Vec::new()
}

/// A driver in this process stops with it, so that must be said twice.
fn suspend(model: &mut Model, at: Moment) -> Vec<Cmd> {
    let again = model.last_suspend.is_some_and(|last| at.since(last) <= TWICE);
    if !model.options.embedded || again {
        model.last_suspend = None;
        return vec![Cmd::Suspend];
    }
    model.last_suspend = Some(at.mono);
    let key = model.keys("Ctrl-Z");
    model
        .flash(format!("the driver lives in this process and would stop too; {key} again does it"));
    Vec::new()
}
