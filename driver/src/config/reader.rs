//! Typed access to one table of the file: a wrong type or an unknown key becomes a diagnostic, never a stop.
//!
//! A table that is absent reads as one without keys, so that the defaults of its keys apply.

use std::ops::Range;

use reconciler_core::time::Millis;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    diagnostic::{Diagnostic, Report},
    keys::{self, Part},
    quantity::{self, BadQuantity},
};

/// A value and the place that it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct At<T> {
    /// The value.
    pub(super) value: T,
    /// Where it stands.
    pub(super) span: Range<usize>,
}

/// One table of the file.
#[derive(Clone, Debug)]
pub(super) struct Section<'d> {
    table: Option<&'d DeTable<'d>>,
    at_top: bool,
    /// Where it stands; the place of its parent if it is absent.
    pub(super) span: Range<usize>,
}

impl<'d> Section<'d> {
    /// Opens `value` as the table `part` and reports the keys that it should not have.
    pub(super) fn open(value: &'d Spanned<DeValue<'d>>, part: &Part, out: &mut Report) -> Self {
        let section = Self::free(value, part.what, out);
        section.check_keys(part, out);
        section
    }

    /// Opens `value` as a table whose keys are free.
    pub(super) fn free(value: &'d Spanned<DeValue<'d>>, what: &str, out: &mut Report) -> Self {
        let table = value.get_ref().as_table();
        if table.is_none() {
            out.push(wrong_type(value, &format!("a table ({what})")));
        }
        Self { table, at_top: false, span: value.span() }
    }

    /// The whole file as a section.
    pub(super) fn root(table: &'d DeTable<'d>, out: &mut Report) -> Self {
        let section = Self { table: Some(table), at_top: true, span: 0..0 };
        section.check_keys(&keys::ROOT, out);
        section
    }

    fn check_keys(&self, part: &Part, out: &mut Report) {
        for (key, _) in self.entries() {
            if !part.keys.contains(&key.value) {
                let message = format!("unknown key `{}`", key.value);
                let label = format!("not a key of {}", part.what);
                let hint = keys::advice(part, key.value);
                let unknown = Diagnostic::new(key.span, message).label(label).hint(hint);
                // Behind a broken header, a group's keys seem to belong to the top of the file.
                out.push(if self.at_top { unknown.doubtful() } else { unknown });
            }
        }
    }

    /// Every key with its value.
    pub(super) fn entries(
        &self,
    ) -> impl Iterator<Item = (At<&'d str>, &'d Spanned<DeValue<'d>>)> + use<'d> {
        self.table
            .into_iter()
            .flat_map(|table| table.iter())
            .map(|(key, value)| (At { value: key.get_ref().as_ref(), span: key.span() }, value))
    }

    /// The value of `key` as it stands.
    pub(super) fn raw(&self, key: &str) -> Option<&'d Spanned<DeValue<'d>>> {
        self.table.and_then(|table| table.get(key))
    }

    /// The table under `key`.
    pub(super) fn sub(&self, key: &str, part: &Part, out: &mut Report) -> Self {
        self.raw(key).map_or_else(|| self.absent(), |value| Self::open(value, part, out))
    }

    /// The table under `key`, whose own keys are free.
    pub(super) fn sub_free(&self, key: &str, what: &str, out: &mut Report) -> Self {
        self.raw(key).map_or_else(|| self.absent(), |value| Self::free(value, what, out))
    }

    fn absent(&self) -> Self {
        Self { table: None, at_top: false, span: self.span.clone() }
    }

    /// Reports that `key` is missing, if it is.
    pub(super) fn require(&self, key: &str, hint: &str, out: &mut Report) {
        if self.table.is_some_and(|table| !table.contains_key(key)) {
            let missing = Diagnostic::new(self.span.clone(), format!("`{key}` is missing"));
            out.push(missing.hint(hint).doubtful());
        }
    }

    /// The text under `key`.
    pub(super) fn text(&self, key: &str, out: &mut Report) -> Option<At<&'d str>> {
        text(self.raw(key)?, "a string", out)
    }

