//! The overview of a huge fleet: a line for each group, and a letter for each node of the selected one.

use driver::view::{GroupView, NodeView, RunView};
use ratatui::{buffer::Buffer, layout::Rect};

use super::paint::{Ink, Pen};
use crate::console::{
    layout::{self, Pane},
    model::Model,
    palette::Role,
    rows::Row,
    stage,
};

const NAME: usize = 20;
const COUNT: usize = 13;
/// What is worst comes first: a letter that stands for several nodes is the worst of them.
const WORST_FIRST: [char; 9] = ['?', 'F', 'X', 'N', 'L', 'E', 'B', 'H', 'd'];

/// Draws the pane.
pub(super) fn draw(model: &Model, view: &RunView, buf: &mut Buffer, area: Rect) {
    let ink = Ink::of(model);
    let (list, map) = layout::overview(area);
    if let Some(mut pen) = Pen::new(buf, ink, list, 0) {
        pen.put(Role::Strong, " ");
        pen.cell(Role::Strong, "GROUP", NAME);
        pen.cell(Role::Strong, "READY", COUNT);
        pen.put(Role::Strong, "STAGES");
    }
    let top = model.fleet.top();
    let rows = model.rows.window(top, usize::from(list.height.saturating_sub(1)));
    let mut selected = None;
    for (at, row) in rows.iter().enumerate() {
        let Some(mut pen) = Pen::new(buf, ink, list, at.saturating_add(1)) else { break };
        let Row::Group(place) = row else { continue };
        let Some(group) = view.groups.get(*place) else { continue };
        let here = top.saturating_add(at) == model.fleet.at();
        if here {
            selected = Some(group);
        }
        pen.put(Role::Plain, if here { ">" } else { " " });
        line(&mut pen, model, group, nodes_of(view, group));
        if here && model.pane == Pane::Fleet {
            pen.cover(Role::Selected);
        }
    }
    if let Some(group) = selected {
        heat(buf, ink, map, group, nodes_of(view, group));
    }
}

/// The nodes of a group; they stand in the order of their slots.
fn nodes_of<'a>(view: &'a RunView, group: &GroupView) -> &'a [NodeView] {
    let start = view.nodes.partition_point(|node| node.slot.group < group.group);
    let end = view.nodes.partition_point(|node| node.slot.group <= group.group);
    view.nodes.get(start..end).unwrap_or_default()
}

fn line(pen: &mut Pen<'_>, model: &Model, group: &GroupView, nodes: &[NodeView]) {
    pen.cell(Role::Plain, group.group.as_str(), NAME);
    let want = if model.past.is_some() { "-".to_owned() } else { group.want.to_string() };
    let ready = if group.ready == group.want { Role::Good } else { Role::Busy };
    pen.cell(ready, &format!("{}/{want}", group.ready), COUNT);
    let counts = counts(nodes);
    let width = pen.room().saturating_sub(2);
    let total = nodes.len().max(1);
    for (letter, count) in &counts {
        // What is there is to be seen, however little of the whole it is.
        let share = count.saturating_mul(width.saturating_sub(counts.len())) / total;
        let bar: String = std::iter::repeat_n(*letter, share.saturating_add(1)).collect();
        pen.put(role(*letter), &bar);
    }
}

/// How many nodes stand at each letter, the worst first.
fn counts(nodes: &[NodeView]) -> Vec<(char, usize)> {
    let mut counts = WORST_FIRST.map(|letter| (letter, 0_usize));
    for node in nodes {
        let letter = stage::letter_of(node);
        if let Some((_, count)) = counts.iter_mut().find(|(known, _)| *known == letter) {
            *count = count.saturating_add(1);
        }
    }
    counts.into_iter().filter(|(_, count)| *count > 0).collect()
}

/// A letter for each node, or for as many as it takes to find room for all.
fn heat(buf: &mut Buffer, ink: Ink, area: Rect, group: &GroupView, nodes: &[NodeView]) {
    let width = usize::from(area.width.saturating_sub(2)).clamp(1, 100);
    let height = usize::from(area.height.saturating_sub(1)).clamp(1, 100);
    let per_cell = nodes.len().div_ceil(width.saturating_mul(height)).max(1);
    if let Some(mut pen) = Pen::new(buf, ink, area, 0) {
        let each = if per_cell == 1 {
            "a letter is a node".to_owned()
        } else {
            format!("a letter is the worst of {per_cell} nodes")
        };
        pen.put(Role::Strong, &format!(" {} ", group.group));
        pen.put(Role::Faint, &format!("{} nodes; {each}", nodes.len()));
    }
    let cells: Vec<char> = nodes.chunks(per_cell).map(worst).collect();
    for (at, row) in cells.chunks(width).enumerate() {
        let Some(mut pen) = Pen::new(buf, ink, area, at.saturating_add(1)) else { break };
        pen.put(Role::Plain, " ");
        for run in row.chunk_by(|a, b| a == b) {
            let text: String = run.iter().collect();
            pen.put(run.first().map_or(Role::Plain, |letter| role(*letter)), &text);
        }
    }
}

fn worst(nodes: &[NodeView]) -> char {
    let place = |node: &NodeView| {
        let letter = stage::letter_of(node);
        WORST_FIRST.iter().position(|known| *known == letter).unwrap_or(WORST_FIRST.len())
    };
    let least = nodes.iter().map(place).min();
    least.and_then(|at| WORST_FIRST.get(at)).copied().unwrap_or('.')
}

const fn role(letter: char) -> Role {
    match letter {
        '?' => Role::Hold,
        'F' => Role::Bad,
        'X' => Role::Draft,
        'H' | 'd' => Role::Good,
        _ => Role::Busy,
    }
}
