//! The bar of a replay, over the last row.

use ratatui::{Frame, layout::Rect};

use super::paint::{Ink, Line, Pen, blank};
use crate::console::{palette::Role, tape::Player};

/// Draws how far it is played, and how to go on.
pub(crate) fn bar(player: &Player, plays: bool, frame: &mut Frame<'_>) {
    let screen = frame.area();
    let row = Rect { y: screen.bottom().saturating_sub(1), height: screen.height.min(1), ..screen };
    let ink = Ink::of(player.model());
    let buf = frame.buffer_mut();
    blank(buf, row);
    let Some(mut pen) = Pen::new(buf, ink, row, 0) else { return };
    let (at, of) = player.place();
    let state = if plays { "plays" } else { "stands" };
    let cut = if player.is_cut() { "CUT OFF, the last line is left out " } else { "" };
    let line = Line::of(Role::Hold, format!(" REPLAY {at}/{of} {state} "))
        .and(Role::Bad, format!(" {cut}").trim_end())
        .and(Role::Plain, format!(" {:14}", player.told()))
        .and(Role::Faint, "l next  h back  p play  g G ends  q quit");
    pen.line(&line);
}
