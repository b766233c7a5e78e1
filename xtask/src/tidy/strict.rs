//! Core and journal deny arithmetic and indexing that can panic, in their own `lib.rs`.
//!
//! A manifest cannot add a lint to those it inherits, so the attribute stands in the code, and
//! this rule sees that it stays there. Tests may be left out by `cfg_attr`.

use super::lex::lex;
use super::tree::Tree;
use crate::finding::Finding;

const RULE: &str = "strict";
const ROOTS: [&str; 2] = ["checkpoint/src/lib.rs", "reconciler-core/src/lib.rs"];
const LINTS: [&str; 2] = ["indexing_slicing", "arithmetic_side_effects"];

/// Checks both roots.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let roots = ROOTS.iter().filter_map(|path| tree.at(path));
    let missing = roots.flat_map(|file| {
        let denied = denied(&file.text);
        let missing = LINTS.iter().filter(move |lint| !denied.iter().any(|word| word == *lint));
        missing.map(|lint| (file.path.clone(), lint))
    });
    let message = |lint| format!("must say `#![deny(clippy::{lint})]`");
    missing.map(|(path, lint)| Finding::whole(RULE, &path, message(lint))).collect()
}

/// Every word that stands inside an inner attribute that denies or forbids.
fn denied(text: &str) -> Vec<String> {
    let tokens = lex(text);
    let mut words = Vec::new();
    for start in tokens.windows(3).enumerate().filter_map(|(at, window)| {
        let texts = window.iter().map(|token| token.text);
        texts.eq(["#", "!", "["]).then_some(at + 3)
    }) {
        let mut depth = 1_usize;
        let attribute = tokens[start..].iter().take_while(|token| {
            match token.text {
                "[" => depth += 1,
                "]" => depth -= 1,
                _ => {}
            }
            depth > 0
        });
        let attribute: Vec<&str> = attribute.map(|token| token.text).collect();
        if attribute.contains(&"deny") || attribute.contains(&"forbid") {
            words.extend(attribute.into_iter().map(ToOwned::to_owned));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::{places, tree};
    use super::check;

    fn n_found(text: &str) -> usize {
        let found = check(&tree(&[("checkpoint/src/lib.rs", text)]));
        assert!(places(&found).iter().all(|place| place == "checkpoint/src/lib.rs"));
        found.len()
    }

    #[test]
    fn both_lints_are_denied() {
        let plain = "#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]";
        let split = "#![deny(clippy::indexing_slicing)]\n\
            #![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]";
        assert_eq!((n_found(plain), n_found(split)), (0, 0));
    }

    #[test]
    fn what_is_missing_only_warned_or_only_spoken_of_is_found() {
        assert_eq!(n_found("//! Journal.\n"), 2);
        assert_eq!(n_found("#![deny(clippy::indexing_slicing)]"), 1);
        let soft = "#![warn(clippy::indexing_slicing, clippy::arithmetic_side_effects)]";
        assert_eq!(n_found(soft), 2);
        let spoken = "// #![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]";
        assert_eq!(n_found(spoken), 2);
    }
}
