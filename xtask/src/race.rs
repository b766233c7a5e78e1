//! `cargo xtask race`: the long form of the race of two drivers, which the tests run in a short one.

use crate::shell::{Plain, Shell};
use crate::test::has_nextest;
use anyhow::Result;

/// Read by the race's test: how many rounds it runs.
const ROUNDS: &str = "LEVELHEAD_RACE_ROUNDS";

/// Runs the race for `rounds` rounds.
pub(crate) fn run(shell: &Shell, rounds: u32) -> Result<()> {
    shell.run(&command(has_nextest(shell)?, rounds))
}

fn command(nextest: bool, rounds: u32) -> Plain {
    let plain = if nextest {
        Plain::new(&["cargo", "nextest", "run", "-p", "tui", "-E", "test(race)"])
    } else {
        Plain::new(&["cargo", "test", "-p", "tui", "race"])
    };
    plain.env(ROUNDS, &rounds.to_string())
}

#[cfg(test)]
mod tests {
    use super::command;

    #[test]
    fn the_rounds_reach_either_runner() {
        let want = "LEVELHEAD_RACE_ROUNDS=9 cargo nextest run -p tui -E 'test(race)'";
        assert_eq!(command(true, 9).to_string(), want);
        let want = "LEVELHEAD_RACE_ROUNDS=50 cargo test -p tui race";
        assert_eq!(command(false, 50).to_string(), want);
    }
}
