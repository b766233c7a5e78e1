//! The way out of a hold, as far as it is.

use super::{
    content::{Content, keys},
    outcome,
    paint::{Ink, Line},
};
use crate::console::{
    keymap::Context,
    layout::Tier,
    model::Model,
    palette::Role,
    release::{ReleasePrompt, ReleaseStage},
    text,
};

/// The box of a release.
pub(super) fn content(model: &Model, subject: &str, stage: &ReleaseStage, width: usize) -> Content {
    let title = format!("Release {subject}?");
    match stage {
        ReleaseStage::Looking { since, .. } => {
            Content { title, ..outcome::busy(model, "looking anew at what is there", *since) }
        }
        ReleaseStage::Prompt(prompt) => prompted(model, prompt, title, width),
        ReleaseStage::Waiting { since, .. } => {
            Content { title, ..outcome::busy(model, "sent to the driver", *since) }
        }
        ReleaseStage::Refused(refusal) => {
            let foot = keys(model, &[("r", "look again"), ("Esc", "close")]);
            Content { foot, ..outcome::refused(model, "Not released", refusal, width) }
        }
        ReleaseStage::Unknown(why) => {
            let foot = keys(model, &[("r", "look again"), ("Esc", "close")]);
            Content { foot, ..outcome::unknown(model, why, width) }
        }
    }
}

fn prompted(model: &Model, prompt: &ReleasePrompt, title: String, width: usize) -> Content {
    let ink = Ink::of(model);
    let view = &prompt.view;
    let mut body = Vec::new();
    let mut say = |role: Role, name: &str, value: &str| {
        let lines = text::wrap(&ink.clean(value), width.saturating_sub(6));
        for (at, line) in lines.into_iter().enumerate() {
            let name = text::cell(if at == 0 { name } else { "" }, 6);
            body.push(Line::of(Role::Faint, name).and(role, line));
        }
    };
    view.holds.iter().for_each(|hold| say(Role::Bad, "hold", hold));
    view.seen.iter().for_each(|seen| say(Role::Plain, "seen", seen));
    say(Role::Strong, "hash", &format!("sha256:{}", view.hash));
    let mut foot =
        if model.layout().tier == Tier::Minimal { vec![] } else { vec![Line::default()] };
    let told = "This ends the hold; the driver goes on from what it sees.";
    foot.extend(text::wrap(told, width).into_iter().map(|line| Line::of(Role::Strong, line)));
    let subject = ink.clean(&view.subject);
    let shown =
        text::cell(&format!("{}_", prompt.typed), text::columns(&subject).saturating_add(1));
    let ready = prompt.typed == view.subject;
    foot.push(
        Line::of(Role::Plain, "Type ")
            .and(Role::Strong, subject)
            .and(Role::Plain, ": [")
            .and(Role::Draft, shown)
            .and(Role::Plain, "]"),
    );
    let role = if ready { Role::Strong } else { Role::Faint };
    let state = if ready { "*" } else { " (disabled)" };
    let cancel = if ready { " " } else { "*" };
    let key = |usual| model.options.keys.told(Context::Typed, usual);
    foot.push(
        Line::of(Role::Strong, format!("[ Cancel {} ]{cancel} ", key("Esc")))
            .and(role, format!("[ Release {} ]{state}", key("Enter"))),
    );
    Content { title, body, foot }
}
