//! `cargo xtask bench core --counts`: instructions of small fixed workloads, held against bounds.
//!
//! Times depend on what else a machine does, instructions hardly do: callgrind counts those between entering and
//! leaving one function of the bench. What a workload does stands in `reconciler-core/benches/pass/count.rs`.
//! A bound leaves room for another compiler or memory allocator; what fails it is a change of the kind, such as a
//! walk over the fleet for each node.

use crate::shell::{Plain, Shell};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::{fs, path::Path};

/// The function of the bench in which is counted.
const COUNTED: &str = "*count::counted*";
/// Where the tool leaves what it counted.
const OUTPUT: &str = "target/counts";

/// One workload at two sizes.
struct Case {
    workload: &'static str,
    small: u32,
    large: u32,
    /// Over how many of the nodes something happens: of all, or of so many whatever the size.
    of: Option<u32>,
    /// The most instructions at the large size for each of these.
    each: f64,
    /// The most times the instructions of the small size that the large one may take.
    growth: f64,
}

const fn case(workload: &'static str, sizes: (u32, u32), each: f64, growth: f64) -> Case {
    Case { workload, small: sizes.0, large: sizes.1, of: None, each, growth }
}

/// What is counted and what it may take: a fifth more than it takes, and growth as the sizes grow. SHA-256 is
/// counted as it is computed without the processor's help, which the tool does not know.
const CASES: [Case; 7] = [
    case("steady", (10_000, 40_000), 0.3, 5.0),
    case("burst", (2_000, 8_000), 285.0, 4.4),
    case("mixed", (3_000, 12_000), 1_080.0, 4.4),
    Case { of: Some(1), ..case("change", (1_000, 16_000), 19_500.0, 1.1) },
    case("life", (1_000, 4_000), 99_000.0, 4.4),
    case("plan", (1_000, 4_000), 128_000.0, 4.4),
    case("update", (250, 1_000), 300_000.0, 4.4),
];

/// The bench whose workloads are counted, as `bench.rs` calls it.
pub(crate) const BENCH: &str = "core";

/// Counts every workload, prints a table and a line of JSON each, and fails if one takes more than it may.
pub(crate) fn run(shell: &Shell, bench: Option<&str>, demanded: bool) -> Result<()> {
    if bench != Some(BENCH) {
        bail!("only the bench `{BENCH}` has workloads to count");
    }
    if !shell.works(&Plain::new(&["valgrind", "--version"]))? {
        let missing = "valgrind is not installed, so no instructions are counted";
        if demanded {
            bail!("{missing}");
        }
        return Shell::say(&format!("skipped: {missing}"));
    }
    let output = shell.root().join(OUTPUT);
    fs::create_dir_all(&output).with_context(|| format!("cannot make {}", output.display()))?;
    let bench = built(shell)?;
    let mut counts = Vec::new();
    for case in &CASES {
        let small = count(shell, &bench, case.workload, case.small)?;
        let large = count(shell, &bench, case.workload, case.large)?;
        counts.push(Count { case, small, large });
    }
    Shell::say(&format!(
        "{:<10} {:>8} {:>14} {:>14} {:>12} {:>8} {:>8}",
        "workload", "nodes", "instructions", "each", "must", "growth", "must"
    ))?;
    for count in &counts {
        Shell::say(&count.row())?;
        Shell::print(&count.json())?;
    }
    verdict(&counts)
}

/// What one workload took at its two sizes.
struct Count {
    case: &'static Case,
    small: u64,
    large: u64,
}

impl Count {
    fn each(&self) -> f64 {
        exact(self.large) / f64::from(self.case.of.unwrap_or(self.case.large))
    }

    fn growth(&self) -> f64 {
        exact(self.large) / exact(self.small.max(1))
    }

    fn missed(&self) -> bool {
        self.each() > self.case.each || self.growth() > self.case.growth
    }

    fn row(&self) -> String {
        let Case { workload, large, each, growth, .. } = self.case;
        let mark = if self.missed() { "  missed" } else { "" };
        format!(
            "{workload:<10} {large:>8} {:>14} {:>14.1} {:>12} {:>8.2} {:>8}{mark}",
            self.large,
            self.each(),
            format!("<= {each}"),
            self.growth(),
            format!("<= {growth}"),
        )
    }

