//! From a hold to its end: a fresh look, its hash, and a name that is typed.

use driver::view::{Refusal, ReleaseView};

use super::{gate::may_edit, scroll::scroll};
use crate::console::{
    keymap::{Intent, Say, Typing},
    layout::Tier,
    message::{Cmd, Moment},
    model::Model,
    popup::Popup,
    release::{ReleasePrompt, ReleaseStage},
};

const SUBJECT_LEN_MAX: usize = 80;

/// Looks anew at the selected hold.
pub(super) fn begin(model: &mut Model) -> Vec<Cmd> {
    let view = model.shown.as_deref();
    let subject =
        view.and_then(|view| view.holds.get(model.holds.at())).map(|it| it.subject.clone());
    let Some(subject) = subject else {
        model.flash("nothing is held");
        return Vec::new();
    };
    of(model, subject)
}

/// Looks anew at what is named.
pub(super) fn of(model: &mut Model, subject: String) -> Vec<Cmd> {
    if !may_edit(model) {
        return Vec::new();
    }
    let id = model.take_id();
    show(model, subject.clone(), ReleaseStage::Looking { id, since: model.now });
    vec![Cmd::Survey { id, subject }]
}

fn show(model: &mut Model, subject: String, stage: ReleaseStage) {
    model.popup = Some(Popup::Release { subject, stage: Box::new(stage), top: 0 });
}

/// An answer came; one that nobody waits for any longer is told in the footer.
pub(super) fn reply(model: &mut Model, id: u64, answer: Result<Box<ReleaseView>, Refusal>) {
    let Some(Popup::Release { subject, stage, .. }) = &model.popup else {
        return late(model, answer);
    };
    let awaited = match stage.as_ref() {
        ReleaseStage::Looking { id: own, .. } | ReleaseStage::Waiting { id: own, .. } => *own == id,
        ReleaseStage::Prompt(_) | ReleaseStage::Refused(_) | ReleaseStage::Unknown(_) => false,
    };
    if !awaited {
        return late(model, answer);
    }
    let subject = subject.clone();
    match answer {
        Ok(view) if view.released => {
            model.popup = None;
            model.flash(format!("released {subject}; the driver goes on with it"));
        }
        Ok(view) => {
            show(model, subject, ReleaseStage::Prompt(Box::new(ReleasePrompt::new(*view))));
        }
        Err(refusal) => show(model, subject, ReleaseStage::Refused(refusal)),
    }
}

fn late(model: &mut Model, answer: Result<Box<ReleaseView>, Refusal>) {
    match answer {
        Ok(view) if view.released => model.flash(format!("released {}", view.subject)),
        Ok(_) => {}
        Err(refusal) => model.flash(format!("not released: {}", refusal.message)),
    }
}

/// Keys at a release that waits for its confirmation.
pub(super) fn prompted(model: &mut Model, intent: Intent, at: Moment) -> Vec<Cmd> {
    let hidden = model.layout().tier == Tier::TooSmall;
    let Some(Popup::Release { subject, stage, .. }) = &mut model.popup else { return Vec::new() };
    let ReleaseStage::Prompt(prompt) = stage.as_mut() else { return Vec::new() };
    let subject = subject.clone();
    // What was typed while it could not be seen was not meant for it; leaving is always meant.
    if (hidden || !prompt.saw(at)) && intent != Intent::Say(Say::Back) {
        return Vec::new();
    }
    match intent {
        Intent::Say(Say::Back) => model.popup = None,
        Intent::Say(Say::Replan) => return of(model, subject),
        Intent::Say(Say::Accept) => return confirm(model, at),
        Intent::Text(Typing::Char(c)) if prompt.typed.len() < SUBJECT_LEN_MAX => {
            prompt.typed.push(c);
        }
        Intent::Text(Typing::Erase) => drop(prompt.typed.pop()),
        Intent::Text(Typing::Clear) => prompt.typed.clear(),
        Intent::Move(_) => scroll(model, intent),
        Intent::Say(Say::Apply | Say::Yes | Say::Switch)
        | Intent::Text(_)
        | Intent::Look(_)
        | Intent::Edit(_)
        | Intent::App(_) => {}
    }
    Vec::new()
}

fn confirm(model: &mut Model, at: Moment) -> Vec<Cmd> {
    if !may_edit(model) {
        return Vec::new();
    }
    let id = model.take_id();
    let Some(Popup::Release { subject, stage, .. }) = &model.popup else { return Vec::new() };
    let ReleaseStage::Prompt(prompt) = stage.as_ref() else { return Vec::new() };
    let subject = subject.clone();
    let Some(confirmed) = prompt.confirm(id, at) else {
        model.flash(format!("type {subject} to enable the release"));
        return Vec::new();
    };
    show(model, subject, ReleaseStage::Waiting { id, since: model.now });
    vec![Cmd::Release(confirmed)]
}

/// Keys while it is looked or released, and after.
pub(super) fn answered(model: &mut Model, intent: Intent) -> Vec<Cmd> {
    let Some(Popup::Release { subject, stage, .. }) = &model.popup else { return Vec::new() };
    let over = matches!(stage.as_ref(), ReleaseStage::Refused(_) | ReleaseStage::Unknown(_));
    let subject = subject.clone();
    match intent {
        Intent::Say(Say::Back) => model.popup = None,
        Intent::Say(Say::Accept) if over => model.popup = None,
        Intent::Say(Say::Replan) if over => return of(model, subject),
        Intent::Move(_) => scroll(model, intent),
        Intent::Say(_) | Intent::Text(_) | Intent::Look(_) | Intent::Edit(_) | Intent::App(_) => {}
    }
    Vec::new()
}

/// The link is gone: a look has failed, and what became of a release is not known.
pub(super) fn interrupt(model: &mut Model, why: &str) {
    let Some(Popup::Release { stage, .. }) = &mut model.popup else { return };
    match stage.as_ref() {
        ReleaseStage::Looking { .. } | ReleaseStage::Waiting { .. } => {
            **stage = ReleaseStage::Unknown(why.to_owned());
        }
        ReleaseStage::Prompt(_) | ReleaseStage::Refused(_) | ReleaseStage::Unknown(_) => {}
    }
}
