//! The placeholders that a provider fills in where a workload starts.
//!
//! | Placeholder | Stands for |
//! |---|---|
//! | `{port}` | the first port; a provider allocates one if the spec lists none |
//! | `{port:NAME}` | the port of that name |
//! | `{slot}`, `{group}`, `{index}` | the slot, its group, its place in the group |
//! | `{attempt}` | the UUID of the attempt |
//! | `{levelhead}` | the path of the running binary |
//!
//! They stay as they are written in the spec, so that its revision does not depend on the machine. Braces around
//! anything that is no bare name (JSON, shell variables, templates) are left alone.

use std::ops::Range;

/// The placeholders without a name of their own.
const KNOWN: [&str; 6] = ["port", "slot", "group", "index", "attempt", "levelhead"];

/// The placeholders that may be written, for advice.
pub(super) const ALL: &str =
    "`{port}`, `{port:NAME}`, `{slot}`, `{group}`, `{index}`, `{attempt}`, `{levelhead}`";

/// A placeholder of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Placeholder<'a> {
    /// One that is always filled.
    Known,
    /// `{port:NAME}`: the port of that name.
    Port(&'a str),
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
            let placeholder = read(inner);
            // `${name}` is a shell's variable, unless the name means something here.
            let shell = text.get(..open).is_some_and(|before| before.ends_with('$'));
            if !(shell && matches!(placeholder, Placeholder::Unknown(_))) {
                found.push((open..from, placeholder));
            }
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
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':');
    inner.starts_with(|c: char| c.is_ascii_lowercase()) && inner.chars().all(legal)
}

fn read(inner: &str) -> Placeholder<'_> {
    if KNOWN.contains(&inner) {
        return Placeholder::Known;
    }
    inner.strip_prefix("port:").map_or(Placeholder::Unknown(inner), Placeholder::Port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_braces_are_placeholders_and_other_braces_are_not() {
        let only = |text| find(text).into_iter().map(|(_, p)| p).collect::<Vec<_>>();
        assert_eq!(only("--port={port}"), [Placeholder::Known]);
        assert_eq!(
            only("{levelhead}{port:http}{solt}"),
            [Placeholder::Known, Placeholder::Port("http"), Placeholder::Unknown("solt")]
        );
        for text in ["{}", "{ port }", "{\"a\": {\"b\": 1}}", "${home}", "{port", "{a.b}", "}{"] {
            assert_eq!(only(text), [], "{text}");
        }
        assert_eq!(find("a{{port}}"), [(2..8, Placeholder::Known)]);
    }

    #[test]
    fn a_text_of_placeholders_alone_is_no_literal() {
        assert!(is_all_placeholders("{port}"));
        assert!(is_all_placeholders(""));
        assert!(!is_all_placeholders("x{port}"));
    }
}
