//! Parses the text into a tree with spans and turns every syntax error into a diagnostic.
//!
//! The parser goes on after an error, so that one run names them all; what the tree means is read elsewhere.

use std::{borrow::Cow, ops::Range};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::diagnostic::Diagnostic;

/// How many duplicates are traced to their first place; each costs one parse of what precedes it.
const TRACED_MAX: usize = 16;

/// The tree of `text`, and what is wrong with its syntax.
pub(super) fn parse(text: &str) -> (Spanned<DeTable<'_>>, Vec<Diagnostic>) {
    let (tree, errors) = DeTable::parse_recoverable(text);
    let mut twice: Vec<Vec<String>> = Vec::new();
    let mut traced = 0;
    let mut diagnostics = Vec::new();
    for error in errors {
        let span = clamp(text, error.span().unwrap_or(text.len()..text.len()));
        if error.message() != "duplicate key" {
            // What the format calls a basic string would read like the start of a credential.
            let message = error.message().replace("basic string", "string");
            let message = format!("invalid TOML: {message}");
            diagnostics.push(Diagnostic::new(span, message).hint(advice(error.message())));
            continue;
        }
        let first = if traced < TRACED_MAX { first_place(text, &span) } else { None };
        traced += 1;
        if let Some(place) = &first {
            // What a repeated table repeats is said with the table.
            let within =
                |path: &Vec<String>| place.path.len() > path.len() && place.path.starts_with(path);
            if twice.iter().any(within) {
                continue;
            }
            twice.push(place.path.clone());
        }
        diagnostics.push(duplicate(text, span, first));
    }
    (tree, diagnostics)
}

/// What to do about the parser's own messages; a message that is not known gets the rule of all lines.
fn advice(message: &str) -> &'static str {
    const ADVICE: [(&str, &str); 6] = [
        ("unclosed table", "close the header with `]`"),
        ("unclosed array", "close the array with `]`"),
        ("unclosed inline table", "close the table with `}`"),
        ("must be quoted", "put the text in double quotes"),
        ("string", "put the text in double quotes, on one line"),
        ("cannot extend", "give this table in one place only"),
    ];
    let known = ADVICE.iter().find(|(part, _)| message.contains(part));
    known.map_or("write one `NAME = …` per line, and headers as [group.NAME]", |(_, advice)| {
        advice
    })
}

/// Keeps a span inside the text and on character boundaries.
fn clamp(text: &str, span: Range<usize>) -> Range<usize> {
    let mut start = span.start.min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let mut end = span.end.clamp(start, text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    start..end
}

fn duplicate(text: &str, span: Range<usize>, first: Option<Place>) -> Diagnostic {
    let name = text.get(span.clone()).unwrap_or_default().trim_matches(['"', '\'']);
    let groups = ["group".to_owned(), name.to_owned()];
    let what = if first.as_ref().is_some_and(|place| place.path == groups) {
        format!("group `{name}` is declared twice")
    } else {
        format!("`{name}` is given twice")
    };
    let diagnostic = Diagnostic::new(span, what)
        .label("again here")
        .hint("keep one of them; a table may be opened only once");
    match first {
        Some(place) => diagnostic.related(place.span, "first here"),
        None => diagnostic,
    }
}

/// Where a key stands, and the keys that lead to it.
struct Place {
    path: Vec<String>,
    span: Range<usize>,
}

/// Finds the earlier place of the key at `span`, by looking its path up in the text that precedes its line.
///
/// The recovered tree keeps only one of the two, hence the second parse. A key inside an inline table is not
/// found; its message then names one place only.
fn first_place(text: &str, span: &Range<usize>) -> Option<Place> {
    let line_start = text.get(..span.start)?.rfind('\n').map_or(0, |at| at + 1);
    let before = text.get(..line_start)?;
    let line = text.get(line_start..)?.lines().next()?;
    let path = if line.trim_start().starts_with('[') {
        header_path(line)?
    } else {
        let mut path = before.lines().rev().find_map(header_path).unwrap_or_default();
        let key = line.split('=').next()?;
        path.extend(single_path(&format!("{key}= 0"))?);
        path
    };
    let (tree, _) = DeTable::parse_recoverable(before);
    let span = find(tree.get_ref(), &path)?;
    Some(Place { path, span })
}

fn header_path(line: &str) -> Option<Vec<String>> {
    if !line.trim_start().starts_with('[') {
        return None;
    }
    single_path(line)
}

/// The keys of a fragment that holds exactly one path.
fn single_path(fragment: &str) -> Option<Vec<String>> {
    let tree = DeTable::parse(fragment).ok()?;
    let mut path = Vec::new();
    let mut table = tree.get_ref();
    while let Some((key, value)) = table.iter().next() {
        path.push(key.get_ref().to_string());
        match value.get_ref() {
            DeValue::Table(inner) => table = inner,
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_) => break,
        }
    }
    if path.is_empty() { None } else { Some(path) }
}

fn find(root: &DeTable<'_>, path: &[String]) -> Option<Range<usize>> {
    let (last, parents) = path.split_last()?;
    let mut table = root;
    for key in parents {
        table = table.get(key.as_str())?.get_ref().as_table()?;
    }
    let wanted: Spanned<Cow<'_, str>> = Spanned::new(0..0, Cow::Borrowed(last.as_str()));
    table.get_key_value(&wanted).map(|(key, _)| key.span())
}
