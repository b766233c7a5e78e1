//! A small lexer for Rust: words, signs and lines, without comments and literals.
//!
//! Enough to look for a path or a call without being fooled by a comment or a string; it knows
//! nothing of macros or types. Use trees are flattened in `uses.rs`.

/// What every string, byte and character literal is reduced to.
pub(crate) const LITERAL: &str = "\"\"";

/// One word or sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    /// Its text; `::` is one sign, a lifetime one word.
    pub(crate) text: &'a str,
    /// Its line, counted from 1.
    pub(crate) line: usize,
}

/// Splits source text into tokens.
pub(crate) fn lex(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut rest, mut line) = (source, 1);
    while let Some(first) = rest.chars().next() {
        let (length, token) = next(rest, first);
        let (piece, left) = rest.split_at(length);
        if let Some(text) = token {
            tokens.push(Token { text, line });
        }
        line += piece.matches('\n').count();
        rest = left;
    }
    tokens
}

/// How much the next piece takes, and the token that it is, if it is one.
fn next(rest: &str, first: char) -> (usize, Option<&str>) {
    if first.is_whitespace() {
        return (first.len_utf8(), None);
    }
    if rest.starts_with("//") {
        return (rest.find('\n').unwrap_or(rest.len()), None);
    }
    if rest.starts_with("/*") {
        return (block_comment(rest), None);
    }
    if let Some(length) = literal(rest) {
        return (length, Some(LITERAL));
    }
    if first == '\'' {
        let length = 1 + word(&rest[1..]);
        return (length, Some(&rest[..length]));
    }
    if let Some(raw) = rest.strip_prefix("r#") {
        let length = word(raw);
        return (2 + length, Some(&raw[..length]));
    }
    let length = match word(rest) {
        0 if rest.starts_with("::") => 2,
        0 => first.len_utf8(),
        length => length,
    };
    (length, Some(&rest[..length]))
}

/// The length of the word that `rest` begins with.
fn word(rest: &str) -> usize {
    rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    loop {
        let left = &rest[at..];
        if left.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if left.starts_with("*/") {
            depth -= 1;
            at += 2;
        } else if let Some(c) = left.chars().next() {
            at += c.len_utf8();
        }
        if depth == 0 || at >= rest.len() {
            return at;
        }
    }
}

/// The length of the literal that `rest` begins with, if it does.
fn literal(rest: &str) -> Option<usize> {
    let prefix = ["br", "cr", "r", "b", "c"].into_iter().find(|prefix| {
        rest.strip_prefix(prefix).is_some_and(|tail| tail.starts_with(['"', '#', '\'']))
    });
    let prefix = prefix.unwrap_or_default();
    let tail = &rest[prefix.len()..];
    if prefix.ends_with('r') {
        let hashes = tail.len() - tail.trim_start_matches('#').len();
        let body = tail[hashes..].strip_prefix('"')?;
        let end = format!("\"{}", "#".repeat(hashes));
        let closed = body.find(&end).map_or(body.len(), |at| at + end.len());
        return Some(prefix.len() + hashes + 1 + closed);
    }
    if let Some(body) = tail.strip_prefix('"') {
        return Some(prefix.len() + 1 + quoted(body, '"'));
    }
    let body = tail.strip_prefix('\'').filter(|_| matches!(prefix, "" | "b"))?;
    let mut chars = body.chars();
    let (first, second) = (chars.next()?, chars.next());
    // Without an escape or a closing quote right behind one character, it is a lifetime.
    (first == '\\' || second == Some('\'')).then(|| prefix.len() + 1 + quoted(body, '\''))
}

/// The length of a quoted body with its closing quote.
fn quoted(body: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        match (escaped, c) {
            (false, '\\') => escaped = true,
            (false, c) if c == quote => return at + c.len_utf8(),
            (true | false, _) => escaped = false,
        }
    }
    body.len()
}

