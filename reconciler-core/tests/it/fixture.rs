//! The fleet as text: reading is the inverse of writing, and what makes no sense is named with its place.

use proptest::prelude::*;
use reconciler_core::{
    canonical,
    desired::{ClusterShape, Policy},
    effect::{CommandKind, ExitStatus, FailureClass},
    fixture::{Catalogue, FixtureError, parse, print, print_slot},
    fold::Fact,
    hold::{Hold, HoldCode},
    observed::{
        Backoff, ClusterState, DeleteReason, Deletion, Handle, NodeRecord, NodeStage, Prior, Retry,
        Rollout, SessionStage, StageName,
    },
    redact::Redacted,
    time::{Millis, Timestamp},
};

use crate::fleet::{
    RUN, T0, ambiguity, at, catalogue, fleet, group, in_stage, lines, node_spec, pending, shape,
    shape_with, slot, stage, state,
};
use crate::laws_single::{decide_the_same, records};
use crate::model::Dice;
use crate::trace::{apply, begin, input};
use crate::world::{Fate, World};

/// Writes, reads, and writes again: nothing may change on the way.
fn there_and_back(state: &ClusterState) -> ClusterState {
    let catalogue = Catalogue::of(state, []);
    let text = print(state, &catalogue, RUN);
    let read = parse(&text, &catalogue).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(records(&read), records(state), "\n{text}");
    assert_eq!(read.next_due(), state.next_due());
    assert_eq!(print(&read, &catalogue, RUN), text);
    // What is written of one slot alone are its lines of the whole.
    for record in state.groups().flat_map(|(_, group)| group.records()) {
        let own = print_slot(state, &catalogue, RUN, &record.slot);
        assert!(own.starts_with(&record.slot.to_string()) && text.contains(&own), "{own}");
        assert_eq!(own.lines().count(), record.attempts().count(), "{own}");
    }
    read
}

/// Every stage with every axis beside it reads back as it was.
#[test]
fn every_stage_and_axis_reads_back() {
    let shape = shape(&[("web", 1)]);
    let axes: [fn(&mut NodeRecord); 9] = [
        |_| {},
        |r| r.pending = Some(pending(CommandKind::LookupEndpoint, 4, at(120_000))),
        |r| r.ambiguity = Some(ambiguity(CommandKind::StartBootstrap, at(5))),
        |r| {
            let message = Redacted::new("said \"no\" = 1");
            r.retry = Some(Retry { tries: 2, at: at(900), message });
        },
        |r| r.deletion = Some(Deletion { reason: DeleteReason::Replaced, since: at(1) }),
        |r| {
            let text = Redacted::new("five failures");
            r.hold = Some(Hold { code: HoldCode::CrashLoop, text, since: T0 });
        },
        |r| r.backoff = Backoff { failures: 3, delays: 2, not_before: Some(Timestamp::MAX) },
        |r| r.missing_since = Some(Timestamp::ZERO),
        |r| r.since = at(3),
    ];
    for name in StageName::ALL {
        for axis in axes {
            let mut record = in_stage(&shape, "web-0", stage(name));
            axis(&mut record);
            let _same = there_and_back(&state([record]));
        }
    }
}

/// A kind is named once, however many groups, records and updates are of it; other nodes and another policy are others.
#[test]
fn a_kind_has_one_name() {
    let patient = Policy { settle: Millis::new(7), ..Policy::default() };
    let names = |groups: &[(&str, u32, &str)], more: Option<ClusterShape>| {
        let one = shape_with(1, groups, &Policy::default());
        Catalogue::of(&state([]), [&one].into_iter().chain(more.as_ref())).kinds().count()
    };
    assert_eq!(names(&[("db", 1, "v1"), ("web", 1, "v1")], None), 1);
    assert_eq!(names(&[("db", 1, "v1"), ("web", 1, "v2")], None), 2);
    assert_eq!(names(&[("web", 1, "v1")], Some(shape_with(1, &[("web", 1, "v1")], &patient))), 2);
    // What served before an update is of a kind that is known already, however that is treated.
    let web = shape_with(1, &[("web", 1, "v1")], &patient);
    for (image, kinds) in [("v1", 1), ("v2", 2)] {
        let spec = std::sync::Arc::new(node_spec(image));
        let prior = Some(Prior { revision: spec.revision(), spec });
        let rollout = Rollout { prior, ..rollout() };
        let state = state([in_stage(&web, "web-0", stage(StageName::Dormant))])
            .with_rollouts([(group("web"), rollout)], T0);
        assert_eq!(Catalogue::of(&state, []).kinds().count(), kinds, "{image}");
        let _same = there_and_back(&state);
    }
}

fn rollout() -> Rollout {
    Rollout {
        target: node_spec("v3").revision(),
        prior: None,
        reverts: false,
        since: T0,
        done: 0,
        patience: Millis::from_secs(600),
        deadline: None,
        paused: false,
        hooked: None,
        failing: None,
    }
}

