//! The last lines of a workload's output, as they may be kept and shown.

use reconciler_core::redact::Redacted;

/// How many last lines are kept.
pub(super) const TAIL_LINES: usize = 20;
/// How many bytes of them: what free text may have, less what says before them how something ended, so that the last
/// line is never cut.
const TAIL_BYTES: usize = reconciler_core::limits::TEXT_LEN_MAX - 128;

/// The last lines of `text`, which is without known secrets already; `whole` says that nothing stood before it.
///
/// Each line is cleaned whole before lines are dropped, since a cut in the middle could part a secret from the
/// word that marks it as one. What may have lost its beginning to the read is dropped for the same reason: the
/// first line, or, in one long line, the first two words.
pub(crate) fn clean(text: &str, whole: bool) -> Redacted {
    let text = if whole { text } else { without_torn_start(text) };
    let mut kept: Vec<String> = Vec::new();
    let mut len = 0_usize;
    for line in text.lines().rev().filter(|line| !line.trim().is_empty()).take(TAIL_LINES) {
        let line = Redacted::new(line.trim_end());
        len = len.saturating_add(line.as_str().len()).saturating_add(1);
        if len > TAIL_BYTES && !kept.is_empty() {
            break;
        }
        kept.push(line.as_str().to_owned());
    }
    kept.reverse();
    Redacted::from(kept.join("\n"))
}

/// All lines of `text`, each cleaned; `whole` as above.
pub(crate) fn lines(text: &str, whole: bool) -> Vec<Redacted> {
    let text = if whole { text } else { without_torn_start(text) };
    text.lines().map(|line| Redacted::new(line.trim_end())).collect()
}

fn without_torn_start(text: &str) -> &str {
    match text.trim_end().split_once('\n') {
        Some((_, rest)) => rest,
        None => text.splitn(3, char::is_whitespace).nth(2).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_keeps_the_last_lines_and_no_secret_or_escape() {
        let text = "old\nred \u{1b}[31malarm\u{7}\ntoken=abc123 Bearer xyz789\nlast line\n";
        let tail = clean(text, true);
        assert_eq!(tail.as_str(), "old red [31malarm token=[redacted] Bearer [redacted] last line");
    }

    #[test]
    fn what_may_have_lost_its_beginning_is_not_shown() {
        assert_eq!(clean("23secret\nnext\n", false).as_str(), "next");
        assert_eq!(clean("earer abc123 rest of it", false).as_str(), "rest of it");
        assert_eq!(clean("noend", false).as_str(), "");
    }

    #[test]
    fn the_last_line_survives_a_long_tail() {
        let text = format!("{}\n{}\nthe end\n", "a".repeat(900), "b".repeat(900));
        assert!(clean(&text, true).as_str().ends_with("the end"));
    }
}
