//! Cleans a text that comes in pieces, so that no border between two pieces hides a value.

use std::sync::Arc;

use super::needles::{CUT_MIN, Needles, without};

/// Takes a text in pieces and gives it back without known values, each piece as soon as it is sure.
#[derive(Debug)]
pub struct Cleaner {
    needles: Arc<Needles>,
    /// The beginning of a sign whose rest is still to come.
    torn: Vec<u8>,
    /// What may still turn out to belong to a value.
    text: String,
    /// How much of it was given back already: too little of a value to hold it up.
    shown: usize,
}

impl Cleaner {
    pub(super) fn new(needles: Arc<Needles>) -> Self {
        Self { needles, torn: Vec::new(), text: String::new(), shown: 0 }
    }

    /// How many bytes before a piece it should see first, where the text begins earlier than what is shown.
    pub fn reach(&self) -> usize {
        self.needles.reach()
    }

    /// Takes the next piece; gives what is sure of the text by now.
    pub fn push(&mut self, piece: &[u8]) -> String {
        self.take(piece);
        if self.needles.is_empty() {
            return std::mem::take(&mut self.text);
        }
        let found = self.needles.search(&self.text);
        let (from, count) = found.cut.unwrap_or((self.text.len(), 0));
        // A value that is only begun holds the text up; the first few signs of one do not.
        let limit = if count >= CUT_MIN { from } else { self.text.len() };
        let crossing = found.whole.iter().find(|span| span.start < limit && limit < span.end);
        let limit = crossing.map_or(limit, |span| span.start).max(self.shown);
        let mut out = without(&found.whole, &self.text, self.shown..limit);
        let keep = from.min(limit);
        self.text.drain(..keep);
        self.shown = limit - keep;
        if self.text.len() > self.needles.reach() {
            // So much of one value does not come any more.
            out.push_str(&self.finish());
        }
        out
    }

    /// Gives what is left, without a value that was only begun.
    pub fn finish(&mut self) -> String {
        if !self.torn.is_empty() {
            self.torn.clear();
            self.text.push(char::REPLACEMENT_CHARACTER);
        }
        let text = std::mem::take(&mut self.text);
        let shown = std::mem::take(&mut self.shown);
        without(&self.needles.to_the_end(&text), &text, shown..text.len())
    }

    /// Adds a piece to the text; what is no text in it counts as one sign each.
    fn take(&mut self, piece: &[u8]) {
        self.torn.extend_from_slice(piece);
        let bytes = std::mem::take(&mut self.torn);
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.text.push_str(chunk.valid());
            if chunk.invalid().is_empty() {
                continue;
            }
            let last = chunks.peek().is_none();
            let goes_on = std::str::from_utf8(chunk.invalid())
                .is_err_and(|error| error.error_len().is_none());
            if last && goes_on {
                self.torn = chunk.invalid().to_vec();
            } else {
                self.text.push(char::REPLACEMENT_CHARACTER);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use reconciler_core::redact::MARK;

    use super::*;

    fn cleaner() -> Cleaner {
        Cleaner::new(Arc::new(Needles::of(["grün-secret-9", "grün-secret-99-long"])))
    }

    /// R91: wherever the border between two pieces lies, at any two places.
    #[test]
    fn no_border_hides_a_value() {
        let forms = ["grün-secret-9", "gr%C3%BCn-secret-9", "gr\\u00fcn-secret-9"];
        for form in forms.into_iter().chain(["Z3LDvG4tc2VjcmV0LTk=", "grün-\nsecret-9"]) {
            let text = format!("say {form} and é; go on\n");
            let bytes = text.as_bytes();
            for first in 0..bytes.len() {
                for second in first..bytes.len() {
                    let mut cleaner = cleaner();
                    let pieces = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                    let mut out: String = pieces.map(|piece| cleaner.push(piece)).concat();
                    out.push_str(&cleaner.finish());
                    let (before, after) = out.split_once(MARK).expect("a mark");
                    // At most the few signs that may stand at the end of any text.
                    assert!(before.len() <= "say gr%C3%BCn".len() + 1, "{out}");
                    assert!(before.starts_with("say "), "{out}");
                    assert!(after.ends_with(" and é; go on\n"), "{first} {second}: {out}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_value_comes_as_it_is() {
        let mut cleaner = cleaner();
        assert_eq!(cleaner.push(b"nothing g"), "nothing g");
        assert_eq!(cleaner.push("rün ist das Gras\n".as_bytes()), "rün ist das Gras\n");
        assert_eq!(cleaner.push(b"gr\xc3\xbcn-secret"), "", "too much of a value to show");
        assert_eq!(cleaner.push(b" service"), "grün-secret service");
        assert_eq!(cleaner.push(b"\xff\xc3"), "\u{fffd}");
        assert_eq!(cleaner.finish(), "\u{fffd}");
        assert_eq!(cleaner.push(b"gr\xc3\xbcn-secret"), "");
        assert_eq!(cleaner.finish(), MARK, "the end cuts a value off");
    }

    #[test]
    fn a_value_that_another_begins_with_waits_for_the_longer_one() {
        let mut cleaner = cleaner();
        let out = cleaner.push("grün-secret-9".as_bytes()) + &cleaner.push(b"9-long.");
        assert_eq!(out, format!("{MARK}."));
    }
}