/// What stands in the documents reads: what is left out is at its default.
#[test]
fn a_line_by_hand_says_only_what_it_is_about() {
    let state = fleet(
        "# two nodes, one of them on its way out\n\
         group web\n\
         web-0 #1 v1 dormant\n\
         web-1 #3 v2 failed failure=rate-limited:500 deleting=failed failures=2 not-before=+4000\n",
    );
    let second = state.record(&slot("web-1")).expect("a record");
    assert_eq!(second.attempt.ordinal.get(), 3);
    assert_eq!(second.backoff.not_before, Some(at(4_000)));
    assert!(state.record(&slot("web-0")).expect("a record").is_ready());
    assert_eq!(state.next_due(), Some(at(4_000)));
    let text = print(&state, &catalogue(), RUN);
    assert!(text.contains("web-1 #3 v2 failed since=+0 failure=rate-limited:500"), "{text}");
}

/// What decides beside the records stands in lines of its own.
#[test]
fn groups_and_providers_have_lines() {
    let text = "provider fake listed=-500 paused=+9000 trouble=\"no route\"\n\
                group web hold=observation.implausible hold.since=-7 hold.text=many reaped=-20 \
                doubts=-500:3,-20:1\n";
    let written = print(&fleet(text), &catalogue(), RUN);
    assert!(written.ends_with(text), "{written}");
}

/// One node's life, a line per change: it comes up, is stable, breaks, comes back, and goes.
#[test]
fn a_life_reads_as_text() {
    let mut world = World::new(shape(&[("web", 1)]), T0);
    world.endpoints_late = true;
    let mut life: Vec<String> = Vec::new();
    for round in 0..60 {
        if round == 25 {
            let attempt = world.state.record(&slot("web-0")).expect("a record").attempt;
            let (status, tail) = (ExitStatus::Code(3), Redacted::new("out of memory"));
            let exit = Fact::Exited {
                slot: slot("web-0"),
                attempt,
                workload: Handle::default(),
                status,
                tail,
            };
            let _applied = world.state.fold(exit, world.now);
        }
        if round == 45 {
            world.reshape(shape(&[("web", 0)]));
        }
        let _plan = world.pass();
        for line in lines(&world.state) {
            let told = |line: &String| line.replace(char::is_numeric, "");
            if life.last().map(told) != Some(told(&line)) {
                life.push(line);
            }
        }
        world.deliver(0, Fate::Succeed);
        world.advance(Millis::from_secs(2));
    }
    assert!(world.state.is_empty(), "its record is gone");
    assert_eq!(life.join("\n"), include_str!("fixture_life.golden").trim_end());
}

/// Each mistake is told with its line and column.
#[test]
fn mistakes_have_a_place() {
    let rows = [
        ("web-0 #1 v1", 1, 12, "a stage is missing"),
        ("web-0 #1 v9 dormant", 1, 10, "`v9` is no kind of the catalogue"),
        ("web-0 1 v1 dormant", 1, 7, "`1` is no attempt such as #1"),
        ("web-0 #1 v1 asleep", 1, 13, "`asleep` is no stage"),
        ("group web\nweb-0 #1 v1 dormant since=12", 2, 27, "`12` is no value of `since`"),
        ("web-0 #1 v1 dormant colour=red", 1, 21, "`colour` means nothing here"),
        ("web-0 #1 v1 new since=+1 since=+2", 1, 26, "`since` stands twice"),
        ("web-0 #1 v1 new hold.text=\"never closed", 1, 27, "a quote has no end"),
        ("web-0 #1 v1 dormant dormant", 1, 21, "`dormant` is one word too many"),
        ("web-0 #1 v1 new since=+1 now", 1, 26, "a fact is missing: name=value"),
        ("orphan fake web-0 lease=l-1", 1, 28, "`attempt` is missing"),
        ("run demo", 1, 5, "`demo` is no UUID of a run"),
    ];
    for (text, line, column, what) in rows {
        let whole = format!("at 1000000000\nrun {RUN}\n{text}");
        let error = parse(&whole, &catalogue()).expect_err(text);
        let want = FixtureError { line: line + 2, column, what: what.to_owned() };
        assert_eq!(error, want, "{text}");
    }
    let homeless = parse("web-0 #1 v1 new", &catalogue()).expect_err("no run is given");
    assert_eq!(
        homeless.to_string(),
        "line 1, column 1: a line `run UUID` must come before the first slot"
    );
}

/// A text that reads, to be spoilt.
fn sound() -> String {
    let shape = shape(&[("web", 2)]);
    let mut held = in_stage(&shape, "web-0", stage(StageName::Failed));
    let text = Redacted::new("a \"quoted\" word");
    held.hold = Some(Hold { code: HoldCode::CrashLoop, text, since: T0 });
    let other = in_stage(&shape, "web-1", stage(StageName::BootstrapRunning));
    print(&state([held, other]), &catalogue(), RUN)
}

