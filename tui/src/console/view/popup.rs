//! What lies over the panes: a box with a title, lines that scroll, and a foot that stays.

use ratatui::{buffer::Buffer, layout::Rect};

use super::{
    content::{Content, keys},
    detail, help, operations, outcome,
    paint::{Ink, Line, Pen, blank, frame, lines},
    pass, plan, release,
};
use crate::console::{
    layout::{self, split},
    model::Model,
    palette::Role,
    popup::{PlanStage, Popup},
    text as words,
};

const WIDTH_MAX: u16 = 98;

/// How many lines the top view has, and how many it shows at once.
pub(crate) fn size(model: &Model) -> (usize, usize) {
    let Some((content, place)) = lay_out(model, model.screen) else { return (0, 1) };
    (content.body.len(), usize::from(parts(place, &content).0.height).max(1))
}

/// Draws the top view, if there is one.
pub(super) fn draw(model: &Model, buf: &mut Buffer, ink: Ink, screen: Rect) {
    let Some((content, place)) = lay_out(model, screen) else { return };
    blank(buf, place);
    frame(buf, ink, place, &content.title, true);
    let (body, foot) = parts(place, &content);
    let height = usize::from(body.height);
    let wanted = scrolled(model, usize::from(body.width), height);
    let top = wanted.min(content.body.len().saturating_sub(height));
    lines(buf, ink, body, content.body.get(top..).unwrap_or_default());
    lines(buf, ink, foot, &content.foot);
    let more = content.body.len().saturating_sub(top.saturating_add(height));
    if (more > 0 || top > 0)
        && let Some(mut pen) = Pen::new(buf, ink, edge(place), 0)
    {
        pen.put(Role::Strong, &format!(" {more} more lines below "));
    }
}

/// The first line that is shown: as it was scrolled to, or so that what is chosen is seen.
fn scrolled(model: &Model, width: usize, height: usize) -> usize {
    match &model.popup {
        Some(
            Popup::Help { top }
            | Popup::Detail { top, .. }
            | Popup::Plan { top, .. }
            | Popup::Release { top, .. }
            | Popup::Pass { top, .. },
        ) => *top,
        Some(Popup::Operations(list)) => {
            let chosen = operations::chosen_line(model, list, width);
            chosen.saturating_add(1).saturating_sub(height)
        }
        Some(Popup::WriteBack | Popup::Quit) | None => 0,
    }
}

/// The text of the top view, line by line.
pub(crate) fn text(model: &Model) -> String {
    let Some((content, _)) = lay_out(model, model.screen) else { return String::new() };
    let line = |line: &Line| line.0.iter().map(|(_, text)| text.as_str()).collect::<String>();
    let lines: Vec<String> = content.body.iter().map(line).collect();
    lines.join("\n")
}

/// The lower edge of the box, where it says how much is left.
fn edge(place: Rect) -> Rect {
    Rect {
        x: place.x.saturating_add(2),
        y: place.bottom().saturating_sub(1),
        width: place.width.saturating_sub(4),
        height: 1,
    }
}

fn lay_out(model: &Model, screen: Rect) -> Option<(Content, Rect)> {
    let popup = model.popup.as_ref()?;
    let width = layout::centred(screen, WIDTH_MAX, 0).width;
    let content = content(model, popup, usize::from(width.saturating_sub(4)));
    let rows = content.body.len().saturating_add(content.foot.len()).saturating_add(2);
    let height = u16::try_from(rows).unwrap_or(u16::MAX);
    Some((content, layout::centred(screen, WIDTH_MAX, height)))
}

/// The foot has the first claim on rows: it says how to confirm and how to leave.
fn parts(place: Rect, content: &Content) -> (Rect, Rect) {
    let inside = Rect {
        x: place.x.saturating_add(2),
        y: place.y.saturating_add(1),
        width: place.width.saturating_sub(4),
        height: place.height.saturating_sub(2),
    };
    let foot = u16::try_from(content.foot.len()).unwrap_or(u16::MAX);
    split(inside, inside.height.saturating_sub(foot))
}

fn content(model: &Model, popup: &Popup, width: usize) -> Content {
    match popup {
        Popup::Help { .. } => help::content(model),
        Popup::Detail { slot, told, raw, .. } => detail::content(model, slot, told, *raw, width),
        Popup::Pass { pass, .. } => pass::content(model, *pass, width),
        Popup::Release { subject, stage, .. } => release::content(model, subject, stage, width),
        Popup::Operations(list) => operations::content(model, list, width),
        Popup::WriteBack => write_back(model, width),
        Popup::Quit => quit(model, width),
        Popup::Plan { stage, .. } => match stage.as_ref() {
            PlanStage::Prompt(prompt) => plan::content(model, prompt, width),
            PlanStage::Asking { since, .. } => outcome::asking(model, *since),
            PlanStage::Waiting { since, .. } => outcome::waiting(model, *since),
            PlanStage::Stale(refusal) => outcome::stale(model, refusal, width),
            PlanStage::Refused(refusal) => outcome::refused(model, "Refused", refusal, width),
            PlanStage::Failed(refusal) => outcome::refused(model, "Failed", refusal, width),
            PlanStage::Unknown { why, .. } => outcome::unknown(model, why, width),
        },
    }
}

fn write_back(model: &Model, width: usize) -> Content {
    let file = model.live.as_deref().and_then(|live| live.file.as_ref());
    let path = file.map(|file| file.path.clone()).unwrap_or_default();
    let mut body: Vec<Line> = words::wrap(&Ink::of(model).clean(&path), width)
        .into_iter()
        .map(|line| Line::of(Role::Strong, line))
        .collect();
    for (group, in_file, live) in file.into_iter().flat_map(|file| &file.differs) {
        body.push(Line::of(Role::Plain, format!("  {group}  count = {in_file} -> {live}")));
    }
    let told = "Only these digits change; comments and layout stay.";
    body.extend(words::wrap(told, width).into_iter().map(|line| Line::of(Role::Plain, line)));
    Content {
        title: "Write the live counts into the file?".to_owned(),
        body,
        foot: keys(model, &[("y", "write"), ("Esc", "leave the file alone")]),
    }
}

fn quit(model: &Model, width: usize) -> Content {
    let embedded = "The driver lives in this process. Nodes keep running; nobody keeps them until a driver runs.";
    let applying = "An apply has no answer yet. It goes on without the console.";
    let edits: Vec<String> =
        model.draft.iter().map(|(group, it)| format!("{group} {}->{}", it.base, it.want)).collect();
    let draft = format!("The draft is lost: {}. Only this console knows it.", edits.join(", "));
    let told = [
        (Role::Plain, model.options.embedded, embedded),
        (Role::Plain, model.is_applying(), applying),
        (Role::Draft, !edits.is_empty(), draft.as_str()),
    ];
    let told = told.into_iter().filter(|(_, holds, _)| *holds);
    let body = told.flat_map(|(role, _, what)| {
        words::wrap(what, width).into_iter().map(move |line| Line::of(role, line))
    });
    Content {
        title: "Quit?".to_owned(),
        body: body.collect(),
        foot: keys(model, &[("y", "quit"), ("Esc", "stay")]),
    }
}
