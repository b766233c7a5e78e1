//! What may happen to a world: the inputs of a trace, how they are drawn, and what each does.

use proptest::prelude::*;
use reconciler_core::{
    desired::{
        Amount, ClusterShape, GateCondition, GroupKind, Hook, Hooks, RunNodeGroupSpec, UpdateMode,
        UpdatePolicy,
    },
    effect::{ExitStatus, FailureClass, Listing, OwnedLease, WorkloadState},
    fold::Fact,
    observed::Handle,
    redact::Redacted,
    time::{Millis, Timestamp},
};

use crate::fleet::{at, gated};
use crate::world::{Fate, World};

/// One thing that happens.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// Time goes by.
    Tick(u64),
    /// The clock goes back.
    Back(u64),
    /// A pass with so much room.
    Pass(usize),
    /// An effect ends.
    Deliver(usize, Fate),
    /// Other counts and images are wanted, under another of the update policies.
    Shape(u32, u32, bool, usize),
    /// Workloads of one of the groups are asked to rest, to run or to begin anew.
    Ask(usize, Asked),
    /// The workload of a thing ends, of a job well.
    Exit(usize),
    /// A lease vanishes at the provider.
    Vanish(usize),
    /// The provider is listed truly.
    List,
    /// The listing shows a part only.
    ListPart(usize),
    /// The listing says of so many running workloads that they have ended.
    ListEnded(usize),
    /// The listing cannot be had.
    ListNothing,
    /// Every missing node is looked at.
    LookMissing,
    /// Late reports come in.
    Late,
    /// The driver dies and another takes over.
    Restart,
}

/// What is asked of workloads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asked {
    Off,
    On,
    Anew,
    SlotOff(u32),
    SlotOn(u32),
    SlotAnew(u32),
}

fn asked() -> impl Strategy<Value = Asked> {
    prop_oneof![
        Just(Asked::Off),
        Just(Asked::On),
        Just(Asked::Anew),
        (0_u32..4).prop_map(Asked::SlotOff),
        (0_u32..4).prop_map(Asked::SlotOn),
        (0_u32..4).prop_map(Asked::SlotAnew),
    ]
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        4 => Just(Fate::Succeed),
        1 => Just(Fate::Refuse(FailureClass::Capacity)),
        1 => Just(Fate::Refuse(FailureClass::Unavailable)),
        1 => Just(Fate::Refuse(FailureClass::RateLimited { retry_after: Millis::from_secs(3) })),
        1 => any::<bool>().prop_map(|happened| Fate::BreakOff { happened }),
    ]
}

/// One input; faults are rarer than progress, so that traces get somewhere.
pub(crate) fn input() -> impl Strategy<Value = Input> {
    prop_oneof![
        4 => (1_u64..400_000).prop_map(Input::Tick),
        1 => (1_u64..200_000).prop_map(Input::Back),
        8 => prop_oneof![Just(usize::MAX), 0_usize..3].prop_map(Input::Pass),
        10 => (0_usize..8, fate()).prop_map(|(at, fate)| Input::Deliver(at, fate)),
        2 => (0_u32..5, 0_u32..4, any::<bool>(), 0_usize..5)
            .prop_map(|(a, b, new, update)| Input::Shape(a, b, new, update)),
        2 => (0_usize..3, asked()).prop_map(|(group, asked)| Input::Ask(group, asked)),
        1 => (0_usize..8).prop_map(Input::Exit),
        1 => (0_usize..8).prop_map(Input::Vanish),
        1 => Just(Input::List),
        1 => (0_usize..8).prop_map(Input::ListPart),
        1 => (0_usize..8).prop_map(Input::ListEnded),
        1 => Just(Input::ListNothing),
        1 => Just(Input::LookMissing),
        1 => Just(Input::Late),
        1 => Just(Input::Restart),
    ]
}

/// The shape of every trace: two groups, one of which may be dropped, and a job that waits for the other.
///
/// Every second shape has a gate between the two groups as well.
fn wanted(generation: u64, big: u32, small: u32, new: bool, update: usize) -> ClusterShape {
    let image = if new { "v2" } else { "v1" };
    let after_big = [("big", GateCondition::Ready)];
    let small_after: &[(&str, GateCondition)] =
        if generation.is_multiple_of(2) { &after_big } else { &[] };
    let groups = [
        ("big", big, GroupKind::Service, &[][..]),
        ("job", u32::from(new), GroupKind::Job, &[("big", GateCondition::Started)]),
        ("small", small, GroupKind::Service, small_after),
    ];
    let declared = if small == 0 { &groups[..2] } else { &groups[..] };
    let shape = gated(generation, image, declared).expect("a shape");
    let groups = shape.groups().map(|group| {
        let mut group = RunNodeGroupSpec::clone(group);
        let policy = std::sync::Arc::make_mut(&mut group.policy);
        policy.update = updates(update);
        policy.hooks = hooks(generation);
        group
    });
    ClusterShape::new(shape.run.clone(), shape.uuid, shape.generation, groups).expect("a shape")
}

