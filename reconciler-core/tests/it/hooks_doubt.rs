//! Hooks and the death of their driver: a completed one never runs again, none is skipped, and none is repeated blind
//! (D7, P6).

use reconciler_core::{
    desired::{HookPoint, Policy},
    effect::{ActionKind, CommandKind, ExitStatus, HookSight, HookState, Look, WorkloadState},
    fold::{Fact, Transition, Verdict},
    hold::HoldCode,
    id::IdempotencyKey,
    observed::{DeleteReason, NodeStage, Side, StageName},
    reconcile::{explain, reconcile},
    redact::Redacted,
    time::{Millis, Timestamp},
};

use crate::fleet::{powered, shape_with, slot};
use crate::hooks::{ALL, CANCEL, PRE_STOP, hooked, node, sent, settled};
use crate::rollout_ends::run;
use crate::thing::hook_key;
use crate::world::{Fate, World};

/// What a look shows of a hook whose driver died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Nothing,
    AnotherOne,
    Completed,
    Failed,
    Lost,
    Untold,
    Running,
}

/// A world in which the hook of `point` is on its way.
fn under_way(point: HookPoint) -> World {
    let mut world = if point.is_of_start() { hooked(ALL) } else { settled(ALL) };
    if !point.is_of_start() {
        world.reshape(powered(&world.shape, "web", |power| power.switched(true)));
    }
    let _plan = world.pass();
    while !world.flights.iter().any(|flight| flight.action.kind() == ActionKind::Hook(point)) {
        world.deliver(0, Fate::Succeed);
        world.advance(Millis::from_secs(1));
        let _plan = world.pass();
    }
    world
}

/// The driver dies, and whoever comes next sees `seen`.
fn dies(world: &mut World, point: HookPoint, seen: Seen) {
    world.flights.clear();
    world.log.clear();
    let record = node(world);
    let mark = record.hook_mark(point).expect("a hook that is on its way");
    let key = hook_key(record.attempt.uuid, point, mark.session);
    let thing = world.things.get_mut(&record.attempt.uuid).expect("a lease");
    let ended = |status| HookState::Ended { status, tail: Redacted::new("bye") };
    let begun = |state| HookSight::Begun { key, state };
    let another = IdempotencyKey::from_bytes([9; 32]);
    thing.hook = match seen {
        Seen::Nothing => HookSight::Nothing,
        Seen::AnotherOne => HookSight::Begun { key: another, state: ended(ExitStatus::Code(0)) },
        Seen::Completed => begun(ended(ExitStatus::Code(0))),
        Seen::Failed => begun(ended(ExitStatus::Code(3))),
        Seen::Lost => begun(ended(ExitStatus::Unknown)),
        Seen::Untold => HookSight::Untold,
        Seen::Running => begun(HookState::Running),
    };
    if seen != Seen::Nothing && seen != Seen::AnotherOne {
        thing.hooks.insert(key, ExitStatus::Code(0));
    }
    world.restart();
}

fn held(world: &World) -> Option<HoldCode> {
    node(world).hold.map(|hold| hold.code)
}

const DOUBTS: [Seen; 2] = [Seen::Lost, Seen::Untold];

/// A driver that dies between intent and result: what a look shows decides, for each hook alike.
#[test]
fn a_look_decides_what_became_of_a_hook() {
    for point in HookPoint::ALL {
        let kind = ActionKind::Hook(point);
        let again = |world: &mut World| sent(world).iter().filter(|sent| **sent == kind).count();
        for seen in [Seen::Nothing, Seen::AnotherOne] {
            let mut world = under_way(point);
            let first = node(&world).attempt;
            dies(&mut world, point, seen);
            run(&mut world, 40, |_, _| Fate::Succeed);
            assert_eq!(again(&mut world), 1, "{point:?} {seen:?}: it was not begun, so it runs");
            assert_eq!((held(&world), node(&world).attempt), (None, first));
        }
        let mut world = under_way(point);
        let first = node(&world).attempt;
        dies(&mut world, point, Seen::Completed);
        run(&mut world, 40, |_, _| Fate::Succeed);
        assert_eq!(again(&mut world), 0, "{point:?}: what completed never runs again");
        assert_eq!((held(&world), node(&world).attempt), (None, first));

        let mut world = under_way(point);
        dies(&mut world, point, Seen::Failed);
        run(&mut world, 40, |_, _| Fate::Succeed);
        let fresh = node(&world).attempt != first;
        assert_eq!(fresh, point.is_of_start(), "{point:?}: a failed start is a failed attempt");
        assert_eq!(again(&mut world), 1, "{point:?}: of the next attempt, or the next try");
        assert_eq!(held(&world), None);
    }
}

