//! Fence and handoff: controllers that take, renew, hand over and write, in any order and with stale knowledge.

use reconciler_core::{
    id::{Fence, OperationId, PlanHash},
    ownership::{
        Claimed, ControllerId, HolderLife, LeaseLength, OperationLease, hand_off, reclaim,
    },
    time::Timestamp,
};
use stateright::{Checker as _, Model, Property};

/// Controllers.
const CONTROLLERS: usize = 3;
/// How long a lease is, in steps of the clock of one second.
const LENGTH: u64 = 2;
/// How far the clock runs.
const HORIZON: u64 = 6;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    now: u64,
    /// The journal's fence.
    fence: u64,
    /// Who holds the operation, under which fence, until when.
    lease: (usize, u64, u64),
    handoffs: u32,
    /// What each controller believes: its own fence, and the lease as it last looked.
    own: [u64; CONTROLLERS],
    seen: [Option<(usize, u64, u64)>; CONTROLLERS],
    /// The fence under which the last write was kept, and whether a lease was ever taken before its end.
    last_write: u64,
    stolen: bool,
    /// A write that was kept under a fence older than one before it.
    regressed: bool,
    /// How many takes went through for one and the same lease.
    twice: bool,
    taken: Vec<(usize, u64, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Tick,
    Look(usize),
    Reclaim(usize),
    HandOff(usize),
    /// A write of one controller; its owner's renews the lease.
    Write(usize),
}

struct Fences;

fn name(controller: usize) -> ControllerId {
    ControllerId::of_process(u32::try_from(controller).unwrap(), "here")
}

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

fn claimed((owner, fence, until): (usize, u64, u64)) -> Claimed {
    Claimed {
        operation: OperationId::new(1),
        group: "web".parse().unwrap(),
        plan: PlanHash::of(b"plan"),
        fence: Fence::new(fence),
        owner: name(owner),
        until: at(until),
    }
}

impl State {
    fn lease(&self) -> OperationLease {
        let (owner, fence, until) = self.lease;
        OperationLease {
            owner: name(owner),
            fence: Fence::new(fence),
            until: at(until),
            length: LeaseLength::from_secs(LENGTH).unwrap(),
            handoffs: self.handoffs,
        }
    }

    /// A take of what `controller` saw; the journal compares in one transaction.
    fn take(&mut self, controller: usize, hands_off: bool) -> bool {
        let Some(asked) = self.seen[controller] else { return false };
        let (stands, lease, now) = (claimed(self.lease), self.lease(), at(self.now));
        let fence = Fence::new(self.fence + 1);
        let taken = if hands_off {
            let length = LeaseLength::from_secs(LENGTH).unwrap();
            hand_off((&stands, &lease), &claimed(asked), (name(controller), fence, length), now)
        } else {
            let to = (name(controller), fence);
            reclaim((&stands, &lease), &claimed(asked), to, HolderLife::Unknown, now)
        };
        let Ok(taken) = taken else { return false };
        self.stolen |= self.now <= self.lease.2;
        self.twice |= self.taken.contains(&self.lease);
        self.taken.push(self.lease);
        self.fence += 1;
        self.own[controller] = self.fence;
        self.handoffs = taken.handoffs;
        // A reclaimed lease is as long as leases are; the model keeps to its own scale.
        self.lease = (controller, self.fence, self.now + LENGTH);
        true
    }

    fn write(&mut self, controller: usize) -> bool {
        if self.own[controller] != self.fence {
            return false;
        }
        self.regressed |= self.own[controller] < self.last_write;
        self.last_write = self.own[controller];
        if self.lease.0 == controller
            && let Some(renewed) = self.lease().renewed(at(self.now))
        {
            self.lease.2 = renewed.until.as_millis() / 1_000;
        }
        true
    }
}

impl Model for Fences {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let mut own = [0; CONTROLLERS];
        own[0] = 1;
        vec![State {
            now: 0,
            fence: 1,
            lease: (0, 1, LENGTH),
            handoffs: 0,
            own,
            seen: [None; CONTROLLERS],
            last_write: 0,
            stolen: false,
            regressed: false,
            twice: false,
            taken: Vec::new(),
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Step>) {
        if state.now < HORIZON {
            actions.push(Step::Tick);
        }
        for one in 0..CONTROLLERS {
            actions.extend([
                Step::Look(one),
                Step::Reclaim(one),
                Step::HandOff(one),
                Step::Write(one),
            ]);
        }
    }

    fn next_state(&self, last: &State, step: Step) -> Option<State> {
        let mut state = last.clone();
        let moved = match step {
            Step::Tick => {
                state.now += 1;
                true
            }
            Step::Look(one) => {
                state.seen[one] = Some(state.lease);
                true
            }
            Step::Reclaim(one) => state.take(one, false),
            Step::HandOff(one) => state.take(one, true),
            Step::Write(one) => state.write(one),
        };
        (moved && state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no lease is taken before its end", |_, s: &State| !s.stolen),
            Property::always("one lease has one winner", |_, s: &State| !s.twice),
            Property::always("kept writes never go back to an older fence", |_, s: &State| {
                !s.regressed
            }),
            Property::always("one controller at most may write", |_, s: &State| {
                s.own.iter().filter(|own| **own == s.fence).count() == 1
            }),
            Property::always("who holds the lease has the journal's fence", |_, s: &State| {
                s.lease.1 == s.fence && s.own[s.lease.0] == s.fence
            }),
            Property::sometimes("an abandoned operation goes to another", |_, s: &State| {
                s.lease.0 != 0 && s.handoffs > 0
            }),
            Property::sometimes(
                "an owner that writes keeps it past the first end",
                |_, s: &State| s.lease.0 == 0 && s.now > LENGTH && s.lease.2 > s.now,
            ),
        ]
    }
}

/// R141, R143 to R145, C16: over every order of looks, takes, handoffs, writes and ticks of the clock.
#[test]
fn one_controller_at_a_time_in_every_order() {
    let checker = Fences.checker().threads(2).spawn_bfs().join();
    checker.assert_properties();
    assert!(checker.unique_state_count() > 1_000, "{}", checker.unique_state_count());
}
