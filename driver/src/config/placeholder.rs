//! The placeholders that a provider fills in where a workload starts: `{port}`, `{port:NAME}`, `{levelhead}`.
//!
//! Braces around anything that does not look like a name (JSON, shell, templates) are left alone.

use std::ops::Range;

/// A placeholder of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Placeholder<'a> {
    /// `{port}`: the first declared port.
    FirstPort,
    /// `{port:NAME}`: the port of that name.
    Port(&'a str),
    /// `{levelhead}`: the path of the running binary.
    Levelhead,
    /// Braces around a name that means nothing.
    Unknown(&'a str),
}

/// The placeholders of `text` in order, each with its bytes in `text`.
pub(super) fn find(text: &str) -> Vec<(Range<usize>, Placeholder<'_>)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(open) = text.get(from..).and_then(|rest| rest.find('{')).map(|at| from + at) {
        from = open + 1;
        let rest = text.get(from..).unwrap_or_default();
        let Some(length) = rest.find(['{', '}']) else { break };
        let inner = rest.get(..length).unwrap_or_default();
        if rest.get(length..).is_some_and(|tail| tail.starts_with('}')) && is_name(inner) {
            from = open + length + 2;
            found.push((open..from, read(inner)));
        }
    }
    found
}

/// True if nothing is left of `text` without its placeholders.
pub(super) fn is_all_placeholders(text: &str) -> bool {
    let length: usize = find(text).iter().map(|(span, _)| span.len()).sum();
    length == text.len()
}

fn is_name(inner: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':' | '.');
    inner.starts_with(|c: char| c.is_ascii_lowercase()) && inner.chars().all(legal)
}

fn read(inner: &str) -> Placeholder<'_> {
    match inner {
        "port" => Placeholder::FirstPort,
        "levelhead" => Placeholder::Levelhead,
        other => other.strip_prefix("port:").map_or(Placeholder::Unknown(other), Placeholder::Port),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_braces_are_placeholders_and_other_braces_are_not() {
        let only = |text| find(text).into_iter().map(|(_, p)| p).collect::<Vec<_>>();
        assert_eq!(only("--port={port}"), [Placeholder::FirstPort]);
        assert_eq!(
            only("{levelhead}{port:http}{slot}"),
            [Placeholder::Levelhead, Placeholder::Port("http"), Placeholder::Unknown("slot")]
        );
        for text in ["{}", "{ port }", "{\"a\": {\"b\": 1}}", "${HOME}", "{port", "}{"] {
            assert_eq!(only(text), [], "{text}");
        }
        assert_eq!(find("a{{port}}"), [(2..8, Placeholder::FirstPort)]);
    }

    #[test]
    fn a_text_of_placeholders_alone_is_no_literal() {
        assert!(is_all_placeholders("{port}"));
        assert!(is_all_placeholders(""));
        assert!(!is_all_placeholders("x{port}"));
    }
}
