//! Finds forms of secrets in a text, however their signs are escaped and wrapped.

use std::{collections::BTreeMap, ops::Range};

use reconciler_core::redact::shows;

/// Forms by their first sign.
pub(super) type Forms = BTreeMap<char, Vec<Box<[char]>>>;

/// What was found in a text.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Where forms stand, in order and apart.
    pub(super) whole: Vec<Range<usize>>,
    /// Where a form begins that the end of the text cuts off, and how many of its signs are there.
    pub(super) cut: Option<(usize, usize)>,
}

/// How signs may be escaped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Escapes {
    None,
    Url,
    Json,
}

/// What stands at one place of a text.
enum Unit {
    /// A sign, and how many bytes it takes.
    Sign(char, usize),
    /// The beginning of an escape that the end of the text cuts off.
    Cut,
}

enum Match {
    Whole(usize),
    Cut(usize),
    No,
}

/// Searches `text` for `forms`.
pub(super) fn search(text: &str, forms: &Forms) -> Found {
    let mut found = Found::default();
    let used = [(Escapes::Url, text.contains('%')), (Escapes::Json, text.contains('\\'))];
    let used = used.into_iter().filter_map(|(escapes, used)| used.then_some(escapes));
    let modes: Vec<Escapes> = [Escapes::None].into_iter().chain(used).collect();
    for (at, _) in text.char_indices().filter(|(_, c)| shows(*c)) {
        let (mut end, mut cut) = (None, None);
        for escapes in &modes {
            let (to, count) = begins_at(text, at, forms, *escapes);
            end = end.max(to);
            cut = cut.max(count);
        }
        if let Some(count) = cut {
            found.cut = found.cut.or(Some((at, count)));
        }
        // A value may begin within another: both go, down to the last sign of either.
        match (end, found.whole.last_mut()) {
            (Some(end), Some(last)) if at < last.end => last.end = last.end.max(end),
            (Some(end), _) => found.whole.push(at..end),
            (None, _) => {}
        }
    }
    found
}

/// Where the longest form that begins at `at` ends, and how many signs there are of one that the end cuts off.
fn begins_at(
    text: &str,
    at: usize,
    forms: &Forms,
    escapes: Escapes,
) -> (Option<usize>, Option<usize>) {
    let first = match unit(text.get(at..).unwrap_or_default(), escapes) {
        Some(Unit::Sign(first, _)) => first,
        Some(Unit::Cut) => return (None, Some(0)),
        None => return (None, None),
    };
    let (mut end, mut cut) = (None, None);
    for form in forms.get(&first).into_iter().flatten() {
        match at_place(text, at, form, escapes) {
            Match::Whole(to) => end = end.max(Some(to)),
            Match::Cut(count) => cut = cut.max(Some(count)),
            Match::No => {}
        }
    }
    (end, cut)
}

/// Compares `form` with what stands at `at`.
fn at_place(text: &str, at: usize, form: &[char], escapes: Escapes) -> Match {
    let (mut place, mut count) = (at, 0);
    while let Some(want) = form.get(count) {
        let rest = text.get(place..).unwrap_or_default();
        match unit(rest, escapes) {
            None | Some(Unit::Cut) => return Match::Cut(count),
            Some(Unit::Sign(sign, len)) => {
                if shows(sign) {
                    if sign != *want {
                        return Match::No;
                    }
                    count += 1;
                }
                place += len;
            }
        }
    }
    Match::Whole(place)
}

/// The first sign of `rest`; nothing at its end.
fn unit(rest: &str, escapes: Escapes) -> Option<Unit> {
    let c = rest.chars().next()?;
    let sign = match (escapes, c) {
        (Escapes::Url, '%') => of_url(rest),
        (Escapes::Json, '\\') => of_json(rest),
        (Escapes::None | Escapes::Url | Escapes::Json, _) => None,
    };
    Some(sign.unwrap_or(Unit::Sign(c, c.len_utf8())))
}

/// A sign as `%C3%A9`; nothing if it is none after all.
fn of_url(rest: &str) -> Option<Unit> {
    let mut bytes = Vec::new();
    let mut tail = rest;
    // A sign takes four bytes at most.
    while bytes.len() < 4 {
        let Some(after) = tail.strip_prefix('%') else {
            return (tail.is_empty() && !bytes.is_empty()).then_some(Unit::Cut);
        };
        let Some(digits) = after.get(..2) else {
            let begun = after.chars().all(|c| c.is_ascii_hexdigit());
            return begun.then_some(Unit::Cut);
        };
        bytes.push(hex(digits).and_then(|n| u8::try_from(n).ok())?);
        tail = after.get(2..).unwrap_or_default();
        match std::str::from_utf8(&bytes) {
            Ok(text) => return Some(Unit::Sign(text.chars().next()?, rest.len() - tail.len())),
            Err(error) if error.error_len().is_some() => return None,
            Err(_needs_more) => {}
        }
    }
    None
}

/// A sign as `\n` or `\u00e9`; nothing if it is none after all.
fn of_json(rest: &str) -> Option<Unit> {
    let Some(kind) = rest.chars().nth(1) else { return Some(Unit::Cut) };
    match kind {
        '"' | '\\' | '/' => return Some(Unit::Sign(kind, 2)),
        'n' | 'r' | 't' | 'b' | 'f' => return Some(Unit::Sign(' ', 2)),
        'u' => {}
        _ => return None,
    }
    let four = |rest: &str| match rest.get(..4) {
        Some(digits) => hex(digits).map(Some),
        None => rest.chars().all(|c| c.is_ascii_hexdigit()).then_some(None),
    };
    let Some(high) = four(rest.get(2..)?)? else { return Some(Unit::Cut) };
    if let Some(sign) = char::from_u32(high) {
        return Some(Unit::Sign(sign, 6));
    }
    // The first half of a pair.
    let after = rest.get(6..)?;
    let Some(second) = after.strip_prefix("\\u") else {
        return "\\u".starts_with(after).then_some(Unit::Cut);
    };
    let Some(low) = four(second)? else { return Some(Unit::Cut) };
    let pair = [u16::try_from(high).ok()?, u16::try_from(low).ok()?];
    let sign = char::decode_utf16(pair).next()?.ok()?;
    Some(Unit::Sign(sign, 12))
}

fn hex(digits: &str) -> Option<u32> {
    let all = digits.bytes().all(|b| b.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|_| all)
}
