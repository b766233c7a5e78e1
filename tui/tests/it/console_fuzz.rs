//! Whatever comes in whatever order, on a screen of whatever size: no panic, and no change unconfirmed.

use std::{collections::BTreeSet, sync::Arc};

use driver::view::{ChangeKind, PlanView, Refusal, RefusalKind, RunView};
use proptest::prelude::*;
use ratatui::{Terminal, backend::TestBackend};
use reconciler_core::{
    id::{Generation, PlanHash},
    time::{Millis, Timestamp},
};
use tui::console::{
    link::{Lost, Reply},
    message::{Cmd, Key, Moment, Msg},
    model::RowId,
    view,
};

use crate::{
    console_fixture::{AT, Console, plan, run_view},
    console_hold::{looking, operation, release},
};

/// Consoles in every state that looks different.
fn consoles() -> Vec<Console> {
    let mut all = Vec::new();
    for keys in [
        "1", "2j+", "3", "4", "5", "?", "jjjj\n", "/gpu", "=1", "x", "o", "s", "S", "[[", "3\n",
        ":sc",
    ] {
        let mut console = Console::new(120, 36);
        for c in keys.chars() {
            console.key(if c == '\n' { Key::Enter } else { Key::Char(c) });
        }
        all.push(console);
    }
    for shown in plans() {
        let mut console = Console::new(120, 36);
        let (id, _) = console.ask("+");
        all.push(clone(&console));
        console.msg(Msg::Reply(Reply::Plan(id, Ok(shown.into()))));
        all.push(console);
    }
    for answer in [Ok(Box::new(release(false))), Err(refusal())] {
        let (mut console, id) = looking(120, 36);
        all.push(clone(&console));
        console.msg(Msg::Reply(Reply::Release(id, answer)));
        all.push(console);
    }
    let mut listed = Console::new(120, 36);
    let ordered = listed.type_in("5v");
    if let [Cmd::Operations { id }] = ordered.as_slice() {
        all.push(clone(&listed));
        listed.msg(Msg::Reply(Reply::Operations(*id, Ok(vec![operation()]))));
        all.push(listed);
    }
    let mut lost = Console::new(120, 36);
    lost.msg(Msg::LinkLost(Lost::new(Timestamp::ZERO, "gone")));
    all.push(lost);
    all
}

fn clone(console: &Console) -> Console {
    Console { model: console.model.clone(), ms: console.ms }
}

fn plans() -> Vec<PlanView> {
    use ChangeKind::{Create, Destroy, Replace};
    vec![
        plan(&[("cpu-batch", 2, 3, &[("cpu-batch-2", Create, false)])]),
        plan(&[("cpu-batch", 2, 1, &[("cpu-batch-1", Destroy, false)])]),
        plan(&[(
            "cpu-batch",
            2,
            0,
            &[("cpu-batch-1", Destroy, true), ("cpu-batch-0", Replace, true)],
        )]),
        plan(&[]),
    ]
}

#[test]
fn every_state_can_be_painted_at_every_size() {
    let mut sizes: Vec<(u16, u16)> = (0..=60).flat_map(|w| (0..=30).map(move |h| (w, h))).collect();
    sizes.extend([(80, 24), (110, 30), (200, 100), (1, 100), (200, 1)]);
    for (at, mut console) in consoles().into_iter().enumerate() {
        // Some states meet every size, the others every size at which they look different, by turns.
        let shown = |size: &&(u16, u16)| {
            let turn = usize::from(size.0.wrapping_add(size.1)) % 4 == at % 4;
            at % 7 == 0 || (size.0 >= 39 && size.1 >= 9 && turn)
        };
        for (width, height) in sizes.iter().filter(shown) {
            console.msg(Msg::Resize { width: *width, height: *height });
            let mut terminal = Terminal::new(TestBackend::new(*width, *height)).unwrap();
            terminal.draw(|frame| view::draw(&console.model, frame)).unwrap();
        }
        // A frame may come before the message that tells its size.
        console.msg(Msg::Resize { width: 200, height: 100 });
        console.screen(7, 3);
        console.screen(60, 16);
    }
}

