//! What a run of all mutants amounts to: of everything that could be tried, nine in ten must be noticed, and each miss
//! stands with its reason in `xtask/mutants.list`.

use super::{listed::Mutant, trial::Outcome};
use crate::shell::Shell;
use anyhow::{Context, Result, bail};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

/// How many of a hundred mutants a test must notice.
const FLOOR_PERCENT: usize = 90;
/// Misses that are accepted, each with its reason.
const LIST: &str = "xtask/mutants.list";

/// The misses that are accepted, each with its reason.
pub(crate) type Listed = BTreeMap<String, String>;

/// Reads the list.
pub(crate) fn listed(shell: &Shell) -> Result<Listed> {
    let list = fs::read_to_string(shell.root().join(LIST));
    reasons(&list.with_context(|| format!("cannot read {LIST}"))?)
}

/// Reads the list: a mutant on a line of its own, and below it, indented, why it is accepted.
fn reasons(text: &str) -> Result<Listed> {
    let mut listed = Listed::new();
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
pub(crate) struct Judgement {
    caught: usize,
    /// Noticed as well: what does not come to its end fails its test.
    timeouts: usize,
    missed: Vec<String>,
    /// True if all were tried, so that a row of the list that no miss needs is one too many.
    is_whole: bool,
}

impl Judgement {
    /// Judges what came of each mutant.
    pub(crate) fn of(outcomes: &[(&Mutant, &Outcome)], is_whole: bool) -> Self {
        let mut judgement = Self { caught: 0, timeouts: 0, missed: Vec::new(), is_whole };
        for (mutant, outcome) in outcomes {
            match outcome {
                Outcome::Caught(_) => judgement.caught += 1,
                Outcome::TimedOut => judgement.timeouts += 1,
                Outcome::Missed => judgement.missed.push(mutant.lasting_name()),
            }
        }
        judgement
    }

    const fn noticed(&self) -> usize {
        self.caught + self.timeouts
    }

    const fn all(&self) -> usize {
        self.noticed() + self.missed.len()
    }

    /// How many of a hundred were noticed, rounded down.
    fn percent(&self) -> usize {
        (self.noticed() * 100).checked_div(self.all()).unwrap_or(100)
    }

    /// Each miss, and one line about all.
    pub(crate) fn report(&self, listed: &Listed) -> Vec<String> {
        let told = |mutant: &String| match listed.get(mutant) {
            Some(reason) => format!("missed, listed: {mutant} ({})", reason.trim()),
            None => format!("missed: {mutant}"),
        };
        let mut lines: Vec<String> = self.missed.iter().map(told).collect();
        lines.push(format!(
            "mutants: {} caught, {} timed out, {} missed; {} of {} noticed, {} %",
            self.caught,
            self.timeouts,
            self.missed.len(),
            self.noticed(),
            self.all(),
            self.percent(),
        ));
        lines
    }

    /// Fails below the floor, at a miss without a reason, and at a reason without a miss.
    pub(crate) fn verdict(&self, listed: &Listed) -> Result<()> {
        if self.percent() < FLOOR_PERCENT {
            bail!("fewer than {FLOOR_PERCENT} % of the mutants are noticed");
        }
        let missed: BTreeSet<&String> = self.missed.iter().collect();
        let unexplained = missed.iter().filter(|mutant| !listed.contains_key(**mutant)).count();
        if unexplained > 0 {
            bail!("{unexplained} misses are neither mended nor listed with a reason in {LIST}");
        }
        let unneeded = listed.keys().find(|mutant| self.is_whole && !missed.contains(mutant));
        if let Some(mutant) = unneeded {
            bail!("{LIST}: no such miss, so its reason goes: {mutant}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Judgement, reasons};

    const LISTED: &str =
        "# head\n\na.rs: replace x with y\n    it costs a look,\n    nothing else\n";
    const KNOWN: &str = "a.rs: replace x with y";

    fn judged(caught: usize, missed: &[&str], is_whole: bool) -> Judgement {
        let missed = missed.iter().map(ToString::to_string).collect();
        Judgement { caught, timeouts: 0, missed, is_whole }
    }

    #[test]
    fn every_listed_miss_has_a_reason() {
        let listed = reasons(LISTED).expect("a list");
        assert_eq!(listed[KNOWN].trim(), "it costs a look, nothing else");
        assert!(reasons("a.rs: replace x with y\n").is_err());
        assert!(reasons("    because\n").is_err());
    }

    #[test]
    fn a_run_stands_with_nine_in_ten_and_every_miss_listed() {
        let listed = reasons(LISTED).expect("a list");
        let stands = |caught, missed: &[&str], is_whole| {
            judged(caught, missed, is_whole).verdict(&listed).is_ok()
        };
        assert!(stands(0, &[], false), "nothing to try is nothing missed");
        assert!(stands(9, &[KNOWN], true));
        assert!(!stands(8, &[KNOWN], true), "eight of nine are too few");
        assert!(!stands(99, &["b.rs: replace x with y"], false), "a miss without a reason");
        assert!(stands(99, &[], false) && !stands(99, &[], true), "a reason without a miss");
    }

    #[test]
    fn a_run_is_told_in_one_line_below_its_misses() {
        let listed = reasons(LISTED).expect("a list");
        let told = judged(19, &[KNOWN], true).report(&listed);
        let all = "mutants: 19 caught, 0 timed out, 1 missed; 19 of 20 noticed, 95 %";
        assert!(told[0].starts_with("missed, listed: ") && told[1..] == [all], "{told:?}");
    }
}
