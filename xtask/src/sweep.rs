//! `cargo xtask sweep`: the long form of the kill -9 sweep, which the tests run in a short one.

use crate::shell::{Plain, Shell};
use crate::test::has_nextest;
use anyhow::Result;

/// Read by the sweep's tests: how many kill points they try.
const POINTS: &str = "LEVELHEAD_SWEEP_POINTS";

/// Runs the sweep with `points` kill points.
pub(crate) fn run(shell: &Shell, points: u32) -> Result<()> {
    shell.run(&command(has_nextest(shell)?, points))
}

fn command(nextest: bool, points: u32) -> Plain {
    let plain = if nextest {
        Plain::new(&["cargo", "nextest", "run", "-p", "tui", "-E", "test(sweep)"])
    } else {
        Plain::new(&["cargo", "test", "-p", "tui", "sweep"])
    };
    plain.env(POINTS, &points.to_string())
}

#[cfg(test)]
mod tests {
    use super::command;

    #[test]
    fn the_points_reach_either_runner() {
        let want = "LEVELHEAD_SWEEP_POINTS=9 cargo nextest run -p tui -E 'test(sweep)'";
        assert_eq!(command(true, 9).to_string(), want);
        let want = "LEVELHEAD_SWEEP_POINTS=200 cargo test -p tui sweep";
        assert_eq!(command(false, 200).to_string(), want);
    }
}
