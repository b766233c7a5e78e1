//! The fleet: one row per node with the track of its stages and the ribbon of its last passes.
//!
//! Only the rows that are seen are looked at, so that a frame costs the same at every size of a fleet.

use driver::view::{GroupView, NodeView, RunView};
use ratatui::{buffer::Buffer, layout::Rect};
use reconciler_core::observed::StageName;

use super::{
    overview,
    paint::{Ink, Pen},
};
use crate::console::{
    clock,
    layout::{Pane, Tier},
    model::Model,
    palette::Role,
    rows::Row,
    stage, text,
};

/// How wide the columns are.
#[derive(Clone, Copy, Debug)]
struct Columns {
    name: usize,
    ribbon: usize,
    now: usize,
    age: usize,
}

const TRACK: usize = 9;
const STAGE: usize = 9;

impl Columns {
    fn of(view: &RunView, rows: &[Row], width: usize, tier: Tier) -> Self {
        let (ribbon, age, most) = match tier {
            Tier::Full => (width.saturating_sub(52).saturating_div(2).clamp(14, 32), 5, 24),
            Tier::Compact => (8, 0, 20),
            Tier::Minimal | Tier::TooSmall => (0, 0, 17),
        };
        let name = longest_name(view, rows).clamp(14, most);
        let taken = [1, name, 1, TRACK, 1, STAGE, 1, ribbon, 1, age, 1];
        let now = width.saturating_sub(taken.into_iter().fold(0, usize::saturating_add));
        Self { name, ribbon, now: if ribbon == 0 { 0 } else { now }, age }
    }
}

/// What the names of wanted slots take, so that scrolling moves no column, and those seen beyond them.
fn longest_name(view: &RunView, rows: &[Row]) -> usize {
    let of = |group: &str, index: u32| {
        let digits = index.checked_ilog10().unwrap_or(0);
        let digits = usize::try_from(digits).unwrap_or(0).saturating_add(1);
        // A space before the name, and the hyphen.
        group.len().saturating_add(digits).saturating_add(2)
    };
    let wanted = view.groups.iter().map(|it| of(it.group.as_str(), it.want.saturating_sub(1)));
    let seen = rows.iter().filter_map(|row| match row {
        Row::Node(at) => view.nodes.get(*at).map(|it| of(it.slot.group.as_str(), it.slot.index)),
        Row::Group(_) => None,
    });
    wanted.chain(seen).max().unwrap_or(0)
}

/// The title of the pane.
pub(super) fn title(model: &Model, view: &RunView, head: &str) -> String {
    let total = view.nodes.len();
    let mut out = format!("{head} {total}");
    let shown = model.rows.matching();
    if !model.order.is_grouped() {
        out = format!("{out}  {}", model.order.title());
    }
    if model.problems {
        out.push_str("  problems");
    }
    if !model.filter.is_empty() {
        out.push_str("  filter:");
        out.push_str(model.filter.as_str());
    }
    if model.problems || !model.filter.is_empty() {
        out = format!("{out}  {shown}/{total}");
    }
    out
}

/// Draws the pane.
pub(super) fn draw(model: &Model, view: &RunView, buf: &mut Buffer, area: Rect, tier: Tier) {
    if model.overview {
        return overview::draw(model, view, buf, area);
    }
    let ink = Ink::of(model);
    let top = model.fleet.top();
    let rows = model.rows.window(top, usize::from(area.height.saturating_sub(1)));
    let columns = Columns::of(view, rows, usize::from(area.width), tier);
    if let Some(mut pen) = Pen::new(buf, ink, area, 0) {
        heading(&mut pen, columns);
    }
    for (at, row) in rows.iter().enumerate() {
        let Some(mut pen) = Pen::new(buf, ink, area, at.saturating_add(1)) else { break };
        let here = top.saturating_add(at) == model.fleet.at();
        pen.put(Role::Plain, if here { ">" } else { " " });
        match row {
            Row::Group(at) => {
                if let Some(group) = view.groups.get(*at) {
                    group_row(&mut pen, model, view, group, columns);
                }
            }
            Row::Node(at) => {
                if let Some(node) = view.nodes.get(*at) {
                    node_row(&mut pen, model, node, columns);
                }
            }
        }
        if here && model.pane == Pane::Fleet {
            pen.cover(Role::Selected);
        }
    }
}

fn heading(pen: &mut Pen<'_>, columns: Columns) {
    pen.put(Role::Strong, " ");
    pen.cell(Role::Strong, "NODE", columns.name);
    pen.cell(Role::Strong, "TRACK", TRACK);
    pen.cell(Role::Strong, "STAGE", STAGE);
    if columns.ribbon > 0 {
        let title = if columns.ribbon > 8 { "LAST PASSES" } else { "PASSES" };
        pen.cell(Role::Strong, title, columns.ribbon);
        pen.cell(Role::Strong, "NOW", columns.now);
    }
    if columns.age > 0 {
        pen.number(Role::Strong, "AGE", columns.age);
    }
}

