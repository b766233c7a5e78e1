//! What comes over the link without being asked for, and the link's loss.

use std::sync::Arc;

use super::{recover, release, told};
use crate::console::{
    link::Lost,
    model::{Link, Model},
    popup::{PlanStage, Popup},
};
use driver::view::{Refusal, RefusalKind, RunView};

/// A newer snapshot; while paused it is kept but not shown.
pub(super) fn snapshot(model: &mut Model, view: Arc<RunView>) {
    model.link = Link::Live;
    model.dirty = true;
    let other_run = model.live.as_ref().is_some_and(|old| old.uuid != view.uuid);
    if other_run {
        model.draft.clear();
        model.past = None;
        model.flash("this is another run: the draft was dropped");
    }
    if let Some(pid) = takeover(model, &view) {
        model.flash(format!("another driver took over: pid {pid}"));
        interrupt(model, "another driver took over");
        release::interrupt(model, "another driver took over");
        recover::interrupt(model);
        told::interrupt(model);
    }
    let before = model.live.as_ref().filter(|old| !other_run && old.pass < view.pass);
    let apart = before.map_or(0, |old| view.pass.get().saturating_sub(old.pass.get()));
    model.skipped = model.skipped.saturating_add(apart.saturating_sub(1));
    let gone = model.draft.follow(&view);
    if let Some(group) = gone.first() {
        model.flash(format!("{group} is gone: its draft was dropped"));
    }
    model.live = Some(view);
    let frozen = model.paused || model.past.is_some();
    if !frozen || model.shown.is_none() {
        model.shown.clone_from(&model.live);
        model.relist();
    }
}

/// The driver that drives instead of the one that was seen before.
fn takeover(model: &Model, view: &RunView) -> Option<u32> {
    let before = model.live.as_ref()?.driver.as_ref()?;
    let after = view.driver.as_ref()?;
    (before.fence != after.fence || before.pid != after.pid).then_some(after.pid)
}

/// The link is gone: what was under way becomes unknown, what was only asked for has failed.
pub(super) fn lost(model: &mut Model, lost: Lost) {
    model.dirty = true;
    // Of the tries that follow, nothing is under way any more.
    if !matches!(model.link, Link::Lost(_)) {
        interrupt(model, &lost.why);
        release::interrupt(model, &lost.why);
        recover::interrupt(model);
        told::interrupt(model);
    }
    model.link = Link::Lost(lost);
}

/// Nobody who was asked answers any longer.
fn interrupt(model: &mut Model, why: &str) {
    let detached = model.is_applying();
    let Some(Popup::Plan { stage, .. }) = &mut model.popup else {
        if detached {
            model.flash("an apply was under way when the driver was lost: its outcome is unknown");
        }
        return;
    };
    let next = match stage.as_ref() {
        PlanStage::Asking { .. } => Some(PlanStage::Failed(Refusal {
            kind: RefusalKind::Unavailable,
            message: format!("no plan came: {why}"),
            moved: Vec::new(),
            hint: None,
        })),
        PlanStage::Waiting { id, .. } => Some(PlanStage::Unknown { id: *id, why: why.to_owned() }),
        PlanStage::Prompt(_)
        | PlanStage::Stale(_)
        | PlanStage::Refused(_)
        | PlanStage::Failed(_)
        | PlanStage::Unknown { .. } => None,
    };
    if let Some(next) = next {
        **stage = next;
    }
}
