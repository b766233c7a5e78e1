//! The trigger queue: notices that come doubled, late or never change when something happens, never what (R63).
//!
//! The fleet is the real one: the state is folded and decided by the core, one pass at a time.

use std::hash::{Hash, Hasher};

use reconciler_core::{
    desired::{
        BootSpec, ClusterShape, DesiredNodeShape, JoinMode, NodeSpec, Policy, RunNodeGroupSpec,
    },
    effect::{Action, EffectOutcome, EffectReport, Look, NodeManagerCommand},
    fixture::{self, Catalogue},
    fold::Fact,
    id::{AttemptId, Fence, Generation, LogicalNodeId, OperationId, StepId, Uuid},
    observed::{ClusterState, Endpoint, Handle, LeaseFacts, LeaseId, Pending},
    reconcile::{group_converged, reconcile},
    time::{Millis, Timestamp},
};
use stateright::{Checker as _, Model, Property};

const RUN: Uuid = Uuid::from_bytes([7; 16]);

#[derive(Clone, Debug)]
struct Flight {
    slot: LogicalNodeId,
    attempt: AttemptId,
    step: StepId,
    action: Action,
}

#[derive(Clone, Debug)]
struct State {
    cluster: ClusterState,
    now: Timestamp,
    wanted: u32,
    /// A notice is there; how many were lost on the way.
    woken: bool,
    lost: u8,
    flights: Vec<Flight>,
    /// What came back and is not folded.
    reports: Vec<EffectReport>,
    steps: u64,
    /// Two effects of one slot at once.
    crossed: bool,
}

impl State {
    fn text(&self) -> String {
        let shape = shape(self.wanted);
        let catalogue = Catalogue::of(&self.cluster, [&shape]);
        fixture::print(&self.cluster, &catalogue, RUN)
    }

    fn key(&self) -> (String, u64, u32, bool, u8, bool, Vec<StepId>, Vec<StepId>) {
        let flights = self.flights.iter().map(|flight| flight.step).collect();
        let reports = self.reports.iter().map(|report| report.step).collect();
        let Self { now, wanted, woken, lost, crossed, .. } = self;
        (self.text(), now.as_millis(), *wanted, *woken, *lost, *crossed, flights, reports)
    }
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for State {}

impl Hash for State {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    /// An effect ends, and its notice comes.
    Report(usize),
    /// An effect ends, and its notice is lost: the report waits all the same.
    ReportUnnoticed(usize),
    /// A notice for nothing.
    Notice,
    Pass,
    /// The check that comes by itself; time moves to what is due.
    Check,
    /// Another count is wanted.
    Edit,
}

struct Triggers;

fn shape(count: u32) -> ClusterShape {
    let boot = BootSpec { command: vec!["serve".to_owned()], ..BootSpec::default() };
    let spec = NodeSpec {
        role: "web".to_owned(),
        provider: "process".parse().unwrap(),
        shape: DesiredNodeShape::default(),
        boot,
        join: JoinMode::None,
    };
    let policy = Policy { settle: Millis::new(1), stable: Millis::new(1), ..Policy::default() };
    let group = RunNodeGroupSpec::new("web".parse().unwrap(), count, spec, policy);
    let generation = Generation::new(10 - u64::from(count));
    ClusterShape::new("model".parse().unwrap(), RUN, generation, [group]).unwrap()
}

fn succeeded(flight: &Flight) -> EffectReport {
    let handle = Handle::default;
    let mut look = None;
    let outcome = match &flight.action {
        Action::Command(command) => match command {
            NodeManagerCommand::CreateLease(_) => EffectOutcome::Leased {
                lease: LeaseFacts { id: LeaseId::new("l"), fence: Fence::new(1), handle: handle() },
                endpoint: Some(Endpoint::default()),
            },
            NodeManagerCommand::LookupEndpoint(_) => {
                EffectOutcome::Endpoint(Some(Endpoint::default()))
            }
            NodeManagerCommand::StartBootstrap { .. } => {
                EffectOutcome::Started { workload: handle() }
            }
            NodeManagerCommand::BootstrapConvergenceObserved { .. } => EffectOutcome::Closed,
            NodeManagerCommand::CancelBootstrap { .. } => EffectOutcome::Cancelled,
            NodeManagerCommand::DestroyLease(_) => {
                look = Some(Look::Absent);
                EffectOutcome::Released
            }
        },
        Action::Hook(run) => EffectOutcome::Hooked(run.point),
    };
    EffectReport {
        step: flight.step,
        slot: flight.slot.clone(),
        attempt: flight.attempt,
        command: flight.action.kind(),
        result: Ok(outcome),
        look,
    }
}

impl State {
    fn fold(&mut self, fact: Fact) {
        let _verdict_is_the_folds_own = self.cluster.fold(fact, self.now);
        drop((self.cluster.take_dirty(), self.cluster.take_settled(), self.cluster.take_notes()));
    }

