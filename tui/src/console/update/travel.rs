//! Through time: the fleet as of an earlier pass, and back to the present.

use std::sync::Arc;

use reconciler_core::id::PassNumber;

use super::sight::{focus, show};
use crate::console::{layout::Pane, model::Model, past, popup::Popup};

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// To the pass before.
    Backward,
    /// To the pass after.
    Forward,
}

/// One pass further.
pub(super) fn step(model: &mut Model, way: Way) {
    let Some(live) = model.live.clone() else { return };
    let here = match model.past {
        None => 0,
        // A pass that fell out of what is kept lies behind all that is.
        Some(pass) => past::age_of(&live, pass).unwrap_or_else(|| past::reach(&live)),
    };
    let to = match way {
        Way::Backward => here.saturating_add(1),
        Way::Forward if model.past.is_none() => return model.flash("this is the present"),
        Way::Forward => here.saturating_sub(1),
    };
    match past::pass_at(&live, to) {
        Some(_) if to == 0 => home(model),
        Some(pass) => enter(model, pass.pass),
        None => model.flash("ribbons reach no further back"),
    }
}

/// Shows the fleet as of a pass; of the newest, that is the present.
pub(super) fn enter(model: &mut Model, pass: PassNumber) {
    let Some(live) = model.live.clone() else { return };
    let age = past::age_of(&live, pass);
    if age == Some(0) {
        return home(model);
    }
    let Some(view) = age.and_then(|age| past::as_of(&live, age)) else {
        return model.flash(format!("pass {pass} is not kept, or did nothing"));
    };
    model.past = Some(pass);
    if let Some(Popup::Pass { pass: shown, top }) = &mut model.popup {
        (*shown, *top) = (pass, 0);
    }
    show(model, Some(Arc::new(view)));
}

/// Back to the present.
pub(super) fn home(model: &mut Model) {
    model.past = None;
    let newest = model.live.as_ref().and_then(|live| live.passes.first()).map(|pass| pass.pass);
    if let (Some(Popup::Pass { pass, .. }), Some(newest)) = (&mut model.popup, newest) {
        *pass = newest;
    }
    show(model, model.live.clone());
}

/// Opens the selected pass, with the fleet behind it as of then.
pub(super) fn open(model: &mut Model) {
    let view = model.shown.as_deref();
    let Some(pass) = view.and_then(|view| view.passes.get(model.passes.at())) else { return };
    let pass = pass.pass;
    focus(model, Pane::Passes);
    model.popup = Some(Popup::Pass { pass, top: 0 });
    enter(model, pass);
}
