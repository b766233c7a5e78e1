//! Stars out what looks like a credential in a quoted part of the file, byte for byte, so that spans still fit.
//!
//! It works on the raw text, because a file with broken syntax is quoted as well.

use std::ops::Range;

use reconciler_core::redact::is_secret_key;

use super::keys;

/// `text` with the values of secret-looking keys and the spans `known` starred out.
pub(super) fn mask(text: &str, known: impl IntoIterator<Item = Range<usize>>) -> String {
    let mut spans: Vec<Range<usize>> = known.into_iter().collect();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let found = secrets(line).into_iter();
        spans.extend(found.map(|span| offset + span.start..offset + span.end));
        offset += line.len();
    }
    spans.sort_by_key(|span| span.start);
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for span in spans {
        let start = span.start.max(done);
        out.push_str(text.get(done..start).unwrap_or_default());
        done = span.end.max(start);
        push_stars(&mut out, text.get(start..done).unwrap_or_default());
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

/// One star per byte, so that offsets stay; line ends and quotes are kept.
fn push_stars(out: &mut String, hidden: &str) {
    for c in hidden.chars() {
        let shown = if matches!(c, '\n' | '\r' | '"' | '\'') { c } else { '*' };
        out.extend(std::iter::repeat_n(shown, c.len_utf8()));
    }
}

/// The spans in one line that follow a secret-looking key or the word `bearer`.
fn secrets(line: &str) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    for (at, _) in line.match_indices(['=', ':']) {
        if spans.last().is_some_and(|span| at < span.end) {
            continue;
        }
        let key = line.get(..at).unwrap_or_default().trim_end().trim_end_matches(['"', '\'']);
        let in_key = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let start = key.char_indices().rev().find(|(_, c)| !in_key(*c));
        let start = start.map_or(0, |(at, c)| at + c.len_utf8());
        let key = key.get(start..).unwrap_or_default();
        // Keys of the format itself never hold one, whatever their names contain (`max_lost_per_pass`).
        if is_secret_key(key) && !keys::is_own(key) {
            spans.push(value_after(line, at + 1));
        }
    }
    let lower = line.to_ascii_lowercase();
    let mut bearers: Vec<Range<usize>> = Vec::new();
    for (at, word) in lower.match_indices("bearer ") {
        if bearers.last().is_none_or(|span| at >= span.end) {
            bearers.push(value_after(line, at + word.len()));
        }
    }
    spans.extend(bearers);
    spans
}

/// The value that starts at `from`: a quoted text, or all up to a separator.
fn value_after(line: &str, from: usize) -> Range<usize> {
    let rest = line.get(from..).unwrap_or_default();
    let start = from + (rest.len() - rest.trim_start().len());
    let value = line.get(start..).unwrap_or_default();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let length = match quote {
        // An escaped quote does not end a text; taking one quote too many only hides more.
        Some(quote) => value
            .char_indices()
            .skip(1)
            .find(|(at, c)| *c == quote && !value.get(..*at).unwrap_or_default().ends_with('\\'))
            .map(|(at, _)| at + 1),
        None => value.find([',', '}', ']', '"', '\'']),
    };
    start..start + length.unwrap_or_else(|| value.trim_end().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secret_keys_are_starred_in_place() {
        let table = [
            ("API_TOKEN = \"abc\"\nport = 1\n", "API_TOKEN = \"***\"\nport = 1\n"),
            ("env = { PASSWORD = \"a b\", X = \"y\" }", "env = { PASSWORD = \"***\", X = \"y\" }"),
            ("command = [\"x\", \"--token=abc\"]", "command = [\"x\", \"--token=***\"]"),
            ("TOKEN = \"open end", "TOKEN = \"********"),
            ("h = \"Authorization: Bearer abc\"", "h = \"Authorization: **********\""),
            ("SECRET = \"é\"", "SECRET = \"**\""),
            ("greeting = \"hello\"", "greeting = \"hello\""),
        ];
        for (given, masked) in table {
            assert_eq!(mask(given, []), masked);
        }
    }
}
