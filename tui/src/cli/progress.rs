//! Progress on stderr: capped bars that are overwritten on a terminal, one line per change elsewhere.

use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
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
        let mut frame = String::new();
        if self.drawn > 0 {
            put(&mut frame, format_args!("\x1b[{}A", self.drawn));
        }
        let mut groups: Vec<&GroupView> = view.groups.iter().collect();
        groups.sort_by_key(|group| (group.ready == group.want, group.group.clone()));
        let shown = groups.len().min(BARS_MAX);
        for group in groups.iter().take(shown) {
            put(
                &mut frame,
                format_args!("\r{} {} {}\x1b[K\n", bar(group), group.group, words(group)),
            );
        }
        let more = groups.len() - shown;
        if more > 0 {
            put(&mut frame, format_args!("\r+{more} more groups\x1b[K\n"));
        }
        self.drawn = shown + usize::from(more > 0);
        drop(io::stderr().lock().write_all(frame.as_bytes()));
    }
}

fn put(text: &mut String, more: fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    drop(text.write_fmt(more));
}

fn bar(group: &GroupView) -> String {
    let total = usize::try_from(group.want.max(group.ready).max(1)).unwrap_or(1);
    let done = usize::try_from(group.ready).unwrap_or(0) * BAR_WIDTH / total;
    format!("[{}{}]", "#".repeat(done), ".".repeat(BAR_WIDTH - done.min(BAR_WIDTH)))
}

fn words(group: &GroupView) -> String {
    let mut text = format!("{}/{} ready", group.ready, group.want);
    let parts = [("deleting", group.deleting), ("failing", group.failing), ("held", group.held)];
    for (word, n) in parts.into_iter().filter(|(_, n)| *n > 0) {
        put(&mut text, format_args!(", {n} {word}"));
    }
    text
}