/// Lines at which the pattern stands. A pattern is Rust text; a word that ends in `*` matches
/// every word that begins so.
pub(crate) fn find(tokens: &[Token<'_>], pattern: &str) -> Vec<usize> {
    let wanted = wanted(pattern);
    let fits = |window: &[Token<'_>]| {
        window.iter().zip(&wanted).all(|(token, (text, glob))| {
            if *glob { token.text.starts_with(text) } else { token.text == *text }
        })
    };
    tokens.windows(wanted.len().max(1)).filter(|w| fits(w)).map(|w| w[0].line).collect()
}

fn wanted(pattern: &str) -> Vec<(&str, bool)> {
    let mut wanted: Vec<(&str, bool)> = Vec::new();
    for token in lex(pattern) {
        match (token.text, wanted.last_mut()) {
            ("*", Some(last)) => last.1 = true,
            (text, _) => wanted.push((text, false)),
        }
    }
    wanted
}

/// The tokens without the items that are compiled only for tests.
pub(crate) fn without_tests<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    const OUTER: [&str; 5] = ["#", "[", "cfg", "(", "test"];
    const INNER: [&str; 6] = ["#", "!", "[", "cfg", "(", "test"];
    let mut kept = Vec::new();
    let mut rest = tokens;
    while let Some((first, tail)) = rest.split_first() {
        if begins(rest, &INNER) {
            return kept;
        }
        if begins(rest, &OUTER) {
            rest = &rest[item(rest)..];
        } else {
            kept.push(*first);
            rest = tail;
        }
    }
    kept
}

fn begins(tokens: &[Token<'_>], texts: &[&str]) -> bool {
    tokens.len() >= texts.len() && tokens.iter().zip(texts).all(|(token, text)| token.text == *text)
}

/// How many tokens an item takes, its attributes included.
fn item(tokens: &[Token<'_>]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            ";" if depth == 0 => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::{LITERAL, find, lex, without_tests};

    fn texts(source: &str) -> Vec<&str> {
        lex(source).iter().map(|token| token.text).collect()
    }

    #[test]
    fn comments_and_literals_hide_their_words() {
        let rows: [(&str, &[&str]); 9] = [
            ("a // unsafe\nb", &["a", "b"]),
            ("a /* x /* y */ unsafe */ b", &["a", "b"]),
            (r#"f("unsafe \" static") g"#, &["f", "(", LITERAL, ")", "g"]),
            (r##"r#"a " unsafe"# b"##, &[LITERAL, "b"]),
            (r"b'\'' c", &[LITERAL, "c"]),
            (r"'{' '\u{1f}' 'ä' x", &[LITERAL, LITERAL, LITERAL, "x"]),
            ("&'static str", &["&", "'static", "str"]),
            ("r#type::x", &["type", "::", "x"]),
            ("crate::b\"x\"", &["crate", "::", LITERAL]),
        ];
        for (source, want) in rows {
            assert_eq!(texts(source), want, "{source}");
        }
    }

    #[test]
    fn lines_count_through_comments_and_literals() {
        let tokens = lex("/* 1\n2 */ a \"\n\" b\n// x\nc");
        let lines: Vec<usize> = tokens.iter().map(|token| token.line).collect();
        assert_eq!(lines, [2, 2, 3, 5]);
    }

    #[test]
    fn a_pattern_is_found_however_it_is_spaced() {
        let tokens = lex("tokio :: spawn(x);\nAtomicU64::new(0); tokio::spawn_blocking(y)");
        assert_eq!(find(&tokens, "tokio::spawn("), [1]);
        assert_eq!(find(&tokens, "AtomicU*"), [2]);
        assert_eq!(find(&tokens, "tokio::spawn*"), [1, 2]);
        assert_eq!(find(&lex(""), "x"), Vec::<usize>::new());
    }

    #[test]
    fn items_only_for_tests_are_left_out() {
        let source = "a; #[cfg(test)] extern crate std; b; #[cfg(test)] #[x(y)] mod t { c; } \
            #[cfg(not(test))] d; #[cfg(test)] fn f(x: [u8; 2]) { e } g";
        let kept = without_tests(&lex(source));
        let kept: Vec<&str> = kept.iter().map(|token| token.text).collect();
        assert_eq!(kept.join(" "), "a ; b ; # [ cfg ( not ( test ) ) ] d ; g");
        assert_eq!(without_tests(&lex("#![cfg(test)] a; b")), Vec::new());
    }
}
