//! Runs every tidy rule over the files that git knows or would take.

use super::tree::Tree;
use super::{diagram, docs, law, rooms, seal, size, strict, thresholds, words};
use crate::finding::{Finding, settle};
use crate::shell::Shell;
use anyhow::Result;

/// A rule: looks at the whole tree and tells what is wrong.
type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: [Rule; 9] = [
    size::check,
    docs::check,
    words::check,
    rooms::check,
    law::check,
    seal::check,
    strict::check,
    thresholds::check,
    diagram::check,
];

/// Checks the tree and tells all findings at once.
pub(crate) fn run(shell: &Shell) -> Result<()> {
    let tree = Tree::read(shell)?;
    Shell::say(&size::statistics(&tree))?;
    settle("tidy", RULES.iter().flat_map(|rule| rule(&tree)).collect())
}
