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
            None => self.null(name),
        }
    }

    /// A member that is a number, written as a decimal string, or nothing.
    #[inline]
    pub fn num_if_any(&mut self, name: &'static str, number: Option<u64>) {
        match number {
            Some(number) => self.num(name, number),
            None => self.null(name),
        }
    }

    /// A member that is a text without anything to escape, which `write` appends.
    #[inline]
    pub fn plain(&mut self, name: &'static str, write: impl FnOnce(&mut String)) {
        self.begin(name);
        self.out.push('"');
        write(self.out);
        self.out.push('"');
    }

    /// A member that is a number, written as a decimal string.
    #[inline]
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
        push_list(self.out, items, write);
    }

    /// A member that is any value.
    pub fn canon(&mut self, name: &'static str, value: &Canon) {
        self.begin(name);
        value.push(self.out);
    }

    /// A member that is true or false.
    pub fn flag(&mut self, name: &'static str, flag: bool) {
        self.begin(name);
        self.out.push_str(if flag { "true" } else { "false" });
    }

    #[inline]
    fn null(&mut self, name: &'static str) {
        self.begin(name);
        self.out.push_str("null");
    }

    // Inlined, a name is a constant, and writing it is a store and not a call.
    #[inline]
    fn begin(&mut self, name: &'static str) {
        debug_assert!(self.last < Some(name), "{name} comes before {:?}", self.last);
        if self.last.replace(name).is_some() {
            self.out.push(',');
        }
        self.out.push('"');
        self.out.push_str(name);
        self.out.push_str("\":");
    }
}

/// Appends a list of texts without anything to escape, each of which `write` appends.
pub fn push_list<T>(
    out: &mut String,
    items: impl IntoIterator<Item = T>,
    write: impl Fn(&mut String, T),
) {
    out.push('[');
    for (n, item) in items.into_iter().enumerate() {
        if n > 0 {
            out.push(',');
        }
        out.push('"');
        write(out, item);
        out.push('"');
    }
    out.push(']');
}

/// Appends a number in decimal digits.
pub fn push_num(out: &mut String, number: u64) {
    // The largest has twenty digits.
    let (mut text, mut rest, mut first) = ([b'0'; 20], number, 20);
    for (place, digit) in text.iter_mut().enumerate().rev() {
        // The rest of a division by ten is always a digit.
        *digit = b'0'.wrapping_add(u8::try_from(rest % 10).unwrap_or_default());
        (rest, first) = (rest / 10, place);
        if rest == 0 {
            break;
        }
    }
    let digits = text.get(first..).and_then(|digits| core::str::from_utf8(digits).ok());
    out.push_str(digits.unwrap_or_default());
}
