//! Keys in views to read, scrolling, and leaving.

use super::browse::moved;
use crate::console::{
    keymap::{Intent, Say},
    message::{Cmd, Farewell},
    model::Model,
    popup::Popup,
    view,
};

/// Acts on what a key means.
pub(super) fn act(model: &mut Model, intent: Intent) -> Vec<Cmd> {
    match (&model.popup, intent) {
        (Some(Popup::Quit), Intent::Say(Say::Yes)) => return vec![Cmd::Quit(Farewell::Asked)],
        (_, Intent::Say(Say::Back)) => model.popup = None,
        (_, _) => scroll(model, intent),
    }
    Vec::new()
}

/// Scrolls the top view, as far as it has lines.
pub(super) fn scroll(model: &mut Model, intent: Intent) {
    let Intent::Move(by) = intent else { return };
    let (lines, page) = view::popup_size(model);
    let places = lines.saturating_sub(page).saturating_add(1);
    if let Some(top) = model.popup.as_mut().and_then(Popup::top_mut) {
        *top = moved(by, (*top).min(places.saturating_sub(1)), page, places);
    }
}

/// Ends, or asks first where that ends more than the view.
pub(super) fn quit(model: &mut Model) -> Vec<Cmd> {
    if !model.options.embedded && !model.is_applying() {
        return vec![Cmd::Quit(Farewell::Asked)];
    }
    model.popup = Some(Popup::Quit);
    Vec::new()
}
