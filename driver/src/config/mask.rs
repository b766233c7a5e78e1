//! Stars out what looks like a credential in a quoted part of the file, byte for byte, so that spans still fit.
//!
//! It works on the raw text, because a file with broken syntax is quoted as well.

use std::ops::Range;

use reconciler_core::redact::is_secret_key;

use super::keys;

/// `text` with the values of secret-looking keys starred out.
pub(super) fn mask(text: &str) -> String {
    let mut out = text.to_owned();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        for value in secrets(line) {
            mask_span(&mut out, offset + value.start..offset + value.end);
        }
        offset += line.len();
    }
    out
}

/// Stars out one span; line ends stay.
pub(super) fn mask_span(text: &mut String, span: Range<usize>) {
    let Some(old) = text.get(span.clone()) else { return };
    let stars: String = old
        .chars()
        .flat_map(|c| {
            let shown = if matches!(c, '\n' | '\r' | '"' | '\'') { c } else { '*' };
            std::iter::repeat_n(shown, c.len_utf8())
        })
        .collect();
    text.replace_range(span, &stars);
}

/// The spans in one line that follow a secret-looking key or the word `bearer`.
fn secrets(line: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    for (at, _) in line.match_indices(['=', ':']) {
        let key = line.get(..at).unwrap_or_default().trim_end().trim_end_matches(['"', '\'']);
        let in_key = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let start = key.rfind(|c| !in_key(c)).map_or(0, |at| at + 1);
        let key = key.get(start..).unwrap_or_default();
        // Keys of the format itself never hold one, whatever their names contain (`max_lost_per_pass`).
        if is_secret_key(key) && !keys::is_own(key) {
            spans.push(value_after(line, at + 1));
        }
    }
    let lower = line.to_ascii_lowercase();
    for (at, word) in lower.match_indices("bearer ") {
        spans.push(value_after(line, at + word.len()));
    }
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
            assert_eq!(mask(given), masked);
        }
    }
}
