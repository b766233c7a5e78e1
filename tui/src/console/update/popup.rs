//! Keys in views to read, and leaving.

use super::{copy, scroll::scroll, travel};
use crate::console::{
    keymap::{Intent, Look, Say},
    message::{Cmd, Farewell},
    model::Model,
    popup::Popup,
};

/// Acts on what a key means.
pub(super) fn act(model: &mut Model, intent: Intent) -> Vec<Cmd> {
    match (&model.popup, intent) {
        (Some(Popup::Quit), Intent::Say(Say::Yes)) => return vec![Cmd::Quit(Farewell::Asked)],
        (_, Intent::Say(Say::Back)) => model.popup = None,
        (_, Intent::Look(Look::Copy)) => return copy::of_popup(model),
        (Some(Popup::Pass { .. }), Intent::Look(Look::Backward)) => {
            travel::step(model, travel::Way::Backward);
        }
        (Some(Popup::Pass { .. }), Intent::Look(Look::Forward)) => {
            travel::step(model, travel::Way::Forward);
        }
        (Some(Popup::Detail { .. }), Intent::Look(Look::Raw)) => turn(model),
        (_, _) => scroll(model, intent),
    }
    Vec::new()
}

/// Shows a node in words, or as its lines of the fleet text.
fn turn(model: &mut Model) {
    if let Some(Popup::Detail { raw, top, .. }) = &mut model.popup {
        (*raw, *top) = (!*raw, 0);
    }
}

/// Ends, or asks first where more than the view ends with it.
pub(super) fn quit(model: &mut Model) -> Vec<Cmd> {
    if !model.options.embedded && !model.is_applying() && model.draft.is_empty() {
        return vec![Cmd::Quit(Farewell::Asked)];
    }
    model.popup = Some(Popup::Quit);
    Vec::new()
}
