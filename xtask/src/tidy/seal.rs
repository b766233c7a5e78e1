//! The token of durability is sealed in one file of `checkpoint`, and never elsewhere.
//!
//! What that token proves stands in core; here only the place of its constructor's calls.

use super::lex::{find, lex, without_tests};
use super::tree::{File, Tree};
use crate::finding::Finding;

const RULE: &str = "seal";
const CALL: &str = "Durable::seal(";
const HOME: &str = "checkpoint/src/";

/// Finds every call beyond the one file that may hold it.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let sealing = |file: &&File| !file.is_test() && !calls(file).is_empty();
    let (home, strange): (Vec<&File>, Vec<&File>) =
        tree.rust().filter(sealing).partition(|file| file.path.starts_with(HOME));
    let elsewhere = strange.into_iter().map(|file| (file, "only the journal seals".to_owned()));
    let second = home.iter().skip(1).map(|file| {
        let first = home.first().map_or("", |file| file.path.as_str());
        (*file, format!("sealed here and in {first}: one file may do it"))
    });
    let found = elsewhere.chain(second);
    found.flat_map(|(file, message)| at_each(file, &message)).collect()
}

fn calls(file: &File) -> Vec<usize> {
    find(&without_tests(&lex(&file.text)), CALL)
}

fn at_each(file: &File, message: &str) -> Vec<Finding> {
    let lines = calls(file).into_iter();
    lines.map(|line| Finding::at(RULE, &file.path, line, message)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::{places, tree};
    use super::check;

    const SEALS: &str = "fn f() { Durable::seal(step) }";

    #[test]
    fn one_file_of_the_journal_may_seal() {
        let good = tree(&[
            ("checkpoint/src/commit.rs", SEALS),
            ("checkpoint/src/scan.rs", "#[cfg(test)] mod tests { fn f() { Durable::seal(s) } }"),
            ("checkpoint/tests/it/main.rs", SEALS),
            ("reconciler-core/src/durable.rs", "impl Durable { pub fn seal() {} }"),
        ]);
        assert_eq!(check(&good), Vec::new());
    }

    #[test]
    fn a_second_file_and_a_second_crate_are_found() {
        let bad = tree(&[
            ("checkpoint/src/commit.rs", SEALS),
            ("checkpoint/src/scan.rs", SEALS),
            ("driver/src/run.rs", SEALS),
        ]);
        assert_eq!(places(&check(&bad)), ["driver/src/run.rs:1", "checkpoint/src/scan.rs:1"]);
    }
}
