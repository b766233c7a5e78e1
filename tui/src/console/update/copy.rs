//! What is copied: the name or the command of what is selected.

use super::save;
use crate::console::{
    layout::Pane,
    message::Cmd,
    model::{Model, RowId},
    popup::{PlanStage, Popup},
    terminal::COPY_MAX,
    view,
};

/// Copies what is selected in the focused pane.
pub(super) fn selected(model: &mut Model) -> Vec<Cmd> {
    let shown = model.shown.clone();
    let view = shown.as_deref();
    let text = match model.pane {
        Pane::Groups => model.groups.selected().map(ToString::to_string),
        Pane::Fleet => model.fleet.selected().map(|row| match row {
            RowId::Group(group) => group.to_string(),
            RowId::Node(slot) => slot.to_string(),
        }),
        Pane::Passes => view
            .and_then(|view| view.passes.get(model.passes.at()))
            .map(|pass| format!("pass {} {}", pass.pass, pass.trigger)),
        Pane::Events => view
            .and_then(|view| view.events.get(model.events.at()))
            .map(|event| format!("{} {} {}", event.subject, event.kind, event.text)),
        Pane::Holds => view
            .and_then(|view| view.holds.get(model.holds.at()))
            .map(|hold| model.options.place.command(&hold.way_out)),
    };
    copied(model, text)
}

/// Copies what lies over the panes: of a plan, its hash.
pub(super) fn of_popup(model: &mut Model) -> Vec<Cmd> {
    let text = match model.plan_stage() {
        Some(PlanStage::Prompt(prompt)) => Some(prompt.plan.hash.to_string()),
        Some(
            PlanStage::Asking { .. }
            | PlanStage::Waiting { .. }
            | PlanStage::Stale(_)
            | PlanStage::Refused(_)
            | PlanStage::Failed(_)
            | PlanStage::Unknown { .. },
        ) => None,
        None => {
            let reads = matches!(
                model.popup,
                Some(Popup::Help { .. } | Popup::Detail { .. } | Popup::Pass { .. })
            );
            reads.then(|| view::popup_text(model))
        }
    };
    copied(model, text)
}

/// Copies a text, and says so.
pub(super) fn copied(model: &mut Model, text: Option<String>) -> Vec<Cmd> {
    let Some(text) = text else {
        model.flash("there is nothing to copy");
        return Vec::new();
    };
    if text.len() > COPY_MAX {
        return save::text(model, text);
    }
    let first = text.lines().next().unwrap_or_default();
    let more = if text.lines().nth(1).is_some() { " ..." } else { "" };
    model.flash(format!("copied, if the terminal takes it: {first}{more}"));
    vec![Cmd::Copy(text)]
}
