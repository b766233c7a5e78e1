//! The saga under crashes: three nodes in two waves, a provider that says yes, no or nothing, looks that may fail, and
//! a driver that dies between any two deeds. What is decided, named and derived is the core's (R102 to R107, R123 to
//! R134); only the provider, the deaths and the order of deeds are the model's.

use reconciler_core::{
    checkpoint::{
        Direction, OperationCheckpoint, OperationMarks, RecoveryLane, StepCheckpoint, StepMark,
        derive_operation,
    },
    effect::CommandKind,
    id::LogicalNodeId,
    saga::{Answer, Decision, HoldMark, Sight, decide},
};
use stateright::{Checker, Model, Property};

const NODES: usize = 3;
/// The nodes of the first wave; the last one comes after both.
const FIRST: usize = 2;
/// Tries of a step, and of its inverse.
const TRIES: u8 = 3;

/// What a node's effect is in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Thing {
    Absent,
    Good,
    Broken,
}

/// An effect that was sent; what is not journaled of it dies with the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Flight {
    back: bool,
    happened: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    // What the journal has.
    direction: bool,
    marks: [Option<StepMark>; NODES],
    /// Which of the newest steps go back.
    inverse: [bool; NODES],
    tries: [u8; NODES],
    done: [bool; NODES],
    over: Option<bool>,
    // What the world has.
    things: [Thing; NODES],
    doubled: bool,
    // What only the driver has.
    flights: [Option<Flight>; NODES],
    // What the checker watches.
    forward_after_back: bool,
    troubles: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Deed {
    Send(usize),
    Happen(usize, Thing),
    Report(usize, Answer, bool),
    Look(usize),
    Blind(usize),
    Close,
    Die,
}

/// A mistake that the model must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    BlindRepeat,
    ForwardReplayed,
    NoLookAtTheEnd,
}

struct Saga {
    bug: Bug,
    troubles: u8,
}

impl State {
    /// The way that the newest step of a node goes.
    fn way(&self, n: usize) -> Direction {
        if self.inverse[n] { Direction::Rollback } else { Direction::Forward }
    }

    fn derived(&self) -> OperationCheckpoint {
        let step = |(n, mark): (usize, &Option<StepMark>)| {
            let group = "web".parse().expect("a name");
            let slot = LogicalNodeId::new(group, u32::try_from(n).expect("few nodes"));
            mark.map(|mark| (CommandKind::StartBootstrap.into(), StepCheckpoint::new(slot, mark)))
        };
        let steps = self.marks.iter().enumerate().filter_map(step);
        derive_operation(steps, OperationMarks { restored: None })
    }

    /// True where a doubt or a failed inverse stops everything.
    fn held(&self) -> bool {
        // Recovery reads the steps, never the derived value alone (clarification 2).
        let marks = || self.marks.iter().flatten();
        let holds = |mark: &StepMark| mark.row().lane == RecoveryLane::SafeHold;
        marks().any(holds) && marks().all(|mark| !resolvable(*mark))
    }

    fn settle(&mut self, n: usize, mark: StepMark) {
        self.marks[n] = Some(mark.settled(self.marks[n], self.way(n)));
    }

    /// What a look shows of a step forward.
    fn sight(&self, n: usize) -> Sight {
        match self.things[n] {
            Thing::Absent => Sight::NoEffect,
            Thing::Good => Sight::Satisfied,
            Thing::Broken => Sight::Unmet,
        }
    }

    fn decided(&mut self, n: usize, decision: Decision) {
        match decision {
            Decision::Verified => {
                self.done[n] = true;
                self.settle(n, StepMark::Verified);
            }
            Decision::Retry => self.settle(n, StepMark::CancelledNoEffect),
            Decision::Interrupt => {
                // What its controller took back is charged to nobody.
                self.tries[n] = self.tries[n].saturating_sub(1);
                self.settle(n, StepMark::CancelledNoEffect);
            }
            Decision::CompensateEarlier | Decision::CompensateThis => {
                self.done[n] = decision == Decision::CompensateThis;
                self.settle(n, StepMark::CancelledNoEffect);
                self.direction = true;
            }
            Decision::Hold(HoldMark::AmbiguousEffect) => self.settle(n, StepMark::AmbiguousEffect),
            Decision::Hold(HoldMark::AcceptedWithoutEffect) => {
                self.settle(n, StepMark::AcceptedWithoutEffect);
            }
        }
    }
}

/// True for a mark that a look may still settle.
fn resolvable(mark: StepMark) -> bool {
    matches!(
        mark,
        StepMark::EffectPending
            | StepMark::AmbiguousEffect
            | StepMark::AmbiguousAfterResume
            | StepMark::CompensationPending
            | StepMark::CompensationAmbiguous
    )
}

