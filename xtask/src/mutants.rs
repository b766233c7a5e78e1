//! `cargo xtask mutants`: changes the core one place at a time and asks whether a test notices.
//!
//! The tool is `cargo-mutants`; it is needed by this verb alone. A miss is mended by a test, or stands with its
//! reason in `xtask/mutants.list`. Of everything that could be tried, nine in ten must be noticed.

use crate::{
    shell::{Plain, Shell},
    test::has_nextest,
};
use anyhow::{Context, Result, bail};
use std::{collections::BTreeMap, fs, io, path::Path};

/// How many of a hundred mutants a test must notice.
const FLOOR_PERCENT: usize = 90;
/// Where the tool leaves what it found.
const OUTPUT: &str = "target/mutants";
/// Misses that are accepted, each with its reason.
const LIST: &str = "xtask/mutants.list";

/// Runs the tool over `files`, or over the whole core, and judges what it found.
pub(crate) fn run(shell: &Shell, files: &[String]) -> Result<()> {
    if !shell.works(&Plain::new(&["cargo", "mutants", "--version"]))? {
        bail!("cargo-mutants is not installed; `cargo install cargo-mutants --locked` installs it");
    }
    // Its exit code says whether anything was missed; what counts is judged here.
    let ended = shell.exit_code(&command(has_nextest(shell)?, files))?;
    let found = shell.root().join(OUTPUT).join("mutants.out");
    if !matches!(ended, Some(0 | 2 | 3)) {
        bail!("the tool did not get to its end; what it says stands in {}", found.display());
    }
    let list = fs::read_to_string(shell.root().join(LIST));
    let listed = reasons(&list.with_context(|| format!("cannot read {LIST}"))?)?;
    let judgement = Judgement {
        caught: lines(&found.join("caught.txt"))?.len() + lines(&found.join("timeout.txt"))?.len(),
        missed: lines(&found.join("missed.txt"))?.iter().map(|line| nameless(line)).collect(),
    };
    for line in judgement.report(&listed) {
        Shell::print(&line)?;
    }
    judgement.verdict(&listed)
}

fn command(nextest: bool, files: &[String]) -> Plain {
    let plain =
        Plain::new(&["cargo", "mutants", "--package", "reconciler-core", "--output", OUTPUT]);
    let tool: &[&str] = if nextest { &["--test-tool", "nextest"] } else { &[] };
    let of = files.iter().flat_map(|file| ["--file".to_owned(), file.clone()]);
    let more: Vec<String> = tool.iter().map(ToString::to_string).chain(of).collect();
    plain.and(&more)
}

/// The lines of a file that the tool writes; it leaves out what would be empty.
fn lines(path: &Path) -> Result<Vec<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// A mutant without its line and column, which move with every edit.
fn nameless(line: &str) -> String {
    let mut parts = line.splitn(4, ':');
    let file = parts.next().unwrap_or_default();
    let what = parts.nth(2).unwrap_or_default();
    if what.is_empty() { line.to_owned() } else { format!("{file}:{what}") }
}

/// Reads the list: a mutant on a line of its own, and below it, indented, why it is accepted.
fn reasons(text: &str) -> Result<BTreeMap<String, String>> {
    let mut listed: BTreeMap<String, String> = BTreeMap::new();
    let mut mutant: Option<String> = None;
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        match (line.strip_prefix("    "), &mutant) {
            (Some(reason), Some(mutant)) => {
                let known = listed.entry(mutant.clone()).or_default();
                known.push_str(reason.trim());
                known.push(' ');
            }
            (Some(_), None) => bail!("{LIST}: a reason without a mutant: {line}"),
            (None, _) => {
                mutant = Some(line.to_owned());
                listed.insert(line.to_owned(), String::new());
            }
        }
    }
    if let Some((mutant, _)) = listed.iter().find(|(_, reason)| reason.is_empty()) {
        bail!("{LIST}: no reason is given for: {mutant}");
    }
    Ok(listed)
}

/// What one run found.
struct Judgement {
    caught: usize,
    missed: Vec<String>,
}

impl Judgement {
    fn unexplained<'a>(
        &'a self,
        listed: &'a BTreeMap<String, String>,
    ) -> impl Iterator<Item = &'a String> {
        self.missed.iter().filter(|mutant| !listed.contains_key(*mutant))
    }

    /// How many of a hundred were noticed, rounded down.
    fn percent(&self) -> usize {
        let all = self.caught + self.missed.len();
        (self.caught * 100).checked_div(all).unwrap_or(100)
    }

    fn report(&self, listed: &BTreeMap<String, String>) -> Vec<String> {
        let told = |mutant: &String| match listed.get(mutant) {
            Some(reason) => format!("missed, listed: {mutant} ({})", reason.trim()),
            None => format!("missed: {mutant}"),
        };
        let mut lines: Vec<String> = self.missed.iter().map(told).collect();
        let all = self.caught + self.missed.len();
        lines.push(format!("mutants: {} of {all} noticed, {} %", self.caught, self.percent()));
        lines
    }

    fn verdict(&self, listed: &BTreeMap<String, String>) -> Result<()> {
        if self.percent() < FLOOR_PERCENT {
            bail!("fewer than {FLOOR_PERCENT} % of the mutants are noticed");
        }
        let unexplained = self.unexplained(listed).count();
        if unexplained > 0 {
            bail!("{unexplained} misses are neither mended nor listed with a reason in {LIST}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Judgement, command, nameless, reasons};

    const LISTED: &str =
        "# head\n\na.rs: replace x with y\n    it costs a look,\n    nothing else\n";

    #[test]
    fn the_tool_is_asked_for_the_core_alone() {
        let files = ["reconciler-core/src/time.rs".to_owned()];
        let want = "cargo mutants --package reconciler-core --output target/mutants \
                    --test-tool nextest --file reconciler-core/src/time.rs";
        assert_eq!(command(true, &files).to_string(), want);
        let plain = "cargo mutants --package reconciler-core --output target/mutants";
        assert_eq!(command(false, &[]).to_string(), plain);
    }

    #[test]
    fn a_mutant_is_known_wherever_its_line_moved() {
        let line = "a.rs:12:5: replace x with y";
        assert_eq!(nameless(line), "a.rs: replace x with y");
        assert_eq!(nameless("what: is that"), "what: is that");
    }

    #[test]
    fn every_listed_miss_has_a_reason() {
        let listed = reasons(LISTED).expect("a list");
        assert_eq!(listed["a.rs: replace x with y"].trim(), "it costs a look, nothing else");
        assert!(reasons("a.rs: replace x with y\n").is_err());
        assert!(reasons("    because\n").is_err());
    }

    #[test]
    fn a_run_stands_with_nine_in_ten_and_every_miss_listed() {
        let listed = reasons(LISTED).expect("a list");
        let run = |caught, missed: &[&str]| {
            let missed = missed.iter().map(ToString::to_string).collect();
            Judgement { caught, missed }.verdict(&listed).is_ok()
        };
        let known = "a.rs: replace x with y";
        assert!(run(0, &[]), "nothing to try is nothing missed");
        assert!(run(9, &[known]));
        assert!(!run(8, &[known]), "eight of nine are too few");
        assert!(!run(99, &["b.rs: replace x with y"]), "a miss without a reason");
    }
}