/// Every kind of failure has a word, and the word reads back.
#[test]
fn every_failure_has_a_word() {
    use FailureClass as F;
    let limited = F::RateLimited { retry_after: Millis::new(7) };
    let all = [
        F::Auth,
        F::Quota,
        F::Capacity,
        limited,
        F::NotFound,
        F::Invalid,
        F::Unavailable,
        F::TimedOut,
        F::Crashed,
        F::Workload,
        F::Fenced,
        F::Withdrawn,
    ];
    for class in all {
        let mut record = in_stage(&shape(&[("web", 1)]), "web-0", stage(StageName::Failed));
        if let NodeStage::Failed { failure, .. } = &mut record.stage {
            failure.class = class;
        }
        let _same = there_and_back(&state([record]));
    }
}

/// Every reason of a deletion has a word of its own, and the word reads back (R165).
#[test]
fn every_deletion_has_a_word() {
    use DeleteReason as D;
    // The next one, so that a new reason cannot be forgotten here.
    let next = |reason| match reason {
        D::Undesired => Some(D::Replaced),
        D::Replaced => Some(D::Failed),
        D::Failed => Some(D::Rerun),
        D::Rerun => None,
    };
    for reason in core::iter::successors(Some(D::Undesired), |reason| next(*reason)) {
        let mut record = in_stage(&shape(&[("web", 1)]), "web-0", stage(StageName::Dormant));
        record.deletion = Some(Deletion { reason, since: at(1) });
        let _same = there_and_back(&state([record]));
    }
}

/// Every stage of a session has a word of its own, and the word reads back.
#[test]
fn every_stage_of_a_session_has_a_word() {
    use SessionStage as S;
    let next = |stage| match stage {
        S::Created => Some(S::StdoutStreaming),
        S::StdoutStreaming => Some(S::BootChecking),
        S::BootChecking => Some(S::SwactorStarting),
        S::SwactorStarting => Some(S::WaitingForSwactorJoin),
        S::WaitingForSwactorJoin => Some(S::Converged),
        S::Converged => Some(S::Closed),
        S::Closed => Some(S::BootCheckFailed),
        S::BootCheckFailed => Some(S::StartFailed),
        S::StartFailed => Some(S::SwactorJoinFailed),
        S::SwactorJoinFailed => Some(S::StreamError),
        S::StreamError => Some(S::Cancelled),
        S::Cancelled => None,
    };
    for reached in core::iter::successors(Some(S::Created), |stage| next(*stage)) {
        let shape = shape(&[("web", 1)]);
        let mut record = in_stage(&shape, "web-0", stage(StageName::BootstrapRunning));
        if let NodeStage::BootstrapRunning { session, .. } = &mut record.stage {
            session.stage = reached;
        }
        let _same = there_and_back(&state([record]));
    }
}

proptest! {
    #![proptest_config(proptest::test_runner::Config {
        cases: 64, failure_persistence: None, ..Default::default()
    })]

    /// Any fleet that can be thrown reads back as it was, in every fact, and its updates with it.
    #[test]
    fn a_thrown_fleet_reads_back(seed: u64) {
        let mut dice = Dice::new(seed);
        let shape = dice.shape();
        let state = dice.state(&shape);
        let read = there_and_back(&state);
        let updates = |state: &ClusterState| -> Vec<(String, Rollout)> {
            state.rollouts().map(|(name, one)| (name.to_string(), one.clone())).collect()
        };
        prop_assert_eq!(updates(&read), updates(&state));
    }

    /// After any history the text holds everything that decides: who reads it decides the same.
    #[test]
    fn any_history_reads_back(trace in prop::collection::vec(input(), 0..60)) {
        let mut world = begin();
        for input in &trace {
            apply(&mut world, input);
        }
        let read = there_and_back(&world.state);
        decide_the_same(&world.state, &read, &world.shape, world.now);
    }

    /// No text makes the reader panic, and every refusal has a place within the text.
    #[test]
    fn no_text_breaks_the_reader(text in "([a-z]{1,5}-?[0-9]? ?|#[0-9]|[=\"\\\\{}+ \n]|\\PC){0,60}") {
        if let Err(error) = parse(&text, &catalogue()) {
            prop_assert!(error.line <= text.lines().count() && error.column > 0);
        }
        let _unread = canonical::read(&text);
    }

    /// No spoilt byte makes the reader panic; what still reads can be written again.
    #[test]
    fn no_spoilt_text_breaks_the_reader(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = sound().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(text) = String::from_utf8(bytes) && let Ok(state) = parse(&text, &catalogue()) {
            let _again = print(&state, &catalogue(), RUN);
        }
    }
}

/// A policy of its own makes a kind of its own.
#[test]
fn kinds_differ_by_policy_as_well() {
    let shapes = [Policy::default(), Policy { stable: Millis::ZERO, ..Policy::default() }]
        .map(|policy| crate::fleet::shape_with(1, &[("web", 1, "v1")], &policy));
    let records = shapes.iter().zip(["web-0", "web-1"]).map(|(shape, text)| {
        let mut record = in_stage(shape, "web-0", stage(StageName::Dormant));
        record.slot = slot(text);
        record
    });
    let read = there_and_back(&state(records));
    assert_eq!(read.len(), 2);
}
