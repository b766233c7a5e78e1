//! A run that shows every kind of row, plans for it, and a console that is fed with them.

use std::{collections::BTreeMap, sync::Arc};

use driver::view::{
    BoundView, ChangeKind, ChangeView, DriverView, Edit, EventView, GroupView, HoldView, NodeView,
    PassView, PlanGroupView, PlanView, RunState, RunView, VIEW_SCHEMA,
};
use ratatui::{Terminal, backend::TestBackend};
use reconciler_core::{
    effect::CommandKind,
    hold::{Hold, HoldCode},
    id::{Fence, Generation, PassNumber, PlanHash, PlanSerial, Uuid},
    observed::StageName,
    time::{Millis, Timestamp},
};
use tui::{
    console::{
        keymap::Keymap,
        message::{Cmd, Key, Moment, Msg},
        model::Model,
        options::{Color, Options},
        update::update,
        view,
    },
    place::Place,
};

/// The moment of the snapshot, by the wall clock: 12:04:31 UTC.
pub(crate) const AT: u64 = 1_795_953_871_000;

pub(crate) const fn ago(secs: u64) -> Timestamp {
    Timestamp::from_millis(AT - secs * 1_000)
}

pub(crate) fn options() -> Options {
    Options {
        ascii: true,
        color: Color::Mono,
        read_only: false,
        embedded: false,
        offset: 0,
        who: "op:alice".to_owned(),
        place: Place::new("cluster.toml".as_ref(), None),
        keys: Keymap::default(),
        sync: true,
    }
}

/// A steady node.
pub(crate) fn node(slot: &str) -> NodeView {
    NodeView {
        slot: slot.parse().unwrap(),
        stage: StageName::Dormant,
        reached: StageName::Dormant,
        ready: true,
        deleting: false,
        off: false,
        completed: false,
        hold: None,
        attempt: 1,
        since: ago(7_900),
        pending: None,
        failures: 0,
        due: None,
        reason: "steady".to_owned(),
        last_error: None,
        endpoint: Some("127.0.0.1:4100".to_owned()),
        lease: Some(format!("proc-{slot}")),
        second: None,
        ribbon: "dddddddddddddd".to_owned(),
    }
}

fn at_stage(slot: &str, stage: StageName, ribbon: &str, reason: &str) -> NodeView {
    NodeView {
        stage,
        reached: stage,
        ready: matches!(stage, StageName::HandedOff | StageName::Dormant),
        ribbon: ribbon.to_owned(),
        reason: reason.to_owned(),
        since: ago(180),
        ..node(slot)
    }
}

pub(crate) fn group(name: &str, want: u32, ready: u32, stages: &[(StageName, u32)]) -> GroupView {
    GroupView {
        group: name.parse().unwrap(),
        role: "worker".to_owned(),
        provider: "process".parse().unwrap(),
        want,
        ready,
        held: 0,
        deleting: 0,
        failing: 0,
        orphans: 0,
        off: 0,
        completed: None,
        after: BTreeMap::new(),
        waits_for: Vec::new(),
        revision: "9f2c1e7ab04d".to_owned(),
        command: vec!["/usr/bin/worker".to_owned(), "--port".to_owned(), "4100".to_owned()],
        stages: stages.to_vec(),
        update: None,
    }
}

fn nodes() -> Vec<NodeView> {
    let pending = Some(CommandKind::StartBootstrap.into());
    vec![
        node("cpu-batch-0"),
        node("cpu-batch-1"),
        NodeView {
            hold: Some(HoldCode::CrashLoop),
            reached: StageName::LeaseCreated,
            failures: 5,
            last_error: Some("exit status 1".to_owned()),
            ..at_stage("db-replica-0", StageName::Failed, "NL????????????", "held: crash loop")
        },
        at_stage("db-replica-1", StageName::HandedOff, "NLEBBBBBBBHHHH", "settling"),
        NodeView {
            deleting: true,
            ready: false,
            ..at_stage(
                "edge-proxy-4",
                StageName::HandedOff,
                "HHHHHHHHHHHHXX",
                "giving its lease back",
            )
        },
        at_stage("gpu-workers-8", StageName::HandedOff, "NLEBBBBBBBHHHH", "ready, stable in 4s"),
        at_stage(
            "gpu-workers-9",
            StageName::BootstrapRunning,
            "....NLLEEBBBBB",
            "waits for the boot",
        ),
        NodeView {
            pending,
            since: ago(48),
            ..at_stage("gpu-workers-10", StageName::EndpointKnown, ".......NLLLLLE", "boots")
        },
        NodeView {
            reached: StageName::LeaseCreated,
            failures: 2,
            due: Some(Timestamp::from_millis(AT + 12_000)),
            last_error: Some("quota exceeded".to_owned()),
            ..at_stage("gpu-workers-11", StageName::Failed, "....NFFFFFNHNF", "failed to lease")
        },
    ]
}