    /// One pass, as the loop makes it.
    fn pass(&mut self) {
        self.woken = false;
        for report in std::mem::take(&mut self.reports) {
            self.fold(Fact::Reported(report));
        }
        let mut plan = reconcile(&self.cluster, &shape(self.wanted), self.now);
        for (slot, transition) in plan.take_transitions() {
            // What was decided has a next step.
            self.woken = true;
            self.fold(Fact::Decided { slot, transition });
        }
        for (slot, action) in std::mem::take(&mut plan.per_node) {
            let attempt = self.cluster.record(&slot).unwrap().attempt;
            self.steps += 1;
            let (step, command) = (StepId::new(self.steps), action.kind());
            let key = action.idempotency_key(attempt.uuid);
            let (operation, fence) = (OperationId::new(1), Fence::new(1));
            let deadline = self.now.after(Millis::from_secs(1_000));
            let pending = Pending { operation, step, command, key, fence, deadline };
            self.fold(Fact::Dispatched { slot: slot.clone(), attempt, pending });
            self.crossed |= self.flights.iter().any(|flight| flight.slot == slot);
            self.flights.push(Flight { slot, attempt, step, action });
        }
    }

    fn converged(&self) -> bool {
        let shape = shape(self.wanted);
        let group = shape.groups().next().unwrap();
        let seen = self.cluster.group(&group.group);
        group_converged(seen.map(AsRef::as_ref), Some(group)) && self.flights.is_empty()
    }

    /// Everything that follows by itself, without any notice: checks and reports alone.
    fn settled(&self) -> Self {
        let mut state = self.clone();
        for _ in 0..24 {
            let flights = std::mem::take(&mut state.flights);
            state.reports.extend(flights.iter().map(succeeded));
            state.check();
            state.pass();
        }
        state
    }

    /// Time moves to what is due next; whatever waits is a reason for a pass.
    fn check(&mut self) {
        // An effect takes less time than anything that is waited for here.
        if let Some(due) = self.cluster.next_due().filter(|_| self.flights.is_empty()) {
            self.now = self.now.max(due).min(self.now.after(Millis::from_secs(5)));
        }
        self.woken = true;
    }
}

impl Model for Triggers {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let now = Timestamp::from_millis(1_000);
        vec![State {
            cluster: ClusterState::restore(Vec::new(), Vec::new(), now),
            now,
            wanted: 1,
            woken: true,
            lost: 0,
            flights: Vec::new(),
            reports: Vec::new(),
            steps: 0,
            crossed: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Step>) {
        actions.extend(
            (0..state.flights.len()).flat_map(|n| [Step::Report(n), Step::ReportUnnoticed(n)]),
        );
        actions.extend([Step::Notice, Step::Check, Step::Edit]);
        if state.woken {
            actions.push(Step::Pass);
        }
    }

    fn next_state(&self, last: &State, step: Step) -> Option<State> {
        let mut state = last.clone();
        match step {
            Step::Report(n) => {
                let flight = state.flights.remove(n);
                state.reports.push(succeeded(&flight));
                state.woken = true;
            }
            Step::ReportUnnoticed(n) if state.lost < 1 => {
                let flight = state.flights.remove(n);
                state.reports.push(succeeded(&flight));
                state.lost += 1;
            }
            Step::ReportUnnoticed(_) => return None,
            // However many come, they are one.
            Step::Notice => state.woken = true,
            Step::Pass => state.pass(),
            Step::Check if state.woken => return None,
            Step::Check => state.check(),
            Step::Edit if state.wanted == 0 => return None,
            Step::Edit => (state.wanted, state.woken) = (0, true),
        }
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("a slot has one effect at a time", |_, s: &State| !s.crossed),
            Property::always("whatever was noticed, the same comes of it", |_, s: &State| {
                s.settled().converged()
            }),
            Property::sometimes("what is wanted is reached", |_, s: &State| {
                s.converged() && s.wanted == 1
            }),
            Property::sometimes("so is what is wanted instead", |_, s: &State| {
                s.converged() && s.wanted == 0
            }),
        ]
    }
}

/// R63, C10: over every order of notices, passes and reports, with notices lost, doubled and for nothing.
#[test]
fn notices_change_when_and_never_what() {
    let checker = Triggers.checker().threads(2).spawn_bfs().join();
    checker.assert_properties();
    assert!(checker.unique_state_count() > 100, "{}", checker.unique_state_count());
}
