//! `cargo xtask test`: all tests, with whichever runner is installed.
//!
//! Needs nothing but Rust and git: nextest is used where it is there and never required.

use crate::shell::{Plain, Shell};
use anyhow::Result;

/// Runs the tests; `args` narrow the run and are passed to the runner as they are.
pub(crate) fn run(shell: &Shell, args: &[String]) -> Result<()> {
    let nextest = has_nextest(shell)?;
    if !nextest {
        Shell::say("note: cargo-nextest is not installed; `cargo test` runs the same tests")?;
    }
    for plain in commands(nextest, args) {
        shell.run(&plain)?;
    }
    Ok(())
}

/// Whether nextest is installed here.
pub(crate) fn has_nextest(shell: &Shell) -> Result<bool> {
    shell.works(&Plain::new(&["cargo", "nextest", "--version"]))
}

/// `cargo test` runs doctests by itself, nextest does not; a narrowed run leaves them out. They come first, so that
/// a run closes on the count of all other tests.
fn commands(nextest: bool, args: &[String]) -> Vec<Plain> {
    let doctests = Plain::new(&["cargo", "test", "--workspace", "--doc"]);
    match (nextest, args.is_empty()) {
        (true, true) => vec![doctests, Plain::new(&["cargo", "nextest", "run", "--workspace"])],
        (true, false) => vec![Plain::new(&["cargo", "nextest", "run", "--workspace"]).and(args)],
        (false, _) => vec![Plain::new(&["cargo", "test", "--workspace"]).and(args)],
    }
}

#[cfg(test)]
mod tests {
    use super::commands;

    fn check(nextest: bool, args: &[&str], want: &[&str]) {
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        let got: Vec<String> = commands(nextest, &args).iter().map(ToString::to_string).collect();
        assert_eq!(got, want);
    }

    #[test]
    fn doctests_run_once_with_either_runner() {
        check(true, &[], &["cargo test --workspace --doc", "cargo nextest run --workspace"]);
        check(false, &[], &["cargo test --workspace"]);
    }

    #[test]
    fn a_narrowed_run_is_only_what_was_asked_for() {
        check(true, &["absence"], &["cargo nextest run --workspace absence"]);
        check(false, &["absence"], &["cargo test --workspace absence"]);
    }
}
