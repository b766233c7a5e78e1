//! Output of a node as it is printed: cleaned, and named by its source.

use std::path::Path;

use super::{context::Context, out};

/// Prints text of a file or another source; its name comes before the first of it.
pub(super) fn show(context: &Context, path: &Path, text: &str, first: bool) {
    if context.global.json {
        for line in plain(text).lines() {
            out::line(serde_json::json!({"file": path, "line": line}).to_string());
        }
        return;
    }
    if first && !text.is_empty() {
        out::note(format!("== {}", path.display()));
    }
    out::raw(plain(text).as_bytes());
}

/// Text that cannot move a cursor or colour a terminal; line ends and tabs stay.
fn plain(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    text.chars().filter(|c| (!c.is_control() && !turns(*c)) || matches!(c, '\n' | '\t')).collect()
}
