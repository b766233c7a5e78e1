//! Bytes as text. Plans hold tens of thousands of digests, so a block is written at a time.

use alloc::string::String;

/// The lower-case digit of a number below sixteen. Computed and not looked up, so that many are made at once.
const fn digit(n: u8) -> u8 {
    n.wrapping_add(if n < 10 { b'0' } else { b'a' - 10 })
}

/// Writes two digits for each of `bytes`.
fn fill(text: &mut [u8], bytes: &[u8]) {
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 0xf)]);
    }
}

/// Hands 32 bytes as hexadecimal digits to `write`.
pub(crate) fn with_hex<T>(bytes: &[u8; 32], write: impl FnOnce(&str) -> T) -> T {
    let mut text = [0; 64];
    fill(&mut text, bytes);
    write(core::str::from_utf8(&text).unwrap_or_default())
}

/// Appends sixteen bytes as a UUID: digits with hyphens after the bytes 4, 6, 8 and 10.
pub(crate) fn push_uuid(out: &mut String, bytes: &[u8; 16]) {
    let (mut digits, mut text) = ([0; 32], [b'-'; 36]);
    fill(&mut digits, bytes);
    for (hyphens, part) in [0_usize..8, 8..12, 12..16, 16..20, 20..32].into_iter().enumerate() {
        let place = part.start.saturating_add(hyphens)..part.end.saturating_add(hyphens);
        if let (Some(to), Some(from)) = (text.get_mut(place), digits.get(part)) {
            to.copy_from_slice(from);
        }
    }
    out.push_str(core::str::from_utf8(&text).unwrap_or_default());
}
