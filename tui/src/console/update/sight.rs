//! What is looked at: the pane that has the keys, the snapshot that is shown, its order and its filter.

use std::sync::Arc;

use driver::view::RunView;
use reconciler_core::id::LogicalNodeId;

use crate::console::{filter::Filter, layout::Pane, model::Model, popup::Popup};

/// Where an order is asked for, it is to be seen.
pub(super) fn resort(model: &mut Model) {
    model.overview = false;
    focus(model, Pane::Fleet);
    model.relist();
}

/// Gives the keys to a pane.
pub(super) fn focus(model: &mut Model, pane: Pane) {
    model.pane = pane;
    model.settle();
}

/// Shows a snapshot, or what was made of one.
pub(super) fn show(model: &mut Model, view: Option<Arc<RunView>>) {
    model.shown = view;
    model.relist();
}

pub(super) fn filter_by(model: &mut Model, filter: Filter) {
    model.filter = filter;
    model.relist();
}

/// Opens what there is to know of a node.
pub(super) fn detail(model: &mut Model, slot: LogicalNodeId) {
    if model.past.is_some() {
        let key = model.keys("Esc");
        model.flash(format!("details are of the present: {key} leads there"));
        return;
    }
    model.popup = Some(Popup::Detail { slot, told: Box::default(), raw: false, top: 0 });
}
