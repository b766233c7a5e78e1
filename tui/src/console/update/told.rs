//! What the driver says of the node whose box is open: asked for whenever the node is another than when it was asked.

use driver::view::{ExplainView, NodeView, Refusal};

use crate::console::{message::Cmd, model::Model, popup::Popup};

/// The question, if it is due: one at a time, so that a slow driver is not asked faster than it answers.
pub(super) fn due(model: &mut Model) -> Option<Cmd> {
    if !model.is_linked() {
        return None;
    }
    let Some(Popup::Detail { slot, told, .. }) = &model.popup else { return None };
    let node = model.node(slot).map(without_ribbon)?;
    if told.asked.is_some() || told.of.as_ref() == Some(&node) {
        return None;
    }
    let subject = slot.clone();
    let id = model.take_id();
    let Some(Popup::Detail { told, .. }) = &mut model.popup else { return None };
    (told.asked, told.of) = (Some(id), Some(node));
    Some(Cmd::Explain { id, subject })
}

/// Passes go by without changing anything of it but its ribbon.
fn without_ribbon(node: &NodeView) -> NodeView {
    NodeView { ribbon: String::new(), ..node.clone() }
}

/// It came.
pub(super) fn reply(model: &mut Model, id: u64, answer: Result<Box<ExplainView>, Refusal>) {
    if let Some(Popup::Detail { told, .. }) = &mut model.popup
        && told.asked == Some(id)
    {
        told.asked = None;
        told.answer = Some(answer);
    }
}

/// The link is gone, and so is who was asked; what was said last stays.
pub(super) fn interrupt(model: &mut Model) {
    if let Some(Popup::Detail { told, .. }) = &mut model.popup {
        (told.asked, told.of) = (None, None);
    }
}
