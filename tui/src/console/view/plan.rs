//! A plan before it is confirmed: its hash, what it changes, and what must be said to apply it (P3).

use driver::view::{ChangeKind, ChangeView, PlanGroupView, PlanView};

use super::{
    content::Content,
    paint::{Ink, Line},
};
use crate::console::{
    confirm::{Button, Ladder, Prompt},
    keymap::Context,
    layout::Tier,
    model::Model,
    palette::Role,
    text, wish,
};

/// More changes than these are counted but not listed: nobody reads them one by one.
const CHANGES_MAX: usize = 1_000;

/// The box of a plan.
pub(super) fn content(model: &Model, prompt: &Prompt, width: usize) -> Content {
    let ink = Ink::of(model);
    let plan = &prompt.plan;
    let mut body = summary(plan, width);
    body.extend(identity(model, plan, width));
    body.extend(demanded(ink, plan, width));
    let mut room = CHANGES_MAX;
    for group in
        plan.groups.iter().filter(|group| group.from != group.to || !group.changes.is_empty())
    {
        body.push(Line::default());
        body.push(heading(group));
        if let Some(impact) = &group.impact {
            let lines = text::wrap(&impact.summary, width.saturating_sub(2));
            body.extend(lines.into_iter().map(|it| Line::of(Role::Plain, format!("  {it}"))));
        }
        body.extend(group.changes.iter().take(room).map(|it| change(ink, it, width)));
        if let Some(more) = group.changes.len().checked_sub(room).filter(|more| *more > 0) {
            body.push(Line::of(Role::Strong, format!("  and {more} more")));
        }
        room = room.saturating_sub(group.changes.len());
    }
    Content { title: title(prompt), body, foot: foot(model, prompt, width) }
}

fn title(prompt: &Prompt) -> String {
    if let Some(asked) = wish::told(prompt.edit()) {
        return format!("Apply plan?  {asked}");
    }
    let plan = &prompt.plan;
    let counts = plan.groups.iter().filter(|group| group.from != group.to);
    let edits: Vec<String> =
        counts.map(|group| format!("{} {}->{}", group.group, group.from, group.to)).collect();
    format!("Apply plan?  {}", edits.join(", "))
}

fn identity(model: &Model, plan: &PlanView, width: usize) -> Vec<Line> {
    let view = model.live.as_deref();
    let run = view.map(|view| view.run.to_string()).unwrap_or_default();
    let seen = view.map(|view| view.pass.get()).unwrap_or_default();
    let head = format!(
        "run {run}   gen {} -> {}   seen at pass {seen}   {} steps",
        plan.base,
        plan.target,
        plan.steps.len()
    );
    let mut out = vec![Line::of(Role::Plain, head)];
    let hash = text::wrap(&format!("plan sha256:{}", plan.hash), width);
    out.extend(hash.into_iter().map(|line| Line::of(Role::Strong, line)));
    out
}

/// What it does in numbers, as many to a line as fit.
fn summary(plan: &PlanView, width: usize) -> Vec<Line> {
    let counts = [
        (Role::Bad, "- destroy", plan.destroy),
        (Role::Draft, "~ replace", plan.replace),
        (Role::Good, "+ create", plan.create),
        (Role::Busy, "* repair", plan.repair),
        (Role::Bad, ". stop", plan.stop),
        (Role::Good, "> start", plan.start),
        (Role::Draft, "~ restart", plan.restart),
        (Role::Bad, "! held", plan.blocked),
        (Role::Plain, "= unchanged", plan.unchanged),
    ];
    let mut out = Vec::new();
    let mut line = Line::default();
    let mut used = 0_usize;
    for (role, name, count) in counts.into_iter().filter(|(_, _, count)| *count > 0) {
        let text = format!("{name} {count}   ");
        if used > 0 && used.saturating_add(text.len()) > width.saturating_add(3) {
            out.push(std::mem::take(&mut line));
            used = 0;
        }
        used = used.saturating_add(text.len());
        line = line.and(role, text);
    }
    out.push(line);
    out
}

/// Why guardrails want more than the hash, in the words of the file.
fn demanded(ink: Ink, plan: &PlanView, width: usize) -> Vec<Line> {
    let reasons = plan.demand.iter().flat_map(|demand| &demand.reasons);
    let text = |reason: &String| text::wrap(&format!("guardrail: {}", ink.clean(reason)), width);
    reasons.flat_map(text).map(|line| Line::of(Role::Strong, line)).collect()
}

fn heading(group: &PlanGroupView) -> Line {
    let counts = if group.from == group.to {
        format!("  {}", group.to)
    } else {
        format!("  {} -> {}", group.from, group.to)
    };
    Line::of(Role::Strong, group.group.to_string())
        .and(Role::Plain, counts)
        .and(Role::Faint, format!("   {} unchanged", group.unchanged))
}

