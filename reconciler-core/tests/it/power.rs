//! Stop, start and restart: what rests keeps its lease, what begins anew keeps it too, in turn (D14, R170, R175).

use std::collections::BTreeMap;

use reconciler_core::{
    desired::{ClusterShape, GroupKind, Power},
    effect::{CommandKind, EffectOutcome, ExitStatus, FailureClass, HandleFacts, WorkloadState},
    fold::{Fact, Verdict},
    id::{Fence, PlanSerial},
    observed::{Handle, NodeStage, StageName},
    plan::{ChangeKind, LifecyclePlan, PlanInput, Scope, project},
    reconcile::{Rung, reconcile, standing},
    redact::Redacted,
    time::Millis,
};

use crate::fleet::{
    T0, at, command_of, definite, dispatch, gated, group, in_stage, of, powered, present, reported,
    shape, slot, stage, state,
};
use crate::laws_single::records;
use crate::world::{Fate, World};

/// What is asked of a group's workloads.
type Ask = dyn Fn(&Power) -> Power;

const CANCEL: CommandKind = CommandKind::CancelBootstrap;
const START: CommandKind = CommandKind::StartBootstrap;
const CLOSE: CommandKind = CommandKind::BootstrapConvergenceObserved;

fn settled(shape: ClusterShape) -> World {
    let mut world = World::new(shape, T0);
    assert!(world.settle().is_some());
    world.log.clear();
    world
}

/// Asks for another power of `web`, and lets the world follow.
fn ask(world: &mut World, change: impl FnOnce(&Power) -> Power) {
    let shape = powered(&world.shape, "web", change);
    world.reshape(shape);
}

fn follow(world: &mut World) -> Vec<(String, CommandKind)> {
    world.log.clear();
    assert!(world.settle().is_some(), "{:#?}", records(&world.state));
    // By slot: how the slots of one group take turns is told by the tests that are about it.
    let mut log = world.log.clone();
    log.sort_by(|(one, ..), (other, ..)| one.cmp(other));
    log.iter().map(|(slot, _, kind)| (slot.to_string(), command_of(*kind))).collect()
}

fn plan(world: &World, target: &ClusterShape) -> LifecyclePlan {
    let input = PlanInput {
        base: &world.shape,
        target,
        capabilities: &BTreeMap::new(),
        fence: Fence::new(3),
        serial: PlanSerial::new(0),
        parallelism: 4,
    };
    project(&world.state, &input, Scope::All, world.now).expect("a plan that settles")
}

fn is_serving(record: &reconciler_core::observed::NodeRecord) -> bool {
    record.is_ready() && record.pending.is_none()
}

fn steps(slots: &[&str], kinds: &[CommandKind]) -> Vec<(String, CommandKind)> {
    let of = |slot: &&str| kinds.iter().map(|kind| ((*slot).to_owned(), *kind)).collect::<Vec<_>>();
    slots.iter().flat_map(of).collect()
}

/// A stopped group keeps its leases, rests in `EndpointKnown`, and that is as wanted; started, it runs again on them.
#[test]
fn what_is_stopped_keeps_its_lease() {
    let mut world = settled(shape(&[("web", 2)]));
    let leases: Vec<_> = world.things.keys().copied().collect();
    ask(&mut world, |power| power.switched(true));
    assert!(!standing(&world.state, &world.shape).converged, "it runs, and is not to");
    assert_eq!(follow(&mut world), steps(&["web-0", "web-1"], &[CANCEL]));
    for record in records(&world.state) {
        assert_eq!(record.stage.name(), StageName::EndpointKnown);
    }
    let stands = standing(&world.state, &world.shape);
    assert_eq!((stands.converged, stands.want, stands.ready), (true, 0, 0));
    let plan = reconcile(&world.state, &world.shape, world.now);
    assert!(plan.reasons.iter().all(|(_, reason)| reason.rung == Rung::Off), "{plan:?}");

    ask(&mut world, |power| power.switched(false));
    assert_eq!(follow(&mut world), steps(&["web-0", "web-1"], &[START, CLOSE]));
    assert_eq!(world.things.keys().copied().collect::<Vec<_>>(), leases);
}