fn groups() -> Vec<GroupView> {
    use StageName::{BootstrapRunning, Dormant, EndpointKnown, Failed, HandedOff};
    vec![
        group("cpu-batch", 2, 2, &[(Dormant, 2)]),
        GroupView {
            held: 1,
            failing: 1,
            ..group("db-replica", 2, 1, &[(HandedOff, 1), (Failed, 1)])
        },
        GroupView { deleting: 1, ..group("edge-proxy", 0, 0, &[(HandedOff, 1)]) },
        GroupView {
            failing: 1,
            ..group(
                "gpu-workers",
                4,
                1,
                &[(EndpointKnown, 1), (BootstrapRunning, 1), (HandedOff, 1), (Failed, 1)],
            )
        },
    ]
}

fn event(seq: u64, secs: u64, subject: &str, kind: &str, text: &str) -> EventView {
    EventView {
        seq,
        at: ago(secs),
        pass: PassNumber::new(400 + seq),
        subject: subject.to_owned(),
        kind: kind.to_owned(),
        text: text.to_owned(),
        count: if kind == "failure" { 2 } else { 1 },
    }
}

fn pass(number: u64, effects: u32, failures: u32, trigger: &str) -> PassView {
    PassView {
        pass: PassNumber::new(number),
        at: ago(418 - number),
        trigger: trigger.to_owned(),
        facts: 2,
        transitions: 1,
        effects,
        failures,
        micros: 3_140,
    }
}

/// The run of the screens.
pub(crate) fn run_view() -> RunView {
    RunView {
        schema: VIEW_SCHEMA,
        run: "prod-eu1".parse().unwrap(),
        uuid: Uuid::from_bytes([7; 16]),
        driver: Some(DriverView {
            pid: 4242,
            since: ago(90_000),
            fence: Fence::new(88),
            version: "0.1.0".to_owned(),
        }),
        generation: Generation::new(42),
        changed_by: Some("cli".to_owned()),
        pass: PassNumber::new(418),
        at: ago(0),
        state: RunState::Converging,
        want: 8,
        ready: 4,
        due: Some(Timestamp::from_millis(AT + 1_400)),
        ribbon_len: 14,
        file: None,
        groups: groups(),
        nodes: nodes(),
        holds: vec![HoldView {
            subject: "db-replica-0".to_owned(),
            code: HoldCode::CrashLoop,
            text:
                "failed 5 times in a row without reaching rest; the last error was: exit status 1"
                    .to_owned(),
            since: ago(192),
            way_out: Hold::way_out("db-replica-0"),
        }],
        outstanding: Vec::new(),
        passes: vec![
            pass(418, 1, 0, "observation"),
            pass(417, 0, 0, "tick"),
            pass(416, 1, 1, "due"),
        ],
        events: vec![
            event(18, 2, "gpu-workers-10", "effect", "StartBootstrap sent"),
            event(16, 6, "gpu-workers-11", "failure", "CreateLease: quota exceeded"),
            event(14, 10, "", "shape", "generation 41 to 42 by op:alice"),
            event(2, 192, "db-replica-0", "hold", "restart.crash-loop"),
        ],
        orphans: Vec::new(),
        providers: Vec::new(),
        drift: Vec::new(),
    }
}

fn change(slot: &str, kind: ChangeKind, ready: bool) -> ChangeView {
    let why = match kind {
        ChangeKind::Create => "wanted, not there",
        ChangeKind::Replace => "of an older revision",
        ChangeKind::Repair => "lost",
        ChangeKind::Destroy => "no longer wanted",
        ChangeKind::Stop => "switched off",
        ChangeKind::Start => "switched on",
        ChangeKind::Restart => "begins anew",
        ChangeKind::Blocked => "held",
    };
    ChangeView { slot: slot.parse().unwrap(), kind, ready, why: why.to_owned() }
}

/// A plan over whole groups: (name, from, to, changes as (slot, kind, ready)).
pub(crate) type Planned<'a> = (&'a str, u32, u32, &'a [(&'a str, ChangeKind, bool)]);

