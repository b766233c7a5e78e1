//! Letters, tracks and filters.

use driver::view::NodeView;
use reconciler_core::{hold::HoldCode, observed::StageName};
use tui::console::{
    filter::{Filter, is_problem},
    stage::{Place, legal, letter, ribbon, track, word},
};

use crate::console_fixture::{ago, node, run_view};

const LETTERS: [char; 10] = ['.', 'N', 'L', 'E', 'B', 'H', 'd', 'F', '?', 'X'];

/// D1: a pass takes a node one step or none.
#[test]
fn no_step_forward_may_be_left_out() {
    let life = ['.', 'N', 'L', 'E', 'B', 'H', 'd'];
    for (at, from) in life.iter().enumerate() {
        for (to_at, to) in life.iter().enumerate().skip(at + 2) {
            // A lease may carry its endpoint, and a job may end while it boots.
            let known = matches!((from, to), ('L', 'B') | ('B', 'd'));
            assert_eq!(legal(*from, *to), known, "{from}{to} ({at} to {to_at})");
        }
        assert!(life.get(at + 1).is_none_or(|to| legal(*from, *to)));
    }
}

#[test]
fn nothing_may_stay_and_every_letter_is_known() {
    for letter in LETTERS {
        assert!(legal(letter, letter), "{letter}");
        assert!(!legal(letter, 'Z'));
        assert!(!legal('Z', letter));
    }
    assert!(!legal('Z', 'Z'));
}

/// D8: deletion once begun is never cancelled.
#[test]
fn what_is_being_deleted_ends_or_is_held() {
    let after: Vec<char> = LETTERS.into_iter().filter(|to| legal('X', *to)).collect();
    assert_eq!(after, ['.', 'F', '?', 'X']);
}

#[test]
fn every_living_node_may_fail_be_held_or_be_deleted() {
    for from in ['N', 'L', 'E', 'B', 'H', 'd'] {
        for to in ['F', '?', 'X'] {
            assert!(legal(from, to), "{from}{to}");
        }
    }
    assert!(!legal('.', 'F'));
    assert!(!legal('F', 'H'));
    assert!(!legal('H', 'B'));
}

#[test]
fn a_ribbon_is_cut_on_the_left_and_filled_on_the_left() {
    let text =
        |letters, width| ribbon(letters, width).into_iter().map(|(c, _)| c).collect::<String>();
    assert_eq!(text("NLEB", 6), "..NLEB");
    assert_eq!(text("NLEBHd", 3), "BHd");
    assert_eq!(text("", 2), "..");
    assert_eq!(text("NL", 0), "");
}

#[test]
fn both_letters_of_an_illegal_pair_are_marked() {
    let marks: Vec<bool> = ribbon("NLEHd", 5).into_iter().map(|(_, bad)| bad).collect();
    assert_eq!(marks, [false, false, true, true, false]);
}

#[test]
fn words_fit_their_column_and_letters_are_known() {
    for stage in StageName::ALL {
        assert!(word(stage).len() <= 9);
        assert!(LETTERS.contains(&letter(stage)));
    }
}

#[test]
fn a_track_says_how_far_a_failed_or_held_node_came() {
    use Place::{Ahead, Broken, Current, Done, Held};
    let failed =
        NodeView { stage: StageName::Failed, reached: StageName::EndpointKnown, ..node("a-0") };
    assert_eq!(track(&failed), [Done, Done, Broken, Ahead, Ahead]);
    let held = NodeView { hold: Some(HoldCode::CrashLoop), ..failed };
    assert_eq!(track(&held), [Done, Done, Held, Ahead, Ahead]);
    let boot = NodeView { stage: StageName::BootstrapRunning, ..node("a-0") };
    assert_eq!(track(&boot), [Done, Done, Done, Current, Ahead]);
    let gone = NodeView { stage: StageName::Destroyed, ..node("a-0") };
    assert_eq!(track(&gone), [Ahead; 5]);
}

fn kept(filter: &str) -> Vec<String> {
    let filter = Filter::new(filter);
    let nodes = run_view().nodes;
    let now = ago(0);
    nodes.iter().filter(|node| filter.lets(node, now)).map(|node| node.slot.to_string()).collect()
}

#[test]
fn a_filter_takes_words_and_keys_together() {
    assert_eq!(kept("").len(), 9);
    assert_eq!(kept("gpu").len(), 4);
    assert_eq!(kept("gpu stage:boot"), ["gpu-workers-9"]);
    assert_eq!(kept("group:db hold:yes"), ["db-replica-0"]);
    assert_eq!(kept("group:db hold:no"), ["db-replica-1"]);
    assert_eq!(kept("QUOTA"), ["gpu-workers-11"]);
    assert_eq!(kept("stage:f"), ["gpu-workers-11"]);
    assert_eq!(kept("stage:x"), ["edge-proxy-4"]);
    assert_eq!(kept("nothing-like-it"), Vec::<String>::new());
}

#[test]
fn a_half_typed_key_hides_nothing() {
    assert_eq!(kept("stage:").len(), 9);
    assert_eq!(kept("hold:").len(), 9);
}

#[test]
fn a_filter_takes_patterns_ages_and_what_is_turned_round() {
    assert_eq!(kept("re:^gpu-workers-1[01]$"), ["gpu-workers-10", "gpu-workers-11"]);
    assert_eq!(kept("re:QUOTA|crash"), ["db-replica-0", "gpu-workers-11"]);
    assert_eq!(kept("!re:^gpu").len(), kept("!gpu").len());
    assert_eq!(kept("gpu").len() + kept("!gpu").len(), 9);
    assert_eq!(kept("group:db !hold:yes"), ["db-replica-1"]);
    let (old, young) = (kept("age>2h"), kept("age<2h"));
    assert!(!old.is_empty() && !young.is_empty() && old.len() + young.len() == 9);
    assert_eq!(kept("!age>2h"), young);
}

/// Nothing is hidden by what makes no sense, and it is told; what is only half typed is not even that.
#[test]
fn a_filter_that_makes_no_sense_hides_nothing_and_says_so() {
    for bad in
        ["re:(", "re:[z-a]", "age>5x", "age=5m", "stag:boot", "hold:perhaps", "re:(a{99}){99}{99}"]
    {
        let filter = Filter::new(bad);
        assert!(filter.problem().is_some(), "{bad}");
        assert!(filter.is_empty() && kept(bad).len() == 9, "{bad}");
    }
    for half in ["re:", "age>", "age>5", "!", "!stage:"] {
        let filter = Filter::new(half);
        assert!(filter.problem().is_none() && filter.is_empty(), "{half}: {filter:?}");
        assert!(filter.complaint().is_some_and(|it| it.starts_with(half)), "{half}: {filter:?}");
    }
    assert_eq!(kept("gpu re:(").len(), 4);
    assert_eq!(Filter::new("gpu !stage:boot").complaint(), None);
}

#[test]
fn problems_are_holds_and_failures() {
    let nodes = run_view().nodes;
    let bad: Vec<_> =
        nodes.iter().filter(|node| is_problem(node)).map(|n| n.slot.to_string()).collect();
    assert_eq!(bad, ["db-replica-0", "gpu-workers-11"]);
}
