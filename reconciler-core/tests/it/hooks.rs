//! Hooks: where each stands among the steps, and what a failed one does (design, clarification of actions).

use reconciler_core::{
    desired::{Hook, HookPoint, Hooks, Policy},
    effect::{ActionKind, CommandKind, ExitStatus, FailureClass},
    fold::Fact,
    hold::HoldCode,
    observed::{Handle, NodeRecord, Remains},
    plan::{Scope, StoredPlan},
    redact::Redacted,
    time::Millis,
};

use crate::fleet::{T0, node_spec, powered, shape_with, slot};
use crate::plan_steps::plan_of;
use crate::rollout_ends::{refuse, run};
use crate::trace::hooks;
use crate::world::{Fate, World};

/// Every hook of a trace.
pub(crate) const ALL: u64 = 3;
pub(crate) const PRE_START: ActionKind = ActionKind::Hook(HookPoint::PreStart);
pub(crate) const POST_START: ActionKind = ActionKind::Hook(HookPoint::PostStart);
pub(crate) const PRE_STOP: ActionKind = ActionKind::Hook(HookPoint::PreStop);
pub(crate) const POST_STOP: ActionKind = ActionKind::Hook(HookPoint::PostStop);
const CREATE: ActionKind = ActionKind::Command(CommandKind::CreateLease);
const LOOKUP: ActionKind = ActionKind::Command(CommandKind::LookupEndpoint);
pub(crate) const START: ActionKind = ActionKind::Command(CommandKind::StartBootstrap);
const CLOSE: ActionKind = ActionKind::Command(CommandKind::BootstrapConvergenceObserved);
pub(crate) const CANCEL: ActionKind = ActionKind::Command(CommandKind::CancelBootstrap);
const DESTROY: ActionKind = ActionKind::Command(CommandKind::DestroyLease);

/// One `web` node with the hooks of a trace.
pub(crate) fn hooked(nth: u64) -> World {
    let policy = Policy { hooks: hooks(nth), ..Policy::default() };
    let mut world = World::new(shape_with(1, &[("web", 1, "v1")], &policy), T0);
    world.endpoints_late = true;
    world
}

/// A settled one, with nothing in its log.
pub(crate) fn settled(nth: u64) -> World {
    let mut world = hooked(nth);
    assert!(world.settle().is_some());
    world.log.clear();
    world
}

/// What went out since the last time.
pub(crate) fn sent(world: &mut World) -> Vec<ActionKind> {
    world.log.drain(..).map(|(_, _, kind)| kind).collect()
}

pub(crate) fn node(world: &World) -> NodeRecord {
    NodeRecord::clone(world.state.record(&slot("web-0")).expect("a record"))
}

/// Asks for another power of `web`.
fn power(world: &mut World, off: bool) {
    world.reshape(powered(&world.shape, "web", |power| power.switched(off)));
}

/// R77, R81: each hook is a step of its own: around the start and around the stop, once in each session.
#[test]
fn each_hook_is_a_step_in_its_place() {
    let mut world = hooked(ALL);
    let up = [CREATE, LOOKUP, PRE_START, START, POST_START, CLOSE];
    assert!(world.settle().is_some());
    assert_eq!(sent(&mut world), up);
    power(&mut world, true);
    assert!(world.settle().is_some());
    assert_eq!(sent(&mut world), [PRE_STOP, CANCEL, POST_STOP]);
    power(&mut world, false);
    assert!(world.settle().is_some());
    assert_eq!(sent(&mut world), up[2..], "the second session has hooks of its own");
    world.reshape(shape_with(9, &[], &Policy::default()));
    assert!(world.settle().is_some());
    assert_eq!(sent(&mut world), [PRE_STOP, CANCEL, POST_STOP, DESTROY]);
}

/// R80, R81: a plan shows each hook as a step that nothing undoes, with what it brings; kept, it reads back.
#[test]
fn a_plan_shows_hooks_as_steps_that_nothing_undoes() {
    let world = hooked(ALL);
    let plan = plan_of(&world.state, &world.shape, Scope::All, world.now);
    let kinds: Vec<_> = plan.steps.iter().map(|step| step.action).collect();
    assert_eq!(kinds, [CREATE, LOOKUP, PRE_START, START, POST_START, CLOSE]);
    for (step, point) in
        [(&plan.steps[2], HookPoint::PreStart), (&plan.steps[4], HookPoint::PostStart)]
    {
        assert_eq!((step.inverse, step.brings.hook), (None, Some(point)));
        assert_eq!((step.requires.stage, step.requires.lease), (step.brings.stage, true));
        assert_eq!(step.brings.to_string().parse(), Ok(step.brings));
        assert_eq!(step.key().to_string().parse(), Ok(step.key()));
    }
    assert_eq!(plan.steps[3].requires.hook, Some(HookPoint::PreStart), "a start requires its hook");
    let read = StoredPlan::read(&plan.canonical(), plan.hash).expect("a plan");
    assert_eq!(read.steps, plan.steps);
}