impl Saga {
    /// True if the step of `n` may be sent now.
    fn may_send(&self, state: &State, n: usize) -> bool {
        let doubted = state.marks.iter().flatten().any(|mark| resolvable(*mark));
        let own = state.marks[n];
        let blind = self.bug == Bug::BlindRepeat && own.is_some_and(resolvable);
        if state.flights.iter().any(Option::is_some) && n >= FIRST || state.flights[n].is_some() {
            return false;
        }
        if state.direction {
            // In reverse, and only what is there or may be.
            let later = (n + 1..NODES).any(|later| state.done[later]);
            let free = state.flights.iter().all(Option::is_none) && !doubted;
            return state.done[n] && !later && free && state.tries[n] < TRIES;
        }
        let waits = n >= FIRST && !state.done[..FIRST].iter().all(|done| *done);
        let fresh = own.is_none_or(|mark| mark == StepMark::CancelledNoEffect) || blind;
        let elsewhere = state.marks.iter().enumerate().any(|(at, mark)| {
            at != n && mark.is_some_and(resolvable) && state.flights[at].is_none()
        });
        fresh && !waits && !state.done[n] && (!elsewhere || blind) && state.tries[n] < TRIES
    }

    fn send(&self, state: &mut State, n: usize) {
        let forward = !state.direction || self.bug == Bug::ForwardReplayed;
        state.forward_after_back |= state.direction && forward;
        state.tries[n] += 1;
        state.inverse[n] = !forward;
        state.marks[n] = Some(state.way(n).pending());
        state.flights[n] = Some(Flight { back: !forward, happened: false });
    }

    /// The end of an inverse: nothing is believed before it is seen.
    fn undone(state: &mut State, n: usize, seen: bool) {
        if !seen {
            return state.settle(n, StepMark::AmbiguousEffect);
        }
        if state.things[n] == Thing::Absent {
            state.done[n] = false;
            state.tries[n] = 0;
            return state.settle(n, StepMark::Verified);
        }
        if state.tries[n] >= TRIES {
            state.marks[n] = Some(StepMark::CompensationExhausted);
        } else {
            state.marks[n] = Some(StepMark::CompensationFailed);
        }
    }
}

