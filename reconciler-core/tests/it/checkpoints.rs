//! The table of checkpoints, row by row: text, class, lane, and what an operation's steps come to (R108 to R120).

use std::collections::BTreeSet;

use reconciler_core::{
    checkpoint::{
        CHECKPOINT_LEN_MAX, CheckpointClass as Class, CheckpointError, Direction, FinalizerMark,
        OperationCheckpoint, OperationMarks, RecoveryLane as Lane, StepCheckpoint, StepMark,
        derive_operation,
    },
    effect::{ActionKind, CommandKind},
    fold::StepEnd,
};

/// The 27 identities of the specification.
const ROWS: [(&str, Class, Lane); 27] = [
    ("intent-persisted", Class::Intent, Lane::Resume),
    ("web-0:effect-pending", Class::ForwardEffect, Lane::Reobserve),
    ("web-0:verified", Class::Verification, Lane::Complete),
    ("web-0:verified-after-resume", Class::Verification, Lane::Complete),
    ("web-0:cancelled-before-effect", Class::Interruption, Lane::Resume),
    ("web-0:cancelled-no-effect", Class::Interruption, Lane::Resume),
    ("web-0:ambiguous-after-resume", Class::SafeHold, Lane::SafeHold),
    ("web-0:ambiguous-effect", Class::SafeHold, Lane::SafeHold),
    ("web-0:accepted-without-effect", Class::SafeHold, Lane::SafeHold),
    ("web-0:context-stale", Class::SafeHold, Lane::SafeHold),
    ("web-0:irreversible-effect-safe-hold", Class::SafeHold, Lane::SafeHold),
    ("web-0:compensation-pending", Class::Compensation, Lane::Reobserve),
    ("web-0:compensated", Class::Compensation, Lane::Complete),
    ("web-0:compensation-ambiguous-after-resume", Class::Compensation, Lane::SafeHold),
    ("web-0:compensation-attempts-exhausted", Class::Compensation, Lane::SafeHold),
    ("web-0:compensation-context-stale", Class::Compensation, Lane::SafeHold),
    ("web-0:compensation-failed", Class::Compensation, Lane::SafeHold),
    ("web-0:compensation-record-mismatch", Class::Compensation, Lane::SafeHold),
    ("web-0:compensation-unavailable", Class::Compensation, Lane::SafeHold),
    ("web-0:restored-health-safe-hold", Class::RestoredHealth, Lane::SafeHold),
    ("rollback-restored-health-safe-hold", Class::RestoredHealth, Lane::SafeHold),
    ("rollback-restored-health-verified", Class::RestoredHealth, Lane::Complete),
    ("finalizer:started", Class::Finalizer, Lane::Reobserve),
    ("finalizer:failed", Class::Finalizer, Lane::Reobserve),
    ("finalizer:verified", Class::Finalizer, Lane::Complete),
    ("verified", Class::Terminal, Lane::Complete),
    ("compensated", Class::Terminal, Lane::Complete),
];

fn step(text: &str) -> StepCheckpoint {
    text.parse().expect("a checkpoint of a step")
}

/// Steps of which none is the last deed of a deletion.
fn starts<'a>(texts: &'a [&str]) -> impl Iterator<Item = (ActionKind, StepCheckpoint)> + 'a {
    texts.iter().map(|text| (CommandKind::StartBootstrap.into(), step(text)))
}

fn derive(texts: &[&str]) -> String {
    derive_operation(starts(texts), OperationMarks::default()).to_string()
}

/// R108 to R119: every identity has exactly its text, class and lane, and there is no other.
#[test]
fn each_identity_has_its_row() {
    for (text, class, lane) in ROWS {
        let checkpoint: OperationCheckpoint = text.parse().expect(text);
        assert_eq!(checkpoint.row().class, class, "{text}");
        assert_eq!(checkpoint.row().lane, lane, "{text}");
        assert_eq!(checkpoint.to_string(), text);
    }
    assert_eq!(StepMark::ALL.len() + OperationCheckpoint::OWN.len(), ROWS.len());
    for class in Class::ALL {
        assert!(ROWS.iter().any(|(_, of, _)| *of == class), "{}", class.as_str());
    }
}

