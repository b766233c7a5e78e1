//! `cargo xtask bench`: the table of benches, each a plain cargo command of the crate it measures.
//!
//! What a bench measures, and the floor it prints beside it, stands in that crate's `benches/`.

use crate::metadata::{self, Metadata};
use crate::shell::{Plain, Shell};
use anyhow::{Result, bail};

/// One bench: what it is called here, and the bench target that it runs.
struct Bench {
    name: &'static str,
    package: &'static str,
    target: &'static str,
}

const BENCHES: [Bench; 6] = [
    Bench { name: "core", package: "reconciler-core", target: "pass" },
    Bench { name: "journal", package: "checkpoint", target: "journal" },
    Bench { name: "processes", package: "tui", target: "processes" },
    Bench { name: "console", package: "tui", target: "console" },
    Bench { name: "docker", package: "tui", target: "containers" },
    Bench { name: "loop", package: "driver", target: "loop" },
];

impl Bench {
    fn command(&self) -> Plain {
        Plain::new(&["cargo", "bench", "-p", self.package, "--bench", self.target])
    }
}

/// Runs the bench of that name, or all that exist.
pub(crate) fn run(shell: &Shell, name: Option<&str>) -> Result<()> {
    for bench in chosen(&metadata::read(shell)?, name)? {
        shell.run(&bench.command())?;
    }
    Ok(())
}

fn chosen(metadata: &Metadata, name: Option<&str>) -> Result<Vec<&'static Bench>> {
    let existing: Vec<&Bench> = BENCHES.iter().filter(|bench| exists(metadata, bench)).collect();
    let Some(name) = name else {
        if existing.is_empty() {
            bail!("no bench exists yet");
        }
        return Ok(existing);
    };
    if let Some(bench) = existing.iter().find(|bench| bench.name == name) {
        return Ok(vec![bench]);
    }
    let names: Vec<&str> = existing.iter().map(|bench| bench.name).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    bail!("no bench `{name}` exists; there are: {names}")
}

fn exists(metadata: &Metadata, bench: &Bench) -> bool {
    let package = metadata.members().find(|package| package.name == bench.package);
    package.is_some_and(|package| {
        package
            .targets
            .iter()
            .any(|t| t.name == bench.target && t.kind.iter().any(|k| k == "bench"))
    })
}

#[cfg(test)]
mod tests {
    use super::chosen;
    use crate::metadata::tests::graph;
    use crate::metadata::{Metadata, Target};

    fn with_benches(benches: &[(&str, &str)]) -> Metadata {
        let mut metadata = graph(&[("reconciler-core", &[]), ("checkpoint", &[])]);
        for package in &mut metadata.packages {
            for (_, target) in benches.iter().filter(|(name, _)| package.name == *name) {
                let target = (*target).to_owned();
                package.targets.push(Target { name: target, kind: vec!["bench".to_owned()] });
            }
        }
        metadata
    }

    fn said(metadata: &Metadata, name: Option<&str>) -> Result<Vec<String>, String> {
        match chosen(metadata, name) {
            Ok(benches) => Ok(benches.iter().map(|b| b.command().to_string()).collect()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn no_name_runs_all_that_exist() {
        let metadata = with_benches(&[("reconciler-core", "pass"), ("checkpoint", "journal")]);
        let want = [
            "cargo bench -p reconciler-core --bench pass".to_owned(),
            "cargo bench -p checkpoint --bench journal".to_owned(),
        ];
        assert_eq!(said(&metadata, None), Ok(want.to_vec()));
        assert!(said(&with_benches(&[]), None).is_err());
    }

    #[test]
    fn an_unknown_name_lists_those_that_exist() {
        let metadata = with_benches(&[("checkpoint", "journal")]);
        let want = "no bench `core` exists; there are: journal".to_owned();
        assert_eq!(said(&metadata, Some("core")), Err(want));
        assert_eq!(said(&metadata, Some("journal")).map(|benches| benches.len()), Ok(1));
    }
}
