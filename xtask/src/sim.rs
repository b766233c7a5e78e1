//! `cargo xtask sim` and `cargo xtask replay`: the simulator's own program, which is an example of the driver.

use crate::shell::{Plain, Shell};
use anyhow::{Result, bail};
use std::path::Path;

/// Plays `seed`, or so many fresh ones.
pub(crate) fn run(shell: &Shell, seeds: u64, seed: Option<u64>) -> Result<()> {
    shell.run(&match seed {
        Some(seed) => program("--seed", &seed.to_string()),
        None => program("--seeds", &seeds.to_string()),
    })
}

/// Plays a stored story.
pub(crate) fn replay(shell: &Shell, file: &Path) -> Result<()> {
    let Some(name) = file.to_str() else { bail!("{} is no name in UTF-8", file.display()) };
    shell.run(&program("--replay", name))
}

/// The tests of the simulator, which the workspace's own tests leave out because they need its feature.
pub(crate) fn tests(nextest: bool) -> Plain {
    let runner: &[&str] = if nextest { &["nextest", "run"] } else { &["test"] };
    let args = ["-p", "driver", "--features", "sim", "--test", "sim"].map(ToString::to_string);
    Plain::new(&["cargo"])
        .and(&runner.iter().map(ToString::to_string).collect::<Vec<_>>())
        .and(&args)
}

fn program(flag: &str, value: &str) -> Plain {
    let cargo = ["cargo", "run", "-q", "-p", "driver", "--features", "sim", "--example", "sim"];
    Plain::new(&cargo).and(&["--".to_owned(), flag.to_owned(), value.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::{program, tests};

    #[test]
    fn a_seed_and_a_file_reach_the_program() {
        let plain = "cargo run -q -p driver --features sim --example sim -- --seed 7";
        assert_eq!(program("--seed", "7").to_string(), plain);
    }

    #[test]
    fn either_runner_gets_the_feature() {
        let plain = "cargo nextest run -p driver --features sim --test sim";
        assert_eq!(tests(true).to_string(), plain);
        assert_eq!(tests(false).to_string(), "cargo test -p driver --features sim --test sim");
    }
}
