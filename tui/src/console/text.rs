//! Text from outside, made safe for a terminal and cut to columns.
//!
//! The driver's redaction gate has cleaned it once; this is the second gate, at the screen.

use unicode_width::UnicodeWidthChar;

/// Drops what could move the cursor, colour the screen, turn the direction or join clusters of unsure width.
pub(crate) fn clean(text: &str, ascii: bool) -> String {
    text.chars().filter_map(|c| plain(c, ascii)).collect()
}

fn plain(c: char, ascii: bool) -> Option<char> {
    if matches!(c, '\n' | '\t' | '\r') {
        return Some(' ');
    }
    if c.is_control() || is_joiner(c) || c.width().is_none_or(|width| width == 0) {
        return None;
    }
    if ascii && !c.is_ascii() { Some('?') } else { Some(c) }
}

/// Characters that have a width of their own but melt into their neighbour on some terminals.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{1f1e6}'..='\u{1f1ff}' | '\u{1f3fb}'..='\u{1f3ff}'
        | '\u{e0000}'..='\u{e01ef}')
}

/// The columns that cleaned text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).fold(0, usize::saturating_add)
}

/// Cuts cleaned text to `width` columns; a cut shows as `~`.
pub(crate) fn fit(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let room = width.saturating_sub(1);
    let mut used = 0_usize;
    for c in text.chars() {
        used = used.saturating_add(c.width().unwrap_or(0));
        if used > room {
            break;
        }
        out.push(c);
    }
    if width > 0 {
        out.push('~');
    }
    out
}

/// Cuts the name of a slot to `width` columns, but never its number: two slots must not look the same.
pub(crate) fn fit_slot(group: &str, index: u32, width: usize) -> String {
    let number = format!("-{index}");
    let room = width.saturating_sub(number.len());
    format!("{}{number}", fit(group, room))
}

/// Cuts or fills to exactly `width` columns.
pub(crate) fn cell(text: &str, width: usize) -> String {
    let mut out = fit(text, width);
    let missing = width.saturating_sub(columns(&out));
    out.extend(std::iter::repeat_n(' ', missing));
    out
}

/// Cuts or fills on the left to exactly `width` columns.
pub(crate) fn right(text: &str, width: usize) -> String {
    let cut = fit(text, width);
    let missing = width.saturating_sub(columns(&cut));
    let mut out = " ".repeat(missing);
    out.push_str(&cut);
    out
}

/// Breaks cleaned text into lines of at most `width` columns, at spaces where there are any.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let gap = usize::from(!line.is_empty());
        let needed = columns(&line).saturating_add(gap).saturating_add(columns(word));
        if needed > width && !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        } else if gap > 0 {
            line.push(' ');
        }
        push_broken(&mut lines, &mut line, word, width);
    }
    lines.push(line);
    lines
}

fn push_broken(lines: &mut Vec<String>, line: &mut String, word: &str, width: usize) {
    for c in word.chars() {
        let wide = c.width().unwrap_or(0);
        if columns(line).saturating_add(wide) > width && !line.is_empty() {
            lines.push(std::mem::take(line));
        }
        line.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_direction_marks_never_reach_the_screen() {
        assert_eq!(clean("a\u{1b}[31mb\u{202e}c\u{200d}\u{fe0f}\nd", false), "a[31mbc d");
        assert_eq!(clean("käse", true), "k?se");
    }

    #[test]
    fn a_cut_counts_columns_not_characters() {
        assert_eq!(fit("日本語", 5), "日本~");
        assert_eq!(fit("日本語", 6), "日本語");
        assert_eq!(fit("日本語", 4), "日~");
        assert_eq!(cell("日本語", 4), "日~ ");
        assert_eq!(fit("abc", 0), "");
        assert_eq!(right("7", 3), "  7");
    }

    #[test]
    fn a_slot_keeps_its_number() {
        assert_eq!(fit_slot("gpu-workers", 11, 14), "gpu-workers-11");
        assert_eq!(fit_slot("gpu-workers", 11, 10), "gpu-wo~-11");
        assert_eq!(fit_slot("gpu-workers", 100_000, 4), "-100000");
    }

    #[test]
    fn wrapping_keeps_every_word_and_no_line_is_too_wide() {
        let lines = wrap("one two three fourteenletters", 8);
        assert_eq!(lines, ["one two", "three", "fourteen", "letters"]);
        assert!(wrap("日本語", 1).len() >= 3);
    }
}
