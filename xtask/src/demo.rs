//! `cargo xtask demo`: the console on the local example, slowed down so that an eye can follow.

use crate::shell::{Plain, Shell};
use anyhow::Result;

/// Opens the console; needs a terminal.
pub(crate) fn run(shell: &Shell) -> Result<()> {
    let console = ["cargo", "run", "--", "console", "examples/local.toml", "--pace", "500ms"];
    shell.run(&Plain::new(&console))
}