fn change(ink: Ink, change: &ChangeView, width: usize) -> Line {
    let (role, sign, word) = match change.kind {
        ChangeKind::Create => (Role::Good, '+', "create"),
        ChangeKind::Replace => (Role::Draft, '~', "replace"),
        ChangeKind::Repair => (Role::Busy, '*', "repair"),
        ChangeKind::Destroy => (Role::Bad, '-', "destroy"),
        ChangeKind::Stop => (Role::Bad, '.', "stop"),
        ChangeKind::Start => (Role::Good, '>', "start"),
        ChangeKind::Restart => (Role::Draft, '~', "restart"),
        ChangeKind::Blocked => (Role::Bad, '!', "held"),
    };
    let ready = if change.ready { " (ready)" } else { "" };
    let head = format!("  {sign} {word:7}  {}{ready}", change.slot);
    let room = width.saturating_sub(text::columns(&head)).saturating_sub(2);
    Line::of(role, head).and(Role::Faint, format!("  {}", text::fit(&ink.clean(&change.why), room)))
}

/// What must be said, and the two buttons; short, because it always has to be seen.
fn foot(model: &Model, prompt: &Prompt, width: usize) -> Vec<Line> {
    let base = prompt.plan.base;
    let live = model.live.as_ref().map(|view| view.generation).filter(|live| *live != base);
    let mut out = if model.layout().tier == Tier::Minimal { vec![] } else { vec![Line::default()] };
    if let Some(live) = live {
        let key = key_of(model, if prompt.wants_name() { "Ctrl-R" } else { "r" });
        let text = format!("STALE: the shape moved from gen {base} to {live}. {key} plans again.");
        out.extend(text::wrap(&text, width).into_iter().map(|line| Line::of(Role::Bad, line)));
        return out;
    }
    let demand = text::wrap(&demand(model, prompt), width);
    out.extend(demand.into_iter().map(|line| Line::of(Role::Strong, line)));
    if let Ladder::Name(name) = &prompt.ladder {
        let shown = text::cell(&format!("{}_", prompt.typed), name.len().saturating_add(1));
        let field = Line::of(Role::Plain, "Type ").and(Role::Strong, name).and(Role::Plain, ": [");
        out.push(field.and(Role::Draft, shown).and(Role::Plain, "]"));
    }
    out.push(buttons(model, prompt));
    out
}

fn key_of(model: &Model, usual: &str) -> String {
    model.options.keys.told(Context::of(model), usual)
}

fn demand(model: &Model, prompt: &Prompt) -> String {
    let plan = &prompt.plan;
    let (apply, yes) = (key_of(model, "a"), key_of(model, "y"));
    let changes = plan.groups.iter().flat_map(|group| &group.changes);
    let ready = changes.filter(|it| it.kind == ChangeKind::Destroy && it.ready).count();
    match &prompt.ladder {
        Ladder::Nothing => "Nothing to apply: what exists is what is wanted.".to_owned(),
        Ladder::Press => format!("Destroys nothing. Press {apply} to apply."),
        Ladder::Yes if plan.destroy == 0 => {
            format!("A guardrail asks for a yes. Press {yes} to apply.")
        }
        Ladder::Yes => {
            format!("Destroys {}, none of them ready. Press {yes} to apply.", plan.destroy)
        }
        Ladder::Name(_) => grave(plan, ready),
    }
}

/// What a plan takes from what may serve.
fn grave(plan: &PlanView, ready: usize) -> String {
    let mut parts = Vec::new();
    if plan.destroy > 0 {
        parts.push(format!("destroys {} ({ready} ready)", plan.destroy));
    }
    for (verb, count) in
        [("replaces", plan.replace), ("stops", plan.stop), ("restarts", plan.restart)]
    {
        if count > 0 {
            parts.push(format!("{verb} {count}"));
        }
    }
    if parts.is_empty() && plan.demand.is_some() {
        return "A guardrail asks for a name.".to_owned();
    }
    if parts.is_empty() {
        return "Leaves a group without any node.".to_owned();
    }
    let end = if plan.destroy.max(plan.replace) > 0 { "that is not undone" } else { "leases stay" };
    let text = format!("{}; {end}.", parts.join(", "));
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

fn buttons(model: &Model, prompt: &Prompt) -> Line {
    let cancel = key_of(model, "Esc");
    let mark = |here: bool| if here { "*" } else { " " };
    let (key, ready) = match &prompt.ladder {
        Ladder::Nothing => return Line::of(Role::Strong, format!("[ Close {cancel} ]")),
        Ladder::Press => ("a", true),
        Ladder::Yes => ("y", true),
        Ladder::Name(name) => ("Enter", prompt.typed == *name),
    };
    let on_apply = if prompt.wants_name() { ready } else { prompt.button == Button::Apply };
    let role = if ready { Role::Strong } else { Role::Faint };
    let disabled = if ready { "" } else { "(disabled)" };
    let key = key_of(model, key);
    Line::of(Role::Strong, format!("[ Cancel {cancel} ]{} ", mark(!on_apply)))
        .and(role, format!("[ Apply {key} ]{}{disabled}", mark(on_apply)))
}
