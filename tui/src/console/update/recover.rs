//! Open operations and the ways on with them: each leads to a plan that is confirmed like any other.

use driver::view::{Edit, RecoveryOperationView, Refusal};

use super::{gate::may_edit, plan, scroll::moved};
use crate::console::{
    keymap::{Intent, Say},
    message::Cmd,
    model::Model,
    popup::{Operations, Popup},
};

/// Ways that a page up or down passes by.
const PAGE: usize = 8;

/// Asks what is open.
pub(super) fn begin(model: &mut Model) -> Vec<Cmd> {
    if !may_edit(model) {
        return Vec::new();
    }
    let id = model.take_id();
    model.popup = Some(Popup::Operations(Box::new(Operations::Asking { id })));
    vec![Cmd::Operations { id }]
}

/// They came.
pub(super) fn reply(
    model: &mut Model,
    id: u64,
    answer: Result<Vec<RecoveryOperationView>, Refusal>,
) {
    let Some(Popup::Operations(operations)) = &mut model.popup else { return };
    if !matches!(operations.as_ref(), Operations::Asking { id: own } if *own == id) {
        return;
    }
    **operations = match answer {
        Ok(list) => Operations::Choice { list, at: 0 },
        Err(refusal) => Operations::Refused(refusal),
    };
}

/// Acts on what a key means.
pub(super) fn act(model: &mut Model, intent: Intent) -> Vec<Cmd> {
    let Some(Popup::Operations(operations)) = &mut model.popup else { return Vec::new() };
    let ways = operations.ways();
    match (operations.as_mut(), intent) {
        (Operations::Choice { at, .. }, Intent::Move(by)) => *at = moved(by, *at, PAGE, ways.len()),
        (Operations::Choice { at, .. }, Intent::Say(Say::Accept)) => {
            let Some((operation, verb)) = ways.get(*at).copied() else {
                model.popup = None;
                return Vec::new();
            };
            if may_edit(model) {
                return plan::ask_for(model, Edit::Recover { operation, verb });
            }
        }
        (_, Intent::Say(Say::Back | Say::Accept)) => model.popup = None,
        (_, _) => {}
    }
    Vec::new()
}

/// The link is gone, and so is who was asked.
pub(super) fn interrupt(model: &mut Model) {
    if let Some(Popup::Operations(operations)) = &model.popup
        && matches!(operations.as_ref(), Operations::Asking { .. })
    {
        model.popup = None;
    }
}