/// One slot may rest alone; others and counts do not touch it.
#[test]
fn one_slot_may_rest_alone() {
    let mut world = settled(shape(&[("web", 3)]));
    ask(&mut world, |power| power.switched_slot(1, true, 3));
    assert_eq!(follow(&mut world), steps(&["web-1"], &[CANCEL]));
    let more = world.shape.with_counts(&[(group("web"), 4)].into()).expect("a shape");
    world.reshape(more);
    assert!(follow(&mut world).iter().all(|(slot, _)| slot == "web-3"));
    ask(&mut world, |power| power.switched_slot(1, false, 4));
    assert_eq!(follow(&mut world), steps(&["web-1"], &[START, CLOSE]));
    // Of a group that is off, one slot may be started: the others go on resting.
    ask(&mut world, |power| power.switched(true).switched_slot(2, false, 4));
    assert_eq!(follow(&mut world), steps(&["web-0", "web-1", "web-3"], &[CANCEL]));
}

/// What is off from the beginning gets a record and nothing that costs anything.
#[test]
fn what_is_off_gets_no_lease() {
    let off = powered(&shape(&[("web", 2)]), "web", |power| power.switched(true));
    let mut world = settled(off);
    assert_eq!(follow(&mut world), []);
    assert!(world.things.is_empty() && world.state.len() == 2);
}

/// A stopped node that is replaced or taken away goes like any other.
#[test]
fn what_rests_can_go() {
    let mut world = settled(shape(&[("web", 2)]));
    ask(&mut world, |power| power.switched(true));
    follow(&mut world);
    let down = world.shape.emptied();
    world.reshape(down);
    let destroy = CommandKind::DestroyLease;
    assert_eq!(follow(&mut world), steps(&["web-0", "web-1"], &[destroy]));
    assert!(world.things.is_empty());
}

/// A restart keeps leases and goes one node at a time, each while all others serve (R170).
#[test]
fn a_restart_goes_one_by_one() {
    let mut world = settled(shape(&[("web", 3)]));
    let leases: Vec<_> = world.things.keys().copied().collect();
    ask(&mut world, Power::anew);
    let mut least = 3;
    for _ in 0..200 {
        let _plan = world.pass();
        let serve = |r: &&std::sync::Arc<_>| is_serving(r);
        least = least.min(records(&world.state).iter().filter(serve).count());
        world.deliver(0, Fate::Succeed);
        world.advance(Millis::from_secs(1));
    }
    assert_eq!(least, 2, "one at a time");
    assert!(standing(&world.state, &world.shape).converged);
    let sent: Vec<_> =
        world.log.iter().map(|(s, _, kind)| (s.to_string(), command_of(*kind))).collect();
    assert_eq!(sent, steps(&["web-0", "web-1", "web-2"], &[CANCEL, START, CLOSE]));
    assert_eq!(world.things.keys().copied().collect::<Vec<_>>(), leases);
}

/// A restart is of one round: asked for once, it happens once, through failures and takeovers as well.
#[test]
fn a_restart_happens_once() {
    let mut world = settled(shape(&[("web", 2)]));
    ask(&mut world, |power| power.anew_slot(1));
    let _first = world.pass();
    world.restart();
    let log = follow(&mut world);
    assert!(log.iter().all(|(slot, _)| slot == "web-1"), "{log:?}");
    assert_eq!(log.iter().filter(|(_, kind)| *kind == START).count(), 1, "{log:?}");
    assert_eq!(follow(&mut world), [], "nothing is left of it");
    ask(&mut world, |power| power.anew_slot(1));
    assert_eq!(follow(&mut world), steps(&["web-1"], &[CANCEL, START, CLOSE]));
}

/// A node that does not serve begins anew without waiting; one that serves waits while another is away.
#[test]
fn a_turn_is_for_those_that_serve() {
    let shape = powered(&shape(&[("web", 3)]), "web", Power::anew);
    let mut records = ["web-0", "web-1"].map(|s| in_stage(&shape, s, stage(StageName::Dormant)));
    let mut young = in_stage(&shape, "web-2", stage(StageName::BootstrapRunning));
    young.round = 0;
    for record in &mut records {
        record.round = 0;
    }
    let [one, two] = records;
    let plan = reconcile(&state([one, two, young]), &shape, at(0));
    assert_eq!(crate::fleet::kinds(&plan.per_node), steps(&["web-2"], &[CANCEL]));
    let turn = Rung::Turn { ready: 2, want: 3 };
    assert!(plan.reasons.iter().take(2).all(|(_, reason)| reason.rung == turn), "{plan:?}");
}