impl Model for Saga {
    type State = State;
    type Action = Deed;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            direction: false,
            marks: [None; NODES],
            inverse: [false; NODES],
            tries: [0; NODES],
            done: [false; NODES],
            over: None,
            things: [Thing::Absent; NODES],
            doubled: false,
            flights: [None; NODES],
            forward_after_back: false,
            troubles: self.troubles,
        }]
    }

    fn actions(&self, state: &State, deeds: &mut Vec<Deed>) {
        if state.over.is_some() {
            return;
        }
        let trouble = state.troubles > 0;
        for n in 0..NODES {
            if self.may_send(state, n) {
                deeds.push(Deed::Send(n));
            }
            match state.flights[n] {
                Some(Flight { happened: false, back }) => {
                    deeds.push(Deed::Happen(n, Thing::Good));
                    if trouble && !back {
                        deeds.push(Deed::Happen(n, Thing::Broken));
                    }
                    if trouble {
                        for answer in Answer::ALL {
                            deeds.push(Deed::Report(n, answer, true));
                        }
                    }
                }
                Some(Flight { happened: true, .. }) => {
                    deeds.push(Deed::Report(n, Answer::Accepted, true));
                    if trouble {
                        deeds.push(Deed::Report(n, Answer::Failed { retry_safe: true }, true));
                        deeds.push(Deed::Report(n, Answer::Accepted, false));
                    }
                }
                None if state.marks[n].is_some_and(resolvable) => {
                    deeds.push(Deed::Look(n));
                    if trouble {
                        deeds.push(Deed::Blind(n));
                    }
                }
                None => {}
            }
        }
        let idle = state.flights.iter().all(Option::is_none)
            && !state.marks.iter().flatten().any(|mark| resolvable(*mark));
        let forward = !state.direction && state.done.iter().all(|done| *done);
        let back = state.direction && state.done.iter().all(|done| !done);
        if idle && (forward || back) && !state.held() {
            deeds.push(Deed::Close);
        }
        if trouble {
            deeds.push(Deed::Die);
        }
    }

    fn next_state(&self, last: &State, deed: Deed) -> Option<State> {
        let mut state = last.clone();
        match deed {
            Deed::Send(n) => self.send(&mut state, n),
            Deed::Happen(n, thing) => {
                let flight = state.flights[n].as_mut()?;
                flight.happened = true;
                let back = flight.back;
                state.troubles -= u8::from(thing == Thing::Broken);
                if back {
                    state.things[n] = Thing::Absent;
                } else {
                    state.doubled |= state.things[n] != Thing::Absent;
                    state.things[n] = thing;
                }
            }
            Deed::Report(n, answer, seen) => {
                let Flight { back, happened } = state.flights[n].take()?;
                let smooth = happened && answer == Answer::Accepted && seen;
                state.troubles -= u8::from(!smooth);
                if back {
                    Self::undone(&mut state, n, seen);
                } else {
                    let sight = if seen { state.sight(n) } else { Sight::Ambiguous };
                    state.decided(n, decide(answer, sight, state.tries[n].into()));
                }
            }
            Deed::Look(n) if state.inverse[n] => Self::undone(&mut state, n, true),
            // A step that was in doubt when its wave turned back is taken back if its effect is there.
            Deed::Look(n) if state.direction => {
                state.done[n] = state.things[n] != Thing::Absent;
                state.settle(n, StepMark::Verified);
                state.tries[n] = 0;
            }
            Deed::Look(n) => {
                let safe = Answer::Failed { retry_safe: true };
                let decision = decide(safe, state.sight(n), state.tries[n].into());
                state.decided(n, decision);
            }
            Deed::Blind(_) => state.troubles -= 1,
            Deed::Close => state.over = Some(!state.direction),
            Deed::Die => {
                state.troubles -= 1;
                for n in 0..NODES {
                    if state.flights[n].take().is_some() {
                        state.settle(n, StepMark::AmbiguousAfterResume);
                    }
                }
                if self.bug == Bug::NoLookAtTheEnd && state.direction {
                    state.done = [false; NODES];
                }
            }
        }
        // The tries forward are no tries of the inverse.
        if state.direction && !last.direction {
            for n in 0..NODES {
                state.tries[n] = 0;
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no effect is doubled", |_, state: &State| !state.doubled),
            Property::always("what was turned back goes back", |_, state: &State| {
                !state.forward_after_back
            }),
            Property::always("an effect has its intent on disk", |_, state: &State| {
                (0..NODES).all(|n| state.things[n] == Thing::Absent || state.marks[n].is_some())
            }),
            Property::always("no more tries than three", |_, state: &State| {
                state.tries.iter().all(|tries| *tries <= TRIES)
            }),
            Property::always("the second wave waits for the first", |_, state: &State| {
                state.direction
                    || state.marks[FIRST].is_none()
                    || state.things[..FIRST].iter().all(|thing| *thing == Thing::Good)
            }),
            Property::always("an end is what it says", |_, state: &State| match state.over {
                None => true,
                Some(true) => state.things.iter().all(|thing| *thing == Thing::Good),
                Some(false) => state.things.iter().all(|thing| *thing == Thing::Absent),
            }),
            Property::always("the operation stands where its way is", |_, state: &State| {
                let class = state.derived().row().class;
                !class.is_of_the_way_back() || state.direction
            }),
            Property::eventually("it ends, or is held", |_, state: &State| {
                state.over.is_some() || state.held()
            }),
            Property::sometimes("it succeeds", |_, state: &State| state.over == Some(true)),
            Property::sometimes("it is taken back", |_, state: &State| state.over == Some(false)),
            Property::sometimes("it is held", |_, state: &State| state.held()),
            Property::sometimes("another driver sees what was done", |_, state: &State| {
                state.marks.contains(&Some(StepMark::VerifiedAfterResume))
            }),
        ]
    }
}

fn checked(bug: Bug, troubles: u8) -> impl Checker<Saga> {
    Saga { bug, troubles }.checker().threads(2).spawn_bfs().join()
}

/// R102 to R107, R123, R128, R129: with any six troubles (deaths, lost and wrong answers, effects that do not do what
/// they should, looks that tell nothing) every law holds in every state.
#[test]
fn every_law_holds_under_any_troubles() {
    let checked = checked(Bug::None, 6);
    checked.assert_properties();
    assert!(checked.unique_state_count() > 10_000, "{}", checked.unique_state_count());
}

/// The model is worth something: each of three mistakes breaks the law that it is against.
#[test]
fn each_seeded_mistake_is_found() {
    for (bug, law) in [
        (Bug::BlindRepeat, "no effect is doubled"),
        (Bug::ForwardReplayed, "what was turned back goes back"),
        (Bug::NoLookAtTheEnd, "an end is what it says"),
    ] {
        let found = checked(bug, 3).discoveries();
        assert!(found.contains_key(law), "{bug:?} was not found: {:?}", found.keys());
    }
}
