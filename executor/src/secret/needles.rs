//! A set of known values, and the texts without them.

use std::{fmt, ops::Range};

use reconciler_core::redact::MARK;

use super::{
    forms,
    scan::{Forms, Found, search},
};

/// The beginning of a value at the end of a text is taken for the value from this many signs on.
pub(super) const CUT_MIN: usize = 6;

/// Known values in every form that is searched for. It shows nothing of them.
#[derive(Clone, Default)]
pub(crate) struct Needles {
    forms: Forms,
    longest: usize,
}

impl Needles {
    /// The forms of `values`.
    pub(crate) fn of<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut needles = Self::default();
        for form in values.into_iter().flat_map(forms::of) {
            needles.longest = needles.longest.max(form.len());
            if let Some(first) = form.first() {
                needles.forms.entry(*first).or_default().push(form);
            }
        }
        needles
    }

    /// True if nothing is searched for.
    pub(crate) fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// How many bytes before a place have to be known, so that a value that began before it is recognised.
    ///
    /// An escaped sign takes up to twelve bytes, and line ends stand between signs now and then.
    pub(crate) fn reach(&self) -> usize {
        self.longest.saturating_mul(13)
    }

    /// What of `text` has to go.
    pub(super) fn search(&self, text: &str) -> Found {
        if self.is_empty() { Found::default() } else { search(text, &self.forms) }
    }

    /// `text` without the values, also without one that its end cuts off.
    pub(crate) fn cleaned(&self, text: &str) -> String {
        without(&self.to_the_end(text), text, 0..text.len())
    }

    /// What of `text` has to go if nothing follows it.
    pub(super) fn to_the_end(&self, text: &str) -> Vec<Range<usize>> {
        let Found { mut whole, cut } = self.search(text);
        // What begins within a value that is whole goes on from its end.
        let end = whole.last().map_or(0, |last| last.end);
        let cut = cut.filter(|(_, count)| *count >= CUT_MIN).map(|(at, _)| at.max(end)..text.len());
        whole.extend(cut.filter(|last| !last.is_empty()));
        whole
    }
}

/// The `part` of `text` with a mark for each of `spans`, of which none crosses its end.
pub(super) fn without(spans: &[Range<usize>], text: &str, part: Range<usize>) -> String {
    let mut out = String::with_capacity(part.len());
    let mut done = part.start;
    for span in spans.iter().filter(|span| span.end > part.start && span.end <= part.end) {
        // What began before the part is there with its rest alone.
        out.push_str(text.get(done..span.start).unwrap_or_default());
        out.push_str(MARK);
        done = span.end;
    }
    out.push_str(text.get(done..part.end).unwrap_or_default());
    out
}

impl fmt::Debug for Needles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Needles").field("longest", &self.longest).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE: &str = "pa\"ss/wörd+1 2\\3";

    fn cleaned(text: &str) -> String {
        Needles::of([VALUE]).cleaned(text)
    }

    /// R91: each form of a value, alone and in the middle of a text.
    #[test]
    fn a_value_is_taken_out_in_every_form() {
        let forms = [
            VALUE,
            r#"pa\"ss/wörd+1 2\\3"#,
            r#"pa\"ss\/w\u00f6rd+1 2\\3"#,
            "pa%22ss%2Fw%C3%B6rd%2B1%202%5C3",
            "pa%22ss%2fw%c3%b6rd%2b1%202%5c3",
            "pa%22ss/w%C3%B6rd%2B1+2%5C3",
            "pa\"ss/\r\n  wö\u{200b}rd+1 2\\3",
            // echo -n VALUE | base64, and behind one and two bytes.
            "cGEic3Mvd8O2cmQrMSAyXDM=",
            "eHBhInNzL3fDtnJkKzEgMlwz",
            "eHhwYSJzcy93w7ZyZCsxIDJcMw==",
            "eHhwYSJzcy93w7ZyZCsx\nIDJcMw==",
            "cGEic3Mvd8O2cmQrMSAyXDM%3D",
        ];
        for form in forms {
            for text in [form.to_owned(), format!("see {form} there"), format!("\"{form}\"")] {
                let clean = cleaned(&text);
                assert!(clean.contains(MARK), "{text}: {clean}");
                let left = clean.replace(MARK, "");
                let left: String = left.chars().filter(char::is_ascii_alphanumeric).collect();
                assert!(left.len() <= "seethere".len() + 6, "{text}: {clean}");
            }
        }
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        let texts = ["", "pa", "pa\"ss/wör", "100% of %zz %", r"C:\u\path\", "dw==", "pässword"];
        for text in texts.into_iter().filter(|text| *text != "pa\"ss/wör") {
            assert_eq!(cleaned(text), text);
        }
        assert_eq!(cleaned("said pa\"ss/wör"), format!("said {MARK}"), "cut off by the end");
        assert_eq!(Needles::default().cleaned(VALUE), VALUE);
    }

    /// A sign beyond the first plane is a pair of escapes in JSON, and four in a URL.
    #[test]
    fn a_sign_of_two_halves_is_one() {
        let needles = Needles::of(["secret-\u{1f600}-x"]);
        for text in ["secret-\\ud83d\\ude00-x", "secret-%F0%9F%98%80-x", "secret-\u{1f600}-x"] {
            assert_eq!(needles.cleaned(text), MARK);
        }
        assert_eq!(needles.cleaned("secret-\\ud83d-x"), "secret-\\ud83d-x");
    }

    /// Values that stand within each other or overlap leave nothing behind.
    #[test]
    fn overlapping_values_go_together() {
        let needles = Needles::of(["abcdefgh", "efghijkl", "bcdefg"]);
        assert_eq!(needles.cleaned("-abcdefgh-efghijkl-bcdefg-").matches(MARK).count(), 3);
        assert!(!needles.cleaned("abcdefghijkl").contains("ijkl"), "the rest of the second");
    }
}
