//! What may happen to a world: the inputs of a trace, how they are drawn, and what each does.

use proptest::prelude::*;
use reconciler_core::{
    desired::{ClusterShape, Policy},
    effect::{ExitStatus, FailureClass, Listing, OwnedLease, WorkloadState},
    fold::Fact,
    redact::Redacted,
    time::{Millis, Timestamp},
};

use crate::fleet::{at, shape_with};
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
    /// Other counts and images are wanted.
    Shape(u32, u32, bool),
    /// A workload ends.
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
        2 => (0_u32..5, 0_u32..4, any::<bool>()).prop_map(|(a, b, new)| Input::Shape(a, b, new)),
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

/// The shape of every trace: two groups, one of which may be dropped.
fn wanted(generation: u64, big: u32, small: u32, new: bool) -> ClusterShape {
    let image = if new { "v2" } else { "v1" };
    let groups = [("big", big, image), ("small", small, "v1")];
    let declared = if small == 0 { &groups[..1] } else { &groups[..] };
    shape_with(generation, declared, &Policy::default())
}

/// A world at the start of a trace.
pub(crate) fn begin() -> World {
    World::new(wanted(1, 3, 2, false), at(0))
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
        Input::Shape(big, small, new) => {
            let next = world.shape.generation.next().get();
            world.reshape(wanted(next, *big, *small, *new));
        }
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
            for record in world.state.missing() {
                world.look(&record.slot);
            }
        }
        Input::Late => world.hear_late(),
        Input::Restart => world.restart(),
    }
}

/// The workload of one thing ends, and its provider says so.
fn exit(world: &mut World, at: usize) {
    let Some((attempt, thing)) = world.things.iter_mut().nth(at) else { return };
    if !matches!(thing.workload, WorkloadState::Running { .. }) {
        return;
    }
    let (status, tail) = (ExitStatus::Code(1), Redacted::new("bye"));
    thing.workload = WorkloadState::Exited { status: status.clone(), tail: tail.clone() };
    let (slot, uuid) = (thing.slot.clone(), *attempt);
    let present = world.state.record(&slot).map(|record| record.attempt);
    if let Some(attempt) = present.filter(|attempt| attempt.uuid == uuid) {
        let _verdict = world.state.fold(Fact::Exited { slot, attempt, status, tail }, world.now);
    }
}
