//! What deciding costs: the full pass, the cost of a change, and the cost of nothing, each beside its floor.
//!
//! Figures are ratios to a floor taken in the same process, growth factors or counts; bare times depend on the
//! machine and are only printed. A line of JSON per figure goes to standard output, the table to standard error.

mod change;
mod count;
mod fleet;
mod floor;
mod full;
mod life;
mod planned;
mod report;

use std::alloc::System;
use std::io;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use report::Report;

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Fleet sizes of the growth factors.
const SIZES: [u32; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// A group of figures.
type Case = (&'static str, fn(&mut Report));

const CASES: [Case; 13] = [
    ("steady", |report| full::steady(report, &SIZES)),
    ("burst", full::burst),
    ("mixed", full::mixed),
    ("life", life::whole),
    ("memory", full::memory),
    ("one", |report| change::one_of_many(report, &SIZES)),
    ("many", change::many_of_many),
    ("all", change::all_once),
    ("group", change::one_group),
    ("nothing", change::nothing),
    ("due", change::falling_due),
    ("plan", planned::of_new_nodes),
    ("update", planned::of_an_update),
];

fn main() -> io::Result<()> {
    // `cargo bench` adds options of its own; a plain word names the one case to run.
    let mut words = std::env::args().skip(1).filter(|arg| !arg.starts_with('-'));
    let only = words.next();
    if only.as_deref() == Some("count") {
        return count::run(words);
    }
    let mut report = Report::default();
    for (name, case) in CASES {
        if only.as_deref().is_none_or(|only| only == name) {
            case(&mut report);
        }
    }
    report.write(&mut io::stdout().lock(), &mut io::stderr().lock())
}
