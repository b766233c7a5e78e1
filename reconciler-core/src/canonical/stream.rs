//! Canonical text written member by member, without a tree in between.

use alloc::string::String;

use super::value::{Canon, push_text};

/// The members of an object that is being written. Their names come in order and hold nothing to escape.
#[derive(Debug)]
pub struct Members<'a> {
    out: &'a mut String,
    last: Option<&'static str>,
}

/// Writes an object whose members `write` gives in the order of their names.
pub fn write_object(out: &mut String, write: impl FnOnce(&mut Members<'_>)) {
    out.push('{');
    write(&mut Members { out, last: None });
    out.push('}');
}

impl Members<'_> {
    /// A member that is a text.
    pub fn text(&mut self, name: &'static str, text: &str) {
        self.begin(name);
        push_text(self.out, text);
    }

    /// A member that is a text or nothing.
    pub fn text_if_any(&mut self, name: &'static str, text: Option<&str>) {
        match text {
            Some(text) => self.text(name, text),
            None => self.canon(name, &Canon::Null),
        }
    }

    /// A member that is a text without anything to escape, which `write` appends.
    pub fn plain(&mut self, name: &'static str, write: impl FnOnce(&mut String)) {
        self.begin(name);
        self.out.push('"');
        write(self.out);
        self.out.push('"');
    }

    /// A member that is a number, written as a decimal string.
    pub fn num(&mut self, name: &'static str, number: u64) {
        self.plain(name, |out| push_num(out, number));
    }

    /// A member that is a list of texts without anything to escape, each of which `write` appends.
    pub fn list<T>(
        &mut self,
        name: &'static str,
        items: impl IntoIterator<Item = T>,
        write: impl Fn(&mut String, T),
    ) {
        self.begin(name);
        self.out.push('[');
        for (n, item) in items.into_iter().enumerate() {
            self.out.push_str(if n > 0 { ",\"" } else { "\"" });
            write(self.out, item);
            self.out.push('"');
        }
        self.out.push(']');
    }

    /// A member that is any value.
    pub fn canon(&mut self, name: &'static str, value: &Canon) {
        self.begin(name);
        value.push(self.out);
    }

    fn begin(&mut self, name: &'static str) {
        debug_assert!(self.last < Some(name), "{name} comes before {:?}", self.last);
        self.out.push_str(if self.last.replace(name).is_some() { ",\"" } else { "\"" });
        self.out.push_str(name);
        self.out.push_str("\":");
    }
}

/// Appends a number in decimal digits.
pub fn push_num(out: &mut String, number: u64) {
    let digits = core::iter::successors(Some(number), |n| Some(n / 10).filter(|n| *n > 0));
    let mut text = [b'0'; 20];
    let mut length = 0_usize;
    for (place, rest) in text.iter_mut().rev().zip(digits) {
        *place = b'0'.saturating_add(u8::try_from(rest % 10).unwrap_or(0));
        length = length.saturating_add(1);
    }
    let written = text.get(text.len().saturating_sub(length)..).unwrap_or_default();
    out.push_str(core::str::from_utf8(written).unwrap_or_default());
}