/// One thing that happens.
#[derive(Clone, Debug)]
enum Act {
    Key(Key),
    Type(&'static str),
    Paint,
    Wait(u64),
    Resize(u16, u16),
    Snapshot(usize, u64),
    Answer(usize),
    Applied(bool),
    Looked(bool),
    Listed,
    Told,
    Lost,
}

fn key() -> impl Strategy<Value = Key> {
    prop_oneof![
        proptest::char::range(' ', '~').prop_map(Key::Char),
        proptest::sample::select("+-<>=pay12345jkGgux/ qrU[]oOsSvcW:".chars().collect::<Vec<_>>())
            .prop_map(Key::Char),
        proptest::sample::select(vec![
            Key::Enter,
            Key::Esc,
            Key::Tab,
            Key::BackTab,
            Key::Backspace,
            Key::Up,
            Key::Down,
            Key::PageUp,
            Key::PageDown,
            Key::Home,
            Key::End,
            Key::Ctrl('l'),
            Key::Ctrl('r'),
            Key::Ctrl('d'),
        ]),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => key().prop_map(Act::Key),
        2 => proptest::sample::select(vec!["cpu-batch", "prod-eu1", "+p", "a", "y", "db-replica-0", "5r", "5v", ":sc", "[["]).prop_map(Act::Type),
        3 => Just(Act::Paint),
        2 => (0..400_u64).prop_map(Act::Wait),
        1 => (0..130_u16, 0..40_u16).prop_map(|(w, h)| Act::Resize(w, h)),
        2 => (0..10_usize, 42..44_u64).prop_map(|(gone, gen_)| Act::Snapshot(gone, gen_)),
        3 => (0..5_usize).prop_map(Act::Answer),
        1 => any::<bool>().prop_map(Act::Applied),
        1 => any::<bool>().prop_map(Act::Looked),
        1 => Just(Act::Listed),
        1 => Just(Act::Told),
        1 => Just(Act::Lost),
    ]
}

/// The run without one of its nodes.
fn variant(gone: usize, generation: u64) -> RunView {
    let mut view = RunView { generation: Generation::new(generation), ..run_view() };
    if gone < view.nodes.len() {
        view.nodes.remove(gone);
    }
    view
}

/// Plays acts, and keeps what the other side of the link would know.
struct Play {
    console: Console,
    asked: Vec<u64>,
    sent: Vec<u64>,
    looked: Vec<u64>,
    listed: Vec<u64>,
    told: Vec<u64>,
    shown: BTreeSet<PlanHash>,
}

impl Play {
    fn new() -> Self {
        let console = Console::new(120, 36);
        let none = Vec::new;
        let (asked, sent, looked, listed, told) = (none(), none(), none(), none(), none());
        Self { console, asked, sent, looked, listed, told, shown: BTreeSet::new() }
    }

