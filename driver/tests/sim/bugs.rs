//! The seeded bugs: the test of the simulator. A simulator that does not find what is known to be there says nothing.

use driver::sim::{Bug, LAWS, Story, run, shrink, tell};

/// Every bug is to be found within so many seeds.
const SEEDS: u64 = 64;

fn with(bug: Bug, seed: u64) -> Story {
    Story { bug: Some(bug), ..tell(seed) }
}

/// The first story in which a bug is found.
fn found(bug: Bug) -> Option<Story> {
    (0..SEEDS).map(|seed| with(bug, seed)).find(|story| run(story).broken.is_some())
}

/// That each of `bugs` is found.
fn are_found(bugs: &[Bug]) {
    let missed: Vec<_> = bugs.iter().filter(|bug| found(**bug).is_none()).collect();
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn every_seeded_bug_of_the_first_half_is_found() {
    are_found(&Bug::ALL[..Bug::ALL.len() / 2]);
}

#[test]
fn every_seeded_bug_of_the_second_half_is_found() {
    are_found(&Bug::ALL[Bug::ALL.len() / 2..Bug::ALL.len() - 1]);
}

/// The last one shows only in that the run never comes to rest: that takes the whole tail.
#[test]
fn the_last_seeded_bug_is_found() {
    are_found(&Bug::ALL[Bug::ALL.len() - 1..]);
}

/// What is found is told in a few lines that break the same law.
#[test]
fn a_finding_is_made_short() {
    for bug in [Bug::BlindIsAbsent, Bug::PromiseBeforeSync] {
        let story = found(bug).unwrap();
        let short = shrink(&story);
        let law = |story: &Story| run(story).broken.map(|broken| broken.law);
        assert_eq!(law(&short), law(&story));
        assert!(short.inputs.len() <= 10, "{}", short.write());
        assert_eq!(law(&Story::read(&short.write()).unwrap()), law(&story));
    }
}

/// The registry is a table: each law has its own name, and says where it comes from.
#[test]
fn every_law_is_named_once_and_cites_its_source() {
    let mut names: Vec<&str> = LAWS.iter().map(|law| law.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), LAWS.len());
    assert!(LAWS.iter().all(|law| !law.cites.is_empty() && !law.says.is_empty()));
}
