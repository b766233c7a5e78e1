//! The simulator: seeds that break no law, equal bytes for equal seeds, and seeded bugs that are found.

mod bugs;
mod seeds;
