//! The forms in which a value may stand in a text, as signs to search for.
//!
//! A value stands plain, or in base64 at any place of a longer run of bytes. Escapes of JSON and of URLs are undone
//! while a text is searched (`scan`), so they need no form of their own. White space and signs that nobody sees
//! count nowhere: a value that is wrapped over lines is still the value.

use reconciler_core::redact::shows;

/// Shortest value that is searched for: shorter ones are words, and a text without words says nothing.
const LEN_MIN: usize = 6;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const FOR_URLS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Every form of `value`; none if it is too short.
pub(super) fn of(value: &str) -> Vec<Box<[char]>> {
    let mut forms = Vec::new();
    push(value, &mut forms);
    // One line of a key is as good as the key to who guesses the rest, and logs put words between lines.
    let lines = value.lines().filter(|line| *line != value);
    lines.for_each(|line| push(line, &mut forms));
    forms
}

fn push(value: &str, forms: &mut Vec<Box<[char]>>) {
    let plain: Box<[char]> = value.chars().filter(|c| shows(*c)).collect();
    if plain.len() < LEN_MIN {
        return;
    }
    let spaced = value.contains(' ').then(|| value.replace(' ', "+").chars().collect());
    let encoded = [STANDARD, FOR_URLS]
        .into_iter()
        .flat_map(|alphabet| (0..3).map(move |before| base64(value.as_bytes(), before, alphabet)));
    for form in [plain].into_iter().chain(spaced).chain(encoded) {
        if !forms.contains(&form) {
            forms.push(form);
        }
    }
}

/// The signs of base64 that `value` alone decides where `before` bytes, modulo three, stand before it.
fn base64(value: &[u8], before: usize, alphabet: &[u8; 64]) -> Box<[char]> {
    let (from, to) = ((before * 8).div_ceil(6), (before + value.len()) * 8 / 6);
    let byte = |at: usize| at.checked_sub(before).and_then(|at| value.get(at)).copied();
    let sign = |n: usize| {
        let (at, shift) = (n * 6 / 8, n * 6 % 8);
        let pair = u16::from_be_bytes([byte(at).unwrap_or(0), byte(at + 1).unwrap_or(0)]);
        let six = usize::from(pair >> (10 - shift) & 0x3f);
        alphabet.get(six).map(|sign| char::from(*sign))
    };
    (from..to).filter_map(sign).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R91: the vectors of RFC 4648, and the same bytes further on in a longer run.
    #[test]
    fn base64_is_found_at_each_of_the_three_places() {
        let text = |value: &str, before, alphabet| -> String {
            base64(value.as_bytes(), before, alphabet).iter().collect()
        };
        // Zm9vYmFy is `foobar`; eHhmb29iYXI= is `xxfoobar`, eGZvb2Jhcg== is `xfoobar`.
        assert_eq!(text("foobar", 0, STANDARD), "Zm9vYmFy");
        assert_eq!(text("foobar", 1, STANDARD), "Zvb2Jhc");
        assert_eq!(text("foobar", 2, STANDARD), "mb29iYX");
        assert_eq!(text("fooba", 0, STANDARD), "Zm9vYm");
        assert_eq!(text("\u{3f}\u{3f}\u{3e}\u{7f}\u{3f}\u{7f}", 0, STANDARD), "Pz8+fz9/");
        assert_eq!(text("\u{3f}\u{3f}\u{3e}\u{7f}\u{3f}\u{7f}", 0, FOR_URLS), "Pz8-fz9_");
    }

    #[test]
    fn short_values_have_no_form_and_each_line_of_a_long_one_has_its_own() {
        assert!(of("short").is_empty());
        assert!(of("a b c d e").is_empty());
        let has = |value: &str, form: &str| of(value).contains(&form.chars().collect());
        assert!(has("first-line\nx\nsecond-line", "second-line"));
        assert!(has("first-line\nx\nsecond-line", "first-linexsecond-line"));
        assert!(!has("first-line\nx\nsecond-line", "x"));
    }
}
