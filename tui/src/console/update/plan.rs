//! From the draft to a plan, from a confirmed plan to its outcome.

use driver::view::{Edit, PlanView, Refusal, RefusalKind};
use reconciler_core::id::Generation;

use super::{copy, gate::may_edit, scroll::scroll};
use crate::console::{
    confirm::{Barrier, Button, Confirmed, Ladder, Press, Prompt},
    keymap::{Context, Intent, Look, Say, Typing},
    layout::Tier,
    message::{Cmd, Moment},
    model::Model,
    popup::{Pending, PlanStage, Popup},
    wish,
};

const NAME_LEN_MAX: usize = 63;

/// Asks for the plan of the draft.
pub(super) fn ask(model: &mut Model) -> Vec<Cmd> {
    let edit = model.draft.edit();
    ask_for(model, edit)
}

/// Asks for the plan of an edit.
pub(super) fn ask_for(model: &mut Model, edit: Edit) -> Vec<Cmd> {
    let id = model.take_id();
    model.asked = Some(edit.clone());
    show(model, PlanStage::Asking { id, edit: edit.clone(), since: model.now });
    vec![Cmd::Plan { id, edit }]
}

fn show(model: &mut Model, stage: PlanStage) {
    model.popup = Some(Popup::Plan { stage: Box::new(stage), top: 0 });
}

/// A plan came. One that nobody waits for any longer changes nothing on the screen.
pub(super) fn planned(model: &mut Model, id: u64, answer: Result<Box<PlanView>, Refusal>) {
    let Some(PlanStage::Asking { id: asked, edit, .. }) = model.plan_stage() else { return };
    if *asked != id {
        return;
    }
    let edit = edit.clone();
    let run = model.live.as_ref().map(|view| view.run.clone());
    match (answer, run) {
        (Ok(plan), Some(run)) => {
            if wish::told(&edit).is_none() {
                model.draft.seen(&plan);
            }
            show(model, PlanStage::Prompt(Box::new(Prompt::new(plan, edit, &run))));
        }
        (Ok(_), None) => model.popup = None,
        (Err(refusal), _) => show(model, refused(refusal)),
    }
}

/// What became of an apply came.
pub(super) fn applied(model: &mut Model, id: u64, answer: Result<Generation, Refusal>) {
    let Some(at) = model.pending.iter().position(|pending| pending.id == id) else { return };
    let pending = model.pending.remove(at);
    if answer.is_ok() {
        model.draft.applied(&pending.edit);
    }
    let awaited = match model.plan_stage() {
        Some(PlanStage::Waiting { id: own, .. } | PlanStage::Unknown { id: own, .. }) => *own == id,
        Some(
            PlanStage::Asking { .. }
            | PlanStage::Prompt(_)
            | PlanStage::Stale(_)
            | PlanStage::Refused(_)
            | PlanStage::Failed(_),
        )
        | None => false,
    };
    match (answer, awaited) {
        (Ok(generation), true) => {
            model.popup = None;
            model.flash(format!("accepted: generation {generation} is wanted now"));
        }
        (Err(refusal), true) => show(model, refused(refusal)),
        (Ok(generation), false) => model.flash(format!("applied: generation {generation}")),
        (Err(refusal), false) => model.flash(format!("not applied: {}", refusal.message)),
    }
}

fn refused(refusal: Refusal) -> PlanStage {
    match refusal.kind {
        RefusalKind::Stale => PlanStage::Stale(refusal),
        RefusalKind::Invalid | RefusalKind::Forbidden => PlanStage::Refused(refusal),
        RefusalKind::Journal | RefusalKind::Unavailable | RefusalKind::Busy => {
            PlanStage::Failed(refusal)
        }
    }
}

/// Keys at a plan that waits for its confirmation.
pub(super) fn prompted(model: &mut Model, intent: Intent, at: Moment) -> Vec<Cmd> {
    let hidden = model.layout().tier == Tier::TooSmall;
    let Some(Popup::Plan { stage, .. }) = &mut model.popup else { return Vec::new() };
    let PlanStage::Prompt(prompt) = stage.as_mut() else { return Vec::new() };
    // What was typed while the plan could not be seen was not meant for it; leaving is always meant.
    if (hidden || !prompt.saw(at)) && intent != Intent::Say(Say::Back) {
        return Vec::new();
    }
    match intent {
        Intent::Say(say) => return said(model, say, at),
        Intent::Text(Typing::Char(c)) if prompt.typed.len() < NAME_LEN_MAX => prompt.typed.push(c),
        Intent::Text(Typing::Erase) => drop(prompt.typed.pop()),
        Intent::Text(Typing::Clear) => prompt.typed.clear(),
        Intent::Look(Look::Copy) => return copy::of_popup(model),
        Intent::Text(_) | Intent::Look(_) | Intent::Edit(_) | Intent::App(_) => {}
        Intent::Move(_) => scroll(model, intent),
    }
    Vec::new()
}

