//! A click: the pane under it gets the keys, and the row under it is selected.

use ratatui::layout::Position;

use super::sight::focus;
use crate::console::{
    layout::{self, Pane},
    model::Model,
};

/// Acts on a click on a cell. What lies over the panes is answered by keys alone.
pub(super) fn on(model: &mut Model, column: u16, row: u16) {
    if !model.takes_mouse() {
        return;
    }
    let (layout, at) = (model.layout(), Position { x: column, y: row });
    let hit = Pane::ALL.into_iter().find_map(|pane| {
        let frame = layout.pane(pane, model.pane)?;
        frame.contains(at).then(|| (pane, layout.inside(frame)))
    });
    let Some((pane, inside)) = hit else { return };
    let (list, _) = if pane == Pane::Fleet && model.overview {
        layout::overview(inside)
    } else {
        layout::list_part(pane, inside)
    };
    focus(model, pane);
    // The first row has the names of the columns.
    let Some(down) = row.checked_sub(list.y).filter(|down| *down > 0 && *down < list.height) else {
        return;
    };
    let (top, len) = model.focus_top();
    let to = top.saturating_add(usize::from(down)).saturating_sub(1);
    if to < len {
        model.steer(pane, Some(to));
    }
}
