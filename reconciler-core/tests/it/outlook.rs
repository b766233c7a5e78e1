//! What is not as it should be, and whether waiting for it is over (P6, P7, C10).
//!
//! That everything that is missing is named is asked in every pass of every trace, in `laws_single`.

use reconciler_core::{
    desired::{ClusterShape, GateCondition, GroupKind, OnFailure, Power},
    effect::{CommandKind, ExitStatus, Listing, OwnedLease},
    fold::Fact,
    hold::{Hold, HoldCode},
    id::Uuid,
    limits,
    observed::{ClusterState, NodeStage, StageName},
    reconcile::{Outlook, Outstanding, RolloutChange, WaitsFor, outlook, reconcile, standing},
    redact::Redacted,
    time::{Millis, Timestamp},
};

use crate::fleet::{
    FENCE, Gated, T0, at, gated, group, in_stage, of, owned, powered, provider, shape, shape_with,
    slot, stage, state,
};
use crate::rollout::{policy, web, with};
use crate::rollout_ends::{refuse, run};
use crate::world::{Fate, GRACE, World};

fn seen(state: &ClusterState, shape: &ClusterShape, now: Timestamp) -> Outlook {
    outlook(state, shape, &reconcile(state, shape, now), now)
}

fn of_world(world: &World) -> Outlook {
    seen(&world.state, &world.shape, world.now)
}

fn told(outlook: &Outlook) -> Vec<(String, u32, WaitsFor, Option<&str>)> {
    outlook.outstanding.iter().map(row).collect()
}

fn row(one: &Outstanding) -> (String, u32, WaitsFor, Option<&str>) {
    let subject = one.slot.as_ref().map_or(one.group.to_string(), ToString::to_string);
    (format!("{subject}: {}", one.why), one.count, one.waits_for, one.way_out.as_deref())
}

/// A `db` in this stage, and two of `app` that wait for it to be ready.
fn behind(power: impl FnOnce(&Power) -> Power, db: StageName) -> (ClusterState, ClusterShape) {
    let groups: [Gated<'_>; 2] = [
        ("app", 2, GroupKind::Service, &[("db", GateCondition::Ready)]),
        ("db", 1, GroupKind::Service, &[]),
    ];
    let shape = gated(1, "v1", &groups).expect("a shape");
    let new = |text: &str| in_stage(&shape, text, NodeStage::New);
    let records = [new("app-0"), new("app-1"), in_stage(&shape, "db-0", stage(db))];
    (state(records), powered(&shape, "db", power))
}

/// A group behind one that is switched off waits for a person, who is told the command.
#[test]
fn a_gate_on_what_is_off_waits_for_a_person() {
    let (state, shape) = behind(|power| power.switched(true), StageName::EndpointKnown);
    let outlook = seen(&state, &shape, at(1));
    let why = "app-0: waits for db (0 of 1 ready, 1 off)".to_owned();
    assert_eq!(told(&outlook), [(why, 2, WaitsFor::Others, Some("levelhead start db"))]);
    assert!(outlook.is_stuck());
}

/// A group behind one that comes up by itself is waited for, whatever keeps that one for a time.
#[test]
fn a_gate_on_what_moves_is_waited_for() {
    let plain = |power: &Power| power.clone();
    for name in [StageName::New, StageName::BootstrapRunning, StageName::Failed] {
        let (state, shape) = behind(plain, name);
        assert!(!seen(&state, &shape, at(1)).is_stuck(), "{name:?}");
    }
    let (state, shape) = behind(plain, StageName::BootstrapRunning);
    let mut record = of(&state, "db-0").as_ref().clone();
    record.stage = NodeStage::Destroyed { at: T0, failure: None };
    record.backoff.not_before = Some(at(60_000));
    let state = ClusterState::restore([record], [], T0);
    assert!(!seen(&state, &shape, at(1)).is_stuck(), "it backs off");
}

