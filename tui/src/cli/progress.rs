//! Progress on stderr: capped bars that are overwritten on a terminal, one line per change elsewhere.

use std::{
    collections::BTreeMap,
    io::{self, IsTerminal as _, Write as _},
};

use driver::view::{GroupView, RunView};
use reconciler_core::id::GroupId;

use super::out;

/// Groups shown on a terminal at once; the others are counted.
const BARS_MAX: usize = 12;
/// Width of a bar.
const BAR_WIDTH: usize = 24;

/// Shows how far a run has come.
pub(crate) struct Progress {
    terminal: bool,
    drawn: usize,
    said: BTreeMap<GroupId, String>,
}

impl Progress {
    /// Chooses by what stderr is.
    pub(crate) fn new() -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let ci = std::env::var_os("CI").is_some();
        let terminal = io::stderr().is_terminal() && !dumb && !ci;
        Self { terminal, drawn: 0, said: BTreeMap::new() }
    }

    /// Shows `view`.
    pub(crate) fn show(&mut self, view: &RunView) {
        if self.terminal { self.draw(view) } else { self.say(view) }
    }

    fn say(&mut self, view: &RunView) {
        for group in &view.groups {
            let text = words(group);
            if self.said.get(&group.group) != Some(&text) {
                out::note(format!("{}: {text}", group.group));
                self.said.insert(group.group.clone(), text);
            }
        }
    }

    fn draw(&mut self, view: &RunView) {
        let mut groups: Vec<&GroupView> = view.groups.iter().collect();
        groups.sort_by_key(|group| (group.ready == on(group), group.group.clone()));
        let more = groups.len().saturating_sub(BARS_MAX);
        let bars = groups.iter().take(BARS_MAX);
        let mut lines: Vec<String> =
            bars.map(|g| format!("{} {} {}", bar(g), g.group, words(g))).collect();
        if more > 0 {
            lines.push(format!("+{more} more groups"));
        }
        let back = if self.drawn > 0 { format!("\x1b[{}A", self.drawn) } else { String::new() };
        self.drawn = lines.len();
        let drawn = lines.join("\x1b[K\n\r");
        drop(io::stderr().lock().write_all(format!("{back}\r{drawn}\x1b[K\n").as_bytes()));
    }
}

fn bar(group: &GroupView) -> String {
    let total = usize::try_from(on(group).max(1)).unwrap_or(1);
    let done = usize::try_from(group.ready).unwrap_or(0) * BAR_WIDTH / total;
    format!("[{}{}]", "#".repeat(done), ".".repeat(BAR_WIDTH - done.min(BAR_WIDTH)))
}

fn words(group: &GroupView) -> String {
    let parts = [("deleting", group.deleting), ("failing", group.failing), ("held", group.held)];
    let counted = parts.into_iter().filter(|(_, n)| *n > 0);
    let more: Vec<String> = counted.map(|(word, n)| format!(", {n} {word}")).collect();
    format!("{}/{} ready{}", group.ready, on(group), more.concat())
}

/// How many nodes of a group are to run.
const fn on(group: &GroupView) -> u32 {
    group.want.saturating_sub(group.off)
}
