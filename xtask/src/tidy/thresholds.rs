//! A crate's `clippy.toml` replaces the root's, so it must repeat what the root decides.

use super::tree::{File, Tree};
use crate::finding::Finding;
use toml::Table;

const RULE: &str = "thresholds";
const ROOT: &str = "clippy.toml";

/// Compares every crate's file with the root's.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(root) = tree.at(ROOT) else {
        return vec![Finding::whole(RULE, ROOT, "is missing")];
    };
    let Ok(decided) = root.text.parse::<Table>() else {
        return vec![Finding::whole(RULE, ROOT, "is not TOML")];
    };
    let others = tree.files.iter().filter(|file| file.name() == ROOT && file.path != ROOT);
    others.flat_map(|file| check_file(file, &decided)).collect()
}

fn check_file(file: &File, decided: &Table) -> Vec<Finding> {
    let Ok(own) = file.text.parse::<Table>() else {
        return vec![Finding::whole(RULE, &file.path, "is not TOML")];
    };
    let differing = decided.iter().filter(|(key, value)| own.get(*key) != Some(*value));
    let message = |key, value| format!("must repeat the root's `{key} = {value}`");
    differing.map(|(key, value)| Finding::whole(RULE, &file.path, message(key, value))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::tree;
    use super::check;

    const ROOT: (&str, &str) = ("clippy.toml", "too-many-lines-threshold = 60\n");

    fn n_found(own: &str) -> usize {
        check(&tree(&[ROOT, ("driver/clippy.toml", own)])).len()
    }

    #[test]
    fn a_crate_repeats_the_root_and_may_add() {
        assert_eq!(n_found("too-many-lines-threshold = 60\ndisallowed-methods = []\n"), 0);
    }

    #[test]
    fn a_forgotten_or_changed_threshold_is_found() {
        assert_eq!(n_found("disallowed-methods = []\n"), 1);
        assert_eq!(n_found("too-many-lines-threshold = 600\n"), 1);
        assert_eq!(n_found("not toml"), 1);
        assert_eq!(check(&tree(&[])).len(), 1);
    }
}