/// A group behind one that has failed for good: the one that is held names its way out.
#[test]
fn a_gate_on_what_is_held_waits_for_a_person() {
    let mut world = World::new(behind(Clone::clone, StageName::New).1, T0);
    run(&mut world, 120, |_, kind| refuse(kind == CommandKind::StartBootstrap));
    let outlook = of_world(&world);
    let rows = told(&outlook);
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert!(rows[0].0.starts_with("app-0: waits for db (0 of 1 ready, 1 held)"), "{rows:?}");
    assert!(rows[1].0.starts_with("db-0: held, restart.crash-loop"), "{rows:?}");
    assert_eq!(rows[1].3, Some("levelhead release db-0"));
    assert!(outlook.is_stuck());
}

/// C10: a paused update is waited for until what had begun is there, and then it waits for a person.
#[test]
fn a_paused_update_waits_for_a_person() {
    let mut world = World::new(web(1, 3, "v1", &policy(0, 1)), T0);
    run(&mut world, 20, |_, _| Fate::Succeed);
    assert_eq!(of_world(&world), Outlook::default());
    world.reshape(web(2, 3, "v2", &policy(0, 1)));
    run(&mut world, 12, |_, _| Fate::Succeed);
    let _paused = world.state.fold(Fact::Paused(group("web"), true), world.now);
    assert!(!of_world(&world).is_stuck(), "one is on its way");
    run(&mut world, 20, |_, _| Fate::Succeed);
    let outlook = of_world(&world);
    let rows = told(&outlook);
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert!(rows[0].0.ends_with(": of another revision; the update is paused"), "{rows:?}");
    assert_eq!(rows[0].3, Some("levelhead update web --resume"));
    assert!(outlook.is_stuck());
}

/// C10: a node that is in bootstrap when its update stalls is waited for, and no longer.
#[test]
fn a_stalled_update_waits_for_a_person_once_nothing_is_on_its_way() {
    let policy = with(|update| {
        update.on_failure = OnFailure::Hold;
        update.progress_deadline = Millis::from_secs(60);
    });
    let mut slow = policy.clone();
    (slow.settle, slow.timeouts.bootstrap) = (Millis::from_secs(90), Millis::from_secs(300));
    let mut world = World::new(web(1, 2, "v1", &policy), T0);
    run(&mut world, 20, |_, _| Fate::Succeed);
    world.reshape(web(2, 2, "v2", &slow));
    run(&mut world, 70, |_, _| Fate::Succeed);
    let hold = world.state.group(&group("web")).and_then(|g| g.hold()).map(|hold| hold.code);
    assert_eq!(hold, Some(HoldCode::UpdateStalled));
    assert_eq!(of(&world.state, "web-0").stage.name(), StageName::BootstrapRunning);
    assert!(!of_world(&world).is_stuck(), "it settles in time");
    run(&mut world, 60, |_, _| Fate::Succeed);
    assert!(of(&world.state, "web-0").is_ready());
    let outlook = of_world(&world);
    let rows = told(&outlook);
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert!(rows[0].0.starts_with("web: update.stalled: "), "{rows:?}");
    assert_eq!(rows[0].3, Some("levelhead release web"));
    assert!(outlook.is_stuck());
}

/// A new node that is observed before the next one goes is waited for, and so is the next one.
#[test]
fn an_update_that_observes_is_waited_for() {
    let policy = with(|update| update.observation = Millis::from_secs(30));
    let mut world = World::new(web(1, 2, "v1", &policy), T0);
    run(&mut world, 60, |_, _| Fate::Succeed);
    world.reshape(web(2, 2, "v2", &policy));
    for _ in 0..200 {
        run(&mut world, 1, |_, _| Fate::Succeed);
        let outlook = of_world(&world);
        assert!(!outlook.is_stuck(), "{outlook:?}");
    }
    assert!(standing(&world.state, &world.shape).converged);
}

/// What no record accounts for is for a person to end; that a provider shows nothing may be over soon.
#[test]
fn an_orphan_waits_for_a_person_and_a_blind_spot_does_not() {
    let shape = shape(&[("web", 1)]);
    let mut state = state([in_stage(&shape, "web-0", stage(StageName::Dormant))]);
    let mut list = |listing| {
        let (provider, grace, asked_at) = (provider(), GRACE, at(1));
        let fact = Fact::Listed { provider, listing, asked_at, grace, fence: FENCE };
        let _verdict = state.fold(fact, at(1));
        seen(&state, &shape, at(2))
    };
    let attempt = of(&self::state([in_stage(&shape, "web-0", NodeStage::New)]), "web-0").attempt;
    let own = owned("web-0", attempt, "l-1");
    let stray = OwnedLease { attempt: Uuid::from_bytes([9; 16]), ..owned("web-3", attempt, "x") };
    let outlook = list(Listing::Complete(vec![own, stray]));
    let rows = told(&outlook);
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert!(rows[0].0.contains("web: fake holds what no record accounts for"), "{rows:?}");
    assert!(outlook.is_stuck());

    let blind = shape_seen_by_nobody();
    assert!(!blind.outstanding.is_empty() && !blind.is_stuck(), "{blind:?}");
}