/// P6: a hook whose end nobody can tell holds its slot; released, it counts as run, and is not repeated.
#[test]
fn a_hook_in_doubt_is_held_and_never_repeated() {
    for (point, seen) in HookPoint::ALL.into_iter().flat_map(|p| DOUBTS.map(|seen| (p, seen))) {
        let mut world = under_way(point);
        dies(&mut world, point, seen);
        run(&mut world, 40, |_, _| Fate::Succeed);
        assert_eq!(held(&world), Some(HoldCode::HookUnknown), "{point:?} {seen:?}");
        assert!(sent(&mut world).is_empty(), "{point:?} {seen:?}: a hold lets nothing out");
        let plan = reconcile(&world.state, &world.shape, world.now);
        let reason = plan.reasons.iter().find(|(at, _)| *at == slot("web-0")).map(|(_, r)| r);
        let why = explain(&slot("web-0"), reason, &world.state, &world.shape, world.now);
        let text = why.to_string();
        let session = node(&world).hooks.doubt.expect("a doubt").session;
        let doubt = format!("hook in doubt: {} of session {session}", point.as_str());
        assert!(text.contains(&doubt) && text.contains("levelhead release web-0"), "{text}");
        // Another driver holds it as well.
        world.restart();
        run(&mut world, 5, |_, _| Fate::Succeed);
        assert_eq!(held(&world), Some(HoldCode::HookUnknown));
        let released = world.state.fold(Fact::ReleasedSlot(slot("web-0")), world.now);
        assert_eq!(released, Verdict::Applied);
        assert!(world.settle().is_some());
        let log = sent(&mut world);
        assert!(!log.contains(&ActionKind::Hook(point)), "{point:?} {seen:?}: {log:?}");
        assert_eq!(node(&world).hooks.doubt, None);
    }
}

/// A hook that still runs without its driver is waited for as long as it may take, and then held.
#[test]
fn a_hook_that_still_runs_is_waited_for() {
    for point in HookPoint::ALL {
        let mut world = under_way(point);
        dies(&mut world, point, Seen::Running);
        run(&mut world, 8, |_, _| Fate::Succeed);
        assert_eq!(
            (held(&world), sent(&mut world)),
            (None, Vec::new()),
            "{point:?}: it may end yet"
        );
        assert!(node(&world).ambiguity.is_some());
        run(&mut world, 120, |_, _| Fate::Succeed);
        assert_eq!(held(&world), Some(HoldCode::HookUnknown), "{point:?}");
    }
}

/// A hook that runs is waited for while it may take so long, and not one moment longer; what its workload does is looked
/// at only then.
#[test]
fn a_hook_that_runs_is_waited_for_to_the_moment() {
    let over = (Some(HoldCode::HookUnknown), false, StageName::Failed);
    for (early, want) in [(1, (None, true, StageName::BootstrapRunning)), (0, over)] {
        let mut world = under_way(HookPoint::PostStart);
        dies(&mut world, HookPoint::PostStart, Seen::Running);
        let attempt = node(&world).attempt.uuid;
        let thing = world.things.get_mut(&attempt).expect("a lease");
        let (status, tail) = (ExitStatus::Code(1), Redacted::default());
        thing.workload = WorkloadState::Exited { status, tail };
        let record = node(&world);
        let open = record.ambiguity.clone().expect("it is in doubt");
        let end = open.since.after(open.command.timeout(&record.policy));
        world.now = Timestamp::from_millis(end.as_millis() - early);
        world.look(&slot("web-0"), Side::Present);
        let now = node(&world);
        let found = (held(&world), now.ambiguity.is_some(), now.stage.name());
        assert_eq!(found, want, "{early} ms early");
    }
}

/// A start hook in doubt keeps nothing that is to go, whatever for.
#[test]
fn a_start_hook_in_doubt_keeps_nothing_that_goes() {
    for reason in [DeleteReason::Replaced, DeleteReason::Failed, DeleteReason::Rerun] {
        let mut world = under_way(HookPoint::PreStart);
        let fact =
            Fact::Decided { slot: slot("web-0"), transition: Transition::BeginDelete(reason) };
        assert_eq!(world.state.fold(fact, world.now), Verdict::Applied);
        dies(&mut world, HookPoint::PreStart, Seen::Untold);
        world.look(&slot("web-0"), Side::Present);
        assert_eq!((held(&world), node(&world).hooks.doubt), (None, None), "{reason:?}");
        assert!(node(&world).ambiguity.is_none());
    }
}

