//! Where a movement leads, in a list and in a view that is longer than its box.

use crate::console::{
    keymap::{Intent, Move},
    model::Model,
    popup::Popup,
    view,
};

/// Where a movement leads from place `at` of `len`.
pub(super) fn moved(by: Move, at: usize, page: usize, len: usize) -> usize {
    let half = (page / 2).max(1);
    let to = match by {
        Move::Up => at.saturating_sub(1),
        Move::Down => at.saturating_add(1),
        Move::PageUp => at.saturating_sub(page),
        Move::PageDown => at.saturating_add(page),
        Move::HalfUp => at.saturating_sub(half),
        Move::HalfDown => at.saturating_add(half),
        Move::First => 0,
        Move::Last => len,
    };
    to.min(len.saturating_sub(1))
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
