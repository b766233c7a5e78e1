//! A sum over what a row holds, so that a byte that turned on the disk is noticed before it is believed (C15).
//!
//! `SQLite` checks the log and the shape of its pages, not what stands in them. The sum is no proof against
//! somebody who writes rows on purpose; the file is its owner's alone.

use rusqlite::{Row, types::Type};

use crate::codec::misread;

/// Odd, with its bits well spread: multiplying by it loses nothing and carries every bit upwards.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The sum over `parts` and over where each of them ends. A change within eight bytes always changes it.
pub(crate) fn sum(parts: &[&[u8]]) -> i64 {
    let mut state = SPREAD;
    for part in parts {
        for chunk in part.chunks(8) {
            let mut word = [0; 8];
            word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
            state = mix(state, u64::from_le_bytes(word));
        }
        state = mix(state, part.len() as u64);
    }
    (state ^ (state >> 32)).cast_signed()
}

/// One step; for a given `word` no two states come to the same, and for a given state no two words do.
const fn mix(state: u64, word: u64) -> u64 {
    (state.rotate_left(23) ^ word).wrapping_mul(SPREAD)
}

/// Compares `parts` with the sum that was written beside them; rows of older programs have none.
pub(crate) fn check(row: &Row<'_>, parts: &[&[u8]]) -> rusqlite::Result<()> {
    match row.get::<_, Option<i64>>("sum")? {
        Some(kept) if kept != sum(parts) => {
            Err(misread(Type::Integer, "its content is not what was written"))
        }
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::sum;

    /// C15: no single byte can turn, and nothing can move from one part to the next, without being noticed.
    #[test]
    fn every_turned_byte_changes_the_sum() {
        let text: Vec<u8> = (0..61).collect();
        let whole = sum(&[b"web-0", &text]);
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut turned = text.clone();
                turned[at] ^= 1 << bit;
                assert_ne!(sum(&[b"web-0", &turned]), whole, "bit {bit} of byte {at}");
            }
        }
        assert_ne!(sum(&[b"web-", &[b"0", text.as_slice()].concat()]), whole);
        assert_ne!(sum(&[b"web-0", &[text.as_slice(), &[0]].concat()]), whole);
    }
}