/// P7: a hook that failed says which it was, how it ended, and what it said.
#[test]
fn a_failed_hook_says_how() {
    let mut world = under_way(HookPoint::PreStart);
    dies(&mut world, HookPoint::PreStart, Seen::Failed);
    world.look(&slot("web-0"), Side::Present);
    let NodeStage::Failed { failure, .. } = &node(&world).stage else { panic!("it failed") };
    let said = failure.message.as_str();
    assert!(["pre-start hook", "3", "bye"].iter().all(|word| said.contains(word)), "{said}");
}

/// D3: what goes for good is not kept by a hook in doubt, whether the doubt came before or on the way.
#[test]
fn what_goes_for_good_is_not_kept_by_a_doubt() {
    let nothing = |world: &mut World| {
        let generation = world.shape.generation.next().get();
        world.reshape(shape_with(generation, &[], &Policy::default()));
    };
    for (point, before) in HookPoint::ALL.into_iter().flat_map(|p| [true, false].map(|b| (p, b))) {
        let mut world = under_way(point);
        if !before {
            nothing(&mut world);
        }
        dies(&mut world, point, Seen::Lost);
        run(&mut world, 3, |_, _| Fate::Succeed);
        if before {
            assert_eq!(held(&world), Some(HoldCode::HookUnknown));
            nothing(&mut world);
        }
        assert!(world.settle().is_some(), "{point:?}");
        assert!(world.things.is_empty());
        assert!(!sent(&mut world).contains(&ActionKind::Hook(point)), "never repeated blind");
    }
}

/// A node that gives way waits with a stop hook in doubt: it is not wanted gone, but replaced.
#[test]
fn what_is_replaced_waits_with_its_stop_hook_in_doubt() {
    let mut world = settled(ALL);
    let generation = world.shape.generation.next().get();
    let policy = Policy { hooks: crate::trace::hooks(ALL), ..Policy::default() };
    world.reshape(shape_with(generation, &[("web", 1, "v2")], &policy));
    while !world.flights.iter().any(|flight| flight.action.kind() == PRE_STOP) {
        world.deliver(0, Fate::Succeed);
        world.advance(Millis::from_secs(1));
        let _plan = world.pass();
    }
    dies(&mut world, HookPoint::PreStop, Seen::Lost);
    run(&mut world, 10, |_, _| Fate::Succeed);
    assert_eq!((held(&world), sent(&mut world)), (Some(HoldCode::HookUnknown), Vec::new()));
    let _released = world.state.fold(Fact::ReleasedSlot(slot("web-0")), world.now);
    assert!(world.settle().is_some());
    let log = sent(&mut world);
    assert!(log.first() == Some(&CANCEL) && !log.contains(&PRE_STOP), "{log:?}");
}

/// C1: a listing says nothing of hooks, so it decides nothing about one.
#[test]
fn a_listing_resolves_no_hook() {
    let mut world = under_way(HookPoint::PostStart);
    dies(&mut world, HookPoint::PostStart, Seen::Completed);
    world.advance(Millis::from_secs(1));
    let before = node(&world);
    let uuid = before.attempt.uuid;
    world.things.get_mut(&uuid).expect("a lease").workload =
        reconciler_core::effect::WorkloadState::Exited {
            status: ExitStatus::Code(1),
            tail: Redacted::default(),
        };
    let listing = reconciler_core::effect::Listing::Complete(world.inventory());
    world.list(listing);
    assert_eq!(node(&world), before, "the look by id comes first");
    let _plan = world.pass();
    let after = node(&world);
    assert!(after.hooks.completed.is_some() && after.ambiguity.is_none());
    assert_eq!(after.backoff.failures, 1, "and the same look shows that the workload is gone");
}

/// A lease that is gone took its hook with it: the attempt is lost, as by any other absence.
#[test]
fn a_lost_lease_ends_the_doubt() {
    let mut world = under_way(HookPoint::PreStart);
    dies(&mut world, HookPoint::PreStart, Seen::Lost);
    let attempt = node(&world).attempt;
    let looked =
        Fact::Looked { slot: slot("web-0"), attempt, look: Look::Absent, visibility: Millis::ZERO };
    assert_eq!(world.state.fold(looked, world.now), Verdict::Applied);
    let record = node(&world);
    assert!(record.hold.is_none() && record.ambiguity.is_none());
    assert_eq!(record.backoff.failures, 1);
    assert!(!record.is_under_way(CommandKind::CreateLease));
}
