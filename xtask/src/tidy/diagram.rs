//! The crate diagram in the documents is the one that the law table draws.

use super::tree::Tree;
use crate::diagram::{BEGIN, END, GUESTS, HOME, redrawn};
use crate::finding::Finding;

const RULE: &str = "diagram";

/// Compares each document's block with a fresh one; a document that does not exist passes.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let documents = std::iter::once(HOME).chain(GUESTS).filter_map(|path| tree.at(path));
    let wrong = documents.filter_map(|file| match redrawn(&file.text) {
        Some(wanted) if wanted == file.text => None,
        Some(_) => Some((file, "is stale: run `cargo xtask diagram`".to_owned())),
        None if file.path == HOME => Some((file, format!("needs `{BEGIN}` and `{END}`"))),
        None => None,
    });
    wrong.map(|(file, message)| Finding::whole(RULE, &file.path, message)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::{places, tree};
    use super::check;
    use crate::diagram::{BEGIN, END, redrawn};

    #[test]
    fn a_fresh_block_passes_and_a_stale_one_is_found() {
        let stale = format!("{BEGIN}\nold\n{END}\n");
        let fresh = redrawn(&stale).expect("has markers");
        assert_eq!(check(&tree(&[("ARCHITECTURE.md", &fresh)])), Vec::new());
        let found = check(&tree(&[("ARCHITECTURE.md", &stale), ("README.md", &stale)]));
        assert_eq!(places(&found), ["ARCHITECTURE.md", "README.md"]);
    }

    #[test]
    fn only_the_architecture_must_carry_it() {
        assert_eq!(places(&check(&tree(&[("ARCHITECTURE.md", "x")]))), ["ARCHITECTURE.md"]);
        assert_eq!(check(&tree(&[("README.md", "x")])), Vec::new());
        assert_eq!(check(&tree(&[])), Vec::new());
    }
}
