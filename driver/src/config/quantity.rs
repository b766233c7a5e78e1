//! Reads lengths of time, amounts of memory and shares of a processor from their written forms.
//!
//! No floats: a decimal fraction is read digit by digit, so that one text has exactly one meaning.

use reconciler_core::time::Millis;

/// Why a text is not a quantity, and how to write one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BadQuantity {
    /// What is wrong, as a lower-case fragment.
    pub(super) message: String,
    /// What to write.
    pub(super) hint: String,
}

const DURATION_UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
const DURATION_HINT: &str = "write a number and a unit: \"250ms\", \"10s\", \"1m 30s\", \"2h\"";
const SIZE_UNITS: [(&str, u64); 3] = [("MiB", 1), ("GiB", 1_024), ("TiB", 1_048_576)];
const SIZE_HINT: &str = "write a whole number and a unit: \"512 MiB\", \"10 GiB\"";
const CPUS_HINT: &str = "write cpus = 2, or cpus = \"0.5\" with at most three decimals";

fn bad(message: impl Into<String>, hint: &str) -> BadQuantity {
    BadQuantity { message: message.into(), hint: hint.to_owned() }
}

/// Splits a leading whole number off `text`.
fn leading_number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    Some((digits.parse().ok()?, rest))
}

/// Reads a length of time: one or more numbers with units, the largest unit first.
pub(super) fn duration(text: &str) -> Result<Millis, BadQuantity> {
    let mut rest = text.trim();
    let mut total: u64 = 0;
    let mut smallest = u64::MAX;
    if rest.is_empty() {
        return Err(bad("a duration must not be empty", DURATION_HINT));
    }
    while !rest.is_empty() {
        let malformed = || bad(format!("`{text}` is not a duration"), DURATION_HINT);
        let (number, tail) = leading_number(rest).ok_or_else(malformed)?;
        let tail = tail.trim_start();
        let end = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(end);
        let scale = DURATION_UNITS.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale);
        let scale = scale.ok_or_else(malformed)?;
        if scale >= smallest {
            let message = format!("`{text}` names a unit twice or out of order");
            return Err(bad(message, DURATION_HINT));
        }
        smallest = scale;
        let part = number.checked_mul(scale).and_then(|part| total.checked_add(part));
        total = part.ok_or_else(|| bad(format!("`{text}` is too long a time"), DURATION_HINT))?;
        rest = tail.trim_start();
    }
    Ok(Millis::new(total))
}

/// Writes a length of time in the form that `duration` reads.
pub(super) fn show(length: Millis) -> String {
    let mut rest = length.get();
    let mut parts = Vec::new();
    for (unit, scale) in DURATION_UNITS.iter().rev() {
        if rest >= *scale {
            parts.push(format!("{}{unit}", rest / scale));
            rest %= scale;
        }
    }
    if parts.is_empty() { "0s".to_owned() } else { parts.join(" ") }
}

/// Reads an amount of memory or disk, in mebibytes.
pub(super) fn mebibytes(text: &str) -> Result<u64, BadQuantity> {
    let malformed = || bad(format!("`{text}` is not a size"), SIZE_HINT);
    let (number, unit) = leading_number(text.trim()).ok_or_else(malformed)?;
    let unit = unit.trim_start();
    if let Some((_, scale)) = SIZE_UNITS.iter().find(|(name, _)| *name == unit) {
        return number
            .checked_mul(*scale)
            .filter(|size| *size > 0)
            .ok_or_else(|| bad(format!("`{text}` is out of range"), SIZE_HINT));
    }
    let meant = SIZE_UNITS.iter().find(|(name, _)| {
        let decimal = name.replace('i', "");
        name.eq_ignore_ascii_case(unit)
            || decimal.eq_ignore_ascii_case(unit)
            || name.get(..1).is_some_and(|first| first.eq_ignore_ascii_case(unit))
    });
    Err(match meant {
        Some((name, _)) => {
            bad(format!("`{unit}` is not a known unit"), &format!("write \"{number} {name}\""))
        }
        None => malformed(),
    })
}

/// Reads a number of processors with at most three decimals, in thousandths.
pub(super) fn millicpus(text: &str) -> Result<u32, BadQuantity> {
    let malformed = || bad(format!("`{text}` is not a number of processors"), CPUS_HINT);
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let plain = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !plain(whole) || !plain(fraction) || fraction.len() > 3 {
        return Err(malformed());
    }
    let thousandths: u32 = format!("{fraction:0<3}").parse().map_err(|_bad| malformed())?;
    let whole: u32 = whole.parse().map_err(|_bad| malformed())?;
    whole
        .checked_mul(1_000)
        .and_then(|whole| whole.checked_add(thousandths))
        .filter(|millis| *millis > 0)
        .ok_or_else(|| bad(format!("`{text}` processors are out of range"), CPUS_HINT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_unit_by_unit() {
        let table = [("250ms", 250), ("10s", 10_000), ("1m 30s", 90_000), ("2h", 7_200_000)];
        for (text, ms) in table {
            assert_eq!(duration(text).map(Millis::get), Ok(ms), "{text}");
        }
        assert_eq!(duration("1h2m3s4ms").map(Millis::get), Ok(3_723_004));
        for text in ["", "10", "s", "10 parsecs", "1s 1s", "1s 1m", "-1s", "1.5s", "9e9s"] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert!(duration("99999999999999999d").is_err());
    }

    #[test]
    fn what_is_shown_reads_back() {
        for ms in [0, 1, 999, 1_000, 90_000, 3_723_004, 90_061_001] {
            assert_eq!(duration(&show(Millis::new(ms))), Ok(Millis::new(ms)));
        }
    }

    #[test]
    fn sizes_name_the_binary_unit_that_was_meant() {
        assert_eq!(mebibytes("512 MiB"), Ok(512));
        assert_eq!(mebibytes("10GiB"), Ok(10_240));
        assert_eq!(mebibytes("4 GB").unwrap_err().hint, "write \"4 GiB\"");
        assert_eq!(mebibytes("4g").unwrap_err().hint, "write \"4 GiB\"");
        for text in ["", "MiB", "0 MiB", "1.5 GiB", "18446744073709551615 TiB"] {
            assert!(mebibytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn processors_have_three_decimals_at_most() {
        assert_eq!(millicpus("0.5"), Ok(500));
        assert_eq!(millicpus("2"), Ok(2_000));
        assert_eq!(millicpus("1.125"), Ok(1_125));
        for text in ["", ".5", "1.", "0", "0.0", "1.0001", "-1", "1e3", "5000000"] {
            assert!(millicpus(text).is_err(), "{text}");
        }
    }
}