    fn take(&mut self, cmds: Vec<Cmd>) {
        for cmd in cmds {
            match cmd {
                Cmd::Plan { id, .. } => self.asked.push(id),
                Cmd::Apply(confirmed) => {
                    assert!(self.shown.contains(&confirmed.hash()), "applied what was never shown");
                    self.sent.push(confirmed.id());
                }
                Cmd::Survey { id, .. } => self.looked.push(id),
                Cmd::Release(confirmed) => {
                    assert!(
                        self.shown.contains(&confirmed.hash()),
                        "released what was never shown"
                    );
                }
                Cmd::Operations { id } => self.listed.push(id),
                Cmd::Explain { id, .. } => self.told.push(id),
                Cmd::WriteBack { .. }
                | Cmd::Copy(_)
                | Cmd::Reconnect
                | Cmd::Save { .. }
                | Cmd::Redraw
                | Cmd::Suspend
                | Cmd::Quit(_) => {}
            }
        }
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Key(key) => {
                let cmds = self.console.hasty_key(*key);
                self.take(cmds);
            }
            Act::Type(text) => {
                for c in text.chars() {
                    let cmds = self.console.hasty_key(Key::Char(c));
                    self.take(cmds);
                }
            }
            Act::Paint => self.console.paint(),
            Act::Wait(ms) => {
                self.console.ms += ms;
                let now = Moment {
                    wall: Timestamp::from_millis(AT + self.console.ms),
                    mono: Millis::new(self.console.ms),
                };
                self.console.msg(Msg::Tick(now));
            }
            Act::Resize(width, height) => {
                self.console.msg(Msg::Resize { width: *width, height: *height });
                self.console.screen(*width, *height);
            }
            Act::Snapshot(gone, generation) => self.snapshot(*gone, *generation),
            Act::Answer(which) => self.answer(*which),
            Act::Applied(well) => {
                let answer = if *well { Ok(Generation::new(43)) } else { Err(refusal()) };
                if let Some(id) = self.sent.pop() {
                    self.console.msg(Msg::Reply(Reply::Applied(id, answer)));
                }
            }
            Act::Looked(well) => {
                let answer = if *well { Ok(Box::new(release(false))) } else { Err(refusal()) };
                if let Some(id) = self.looked.pop() {
                    if *well {
                        self.shown.insert(release(false).hash);
                    }
                    self.console.msg(Msg::Reply(Reply::Release(id, answer)));
                }
            }
            Act::Listed => {
                if let Some(id) = self.listed.pop() {
                    self.console.msg(Msg::Reply(Reply::Operations(id, Ok(vec![operation()]))));
                }
            }
            Act::Told => {
                if let Some(id) = self.told.pop() {
                    self.console.msg(Msg::Reply(Reply::Explained(id, Err(refusal()))));
                }
            }
            Act::Lost => {
                self.console.msg(Msg::LinkLost(Lost::new(Timestamp::ZERO, "gone")));
            }
        }
    }

    /// A selected slot that is still there and shown stays selected.
    fn snapshot(&mut self, gone: usize, generation: u64) {
        let view = variant(gone, generation);
        let before = self.console.model.selected().cloned();
        let stays = match &before {
            Some(RowId::Node(slot)) => view.nodes.iter().any(|node| node.slot == *slot),
            Some(RowId::Group(_)) => true,
            None => false,
        };
        self.console.msg(Msg::Snapshot(Arc::new(view)));
        if stays && self.console.screen(120, 36).backend().to_string().contains("9/9") {
            assert_eq!(self.console.model.selected(), before.as_ref());
        }
    }

    fn answer(&mut self, which: usize) {
        let Some(id) = self.asked.pop() else { return };
        let answer = plans().get(which).cloned().ok_or_else(refusal);
        if let Ok(plan) = &answer {
            self.shown.insert(plan.hash);
        }
        self.console.msg(Msg::Reply(Reply::Plan(id, answer.map(Box::new))));
    }
}

fn refusal() -> Refusal {
    Refusal { kind: RefusalKind::Stale, message: "moved".to_owned(), moved: Vec::new(), hint: None }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// P3, and that no order of events breaks the console.
    #[test]
    fn nothing_is_applied_that_was_not_shown(acts in proptest::collection::vec(act(), 1..120)) {
        let mut play = Play::new();
        for act in &acts {
            play.act(act);
        }
        play.console.screen(120, 36);
    }

    /// Without filters and folding, a slot that is still there stays selected.
    #[test]
    fn the_selection_stays_on_its_id(
        steps in 0..13_usize,
        gone in proptest::collection::vec(0..10_usize, 1..20),
    ) {
        let mut console = Console::new(80, 24);
        for _ in 0..steps {
            console.hasty_key(Key::Down);
        }
        for which in gone {
            let view = variant(which, 42);
            let before = console.model.selected().cloned();
            let stays = match &before {
                Some(RowId::Node(slot)) => view.nodes.iter().any(|node| node.slot == *slot),
                Some(RowId::Group(_)) | None => true,
            };
            console.msg(Msg::Snapshot(Arc::new(view)));
            if stays {
                prop_assert_eq!(console.model.selected(), before.as_ref());
            } else {
                prop_assert!(console.model.selected().is_some());
            }
        }
    }
}
