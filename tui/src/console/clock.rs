//! Ages, countdowns and times of day as text, and when each next reads differently.

use reconciler_core::time::{Millis, Timestamp};

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A length of time in at most five columns: `48s`, `3m`, `2h11`, `9d`.
pub(crate) fn length(length: Millis) -> String {
    let ms = length.get();
    match ms {
        0..MINUTE => format!("{}s", ms / SECOND),
        MINUTE..HOUR => format!("{}m", ms / MINUTE),
        HOUR..DAY => format!("{}h{:02}", ms / HOUR, ms % HOUR / MINUTE),
        DAY.. => format!("{}d", (ms / DAY).min(9_999)),
    }
}

/// A length of time as it is typed: numbers with the units `d`, `h`, `m` and `s`, the largest first; an hour and digits
/// behind it, as [`length`] shows them, is read as well.
pub(crate) fn read_length(text: &str) -> Option<Millis> {
    let (mut sum, mut number, mut least) = (0_u64, None::<u64>, u64::MAX);
    for c in text.chars() {
        if let Some(digit) = c.to_digit(10) {
            let more = number.unwrap_or(0).checked_mul(10)?.checked_add(u64::from(digit))?;
            number = Some(more);
            continue;
        }
        let unit = match c {
            'd' => DAY,
            'h' => HOUR,
            'm' => MINUTE,
            's' => SECOND,
            _ => return None,
        };
        if unit >= least {
            return None;
        }
        sum = sum.checked_add(number.take()?.checked_mul(unit)?)?;
        least = unit;
    }
    let rest = match (number, least) {
        (None, _) => 0,
        (Some(minutes), HOUR) => minutes.checked_mul(MINUTE)?,
        (Some(_), _) => return None,
    };
    sum.checked_add(rest).map(Millis::new)
}

/// What is left until `due`, rounded up so that it never shows zero too early.
pub(crate) fn left(due: Timestamp, now: Timestamp) -> Option<String> {
    let ms = due.since(now).get();
    (ms > 0 && due != Timestamp::MAX).then(|| length(Millis::new(rounded_up(ms))))
}

const fn rounded_up(ms: u64) -> u64 {
    ms.saturating_add(SECOND - 1)
}

/// Where a time of day is told: so many seconds east of Greenwich.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Zone(pub(crate) i32);

impl Zone {
    /// The time of day there.
    pub(crate) fn of_day(self, at: Timestamp) -> String {
        let secs = (at.as_millis() / SECOND).saturating_add_signed(i64::from(self.0));
        format!("{:02}:{:02}:{:02}", secs / 3_600 % 24, secs / 60 % 60, secs % 60)
    }

    /// Its name: `UTC`, or how far it is from there.
    pub(crate) fn name(self) -> String {
        if self.0 == 0 {
            return "UTC".to_owned();
        }
        let sign = if self.0 < 0 { '-' } else { '+' };
        let minutes = self.0.unsigned_abs() / 60;
        format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

/// The unit in which a length of `ms` counts.
const fn unit(ms: u64) -> u64 {
    if ms < MINUTE {
        SECOND
    } else if ms < DAY {
        MINUTE
    } else {
        DAY
    }
}

/// How long until the age since `since` reads differently.
pub(crate) const fn until_age_changes(since: Timestamp, now: Timestamp) -> Millis {
    let ms = now.since(since).get();
    let unit = unit(ms);
    let ahead = since.since(now).get();
    Millis::new((unit - ms % unit).saturating_add(ahead))
}

/// How long until what is left until `due` reads differently; nothing once it is due.
pub(crate) fn until_left_changes(due: Timestamp, now: Timestamp) -> Option<Millis> {
    let ms = due.since(now).get();
    if ms == 0 || due == Timestamp::MAX {
        return None;
    }
    let shown = rounded_up(ms);
    Some(Millis::new((shown % unit(shown)).saturating_add(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    #[test]
    fn a_length_keeps_to_five_columns() {
        let cases = [
            (0, "0s"),
            (59_999, "59s"),
            (60_000, "1m"),
            (HOUR + 11 * MINUTE, "1h11"),
            (9 * DAY, "9d"),
            (u64::MAX, "9999d"),
        ];
        for (ms, text) in cases {
            assert_eq!(length(Millis::new(ms)), text);
        }
    }

    #[test]
    fn a_length_is_read_as_it_is_shown() {
        let cases = [
            ("5m", 5 * MINUTE),
            ("30s", 30_000),
            ("2h11", 2 * HOUR + 11 * MINUTE),
            ("1d2h3m4s", DAY + 2 * HOUR + 3 * MINUTE + 4_000),
        ];
        for (text, ms) in cases {
            assert_eq!(read_length(text), Some(Millis::new(ms)), "{text}");
        }
        for bad in ["5", "m", "5x", "5m5", "1s2m", "99999999999999999999d", "9999999999999999d"] {
            assert_eq!(read_length(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_countdown_shows_no_zero_before_its_time() {
        assert_eq!(left(at(1_001), at(1_000)), Some("1s".to_owned()));
        assert_eq!(left(at(13_000), at(1_000)), Some("12s".to_owned()));
        assert_eq!(left(at(1_000), at(1_000)), None);
        assert_eq!(left(Timestamp::MAX, at(0)), None);
    }

    #[test]
    fn what_is_shown_changes_exactly_when_it_is_said_to() {
        for now in [0, 1, 999, 1_000, 59_999, 60_000, 61_234, HOUR - 1, HOUR, DAY - 1, DAY + 5] {
            let next = until_age_changes(at(0), at(now)).get();
            assert!(next > 0);
            assert_eq!(length(Millis::new(now + next - 1)), length(Millis::new(now)));
            assert_ne!(length(Millis::new(now + next)), length(Millis::new(now)));
        }
        for gone in [0, 1, 500, 999, 1_000, 1_001, 30_000, 61_000, 89_999] {
            let (due, now) = (at(90_000), at(gone));
            let next = until_left_changes(due, now).map_or(0, Millis::get);
            assert!(next > 0);
            assert_eq!(left(due, at(gone + next - 1)), left(due, now));
            assert_ne!(left(due, at(gone + next)), left(due, now));
        }
    }

    #[test]
    fn the_time_of_day_is_that_of_its_zone() {
        let told = |zone: Zone| (zone.of_day(at(1_796_000_671_000)), zone.name());
        assert_eq!(told(Zone(0)), ("01:04:31".to_owned(), "UTC".to_owned()));
        assert_eq!(told(Zone(5 * 3_600 + 1_800)), ("06:34:31".to_owned(), "+05:30".to_owned()));
        assert_eq!(told(Zone(-2 * 3_600)), ("23:04:31".to_owned(), "-02:00".to_owned()));
    }
}
