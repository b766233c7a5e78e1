//! `cargo xtask mutants`: changes the core one place at a time and asks whether a test notices.
//!
//! `cargo-mutants` lists the changes; it is needed by this verb alone. All of them are built as one tree (`tree.rs`)
//! and tried one after another, each until the first test that fails (`trial.rs`). Of all, nine in ten must be
//! noticed, and each miss is mended by a test or stands with its reason in a list (`judge.rs`).

use super::{
    judge::{self, Judgement},
    listed::{self, Mutant},
    splice::Id,
    tree,
    trial::{self, Outcome},
};
use crate::shell::Shell;
use anyhow::{Context, Result};
use std::fs;

/// Where the outcome of each mutant is left, with the test that noticed it.
const OUTCOMES: &str = "target/mutants/outcomes.txt";

/// Tries every mutant of `files`, or of the whole core, and judges what came of it.
pub(crate) fn run(shell: &Shell, files: &[String]) -> Result<()> {
    let listed = judge::listed(shell)?;
    let mutants = listed::list(shell, files)?;
    let built = tree::build(shell, &mutants)?;
    let ids: Vec<Id> = (1..=mutants.len()).filter(|id| !built.left_out.contains(id)).collect();
    Shell::say(&format!("{} mutants, of which {} can be built", mutants.len(), ids.len()))?;
    let of = |id: &Id| id.checked_sub(1).and_then(|index| mutants.get(index));
    let outcomes = trial::all(&built, &ids, |id, outcome| {
        let name = of(&id).map_or("", |mutant| mutant.name.as_str());
        Shell::say(&format!("{name}: {outcome}"))
    })?;
    let named: Vec<(&Mutant, &Outcome)> =
        outcomes.iter().filter_map(|(id, outcome)| Some((of(id)?, outcome))).collect();
    let lines = named.iter().map(|(mutant, outcome)| format!("{}: {outcome}\n", mutant.name));
    let kept = fs::write(shell.root().join(OUTCOMES), lines.collect::<String>());
    kept.with_context(|| format!("cannot write {OUTCOMES}"))?;
    let judgement = Judgement::of(&named, files.is_empty());
    for line in judgement.report(&listed) {
        Shell::print(&line)?;
    }
    judgement.verdict(&listed)
}
