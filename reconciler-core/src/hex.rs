//! Bytes as text. Plans hold tens of thousands of digests, so a block is written at a time.

use alloc::string::String;

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// The two lower-case digits of a byte.
fn digits(byte: u8) -> [u8; 2] {
    [byte >> 4, byte & 0xf].map(|n| DIGITS.get(usize::from(n)).copied().unwrap_or_default())
}

/// Hands 32 bytes as hexadecimal digits to `write`.
pub(crate) fn with_hex<T>(bytes: &[u8; 32], write: impl FnOnce(&str) -> T) -> T {
    let mut text = [0; 64];
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        pair.copy_from_slice(&digits(*byte));
    }
    write(core::str::from_utf8(&text).unwrap_or_default())
}

/// Appends sixteen bytes as a UUID: digits with hyphens after the bytes 4, 6, 8 and 10.
pub(crate) fn push_uuid(out: &mut String, bytes: &[u8; 16]) {
    let mut text = [b'-'; 36];
    let (mut rest, mut bytes) = (&mut text[..], bytes.iter());
    for length in [4_usize, 2, 2, 2, 6] {
        let (part, after) = rest.split_at_mut(length.saturating_mul(2));
        for (pair, byte) in part.chunks_exact_mut(2).zip(&mut bytes) {
            pair.copy_from_slice(&digits(*byte));
        }
        rest = after.get_mut(1..).unwrap_or_default();
    }
    out.push_str(core::str::from_utf8(&text).unwrap_or_default());
}
