//! What deciding costs: the full pass, the cost of a change, and the cost of nothing, each beside its floor.
//!
//! Figures are ratios to a floor taken in the same process, growth factors or counts; bare times depend on the
//! machine and are only printed. A line of JSON per figure goes to standard output, the table to standard error.

mod change;
mod fleet;
mod floor;
mod full;
mod report;

use std::alloc::System;
use std::io;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use report::Report;

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Fleet sizes of the growth factors.
const SIZES: [u32; 4] = [1_000, 10_000, 100_000, 1_000_000];

fn main() -> io::Result<()> {
    let mut report = Report::default();
    full::steady(&mut report, &SIZES);
    full::burst(&mut report);
    full::mixed(&mut report);
    change::one_of_many(&mut report, &SIZES);
    change::many_of_many(&mut report);
    change::nothing(&mut report);
    change::falling_due(&mut report);
    report.write(&mut io::stdout().lock(), &mut io::stderr().lock())
}