fn said(model: &mut Model, say: Say, at: Moment) -> Vec<Cmd> {
    let Some(Popup::Plan { stage, .. }) = &mut model.popup else { return Vec::new() };
    let PlanStage::Prompt(prompt) = stage.as_mut() else { return Vec::new() };
    let cancels = prompt.button == Button::Cancel && !prompt.wants_name();
    match say {
        Say::Back => model.popup = None,
        Say::Replan => return replan(model),
        Say::Switch => prompt.button = prompt.button.other(),
        Say::Accept if cancels => model.popup = None,
        Say::Accept => return confirm(model, Press::Enter, at),
        Say::Apply => return confirm(model, Press::Apply, at),
        Say::Yes => return confirm(model, Press::Yes, at),
    }
    Vec::new()
}

fn confirm(model: &mut Model, press: Press, at: Moment) -> Vec<Cmd> {
    if !may_edit(model) {
        return Vec::new();
    }
    let id = model.take_id();
    let live = model.live.as_ref().map(|view| view.generation);
    let Some(PlanStage::Prompt(prompt)) = model.plan_stage() else { return Vec::new() };
    let ladder = prompt.ladder.clone();
    match prompt.confirm(press, id, at, live) {
        Ok(confirmed) => send(model, confirmed),
        Err(Barrier::Early) => Vec::new(),
        Err(Barrier::Moved) => {
            model.flash("the shape moved since this plan: plan again");
            Vec::new()
        }
        Err(Barrier::TooLittle) => {
            let told = demand(model, &ladder);
            model.flash(told);
            Vec::new()
        }
    }
}

fn demand(model: &Model, ladder: &Ladder) -> String {
    let key = |usual| model.options.keys.told(Context::of(model), usual);
    match ladder {
        Ladder::Nothing => "there is nothing to apply".to_owned(),
        Ladder::Press => format!("press {}, or {} and {}", key("a"), key("Tab"), key("Enter")),
        Ladder::Yes => format!("this wants a yes: press {}", key("y")),
        Ladder::Name(name) => format!("type {name} to enable apply"),
    }
}

fn send(model: &mut Model, confirmed: Confirmed) -> Vec<Cmd> {
    model.pending.push(Pending { id: confirmed.id(), edit: confirmed.edit().clone() });
    show(model, PlanStage::Waiting { id: confirmed.id(), since: model.now });
    vec![Cmd::Apply(confirmed)]
}

/// Keys while a plan is asked for or applied, and after.
pub(super) fn answered(model: &mut Model, intent: Intent) -> Vec<Cmd> {
    let (again, over) = match model.plan_stage() {
        Some(PlanStage::Stale(_) | PlanStage::Refused(_) | PlanStage::Failed(_)) => (true, true),
        Some(PlanStage::Unknown { .. }) => (false, true),
        Some(PlanStage::Asking { .. } | PlanStage::Prompt(_) | PlanStage::Waiting { .. })
        | None => (false, false),
    };
    match intent {
        Intent::Say(Say::Back) => close(model),
        // Typed ahead, Enter was meant for what comes, not for the wait.
        Intent::Say(Say::Accept) if over => close(model),
        Intent::Say(Say::Replan) if again => return replan(model),
        Intent::Move(_) => scroll(model, intent),
        Intent::Say(_) | Intent::Text(_) | Intent::Look(_) | Intent::Edit(_) | Intent::App(_) => {}
    }
    Vec::new()
}

fn replan(model: &mut Model) -> Vec<Cmd> {
    if !may_edit(model) {
        return Vec::new();
    }
    match model.asked.clone() {
        // What is asked for beside the draft is asked for again as it was.
        Some(edit) if wish::told(&edit).is_some() => ask_for(model, edit),
        Some(_) | None => ask(model),
    }
}

/// Closing never cancels what was sent.
fn close(model: &mut Model) {
    let under_way = matches!(model.plan_stage(), Some(PlanStage::Waiting { .. }));
    model.popup = None;
    if under_way && model.is_linked() {
        model.flash("the apply goes on; its outcome will show here");
    }
}
