//! The groups: what is wanted and drafted, what is there, and the shape of the selected one.

use driver::view::{GroupView, RunView};
use ratatui::{buffer::Buffer, layout::Rect};

use super::paint::{Ink, Line, Pen, lines};
use crate::console::{
    keymap::Context,
    layout::{self, Pane},
    model::Model,
    palette::Role,
    text,
};

/// Draws the pane.
pub(super) fn draw(model: &Model, view: &RunView, buf: &mut Buffer, area: Rect) {
    let ink = Ink::of(model);
    let (list, below) = layout::list_part(Pane::Groups, area);
    let name = usize::from(list.width / 3).clamp(12, 30);
    if let Some(mut pen) = Pen::new(buf, ink, list, 0) {
        pen.put(Role::Strong, " ");
        pen.cell(Role::Strong, "GROUP", name);
        pen.cell(Role::Strong, "WANT", 7);
        pen.cell(Role::Strong, "READY", 6);
        pen.put(Role::Strong, "STAGES");
    }
    let top = model.groups.top();
    let height = usize::from(list.height.saturating_sub(1));
    for (row, group) in view.groups.iter().skip(top).take(height).enumerate() {
        let Some(mut pen) = Pen::new(buf, ink, list, row.saturating_add(1)) else { break };
        let here = top.saturating_add(row) == model.groups.at();
        pen.put(Role::Plain, if here { ">" } else { " " });
        pen.cell(Role::Plain, group.group.as_str(), name);
        counts(&mut pen, model, group);
        pen.put(Role::Plain, &model.census.text(&group.group));
        if here && model.pane == Pane::Groups {
            pen.cover(Role::Selected);
        }
    }
    let selected = view.groups.get(model.groups.at());
    lines(buf, ink, below, &explain(model, selected, usize::from(below.width)));
}

fn counts(pen: &mut Pen<'_>, model: &Model, group: &GroupView) {
    if model.past.is_some() {
        // What was wanted then, nobody kept.
        pen.cell(Role::Faint, "-", 7);
        return pen.cell(Role::Plain, &group.ready.to_string(), 6);
    }
    let (role, want) = want(model, group);
    pen.cell(role, &want, 7);
    let on = group.want.saturating_sub(group.off);
    let ready = if group.ready == on { Role::Good } else { Role::Busy };
    pen.cell(ready, &format!("{}/{on}", group.ready), 6);
}

/// The wanted count, the draft beside it: `12>15*`, or `12>15!` where the live count moved under it.
fn want(model: &Model, group: &GroupView) -> (Role, String) {
    let live = model.live_group(&group.group).map_or(group.want, |view| view.want);
    match model.draft.get(&group.group) {
        Some(entry) if entry.base != live => (Role::Bad, format!("{live}>{}!", entry.want)),
        Some(entry) => (Role::Draft, format!("{live}>{}*", entry.want)),
        None => (Role::Plain, group.want.to_string()),
    }
}

fn explain(model: &Model, group: Option<&GroupView>, width: usize) -> Vec<Line> {
    let edits = model.draft.iter().count();
    let mut out = vec![Line::default()];
    if edits == 0 {
        out.push(Line::of(Role::Faint, " no draft"));
    } else {
        let plural = if edits == 1 { "edit" } else { "edits" };
        let key = |usual| model.options.keys.told(Context::of(model), usual);
        let (plan, undo, discard) = (key("p"), key("u"), key("U"));
        let text = format!(" draft: {edits} {plural}   {plan} plan  {undo} undo  {discard} drop");
        out.push(Line::of(Role::Draft, text));
    }
    out.push(Line::default());
    let Some(group) = group else { return out };
    let fact = |name: &str, value: String| {
        Line::of(Role::Faint, format!(" {}", text::cell(name, 9))).and(Role::Plain, value)
    };
    out.push(Line::of(Role::Strong, format!(" SHAPE    {}", group.group)));
    out.push(fact("role", group.role.clone()));
    out.push(fact("provider", group.provider.to_string()));
    let revision = match &group.update {
        Some(update) => format!("{}  {} of {} ready", group.revision, update.ready, group.want),
        None => group.revision.clone(),
    };
    out.push(fact("revision", revision));
    if let Some(completed) = group.completed {
        out.push(fact("job", format!("{completed} of {} completed", group.want)));
    }
    let after = group.after.iter().map(|(on, condition)| format!("{on} {}", condition.as_str()));
    let after: Vec<String> = after.collect();
    if !after.is_empty() {
        out.push(fact("after", after.join(", ")));
    }
    let room = width.saturating_sub(10);
    let first = out.len();
    for line in text::wrap(&group.command.join(" "), room).into_iter().take(2) {
        out.push(fact(if out.len() == first { "command" } else { "" }, line));
    }
    out
}