/// R120: unknown, empty and oversize texts are errors, and nothing near a name passes for it.
#[test]
fn only_exact_texts_are_checkpoints() {
    assert_eq!("".parse::<StepCheckpoint>(), Err(CheckpointError::Empty));
    let long = "x".repeat(CHECKPOINT_LEN_MAX + 1);
    assert_eq!(long.parse::<OperationCheckpoint>(), Err(CheckpointError::Oversize(256)));
    let wrong = [
        "web-0:Verified",
        "web-0:verified ",
        " web-0:verified",
        "web-0: verified",
        "web:verified",
        "web-0:verified:verified",
        "web-0:intent-persisted",
        "web-0:rollback-restored-health-verified",
        "effect-pending",
        "web-0:",
        ":verified",
        "safe-hold",
        "interrupted",
        "finalizer:",
        "finalizer:Started",
    ];
    for text in wrong {
        let found = text.parse::<OperationCheckpoint>();
        assert_eq!(found, Err(CheckpointError::Unknown(text.into())), "{text}");
    }
}

/// Clarification 2: safe-hold > restored-health > compensation > finalizer > interruption > forward-effect >
/// verification > intent, in the classes and in what steps come to.
#[test]
fn the_class_of_highest_precedence_decides() {
    let order = [
        "intent",
        "verification",
        "forward-effect",
        "interruption",
        "finalizer",
        "compensation",
        "restored-health",
        "safe-hold",
        "terminal",
    ];
    assert_eq!(Class::ALL.map(Class::as_str), order);
    assert!(Class::ALL.is_sorted_by_key(|class| class.rank()));
    let ladder = [
        "web-0:verified",
        "web-1:effect-pending",
        "web-2:cancelled-no-effect",
        "web-3:compensated",
        "web-4:restored-health-safe-hold",
        "web-5:ambiguous-effect",
    ];
    assert_eq!(derive(&[]), "intent-persisted");
    for (n, strongest) in ladder.iter().enumerate() {
        let mut some: Vec<&str> = ladder[..=n].to_vec();
        assert_eq!(derive(&some), *strongest);
        some.reverse();
        assert_eq!(derive(&some), *strongest);
    }
}

/// A retry that succeeded ends the failed try of the same slot; other slots keep their say.
#[test]
fn a_later_step_speaks_for_its_slot() {
    let steps = ["web-0:cancelled-no-effect", "web-1:effect-pending", "web-0:verified"];
    assert_eq!(derive(&steps), "web-1:effect-pending");
}

/// R116, R117: what was seen of the restored health stands over every inverse, and under every doubt.
#[test]
fn restored_health_stands_over_inverses_and_under_doubts() {
    for (proven, text) in
        [(true, "rollback-restored-health-verified"), (false, "rollback-restored-health-safe-hold")]
    {
        let marks = OperationMarks { restored: Some(proven) };
        let derive = |texts: &[&str]| derive_operation(starts(texts), marks).to_string();
        assert_eq!(derive(&["web-0:compensated", "web-1:verified"]), text);
        assert_eq!(derive(&["web-0:restored-health-safe-hold"]), text);
        assert_eq!(derive(&["web-0:ambiguous-effect"]), "web-0:ambiguous-effect");
    }
}

/// R110, R113 to R115: on the way back every end of a step is one of the way back; forward, only a success that
/// another driver saw has a name of its own.
#[test]
fn an_end_is_named_after_the_way_that_its_step_went() {
    for before in StepMark::ALL {
        for end in StepMark::ALL {
            let back = end.settled(Some(before), Direction::Rollback).row().class;
            assert!(back.is_of_the_way_back(), "{before:?} to {end:?} is {back:?}");
            let resumed = end == StepMark::Verified && before == StepMark::AmbiguousAfterResume;
            let forward = if resumed { StepMark::VerifiedAfterResume } else { end };
            assert_eq!(end.settled(Some(before), Direction::Forward), forward);
        }
    }
    let back = |end: StepMark| end.settled(None, Direction::Rollback);
    assert_eq!(back(StepMark::Verified), StepMark::Compensated);
    assert_eq!(back(StepMark::CancelledNoEffect), StepMark::CompensationPending);
    assert_eq!(back(StepMark::AmbiguousAfterResume), StepMark::CompensationAmbiguous);
    assert_eq!(back(StepMark::ContextStale), StepMark::CompensationStale);
    assert_eq!(Direction::Rollback.pending(), StepMark::CompensationPending);
}