fn group_row(
    pen: &mut Pen<'_>,
    model: &Model,
    view: &RunView,
    group: &GroupView,
    columns: Columns,
) {
    let mark = if model.folded.contains(&group.group) { ">" } else { "v" };
    pen.cell(Role::Strong, &format!("{mark} {}", group.group), columns.name);
    if model.past.is_some() {
        // What was wanted then, nobody kept; where its nodes stood, the ribbons say.
        return pen.put(Role::Plain, &model.census.text(&group.group));
    }
    let draft = model.draft.get(&group.group);
    let wanted = draft.map_or(String::new(), |entry| format!(" (draft {})", entry.want));
    pen.put(Role::Plain, &format!("want {}", group.want));
    pen.put(Role::Draft, &wanted);
    pen.put(Role::Plain, &format!("  ready {}", group.ready));
    let counts = [
        (Role::Hold, "HOLD", group.held),
        (Role::Bad, "failing", group.failing),
        (Role::Busy, "deleting", group.deleting),
        (Role::Bad, "orphans", group.orphans),
        (Role::Faint, "off", group.off),
        (Role::Good, "completed", group.completed.unwrap_or(0)),
    ];
    for (role, name, count) in counts {
        if count > 0 {
            pen.put(Role::Plain, "  ");
            pen.put(role, &format!("{name} {count}"));
        }
    }
    if revised(view, group) {
        pen.put(Role::Draft, "  not as the file says");
    }
    if !group.waits_for.is_empty() {
        pen.put(Role::Hold, &format!("  waits for {}", group.waits_for.join(", ")));
    }
}

/// True if the nodes of a group are something else than the file says.
fn revised(view: &RunView, group: &GroupView) -> bool {
    let revised = view.file.iter().flat_map(|file| &file.revised);
    revised.map(|(name, ..)| name).any(|name| *name == group.group)
}

fn node_row(pen: &mut Pen<'_>, model: &Model, node: &NodeView, columns: Columns) {
    let role = role(node);
    let name = if moved(node) { Role::Strong } else { Role::Plain };
    let room = columns.name.saturating_sub(1);
    let slot = text::fit_slot(node.slot.group.as_str(), node.slot.index, room);
    pen.cell(name, &format!(" {slot}"), columns.name);
    pen.cell(role, &model.glyphs().track(stage::track(node)), TRACK);
    pen.cell(role, stage::word_of(node), STAGE);
    if columns.ribbon > 0 {
        ribbon(pen, node, columns.ribbon);
        pen.cell(role, &now(model, node), columns.now);
    }
    if columns.age > 0 && model.past.is_none() {
        pen.number(Role::Faint, &clock::length(model.now.wall.since(node.since)), columns.age);
    }
}

fn ribbon(pen: &mut Pen<'_>, node: &NodeView, width: usize) {
    for (letter, illegal) in stage::ribbon(&node.ribbon, width) {
        let mut bytes = [0; 4];
        let letter: &str = letter.encode_utf8(&mut bytes);
        if illegal {
            pen.underlined(Role::Bad, letter);
        } else {
            pen.put(Role::Plain, letter);
        }
    }
    pen.put(Role::Plain, " ");
}

/// True if it changed its letter in the last pass.
fn moved(node: &NodeView) -> bool {
    let mut letters = node.ribbon.chars().rev();
    matches!((letters.next(), letters.next()), (Some(last), Some(before)) if last != before)
}

/// What is on its way, else when it is tried again, else why it stands where it stands.
fn now(model: &Model, node: &NodeView) -> String {
    if model.past.is_some() {
        return node.reason.clone();
    }
    if let Some(command) = node.pending {
        return format!("* {}", command.as_str());
    }
    if let Some(code) = node.hold {
        return code.as_str().to_owned();
    }
    if let Some(left) = stage::retry_at(node).and_then(|due| clock::left(due, model.now.wall)) {
        return format!("retry in {left} ({})", node.failures);
    }
    node.reason.clone()
}

const fn role(node: &NodeView) -> Role {
    if node.hold.is_some() {
        return Role::Hold;
    }
    match node.stage {
        StageName::Failed => Role::Bad,
        StageName::HandedOff | StageName::Dormant if !node.deleting => Role::Good,
        StageName::New
        | StageName::LeaseRequested
        | StageName::LeaseCreated
        | StageName::EndpointKnown
        | StageName::BootstrapRunning
        | StageName::SwactorJoined
        | StageName::HandedOff
        | StageName::Dormant
        | StageName::Destroyed => Role::Busy,
    }
}
