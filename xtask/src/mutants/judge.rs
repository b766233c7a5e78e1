//! `cargo xtask mutants`: changes the core one place at a time and asks whether a test notices.
//!
//! The tool is `cargo-mutants`; it is needed by this verb alone. A miss is mended by a test, or stands with its
//! reason in `xtask/mutants.list`. Of everything that could be tried, nine in ten must be noticed.
//!
//! All of them take half a day. A shard is every so-maniest of the tool's list, so the same ones each time and some of
//! every file; what it says of the whole is told with how sure that is.

use crate::{
    shell::{Plain, Shell},
    test::has_nextest,
};
use anyhow::{Context, Result, bail};
use std::{collections::BTreeMap, fmt, fs, io, path::Path, str::FromStr};

/// How many of a hundred mutants a test must notice.
const FLOOR_PERCENT: usize = 90;
/// Where the tool leaves what it found.
const OUTPUT: &str = "target/mutants";
/// Misses that are accepted, each with its reason.
const LIST: &str = "xtask/mutants.list";

/// How many cases a property tries, as far as it does not say so itself: a mutant is mostly noticed by the first few.
const CASES: &str = "16";

/// Every `of`-th mutant, beginning with number `nth`, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    nth: u32,
    of: u32,
}

impl FromStr for Shard {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |part: &str| part.parse::<u32>().ok();
        let parts = text.split_once('/').and_then(|(nth, of)| number(nth).zip(number(of)));
        let shard = parts.map(|(nth, of)| Self { nth, of }).filter(|shard| shard.nth < shard.of);
        shard
            .ok_or_else(|| "it must be two numbers, such as 3/16, the first the smaller".to_owned())
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.nth, self.of)
    }
}

/// Runs the tool over `files`, or over the whole core, or over a shard of that, and judges what it found.
pub(crate) fn run(shell: &Shell, files: &[String], shard: Option<Shard>) -> Result<()> {
    if !shell.works(&Plain::new(&["cargo", "mutants", "--version"]))? {
        bail!("cargo-mutants is not installed; `cargo install cargo-mutants --locked` installs it");
    }
    // Its exit code says whether anything was missed; what counts is judged here.
    let ended = shell.exit_code(&command(has_nextest(shell)?, files, shard))?;
    let found = shell.root().join(OUTPUT).join("mutants.out");
    if !matches!(ended, Some(0 | 2 | 3)) {
        bail!("the tool did not get to its end; what it says stands in {}", found.display());
    }
    let list = fs::read_to_string(shell.root().join(LIST));
    let listed = reasons(&list.with_context(|| format!("cannot read {LIST}"))?)?;
    let judgement = Judgement {
        caught: lines(&found.join("caught.txt"))?.len(),
        timeouts: lines(&found.join("timeout.txt"))?.len(),
        sampled: shard.is_some_and(|shard| shard.of > 1),
        missed: lines(&found.join("missed.txt"))?.iter().map(|line| nameless(line)).collect(),
    };
    for line in judgement.report(&listed) {
        Shell::print(&line)?;
    }
    judgement.verdict(&listed)
}

/// The tool on the core's own tests, without those that measure, in the profile that builds fastest.
fn command(nextest: bool, files: &[String], shard: Option<Shard>) -> Plain {
    let plain = Plain::new(&["cargo", "mutants", "--package", "reconciler-core"]);
    let fixed = ["--output", OUTPUT, "--profile", "mutants", "--cap-lints", "true"];
    let tool: &[&str] = if nextest { &["--test-tool", "nextest"] } else { &[] };
    let of = files.iter().flat_map(|file| ["--file".to_owned(), file.clone()]);
    let part = shard.map(|shard| {
        ["--sharding", "round-robin", "--shard", &shard.to_string()].map(str::to_owned)
    });
    let tests = ["--", "--lib", "--test", "it"];
    let words = fixed.iter().chain(tool).map(ToString::to_string);
    let words = words.chain(of).chain(part.into_iter().flatten());
    let words: Vec<String> = words.chain(tests.iter().map(ToString::to_string)).collect();
    plain.and(&words).env("PROPTEST_CASES", CASES)
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
    /// Noticed as well: what does not come to its end fails its test.
    timeouts: usize,
    missed: Vec<String>,
    /// True if this is a part, from which the whole is judged.
    sampled: bool,
}

