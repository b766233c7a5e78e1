//! The clipboard of who looks, through the terminal itself (OSC 52): it works over ssh, and asks no program.

/// Bytes of text that terminals take.
pub(crate) const COPY_MAX: usize = 74_994;

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// What is written to the terminal. tmux is told itself, and asked to hand it on: which of the two it does is its
/// user's setting.
pub(crate) fn sequence(text: &str, in_tmux: bool) -> String {
    let plain = format!("\u{1b}]52;c;{}\u{1b}\\", base64(text.as_bytes()));
    if !in_tmux {
        return plain;
    }
    let inner = plain.replace('\u{1b}', "\u{1b}\u{1b}");
    format!("{plain}\u{1b}Ptmux;{inner}\u{1b}\\")
}

fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3).saturating_mul(4));
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4_usize {
            let index = (bits >> (18 - 6 * at)) & 63;
            let letter = usize::try_from(index).ok().and_then(|index| LETTERS.get(index));
            let filled = at <= chunk.len();
            out.push(letter.filter(|_| filled).map_or('=', |letter| char::from(*letter)));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{base64, sequence};

    #[test]
    fn a_text_is_coded_as_the_standard_says() {
        let cases =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (text, coded) in cases {
            assert_eq!(base64(text.as_bytes()), coded);
        }
    }

    #[test]
    fn no_text_can_end_its_own_sequence() {
        let hostile = sequence("\u{1b}\\\u{7}", false);
        assert_eq!(hostile.matches('\u{1b}').count(), 2);
        assert!(!hostile.contains('\u{7}'));
        assert!(sequence("x", true).contains("\u{1b}Ptmux;\u{1b}\u{1b}]52;c;eA=="));
    }
}