fn shape_seen_by_nobody() -> Outlook {
    let shape = shape(&[("web", 1)]);
    let mut state = state([in_stage(&shape, "web-0", stage(StageName::Dormant))]);
    let listing = Listing::Unknown(Redacted::new("no route"));
    let (provider, grace, asked_at) = (provider(), GRACE, at(1));
    let _verdict =
        state.fold(Fact::Listed { provider, listing, asked_at, grace, fence: FENCE }, at(1));
    seen(&state, &shape, at(2))
}

/// A job that was stopped after it ended well is not counted as ready: it is not wanted to run.
#[test]
fn never_more_are_ready_than_are_wanted() {
    let groups: [Gated<'_>; 2] =
        [("job", 2, GroupKind::Job, &[]), ("web", 1, GroupKind::Service, &[])];
    let shape = gated(1, "v1", &groups).expect("a shape");
    let mut state = state(
        ["job-0", "job-1", "web-0"].map(|text| in_stage(&shape, text, stage(StageName::Dormant))),
    );
    for text in ["job-0", "job-1"] {
        let record = of(&state, text);
        let workload = record.stage.workload().expect("it runs").clone();
        let (status, tail) = (ExitStatus::Code(0), Redacted::default());
        let fact =
            Fact::Exited { slot: slot(text), attempt: record.attempt, workload, status, tail };
        let _verdict = state.fold(fact, at(1));
    }
    let counts = |shape: &ClusterShape| {
        let stands = standing(&state, shape);
        (stands.ready, stands.want)
    };
    assert_eq!(counts(&shape), (3, 3));
    assert_eq!(counts(&powered(&shape, "job", |power| power.switched(true))), (1, 1));
    assert_eq!(counts(&powered(&shape, "job", |p| p.switched_slot(1, true, 2))), (2, 2));
}

/// While what becomes of an update is decided and not folded, its group moves by itself; another one does not.
#[test]
fn a_group_whose_update_is_decided_moves_by_itself() {
    let old = shape(&[("db", 1), ("web", 2)]);
    let new = shape_with(2, &[("db", 1, "v1"), ("web", 2, "v2")], &policy(0, 1));
    let text = Redacted::new("five failures");
    let held = Hold { code: HoldCode::CrashLoop, text, since: T0 };
    let mut db = in_stage(&old, "db-0", stage(StageName::Destroyed));
    db.hold = Some(held);
    let ready = ["web-0", "web-1"].map(|text| in_stage(&old, text, stage(StageName::Dormant)));
    let mut state = state([db].into_iter().chain(ready));
    let waits = |state: &ClusterState| {
        let rows = seen(state, &new, at(1)).outstanding;
        rows.into_iter().map(|row| (row.group.to_string(), row.waits_for)).collect::<Vec<_>>()
    };
    let rows = waits(&state);
    assert!(rows.contains(&("db".to_owned(), WaitsFor::Person)), "{rows:?}");
    let of_web = |rows: &[(String, WaitsFor)]| {
        rows.iter().filter(|(name, _)| name == "web").map(|(_, waits)| *waits).collect::<Vec<_>>()
    };
    assert!(of_web(&rows).iter().all(|waits| *waits == WaitsFor::Itself), "{rows:?}");
    for (group, change) in reconcile(&state, &new, at(1)).rollouts {
        let _begun = state.fold(Fact::Rollout { group, change }, at(1));
    }
    assert!(of_web(&waits(&state)).contains(&WaitsFor::Others), "its turn comes after another's");
}

/// A group of which nothing is wanted is not missed where its provider shows nothing.
#[test]
fn nothing_is_missed_where_nothing_is_wanted() {
    let empty = shape(&[("web", 0)]);
    let mut state = state([]);
    let listing = Listing::Unknown(Redacted::new("no route"));
    let (provider, grace, asked_at) = (provider(), GRACE, at(1));
    let _verdict =
        state.fold(Fact::Listed { provider, listing, asked_at, grace, fence: FENCE }, at(1));
    assert_eq!(seen(&state, &empty, at(2)), Outlook::default());
    assert_eq!(seen(&state, &shape(&[("web", 1)]), at(2)).outstanding.len(), 2);
}

/// What is alike is told once, with its number; what differs is told apart, as long as a person reads it.
#[test]
fn what_differs_is_told_apart_while_there_is_room() {
    let most = u32::try_from(limits::OUTSTANDING_MAX).expect("few");
    for count in [2, most, most + 3] {
        let shape = shape(&[("web", count)]);
        let waits = |n: u32| {
            let mut record = in_stage(&shape, &format!("web-{n}"), stage(StageName::Destroyed));
            (record.backoff.failures, record.backoff.not_before) = (n + 1, Some(at(9_000)));
            record
        };
        let outlook = seen(&state((0..count).map(waits)), &shape, at(1));
        let counts: Vec<u32> = outlook.outstanding.iter().map(|row| row.count).collect();
        assert_eq!(counts.len(), count.min(most) as usize);
        assert_eq!(counts.iter().sum::<u32>(), count);
        assert!(counts[1..].iter().all(|count| *count == 1), "{counts:?}");
    }
}

/// What a provider holds beyond the records is told once, with its number.
#[test]
fn orphans_of_a_provider_are_counted() {
    let shape = shape(&[("web", 1)]);
    let mut state = state([in_stage(&shape, "web-0", stage(StageName::Dormant))]);
    let attempt = of(&state, "web-0").attempt;
    let stray = |n: u8| OwnedLease {
        attempt: Uuid::from_bytes([n; 16]),
        ..owned("web-3", attempt, &format!("x-{n}"))
    };
    let listing = Listing::Complete(vec![owned("web-0", attempt, "l-1"), stray(8), stray(9)]);
    let (provider, grace, asked_at) = (provider(), GRACE, at(1));
    let _told =
        state.fold(Fact::Listed { provider, listing, asked_at, grace, fence: FENCE }, at(1));
    let counts: Vec<_> =
        seen(&state, &shape, at(2)).outstanding.iter().map(|row| row.count).collect();
    assert_eq!(counts, [2]);
}

/// A job whose node serves is told once, whether or not it has a reason of its own.
#[test]
fn a_job_that_runs_is_told_once() {
    let job = gated(1, "v1", &[("task", 1, GroupKind::Job, &[])]).expect("a shape");
    for name in [StageName::HandedOff, StageName::Dormant] {
        let state = state([in_stage(&job, "task-0", stage(name))]);
        let rows = seen(&state, &job, at(1)).outstanding;
        assert_eq!(rows.iter().map(|row| row.count).collect::<Vec<_>>(), [1], "{name:?}");
    }
}

/// Who rests as it is to be is not told, also while an update is paused; who is kept at another revision is.
#[test]
fn who_rests_in_a_pause_is_told_if_it_is_outdated() {
    let (old, new) = (web(1, 3, "v1", &policy(0, 1)), web(2, 3, "v2", &policy(0, 1)));
    let off = powered(&new, "web", |power| power.switched(true));
    let target = new.group(&group("web")).expect("the group").revision;
    let patience = Millis::from_secs(60);
    let begin = RolloutChange::Begin { target, prior: None, reverts: false, patience };
    let rests = |shape: &ClusterShape, text| in_stage(shape, text, stage(StageName::EndpointKnown));
    let mut state = state([rests(&new, "web-0"), rests(&old, "web-1"), rests(&old, "web-2")]);
    let update = Fact::Rollout { group: group("web"), change: begin };
    for fact in [update, Fact::Paused(group("web"), true)] {
        let _verdict = state.fold(fact, T0);
    }
    let rows = seen(&state, &off, at(1)).outstanding;
    let counts: Vec<_> = rows.iter().map(|row| (row.count, row.waits_for)).collect();
    assert_eq!(counts, [(2, WaitsFor::Person)], "{rows:?}");
}