impl Judgement {
    fn unexplained<'a>(
        &'a self,
        listed: &'a BTreeMap<String, String>,
    ) -> impl Iterator<Item = &'a String> {
        self.missed.iter().filter(|mutant| !listed.contains_key(*mutant))
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

    fn report(&self, listed: &BTreeMap<String, String>) -> Vec<String> {
        let told = |mutant: &String| match listed.get(mutant) {
            Some(reason) => format!("missed, listed: {mutant} ({})", reason.trim()),
            None => format!("missed: {mutant}"),
        };
        let mut lines: Vec<String> = self.missed.iter().map(told).collect();
        let (noticed, all) = (self.noticed(), self.all());
        lines.push(format!(
            "mutants: {} caught, {} timed out, {} missed; {noticed} of {all} noticed, {} %",
            self.caught,
            self.timeouts,
            self.missed.len(),
            self.percent(),
        ));
        if self.sampled && all > 0 {
            let (low, high) = interval(noticed, all);
            lines.push(format!("of all mutants, 95 % sure: {low:.1} % to {high:.1} %"));
        }
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

/// The interval that Wilson's score gives for a share of `all`, in percent; right for small samples too.
fn interval(noticed: usize, all: usize) -> (f64, f64) {
    /// The quantile of the normal distribution that leaves a twentieth outside.
    const Z: f64 = 1.96;
    let exact = |n: usize| u32::try_from(n).map_or(f64::INFINITY, f64::from);
    let (n, share) = (exact(all), exact(noticed) / exact(all));
    let centre = share + Z * Z / (2.0 * n);
    let reach = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 100.0 / (1.0 + Z * Z / n);
    ((centre - reach) * scale, (centre + reach) * scale)
}

#[cfg(test)]
mod tests {
    use super::{Judgement, Shard, command, interval, nameless, reasons};

    const LISTED: &str =
        "# head\n\na.rs: replace x with y\n    it costs a look,\n    nothing else\n";

    #[test]
    fn the_tool_is_asked_for_the_core_alone() {
        let files = ["reconciler-core/src/time.rs".to_owned()];
        let want = "PROPTEST_CASES=16 cargo mutants --package reconciler-core --output target/mutants \
                    --profile mutants --cap-lints true --test-tool nextest \
                    --file reconciler-core/src/time.rs -- --lib --test it";
        assert_eq!(command(true, &files, None).to_string(), want);
        let part = "PROPTEST_CASES=16 cargo mutants --package reconciler-core --output target/mutants \
                    --profile mutants --cap-lints true --sharding round-robin --shard 3/16 \
                    -- --lib --test it";
        assert_eq!(command(false, &[], "3/16".parse().ok()).to_string(), part);
    }

    #[test]
    fn a_shard_is_one_of_several() {
        assert_eq!("3/16".parse(), Ok(Shard { nth: 3, of: 16 }));
        let bad = ["", "3", "3/3", "4/3", "0/0", "-1/3", "a/b", "1/2/3"];
        assert!(bad.iter().all(|text| text.parse::<Shard>().is_err()));
    }

    #[test]
    fn a_sample_says_how_sure_it_is() {
        // The textbook case: 81 of 263 gives 25.5 % to 36.6 %.
        let (low, high) = interval(81, 263);
        assert!((low - 25.5).abs() < 0.05 && (high - 36.6).abs() < 0.05, "{low} {high}");
        let (low, high) = interval(10, 10);
        assert!(low > 70.0 && (high - 100.0).abs() < 1e-9, "{low} {high}");
        let told = |sampled| {
            let missed = vec!["b.rs: replace x with y".to_owned()];
            let judgement = Judgement { caught: 18, timeouts: 1, missed, sampled };
            judgement.report(&reasons("").expect("a list"))
        };
        let all = "mutants: 18 caught, 1 timed out, 1 missed; 19 of 20 noticed, 95 %";
        assert_eq!(told(false)[1..], [all]);
        assert_eq!(told(true)[1..], [all, "of all mutants, 95 % sure: 76.4 % to 99.1 %"]);
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
            Judgement { caught, timeouts: 0, missed, sampled: false }.verdict(&listed).is_ok()
        };
        let known = "a.rs: replace x with y";
        assert!(run(0, &[]), "nothing to try is nothing missed");
        assert!(run(9, &[known]));
        assert!(!run(8, &[known]), "eight of nine are too few");
        assert!(!run(99, &["b.rs: replace x with y"]), "a miss without a reason");
    }
}
