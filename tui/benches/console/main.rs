//! What the console costs: a frame, a snapshot, a key, idleness, and a fleet that moves (SU1, SU2; `ui.md` section 5).
//!
//! Frames and snapshots are measured in this process; the rest with the real binary on a pseudo-terminal, attached to a
//! socket behind which a made-up fleet of 10,000 nodes moves. What consoles cost a driver stands in the bench `loop`.
//! A line of JSON per figure goes to standard output, the table to standard error. Run with
//! `cargo bench -p tui --bench console`.

mod fleet;
mod frames;
mod pty;
mod screen;
mod served;
mod tell;

use std::io;

fn main() -> io::Result<()> {
    frames::measure(10_000)?;
    frames::measure(100_000)?;
    frames::one_changed_node()?;
    screen::measure(10_000)
}