/// An operator's word to begin anew leaves a crash loop, as a changed revision does; without it the hold stays (P6).
#[test]
fn a_restart_leaves_a_crash_loop() {
    let shape = shape(&[("web", 1)]);
    let mut held = in_stage(&shape, "web-0", stage(StageName::Destroyed));
    let text = Redacted::new("five failures");
    let code = reconciler_core::hold::HoldCode::CrashLoop;
    held.hold = Some(reconciler_core::hold::Hold { code, text, since: at(0) });
    assert!(reconcile(&state([held.clone()]), &shape, at(0)).is_empty());
    let again = powered(&shape, "web", Power::anew);
    let plan = reconcile(&state([held]), &again, at(0));
    assert_eq!(plan.transitions.len(), 1, "{plan:?}");
}

/// The end of a workload that is being stopped is the stop's own business, and that of an earlier session is no news
/// (R59).
#[test]
fn the_end_of_what_was_stopped_fails_nothing() {
    let shape = powered(&shape(&[("web", 1)]), "web", |power| power.switched(true));
    let mut state = state([in_stage(&shape, "web-0", stage(StageName::Dormant))]);
    let attempt = of(&state, "web-0").attempt;
    let exit = |workload: Handle| Fact::Exited {
        slot: slot("web-0"),
        attempt,
        workload,
        status: ExitStatus::Signal(15),
        tail: Redacted::default(),
    };
    let _sent = dispatch(&mut state, "web-0", CANCEL, 1, at(0));
    assert_eq!(state.fold(exit(Handle::default()), at(1)), Verdict::Unchanged);
    let _done = reported(&mut state, "web-0", 1, Ok(EffectOutcome::Cancelled), at(2));
    assert_eq!(of(&state, "web-0").stage.name(), StageName::EndpointKnown);
    assert_eq!(state.fold(exit(Handle::default()), at(3)), Verdict::Unchanged);
    let _sent = dispatch(&mut state, "web-0", START, 2, at(4));
    let later = Handle::new(HandleFacts::from([("pid".to_owned(), "2".to_owned())]));
    let started = EffectOutcome::Started { workload: later };
    let _started = reported(&mut state, "web-0", 2, Ok(started), at(5));
    assert_eq!(state.fold(exit(Handle::default()), at(6)), Verdict::Stale);
    assert_eq!(of(&state, "web-0").stage.name(), StageName::BootstrapRunning);
}

/// A stop whose outcome is unknown is looked for like any other (D7); a lease that is gone by then is a loss.
#[test]
fn a_stop_in_doubt_is_looked_for() {
    let base = shape(&[("web", 1)]);
    let off = powered(&base, "web", |power| power.switched(true));
    for (workload, found) in [
        (Some(WorkloadState::Absent), StageName::EndpointKnown),
        (Some(WorkloadState::Running { workload: Handle::default() }), StageName::Dormant),
        (None, StageName::Failed),
    ] {
        let mut state = state([in_stage(&off, "web-0", stage(StageName::Dormant))]);
        let _sent = dispatch(&mut state, "web-0", CANCEL, 1, at(0));
        let _lost = state.fold(Fact::Resumed, at(1));
        let look = workload.map_or(reconciler_core::effect::Look::Absent, |w| present("l-1", w));
        let _seen = crate::fleet::looked(&mut state, "web-0", look, at(2));
        assert_eq!(of(&state, "web-0").stage.name(), found);
    }
}

/// A stop that fails is tried again, and nothing counts against the node.
#[test]
fn a_stop_that_fails_is_tried_again() {
    let shape = powered(&shape(&[("web", 1)]), "web", |power| power.switched(true));
    let mut state = state([in_stage(&shape, "web-0", stage(StageName::Dormant))]);
    let _sent = dispatch(&mut state, "web-0", CANCEL, 1, at(0));
    let failed = Err(definite(FailureClass::Unavailable));
    let _failed = reported(&mut state, "web-0", 1, failed, at(1));
    let record = of(&state, "web-0");
    assert!(record.retry.is_some() && record.backoff.failures == 0);
    let plan = reconcile(&state, &shape, at(60_000));
    assert_eq!(crate::fleet::command(&plan), Some(CANCEL));
}

/// The start of a second session is another request than that of the first: no provider takes it for a repeat (D7).
#[test]
fn each_session_has_a_key_of_its_own() {
    let shape = shape(&[("web", 1)]);
    let mut record = in_stage(&shape, "web-0", stage(StageName::EndpointKnown));
    let key = |record: &reconciler_core::observed::NodeRecord| {
        let plan = reconcile(&state([record.clone()]), &shape, at(0));
        plan.per_node[0].1.idempotency_key(record.attempt.uuid)
    };
    let first = key(&record);
    assert_eq!(first, key(&record), "a repeat has the same key");
    record.next_session = record.next_session.next();
    assert_ne!(first, key(&record));
}

