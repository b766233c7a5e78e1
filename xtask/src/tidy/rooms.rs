//! A `mod.rs` holds declarations and re-exports only: what it decides has a file of its own.

use super::lex::{Token, lex};
use super::tree::{File, Tree};
use crate::finding::Finding;

const RULE: &str = "rooms";

/// Checks every `mod.rs`.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().filter(|file| file.name() == "mod.rs").filter_map(check_file).collect()
}

fn check_file(file: &File) -> Option<Finding> {
    let tokens = lex(&file.text);
    let mut rest = tokens.as_slice();
    while let Some(first) = rest.first() {
        let Some(tail) = declaration(rest).or_else(|| attribute(rest)) else {
            let message = "a mod.rs holds declarations and re-exports only";
            return Some(Finding::at(RULE, &file.path, first.line, message));
        };
        rest = tail;
    }
    None
}

/// What follows a `mod x;` or a `use …;`, if the tokens begin with one.
fn declaration<'a, 'b>(tokens: &'b [Token<'a>]) -> Option<&'b [Token<'a>]> {
    let mut rest = tokens;
    if rest.first()?.text == "pub" {
        rest = &rest[1..];
        if rest.first()?.text == "(" {
            let close = rest.iter().position(|token| token.text == ")")?;
            rest = &rest[close + 1..];
        }
    }
    match rest.first()?.text {
        "mod" if rest.get(2)?.text == ";" => Some(&rest[3..]),
        "use" => {
            let end = rest.iter().position(|token| token.text == ";")?;
            Some(&rest[end + 1..])
        }
        _ => None,
    }
}

/// What follows an attribute, if the tokens begin with one.
fn attribute<'a, 'b>(tokens: &'b [Token<'a>]) -> Option<&'b [Token<'a>]> {
    if tokens.first()?.text != "#" {
        return None;
    }
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "[" => depth += 1,
            "]" => {
                depth -= 1;
                if depth == 0 {
                    return Some(&tokens[at + 1..]);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::{places, tree};
    use super::check;

    #[test]
    fn declarations_and_re_exports_pass() {
        let text = "//! Gates.\n#![expect(x, reason = \"y\")]\nmod a;\npub(crate) mod b;\n\
            #[cfg(test)]\nmod tests;\npub use a::{B, c::D};\n";
        assert_eq!(check(&tree(&[("driver/src/gate/mod.rs", text)])), Vec::new());
    }

    #[test]
    fn anything_else_is_found_at_its_line() {
        for text in
            ["//! G.\nfn f() {}\nmod a;\n", "//! G.\nmod a {\n}\n", "//! G.\nconst A: u8 = 1;"]
        {
            let found = check(&tree(&[("driver/src/gate/mod.rs", text)]));
            assert_eq!(places(&found), ["driver/src/gate/mod.rs:2"], "{text}");
            assert_eq!(check(&tree(&[("driver/src/gate.rs", text)])), Vec::new());
        }
    }
}
