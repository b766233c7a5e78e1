//! Finalizers: deletion, the end of the workload, the end of the lease, looks that come late or never, and crashes.

use reconciler_core::{
    ownership::{Finalizer, FinalizerState, Finalizers, Standing},
    time::Timestamp,
};
use stateright::{Checker as _, Model, Property};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and all of them vary freely"
)]
struct State {
    /// What there is: the lease, and the workload on it.
    lease: bool,
    workload: bool,
    /// What the record says: a deletion was begun, a workload may run, the lease may be there.
    deleting: bool,
    may_run: bool,
    may_own: bool,
    /// The row: nothing once it was dropped.
    row: Option<[FinalizerState; 2]>,
    /// Effects that are on their way.
    cancel: bool,
    destroy: bool,
    /// A lease that was given back while something ran on it.
    torn: bool,
    crashes: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    BeginDelete,
    Cancel,
    CancelHappens,
    WorkloadEndsByItself,
    SeesNoWorkload,
    Destroy,
    DestroyHappens,
    /// The provider says that it is done, and did nothing.
    DestroyIsALie,
    SeesAbsence,
    Crash,
}

struct Deleting;

impl State {
    fn finalizers(&self) -> Option<Finalizers> {
        let [dependents, absence] = self.row?;
        Finalizers::of_parts(dependents, absence)
    }

    fn standing(&self) -> Standing {
        let since = Timestamp::ZERO;
        match (self.may_own, self.deleting, self.may_run) {
            (false, _, _) => Standing::Absent,
            (true, false, _) => Standing::Active,
            (true, true, true) => Standing::Ending { since },
            (true, true, false) => Standing::Idle { since },
        }
    }

    /// The record is written: the row follows.
    fn recorded(&mut self) {
        let Some(before) = self.finalizers() else { return };
        let after = before.after(self.standing());
        let parts = Finalizer::ALL.map(|finalizer| after.of(finalizer));
        self.row = (!after.are_released()).then_some(parts);
    }
}

impl Model for Deleting {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            lease: true,
            workload: true,
            deleting: false,
            may_run: true,
            may_own: true,
            row: Some([FinalizerState::Active; 2]),
            cancel: false,
            destroy: false,
            torn: false,
            crashes: 0,
        }]
    }

    fn actions(&self, _state: &State, actions: &mut Vec<Step>) {
        actions.extend([
            Step::BeginDelete,
            Step::Cancel,
            Step::CancelHappens,
            Step::WorkloadEndsByItself,
            Step::SeesNoWorkload,
            Step::Destroy,
            Step::DestroyHappens,
            Step::DestroyIsALie,
            Step::SeesAbsence,
            Step::Crash,
        ]);
    }

    fn next_state(&self, last: &State, step: Step) -> Option<State> {
        let mut state = last.clone();
        match step {
            Step::BeginDelete => state.deleting = true,
            Step::Cancel => state.cancel = state.deleting && state.may_run,
            Step::CancelHappens if state.cancel => {
                (state.cancel, state.workload) = (false, false);
            }
            Step::WorkloadEndsByItself => state.workload = false,
            Step::SeesNoWorkload if !state.workload => state.may_run = false,
            // The journal's own question: the same function that it asks before it takes the intent.
            Step::Destroy if state.finalizers().is_some_and(|f| f.allow_destroy()) => {
                state.destroy = true;
            }
            Step::DestroyHappens if state.destroy => {
                state.torn |= state.workload;
                (state.destroy, state.lease) = (false, false);
            }
            Step::DestroyIsALie if state.destroy => state.destroy = false,
            Step::SeesAbsence if !state.lease => (state.may_own, state.may_run) = (false, false),
            // What was on its way may still happen, and nobody waits for it.
            Step::Crash if state.crashes < 2 => state.crashes += 1,
            Step::CancelHappens
            | Step::SeesNoWorkload
            | Step::Destroy
            | Step::DestroyHappens
            | Step::DestroyIsALie
            | Step::SeesAbsence
            | Step::Crash => return None,
        }
        state.recorded();
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("what is forgotten is gone", |_, s: &State| {
                s.row.is_some() || !s.lease
            }),
            Property::always("nothing runs on a lease that is given back", |_, s: &State| !s.torn),
            Property::always("a row's finalizers are in their order", |_, s: &State| {
                s.row.is_none() || s.finalizers().is_some()
            }),
            Property::always("a deletion is never taken back", |_, s: &State| {
                !s.deleting || s.row != Some([FinalizerState::Active; 2])
            }),
            Property::sometimes("a deletion comes to its end", |_, s: &State| s.row.is_none()),
            Property::sometimes("a lie leaves the row", |_, s: &State| {
                s.deleting && !s.destroy && s.lease && s.row.is_some() && !s.may_run
            }),
        ]
    }
}

/// R146 to R149: over every order of deletion, ends, looks, lies and crashes.
#[test]
fn finalizers_keep_their_order_in_every_order() {
    let checker = Deleting.checker().spawn_bfs().join();
    checker.assert_properties();
    assert!(checker.unique_state_count() > 50, "{}", checker.unique_state_count());
}