    fn json(&self) -> String {
        let Case { workload, small, large, each, growth, .. } = self.case;
        format!(
            "{{\"what\":\"{workload}\",\"nodes\":[{small},{large}],\"instructions\":[{},{}],\
             \"each\":{:.3},\"each_must\":{each},\"growth\":{:.3},\"growth_must\":{growth}}}",
            self.small,
            self.large,
            self.each(),
            self.growth(),
        )
    }
}

/// A count as a number to divide: exact far beyond any that is counted here.
#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
const fn exact(count: u64) -> f64 {
    count as f64
}

fn verdict(counts: &[Count]) -> Result<()> {
    let missed: Vec<_> = counts.iter().filter(|c| c.missed()).map(|c| c.case.workload).collect();
    if !missed.is_empty() {
        bail!(
            "more instructions than a workload may take: {}; mend it, or move the bound with a reason",
            missed.join(", ")
        );
    }
    Ok(())
}

/// What cargo says of one thing that it built.
#[derive(Deserialize)]
struct Built {
    executable: Option<String>,
}

/// Builds the bench; the path of its executable.
fn built(shell: &Shell) -> Result<String> {
    let build = ["cargo", "bench", "-p", "reconciler-core", "--bench", "pass", "--no-run"];
    let said = shell.read(&Plain::new(&build).and(&["--message-format=json".to_owned()]))?;
    executable(&said).context("cargo named no executable of the bench")
}

fn executable(said: &str) -> Option<String> {
    let built = said.lines().rev().filter_map(|line| serde_json::from_str::<Built>(line).ok());
    built.into_iter().find_map(|built| built.executable)
}

fn count(shell: &Shell, bench: &str, workload: &str, nodes: u32) -> Result<u64> {
    let file = format!("{OUTPUT}/{workload}-{nodes}.callgrind");
    let tool = ["valgrind", "-q", "--tool=callgrind"];
    let more = [
        format!("--toggle-collect={COUNTED}"),
        format!("--callgrind-out-file={file}"),
        bench.to_owned(),
        "count".to_owned(),
        workload.to_owned(),
        nodes.to_string(),
    ];
    shell.run(&Plain::new(&tool).and(&more))?;
    read(&shell.root().join(file))
}

fn read(path: &Path) -> Result<u64> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let total = total(&text).with_context(|| format!("{} has no total", path.display()))?;
    if total == 0 {
        bail!("nothing was counted: the bench has no function {COUNTED} any more");
    }
    Ok(total)
}

/// The sum of a file of the tool.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("totals:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{CASES, Count, executable, total, verdict};

    #[test]
    fn the_total_is_read_from_what_the_tool_writes() {
        assert_eq!(total("events: Ir\nfn=(1) main\n5 7\ntotals: 7882\n"), Some(7_882));
        assert_eq!(total("events: Ir\n"), None);
        assert_eq!(total("totals: many\n"), None);
    }

    #[test]
    fn the_bench_is_the_last_executable_that_cargo_names() {
        let said = "{\"reason\":\"compiler-artifact\",\"executable\":null}\n\
                    {\"reason\":\"compiler-artifact\",\"executable\":\"/t/pass-1\"}\n\
                    {\"reason\":\"build-finished\",\"success\":true}\n";
        assert_eq!(executable(said).as_deref(), Some("/t/pass-1"));
        assert_eq!(executable("{\"reason\":\"build-finished\"}\n"), None);
    }

    #[test]
    fn too_many_instructions_and_too_fast_a_growth_are_missed() {
        let case = CASES.iter().find(|case| case.workload == "plan").expect("a case");
        let each = |n: u32, percent: u64| u64::from(n) * 1_000 * percent;
        let of = |small, large| Count { case, small, large };
        assert!(verdict(&[of(each(case.small, 100), each(case.large, 100))]).is_ok());
        assert!(verdict(&[of(each(case.small, 200), each(case.large, 200))]).is_err(), "too many");
        assert!(verdict(&[of(each(case.small, 50), each(case.large, 100))]).is_err(), "growth");
        let json: serde_json::Value =
            serde_json::from_str(&of(1_000, 4_000).json()).expect("a line of JSON");
        assert_eq!((&json["what"], &json["growth"]), (&"plan".into(), &4.0.into()));
    }

    #[test]
    fn every_case_grows_by_its_sizes_at_most() {
        for case in &CASES {
            assert!(case.small < case.large && case.each > 0.0);
            let sizes = f64::from(case.large) / f64::from(case.small);
            assert!(case.growth <= sizes * 1.25, "{}", case.workload);
        }
    }
}