    /// The whole number under `key`, if it lies in the range.
    pub(super) fn whole(
        &self,
        key: &str,
        range: std::ops::RangeInclusive<u32>,
        out: &mut Report,
    ) -> Option<At<u32>> {
        let value = self.raw(key)?;
        let DeValue::Integer(number) = value.get_ref() else {
            out.push(wrong_type(value, "a whole number"));
            return None;
        };
        let wide = i128::from_str_radix(number.as_str(), number.radix()).ok();
        let found = wide.and_then(|n| u32::try_from(n).ok()).filter(|n| range.contains(n));
        if found.is_none() {
            let (least, most) = (range.start(), range.end());
            let side = if wide.is_some_and(|n| n < i128::from(*least)) { "small" } else { "large" };
            let message = format!("`{key}` is too {side}: {number}");
            let hint = format!("write a whole number from {least} to {most}");
            out.push(Diagnostic::new(value.span(), message).hint(hint));
        }
        found.map(|value_found| At { value: value_found, span: value.span() })
    }

    /// The length of time under `key`.
    pub(super) fn duration(&self, key: &str, out: &mut Report) -> Option<At<Millis>> {
        let value = self.raw(key)?;
        if let DeValue::Integer(number) = value.get_ref() {
            let hint = format!("write the unit: \"{number}s\" or \"{number}ms\"");
            out.push(wrong_type(value, "a duration such as \"10s\"").hint(hint));
            return None;
        }
        let text = text(value, "a duration such as \"10s\"", out)?;
        quantity(text, quantity::duration, out)
    }

    /// The list of texts under `key`.
    pub(super) fn texts(&self, key: &str, out: &mut Report) -> Option<At<Vec<At<&'d str>>>> {
        let value = self.raw(key)?;
        let DeValue::Array(items) = value.get_ref() else {
            let mut wrong = wrong_type(value, "an array of strings");
            if let DeValue::String(one) = value.get_ref() {
                let words: Vec<_> = one.split_whitespace().map(|w| format!("\"{w}\"")).collect();
                wrong = wrong.hint(format!("write [{}]; no shell splits it", words.join(", ")));
            }
            out.push(wrong);
            return None;
        };
        let items = items.iter().filter_map(|item| text(item, "a string", out)).collect();
        Some(At { value: items, span: value.span() })
    }

    /// The texts by name under `key`.
    pub(super) fn text_map(&self, key: &str, out: &mut Report) -> Vec<(At<&'d str>, At<&'d str>)> {
        let map = self.sub_free(key, "names and strings", out);
        map.entries()
            .filter_map(|(name, value)| Some((name, text(value, "a string", out)?)))
            .collect()
    }
}

/// Reads a quantity out of a text.
pub(super) fn quantity<T>(
    text: At<&str>,
    read: impl FnOnce(&str) -> Result<T, BadQuantity>,
    out: &mut Report,
) -> Option<At<T>> {
    match read(text.value) {
        Ok(value) => Some(At { value, span: text.span }),
        Err(bad) => {
            out.push(Diagnostic::new(text.span, bad.message).hint(bad.hint));
            None
        }
    }
}

/// Reads a text, which no operating system lets contain a NUL.
pub(super) fn text<'d>(
    value: &'d Spanned<DeValue<'d>>,
    wanted: &str,
    out: &mut Report,
) -> Option<At<&'d str>> {
    let DeValue::String(text) = value.get_ref() else {
        out.push(wrong_type(value, wanted));
        return None;
    };
    if text.contains('\0') {
        let message = "the text contains a NUL character";
        out.push(Diagnostic::new(value.span(), message).hint("remove the `\\u0000`"));
        return None;
    }
    Some(At { value: text.as_ref(), span: value.span() })
}

/// The diagnostic for a value of the wrong type.
pub(super) fn wrong_type(value: &Spanned<DeValue<'_>>, wanted: &str) -> Diagnostic {
    let found = match value.get_ref() {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    };
    Diagnostic::new(value.span(), format!("expected {wanted}, found {found}"))
        .hint(type_hint(value.get_ref(), wanted))
}

/// How to write what was probably meant.
fn type_hint(found: &DeValue<'_>, wanted: &str) -> String {
    let quoted = |text: &str| format!("write it in quotes: \"{text}\"");
    match (wanted, found) {
        ("a whole number", DeValue::String(text)) if text.parse::<u32>().is_ok() => {
            format!("remove the quotes: {text}")
        }
        ("a string", DeValue::Integer(number)) => quoted(&number.to_string()),
        ("a string", DeValue::Float(float)) => quoted(float.as_str()),
        ("a string", DeValue::Boolean(flag)) => quoted(&flag.to_string()),
        (
            _,
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_),
        ) => format!("write {wanted}"),
    }
}