/// P3: a plan shows what stops, starts and begins anew, and what it shows is what runs.
#[test]
fn a_plan_shows_what_power_does() {
    let mut world = settled(shape(&[("web", 3)]));
    let changes = |plan: &LifecyclePlan| {
        plan.changes.iter().map(|c| (c.slot.to_string(), c.kind)).collect::<Vec<_>>()
    };
    let asks: [(&Ask, ChangeKind, &[&str]); 3] = [
        (&|power| power.switched_slot(1, true, 3), ChangeKind::Stop, &["web-1"]),
        (&|power| power.switched(false), ChangeKind::Start, &["web-1"]),
        (&Power::anew, ChangeKind::Restart, &["web-0", "web-1", "web-2"]),
    ];
    for (change, kind, slots) in asks {
        let target = powered(&world.shape, "web", change);
        let shown = plan(&world, &target);
        let want: Vec<_> = slots.iter().map(|s| ((*s).to_owned(), kind)).collect();
        assert_eq!(changes(&shown), want);
        world.reshape(target);
        let mut sent = follow(&mut world);
        let mut steps: Vec<_> =
            shown.steps.iter().map(|s| (s.slot.to_string(), command_of(s.action))).collect();
        sent.sort();
        steps.sort();
        assert_eq!(sent, steps);
    }
    let target = world.shape.clone();
    assert!(plan(&world, &target).is_empty());
}

/// Another declaration keeps the rounds of the live shape: applying a file begins nothing anew (D14).
#[test]
fn a_declaration_begins_nothing_anew() {
    let live =
        powered(&shape(&[("web", 2)]), "web", |power| power.anew().anew_slot(1).switched(true));
    let declared = shape(&[("web", 2)]).with_rounds_of(&live);
    let power = &declared.group(&group("web")).expect("a group").power;
    assert_eq!((power.round(0), power.round(1)), (1, 2));
    assert!(!power.is_off(0) && !power.is_off(1), "that it is on is declared");
}

/// Rounds of slots and of the group rise together, and the JSON of a plain group has no word of them (C13).
#[test]
fn rounds_only_rise() {
    let power = Power::default().anew_slot(3).anew_slot(3).anew_slot(1);
    assert_eq!((power.round(0), power.round(1), power.round(3)), (0, 1, 2));
    let all = power.anew();
    assert_eq!((all.round(0), all.round(1), all.round(3)), (3, 3, 3));
    let plain = gated(1, "v1", &[("web", 1, GroupKind::Service, &[])]).expect("a shape");
    let text = serde_json::to_string(&plain).expect("a shape is written");
    assert!(!text.contains("power"), "{text}");
    let asked = powered(&plain, "web", |power| power.anew_slot(0));
    let text = serde_json::to_string(&asked).expect("a shape is written");
    let read: ClusterShape = serde_json::from_str(&text).expect("a shape is read");
    assert_eq!(read, asked);
}

/// A shape of an earlier version has neither gates nor kinds, and is read as it was.
#[test]
fn an_old_shape_has_no_gates() {
    let shape = shape(&[("web", 2)]);
    let mut value = serde_json::to_value(&shape).expect("a shape is written");
    let policy = value["groups"]["web"]["policy"].as_object_mut().expect("an object");
    policy.remove("kind");
    policy.remove("after");
    let read: ClusterShape = serde_json::from_value(value).expect("an old shape is read");
    assert_eq!(read, shape);
}

/// A record of an earlier version has no round and no completion, and is read as it was.
#[test]
fn an_old_record_is_of_the_first_round() {
    let shape = shape(&[("web", 1)]);
    let record = in_stage(&shape, "web-0", stage(StageName::Dormant));
    let mut value = serde_json::to_value(&record).expect("a record is written");
    let fields = value.as_object_mut().expect("an object");
    assert!(!fields.contains_key("round") && fields["stage"].get("completed").is_none());
    let policy = fields["policy"].as_object_mut().expect("an object");
    policy.remove("kind");
    policy.remove("after");
    let read: reconciler_core::observed::NodeRecord =
        serde_json::from_value(value).expect("an old record is read");
    assert_eq!(read, record);
    assert!(matches!(read.stage, NodeStage::Dormant { completed: None, .. }));
}
