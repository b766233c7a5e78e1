//! Live counts into the desired-state file (D14): shown, asked, and done by who has the file.

use std::collections::BTreeMap;

use driver::view::Refusal;
use reconciler_core::id::GroupId;

use super::gate::may_edit;
use crate::console::{
    keymap::{Intent, Say},
    message::Cmd,
    model::Model,
    popup::Popup,
};

/// Asks, if there is a file that says otherwise.
pub(super) fn begin(model: &mut Model) {
    if !may_edit(model) {
        return;
    }
    let file = model.live.as_deref().and_then(|live| live.file.as_ref());
    match file {
        None => model.flash("no file is followed"),
        Some(file) if file.differs.is_empty() => {
            model.flash("the file has the live counts already");
        }
        Some(_) => model.popup = Some(Popup::WriteBack),
    }
}

/// Acts on what a key means.
pub(super) fn act(model: &mut Model, intent: Intent) -> Vec<Cmd> {
    match intent {
        Intent::Say(Say::Back) => model.popup = None,
        Intent::Say(Say::Yes) => {
            model.popup = None;
            if may_edit(model) {
                return send(model);
            }
        }
        Intent::Say(_)
        | Intent::Text(_)
        | Intent::Look(_)
        | Intent::Edit(_)
        | Intent::Move(_)
        | Intent::App(_) => {}
    }
    Vec::new()
}

fn send(model: &mut Model) -> Vec<Cmd> {
    let file = model.live.as_deref().and_then(|live| live.file.as_ref());
    let differs = file.iter().flat_map(|file| &file.differs);
    let counts: BTreeMap<GroupId, u32> =
        differs.map(|(group, _, live)| (group.clone(), *live)).collect();
    if counts.is_empty() {
        model.flash("the file has the live counts already");
        return Vec::new();
    }
    vec![Cmd::WriteBack { id: model.take_id(), counts }]
}

/// What became of it.
pub(super) fn reply(model: &mut Model, answer: Result<String, Refusal>) {
    match answer {
        Ok(file) => model.flash(format!("wrote the live counts into {file}")),
        Err(refusal) => model.flash(format!("not written: {}", refusal.message)),
    }
}
