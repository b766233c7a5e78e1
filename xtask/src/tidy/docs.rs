//! Every Rust file says first what it is for, and the entry documents stay short.

use super::tree::{File, Tree};
use crate::finding::Finding;

const RULE: &str = "docs";

/// Documents with a bound, in lines. What grows past it belongs below `docs/`.
const BOUNDS: [(&str, usize); 2] = [("ARCHITECTURE.md", 300), ("README.md", 90)];

/// A crate's own README: purpose, entry points, what to touch when adding a variant.
const CRATE_README_MAX: usize = 40;

/// Checks openings and lengths.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let silent = tree.rust().filter(|file| !file.text.starts_with("//! "));
    let message = "must open with `//!`: what it decides or does, and what lives elsewhere";
    let silent = silent.map(|file| Finding::whole(RULE, &file.path, message));
    silent.chain(tree.files.iter().filter_map(too_long)).collect()
}

fn too_long(file: &File) -> Option<Finding> {
    let fixed = BOUNDS.iter().find(|(path, _)| *path == file.path).map(|(_, bound)| *bound);
    let bound = fixed.or_else(|| is_crate_readme(&file.path).then_some(CRATE_README_MAX))?;
    let n_lines = file.text.lines().count();
    let message = || format!("{n_lines} lines, at most {bound}");
    (n_lines > bound).then(|| Finding::whole(RULE, &file.path, message()))
}

fn is_crate_readme(path: &str) -> bool {
    path.split_once('/')
        .is_some_and(|(name, rest)| rest == "README.md" && crate::law::of(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::{places, tree};
    use super::check;

    #[test]
    fn a_rust_file_opens_with_its_purpose() {
        let good = tree(&[("a/mod.rs", "//! A.\nmod b;\n"), ("x.md", "no purpose\n")]);
        assert_eq!(check(&good), Vec::new());
        for bad in ["", "mod b;\n", "// A.\n", "/// A.\n", "\n//! A.\n", "//!\n"] {
            assert_eq!(places(&check(&tree(&[("a/mod.rs", bad)]))), ["a/mod.rs"], "{bad:?}");
        }
    }

    #[test]
    fn entry_documents_have_a_bound() {
        for (path, bound) in [("ARCHITECTURE.md", 300), ("README.md", 90), ("tui/README.md", 40)] {
            assert_eq!(check(&tree(&[(path, &"\n".repeat(bound))])), Vec::new());
            assert_eq!(places(&check(&tree(&[(path, &"\n".repeat(bound + 1))]))), [path]);
        }
        assert_eq!(check(&tree(&[("docs/README.md", &"\n".repeat(500))])), Vec::new());
    }
}