/// A workload that begins anew is stopped and started, with the hooks of both, on its lease.
#[test]
fn a_restart_runs_the_hooks_of_stop_and_start() {
    let mut world = settled(ALL);
    world.reshape(powered(&world.shape, "web", reconciler_core::desired::Power::anew));
    assert!(world.settle().is_some());
    let both = [PRE_STOP, CANCEL, POST_STOP, PRE_START, START, POST_START, CLOSE];
    assert_eq!(sent(&mut world), both);
}

/// C13: hooks say how a node is treated; another hook replaces nothing and runs the next time.
#[test]
fn another_hook_replaces_no_node() {
    let mut world = settled(0);
    let before = node(&world).attempt;
    let policy = Policy { hooks: hooks(2), ..Policy::default() };
    world.reshape(shape_with(2, &[("web", 1, "v1")], &policy));
    assert!(world.settle().is_some());
    assert_eq!((sent(&mut world), node(&world).attempt), (Vec::new(), before));
    power(&mut world, true);
    assert!(world.settle().is_some());
    assert_eq!(sent(&mut world), [PRE_STOP, CANCEL, POST_STOP]);
}

/// C13: where no hook is declared, nothing that is stored or shown says a word of hooks.
#[test]
fn without_hooks_no_stored_byte_differs() {
    let record = serde_json::to_string(&node(&settled(0))).expect("a record");
    assert!(!record.contains("hook"), "{record}");
    assert!(!Policy::default().canon().write().contains("hook"));
    let bare = node_spec("v1").revision();
    assert_eq!(node(&settled(ALL)).revision, bare, "hooks are no part of what a node is");
}

/// R65: a start hook that fails fails its attempt, and attempts are used up as by any failure.
#[test]
fn a_failed_start_hook_fails_its_attempt() {
    for (failing, steps) in [(PRE_START, &[CREATE, LOOKUP, PRE_START][..]), (POST_START, &[])] {
        let mut world = hooked(ALL);
        run(&mut world, 3_000, |_, kind| refuse(kind == failing));
        let record = node(&world);
        assert_eq!(record.hold.as_ref().map(|hold| hold.code), Some(HoldCode::CrashLoop));
        assert_eq!(record.attempt.ordinal.get(), u64::from(record.policy.restart.attempts));
        let log = sent(&mut world);
        assert!(log.starts_with(steps), "{log:?}");
        assert!(!log.contains(&CLOSE), "it never joined: {log:?}");
        assert!(!log.contains(&PRE_STOP), "what failed is cleaned up, not stopped: {log:?}");
        assert_eq!(log.contains(&CANCEL), failing == POST_START, "{log:?}");
        assert!(world.things.is_empty(), "nothing leaks");
    }
}

/// A stop is not held up for ever: a stop hook is tried three times, and then the stop goes on without it.
#[test]
fn a_stop_goes_on_without_a_hook_that_fails() {
    let tables = [
        (PRE_STOP, FailureClass::Workload, vec![PRE_STOP, PRE_STOP, PRE_STOP, CANCEL, POST_STOP]),
        (
            POST_STOP,
            FailureClass::Workload,
            vec![PRE_STOP, CANCEL, POST_STOP, POST_STOP, POST_STOP],
        ),
        (PRE_STOP, FailureClass::Invalid, vec![PRE_STOP, CANCEL, POST_STOP]),
    ];
    for (failing, class, want) in tables {
        let mut world = settled(ALL);
        power(&mut world, true);
        run(
            &mut world,
            60,
            |_, kind| {
                if kind == failing { Fate::Refuse(class) } else { Fate::Succeed }
            },
        );
        assert_eq!(sent(&mut world), want);
        assert_eq!((node(&world).hold, node(&world).retry), (None, None));
    }
}