/// A plan of the given groups, on generation 42.
pub(crate) fn plan(groups: &[Planned<'_>]) -> PlanView {
    let groups: Vec<PlanGroupView> = groups
        .iter()
        .map(|(name, from, to, changes)| PlanGroupView {
            group: name.parse().unwrap(),
            from: *from,
            to: *to,
            changes: changes
                .iter()
                .map(|(slot, kind, ready)| change(slot, *kind, *ready))
                .collect(),
            unchanged: 1,
            impact: None,
        })
        .collect();
    let count = |kind: ChangeKind| {
        let all = groups.iter().flat_map(|group| &group.changes);
        u32::try_from(all.filter(|change| change.kind == kind).count()).unwrap()
    };
    PlanView {
        schema: VIEW_SCHEMA,
        hash: PlanHash::of(format!("{groups:?}").as_bytes()),
        serial: PlanSerial::new(3),
        base: Generation::new(42),
        target: Generation::new(43),
        bound: Box::new(BoundView {
            run: Uuid::from_bytes([7; 16]),
            fence: Fence::new(1),
            parallelism: 16,
            spec: PlanHash::of(b"spec"),
            observation: PlanHash::of(b"observation"),
            observed: String::new(),
            capability: PlanHash::of(b"capability"),
            specs: BTreeMap::new(),
        }),
        steps: Vec::new(),
        create: count(ChangeKind::Create),
        replace: count(ChangeKind::Replace),
        repair: count(ChangeKind::Repair),
        destroy: count(ChangeKind::Destroy),
        stop: count(ChangeKind::Stop),
        start: count(ChangeKind::Start),
        restart: count(ChangeKind::Restart),
        unchanged: 1,
        blocked: count(ChangeKind::Blocked),
        empty: groups.iter().all(|group| group.changes.is_empty()),
        offline: false,
        drift: Vec::new(),
        demand: None,
        groups,
    }
}

/// A console under test, with its own clock.
pub(crate) struct Console {
    pub(crate) model: Model,
    pub(crate) ms: u64,
}

impl Console {
    /// A console that shows [`run_view`].
    pub(crate) fn new(width: u16, height: u16) -> Self {
        Self::with(options(), width, height, run_view())
    }

    pub(crate) fn with(options: Options, width: u16, height: u16, view: RunView) -> Self {
        let mut console = Self { model: Model::new(options, width, height), ms: 1_000 };
        console.tick();
        console.msg(Msg::Snapshot(Arc::new(view)));
        console
    }

    /// The wall clock stands still unless a test moves it.
    pub(crate) fn now(&self) -> Moment {
        Moment { wall: Timestamp::from_millis(AT), mono: Millis::new(self.ms) }
    }

    pub(crate) fn msg(&mut self, msg: Msg) -> Vec<Cmd> {
        update(&mut self.model, msg)
    }

    pub(crate) fn tick(&mut self) {
        let now = self.now();
        assert!(self.msg(Msg::Tick(now)).is_empty());
    }

    /// A key, half a second after a frame: what an attentive operator does.
    pub(crate) fn key(&mut self, key: Key) -> Vec<Cmd> {
        self.paint();
        self.ms += 500;
        self.hasty_key(key)
    }

    /// A key without a frame before it.
    pub(crate) fn hasty_key(&mut self, key: Key) -> Vec<Cmd> {
        let now = self.now();
        self.msg(Msg::Key(key, now))
    }

    pub(crate) fn paint(&mut self) {
        let now = self.now();
        assert!(self.msg(Msg::Painted(now)).is_empty());
    }

    /// Characters, one by one.
    pub(crate) fn type_in(&mut self, text: &str) -> Vec<Cmd> {
        text.chars().flat_map(|c| self.key(Key::Char(c))).collect()
    }

    /// Drafts as typed, asks for its plan and returns the request.
    pub(crate) fn ask(&mut self, keys: &str) -> (u64, Edit) {
        self.type_in(keys);
        match self.key(Key::Char('p')).as_slice() {
            [Cmd::Plan { id, edit }] => (*id, edit.clone()),
            other => panic!("p must ask for a plan, not {other:?}"),
        }
    }

    /// The screen as it is.
    pub(crate) fn screen(&self, width: u16, height: u16) -> Terminal<TestBackend> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| view::draw(&self.model, frame)).unwrap();
        terminal
    }
}