/// The hooks of a trace: none, those of starts, those of stops, all.
pub(crate) fn hooks(nth: u64) -> Hooks {
    let hook = || Some(Hook { argv: vec!["true".to_owned()], timeout: Millis::from_secs(10) });
    let (start, stop) = (nth % 2 == 1, nth % 4 >= 2);
    Hooks {
        pre_start: hook().filter(|_| start),
        post_start: hook().filter(|_| start),
        pre_stop: hook().filter(|_| stop),
        post_stop: hook().filter(|_| stop),
    }
}

/// The update policies of a trace: in place, beside, both, all at once, and with an observation time.
pub(crate) fn updates(nth: usize) -> UpdatePolicy {
    let (surge, unavailable) = [(0, 1), (1, 0), (2, 1), (0, 0), (1, 1)][nth % 5];
    let observation = if nth % 5 == 4 { Millis::from_secs(30) } else { Millis::ZERO };
    UpdatePolicy {
        mode: if nth % 5 == 3 { UpdateMode::Recreate } else { UpdateMode::Rolling },
        max_surge: Amount::Nodes(surge),
        max_unavailable: Amount::Nodes(unavailable),
        observation,
        ..UpdatePolicy::default()
    }
}

/// A world at the start of a trace.
pub(crate) fn begin() -> World {
    World::new(wanted(1, 3, 2, false, 0), at(0))
}

/// Lets one thing happen.
pub(crate) fn apply(world: &mut World, input: &Input) {
    match input {
        Input::Tick(ms) => world.advance(Millis::new(*ms)),
        Input::Back(ms) => {
            world.now = Timestamp::from_millis(world.now.as_millis() - ms);
            for flight in &mut world.flights {
                flight.deadline = Timestamp::from_millis(flight.deadline.as_millis() - ms);
            }
        }
        Input::Pass(free) => drop(world.admitting(*free)),
        Input::Deliver(at, fate) => world.deliver(*at, *fate),
        Input::Shape(big, small, new, update) => {
            let next = world.shape.generation.next().get();
            // As when a file is applied: what it declares, and the rounds that there were.
            let next = wanted(next, *big, *small, *new, *update).with_rounds_of(&world.shape);
            world.reshape(next);
        }
        Input::Ask(at, asked) => ask(world, *at, *asked),
        Input::Exit(at) => exit(world, *at),
        Input::Vanish(at) => {
            if let Some(attempt) = world.things.keys().nth(*at).copied() {
                world.things.remove(&attempt);
            }
        }
        Input::List => world.list(Listing::Complete(world.inventory())),
        Input::ListPart(n) => {
            let mut part = world.inventory();
            part.truncate(*n);
            world.list(Listing::Partial(part, Redacted::new("cut short")));
        }
        Input::ListEnded(n) => {
            let mut all = world.inventory();
            let runs =
                |owned: &&mut OwnedLease| matches!(owned.workload, WorkloadState::Running { .. });
            for owned in all.iter_mut().filter(runs).take(*n) {
                let (status, tail) = (ExitStatus::Unknown, Redacted::new("so it is said"));
                owned.workload = WorkloadState::Exited { status, tail };
            }
            world.list(Listing::Complete(all));
        }
        Input::ListNothing => world.list(Listing::Unknown(Redacted::new("no answer"))),
        Input::LookMissing => {
            world.look_missing();
        }
        Input::Late => world.hear_late(),
        Input::Restart => world.restart(),
    }
}

/// Asks for another power of one group.
fn ask(world: &mut World, at: usize, asked: Asked) {
    let Some(spec) = world.shape.groups().nth(at) else { return };
    let (name, count, power) = (spec.group.clone(), spec.count, &spec.power);
    let power = match asked {
        Asked::Off => power.switched(true),
        Asked::On => power.switched(false),
        Asked::Anew => power.anew(),
        Asked::SlotOff(index) => power.switched_slot(index, true, count),
        Asked::SlotOn(index) => power.switched_slot(index, false, count),
        Asked::SlotAnew(index) => power.anew_slot(index),
    };
    let next = world.shape.with_power([(name, power)].into());
    world.reshape(next);
}

/// The workload of one thing ends, and its provider says so.
fn exit(world: &mut World, at: usize) {
    let Some((attempt, thing)) = world.things.iter_mut().nth(at) else { return };
    if !matches!(thing.workload, WorkloadState::Running { .. }) {
        return;
    }
    let status = ExitStatus::Code(i32::from(thing.slot.group.as_str() != "job"));
    let tail = Redacted::new("bye");
    thing.workload = WorkloadState::Exited { status: status.clone(), tail: tail.clone() };
    let (slot, uuid) = (thing.slot.clone(), *attempt);
    let record = world.state.record(&slot).cloned();
    let attempts = || record.iter().flat_map(|record| record.attempts());
    if let Some(attempt) = attempts().map(|one| one.attempt).find(|one| one.uuid == uuid) {
        let workload = Handle::default();
        let fact = Fact::Exited { slot, attempt, workload, status, tail };
        let _verdict = world.state.fold(fact, world.now);
    }
}
