//! Flattens `use` trees, so that `use a::{b::c, d}` is seen to name `a::b::c` and `a::d`.

use super::lex::{LITERAL, Token};

/// Every path that a `use` names, as a line of tokens of its own; a literal ends each, so that
/// no pattern reaches from one path into the next.
pub(crate) fn flattened<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut reader = Reader { rest: tokens, flat: Vec::new() };
    while let Some((first, tail)) = reader.rest.split_first() {
        reader.rest = tail;
        if first.text == "use" {
            reader.tree(&[]);
        }
    }
    reader.flat
}

struct Reader<'a, 'b> {
    rest: &'b [Token<'a>],
    flat: Vec<Token<'a>>,
}

impl<'a> Reader<'a, '_> {
    /// Reads one branch behind `prefix`, up to the sign that ends it.
    fn tree(&mut self, prefix: &[Token<'a>]) {
        let mut path = prefix.to_vec();
        while let Some((token, tail)) = self.rest.split_first() {
            match token.text {
                ";" | "," | "}" => break,
                "{" => {
                    self.rest = tail;
                    self.branches(&path);
                    return;
                }
                _ => {
                    path.push(*token);
                    self.rest = tail;
                }
            }
        }
        if let Some(last) = path.last().copied() {
            self.flat.append(&mut path);
            self.flat.push(Token { text: LITERAL, line: last.line });
        }
    }

    fn branches(&mut self, prefix: &[Token<'a>]) {
        while let Some((token, tail)) = self.rest.split_first() {
            match token.text {
                "}" => {
                    self.rest = tail;
                    return;
                }
                "," => self.rest = tail,
                // Unbalanced text: leave, rather than read the rest of the file as one tree.
                ";" => return,
                _ => self.tree(prefix),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lex::{find, lex};
    use super::flattened;

    fn flat(source: &str) -> String {
        let paths: Vec<&str> = flattened(&lex(source)).iter().map(|token| token.text).collect();
        paths.join("").replace("\"\"", " ").trim_end().to_owned()
    }

    #[test]
    fn nested_trees_become_plain_paths() {
        for (source, want) in [
            ("use a::b;", "a::b"),
            ("pub use a::{b::c, d};", "a::b::c a::d"),
            ("use a::{b::{c, d}, e::*,}; x::y;", "a::b::c a::b::d a::e::*"),
            ("use {a, b::c};", "a b::c"),
            ("fn f() { g::h() }", ""),
        ] {
            assert_eq!(flat(source), want, "{source}");
        }
    }

    #[test]
    fn a_path_keeps_the_line_of_its_root() {
        let tokens = lex("use executor::{\n    seam,\n    provider::process,\n};");
        assert_eq!(find(&flattened(&tokens), "executor::provider"), [1]);
    }
}
