//! The seeds: fixed ones, so that a change that breaks a law is noticed the same way everywhere, and fresh ones, so
//! that each run looks somewhere else.

use std::time::{SystemTime, UNIX_EPOCH};

use driver::sim::{Story, run, shrink, tell};

/// Plays seeds; the first that breaks a law is told as the shortest story that breaks it.
#[track_caller]
fn lawful(seeds: impl IntoIterator<Item = u64>) {
    for seed in seeds {
        let story = tell(seed);
        if let Some(broken) = run(&story).broken {
            let short = shrink(&story);
            panic!(
                "seed {seed} breaks {} at {} ms: {}\n{}\nmade short from `cargo xtask sim --seed {seed}`",
                broken.law,
                broken.at,
                broken.why,
                short.write()
            );
        }
    }
}

/// R72, and every law of the registry: 256 fixed seeds, a quarter each so that they run side by side.
#[test]
fn the_first_quarter_of_fixed_seeds_breaks_no_law() {
    lawful(0..64);
}

#[test]
fn the_second_quarter_of_fixed_seeds_breaks_no_law() {
    lawful(64..128);
}

#[test]
fn the_third_quarter_of_fixed_seeds_breaks_no_law() {
    lawful(128..192);
}

#[test]
fn the_last_quarter_of_fixed_seeds_breaks_no_law() {
    lawful(192..256);
}

/// Seeds that nobody played before.
#[test]
fn fresh_seeds_break_no_law() {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let first = u64::try_from(since.as_millis()).unwrap() * 1_000;
    println!("fresh seeds {first} to {}", first + 8);
    lawful(first..first + 8);
}

/// R74: the same seed gives the same bytes.
#[test]
fn equal_seeds_give_equal_bytes() {
    for seed in [3, 17, 40, 185] {
        let story = tell(seed);
        let (one, other) = (run(&story), run(&story));
        assert_eq!(one, other, "seed {seed}");
        let read = Story::read(&story.write()).unwrap();
        assert_eq!(run(&read).trace, one.trace, "seed {seed}, written and read");
    }
}