/// R118, R125, clarification 2: the step that gives a lease back is the last deed of a deletion: begun, failed and seen
/// done have names of their own, below the way back and above what is under way; one that is done hides nothing.
#[test]
fn the_last_deed_of_a_deletion_is_a_finalizer() {
    let gives_back = |text: &str| (ActionKind::from(CommandKind::DestroyLease), step(text));
    let beside = |text: &str, other: &str| {
        let steps = [gives_back(text)].into_iter().chain(starts(&[other]).collect::<Vec<_>>());
        derive_operation(steps, OperationMarks::default()).to_string()
    };
    for (text, stands) in [
        ("web-9:effect-pending", "finalizer:started"),
        ("web-9:cancelled-no-effect", "finalizer:failed"),
        ("web-9:verified", "finalizer:verified"),
        ("web-9:verified-after-resume", "finalizer:verified"),
        // Before its effect it was no deed, in doubt it is held, and on the way back it is an inverse.
        ("web-9:cancelled-before-effect", "web-9:cancelled-before-effect"),
        ("web-9:ambiguous-effect", "web-9:ambiguous-effect"),
        ("web-9:accepted-without-effect", "web-9:accepted-without-effect"),
        ("web-9:compensated", "web-9:compensated"),
    ] {
        let alone = derive_operation([gives_back(text)].into_iter(), OperationMarks::default());
        assert_eq!(alone.to_string(), stands, "{text}");
    }
    for open in ["web-9:effect-pending", "web-9:cancelled-no-effect"] {
        let stands = step(open).of_operation(CommandKind::DestroyLease.into()).to_string();
        assert_eq!(beside(open, "web-0:effect-pending"), stands);
        assert_eq!(beside(open, "web-0:cancelled-no-effect"), stands);
        assert_eq!(beside(open, "web-0:compensated"), "web-0:compensated");
    }
    assert_eq!(beside("web-9:verified", "web-0:effect-pending"), "web-0:effect-pending");
    assert_eq!(beside("web-9:verified", "web-0:cancelled-no-effect"), "web-0:cancelled-no-effect");
    let lanes = FinalizerMark::ALL.map(|mark| OperationCheckpoint::Finalizer(mark).row().lane);
    assert_eq!(lanes, [Lane::Reobserve, Lane::Reobserve, Lane::Complete]);
}

/// ADR 0017: every mark of the vocabulary that this program writes, by what writes it; the others are read and never
/// written, each for its reason.
#[test]
fn every_mark_has_a_writer_or_a_reason() {
    let pending = Direction::ALL.map(Direction::pending);
    let mut written: BTreeSet<StepMark> = pending.into();
    for direction in Direction::ALL {
        for before in StepMark::ALL.map(Some).into_iter().chain([None]) {
            written.extend(StepEnd::ALL.map(|end| end.mark().settled(before, direction)));
        }
    }
    let never = [
        // A hold of the group says it; the hook's own step stays verified, since it was.
        StepMark::IrreversibleEffect,
        // Tries are counted over attempts, and a hold of the slot says that there were enough.
        StepMark::CompensationExhausted,
        // What does not match is evidence, and is not written over; a hold of the group says it.
        StepMark::CompensationMismatch,
        // What has no way back is not turned back.
        StepMark::CompensationUnavailable,
        // The proof is of the group, and so is its mark.
        StepMark::RestoredHealthHold,
    ];
    written.extend(never);
    assert_eq!(written, BTreeSet::from(StepMark::ALL));
    assert!(StepEnd::ALL.iter().all(|end| !never.contains(&end.mark())));
    let finalizers = StepMark::ALL.map(|mark| mark.finalizer(CommandKind::DestroyLease.into()));
    for mark in FinalizerMark::ALL {
        assert!(finalizers.contains(&Some(mark)), "{mark:?}");
    }
}
