//! The floors: what an ordered map costs that does the least that a reconciler must.

use std::collections::BTreeMap;
use std::hint::black_box;

use crate::report::{median, timed};

/// A record of 128 bytes, of which a merge reads four fields.
#[derive(Clone)]
struct Record {
    stage: u8,
    generation: u64,
    failed_at: u64,
    shape: u64,
    _rest: [u64; 12],
}

fn names(n: u32) -> Vec<String> {
    let mut names: Vec<_> =
        (0..n).map(|n| format!("group{:04}-{}", n / 1_000, n % 1_000)).collect();
    names.sort_unstable();
    names
}

fn map(names: &[String]) -> BTreeMap<String, Record> {
    let record = Record { stage: 6, generation: 1, failed_at: 0, shape: 9, _rest: [0; 12] };
    names.iter().map(|name| (name.clone(), record.clone())).collect()
}

/// An ordered map of `n` names with a small record each: the least memory that a fleet takes.
pub(crate) fn named(n: u32) -> impl Sized {
    map(&names(n))
}

/// Nanoseconds per entry of a merge of wanted names with an ordered map, four fields read per match.
pub(crate) fn merge(n: u32, rounds: usize) -> f64 {
    let wanted = names(n);
    let known = map(&wanted);
    median(rounds, || {
        timed(|| {
            let mut steady = 0_u32;
            let mut wanted = wanted.iter().peekable();
            for (name, record) in &known {
                while wanted.next_if(|w| *w < name).is_some() {}
                if wanted.next_if(|w| *w == name).is_some() {
                    let same = record.stage == 6 && record.generation == 1 && record.shape == 9;
                    steady += u32::from(same && record.failed_at == 0);
                }
            }
            black_box(steady)
        }) / f64::from(n)
    })
}

/// Nanoseconds of one lookup of a scattered name in an ordered map of `n`.
pub(crate) fn lookup(n: u32) -> f64 {
    let names = names(n);
    let known = map(&names);
    let walk: Vec<_> = (0..10_000).map(|at| (at * 7_919 + 11) % names.len()).collect();
    median(5, || {
        timed(|| {
            let found = walk.iter().filter_map(|at| known.get(names.get(*at)?));
            black_box(found.filter(|record| record.stage == 6).count())
        }) / 10_000.0
    })
}