/// A workload that ended by itself was not stopped: no stop hook runs while its attempt is cleaned up.
#[test]
fn what_ended_by_itself_is_not_stopped() {
    let mut world = settled(ALL);
    let attempt = node(&world).attempt;
    let (workload, status) = (Handle::default(), ExitStatus::Code(3));
    let (slot, tail) = (slot("web-0"), Redacted::default());
    let _failed =
        world.state.fold(Fact::Exited { slot, attempt, workload, status, tail }, world.now);
    run(&mut world, 1, |_, _| Fate::Succeed);
    run(&mut world, 1, |_, _| Fate::Succeed);
    assert_eq!(sent(&mut world), [DESTROY]);
}

/// What a pre-stop hook makes the workload do is the stop's own business: its end is no failure.
#[test]
fn an_exit_during_a_stop_is_no_failure() {
    let mut world = settled(ALL);
    power(&mut world, true);
    let _plan = world.pass();
    let attempt = node(&world).attempt;
    for told in [false, true] {
        if told {
            world.deliver(0, Fate::Succeed);
        }
        let (slot, tail) = (slot("web-0"), Redacted::default());
        let (workload, status) = (Handle::default(), ExitStatus::Code(0));
        let exited = Fact::Exited { slot, attempt, workload, status, tail };
        let _ignored = world.state.fold(exited, world.now);
    }
    assert!(world.settle().is_some());
    assert_eq!(sent(&mut world), [PRE_STOP, CANCEL, POST_STOP]);
    assert_eq!((node(&world).attempt, node(&world).backoff.failures), (attempt, 0));
}

/// A hook is bound to its time: the effect gets what it takes to end the hook and to say so, and no more.
#[test]
fn a_hook_has_its_own_time() {
    let mut world = hooked(ALL);
    let _plan = world.pass();
    while !world.flights.iter().any(|flight| flight.action.kind() == PRE_START) {
        world.deliver(0, Fate::Succeed);
        let _plan = world.pass();
    }
    let flight = world.flights.first().expect("the hook is on its way");
    let hook = Hook { argv: vec!["true".to_owned()], timeout: Millis::from_secs(10) };
    assert_eq!(flight.deadline, world.now.after(hook.effect_timeout()));
    assert!(hook.effect_timeout() > hook.timeout);
}

/// R59: a late word of a hook whose attempt failed meanwhile changes nothing.
#[test]
fn a_hook_of_a_failed_attempt_changes_nothing() {
    let mut world = hooked(ALL);
    while !world.flights.iter().any(|flight| flight.action.kind() == POST_START) {
        world.deliver(0, Fate::Succeed);
        world.advance(Millis::from_secs(1));
        let _plan = world.pass();
    }
    let attempt = node(&world).attempt;
    let (slot, tail) = (slot("web-0"), Redacted::default());
    let (workload, status) = (Handle::default(), ExitStatus::Code(3));
    let _failed =
        world.state.fold(Fact::Exited { slot, attempt, workload, status, tail }, world.now);
    let failed = node(&world);
    world.deliver(0, Fate::Succeed);
    assert_eq!(node(&world), failed);
    let lease = matches!(
        failed.stage,
        reconciler_core::observed::NodeStage::Failed { remains: Remains::Lease { .. }, .. }
    );
    assert!(lease, "{failed:?}");
}

/// The names of steps are read back, and hooks are none of the six commands.
#[test]
fn every_step_has_a_name() {
    let commands = CommandKind::ALL.map(ActionKind::Command).into_iter();
    let all = commands.chain(HookPoint::ALL.map(ActionKind::Hook));
    for kind in all {
        assert_eq!(ActionKind::from_name(kind.as_str()), Some(kind));
        let text = serde_json::to_string(&kind).expect("a name");
        assert_eq!(text, format!("\"{}\"", kind.as_str()));
        assert_eq!(serde_json::from_str::<ActionKind>(&text).expect("a kind"), kind);
    }
    assert!(serde_json::from_str::<ActionKind>("\"hook-mid-start\"").is_err());
    assert!(Hooks::default().is_empty() && !hooks(ALL).is_empty());
}

/// What a stop owes is said while its post-stop hook has yet to run, and not any more once it ran.
#[test]
fn a_stop_owes_its_hook_until_it_ran() {
    let mut world = settled(ALL);
    let session = node(&world).stage.session();
    power(&mut world, true);
    let mut owed = Vec::new();
    for _ in 0..8 {
        run(&mut world, 1, |_, _| Fate::Succeed);
        owed.push(node(&world).hooks.stopped);
    }
    assert!(owed.contains(&session), "{owed:?}");
    assert_eq!(owed.last(), Some(&None), "{owed:?}");
    assert_eq!(sent(&mut world), [PRE_STOP, CANCEL, POST_STOP]);
}
