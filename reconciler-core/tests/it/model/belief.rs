//! What a listing lacks, against plain book-keeping of who was missed since when (C1, C3, C9, D6).

use proptest::prelude::*;
use reconciler_core::{
    effect::{Listing, Look, WorkloadState},
    fold::Fact,
    hold::HoldCode,
    observed::{ClusterState, StageName},
    redact::Redacted,
};

use crate::{
    fleet::{
        FENCE, at, group, in_stage, lease, looked, of, owned, present, provider, shape, slot,
        stage, state,
    },
    world::GRACE,
};

/// What comes in.
#[derive(Clone, Copy, Debug)]
enum Input {
    /// A complete listing that lacks these.
    Complete(u16),
    /// A listing that was cut short lacks these.
    Partial(u16),
    /// No listing at all.
    Nothing,
    /// One is looked at by its id, and is there or not.
    Look(u32, bool),
}

/// One node in the book.
#[derive(Clone, Debug, Default)]
struct Node {
    missed_at: Option<u64>,
    lost: bool,
}

/// The book: all times in milliseconds.
#[derive(Debug, Default)]
struct Book {
    nodes: Vec<Node>,
    hold: Option<HoldCode>,
    /// When how many were believed to be lost without proof.
    believed: Vec<(u64, usize)>,
}

impl Book {
    /// A fifth, and at least one.
    fn lost_max(&self) -> usize {
        (self.nodes.len() / 5).max(1)
    }

    /// Two fifths, and at least as many as may be lost at once.
    fn mass_max(&self) -> usize {
        (self.nodes.len() * 2 / 5).max(self.lost_max())
    }

    /// How many were believed in the last ten minutes.
    fn recent(&self, now: u64) -> usize {
        let recent = self.believed.iter().filter(|(at, _)| now - at < 600_000);
        recent.map(|(_, count)| count).sum()
    }

    fn complete(&mut self, hidden: u16, now: u64) {
        let (lost_max, mass_max) = (self.lost_max(), self.mass_max());
        let is_hidden = |index: usize| hidden >> index & 1 == 1;
        self.shown(hidden);
        let lacks = |(index, node): &(usize, &mut Node)| is_hidden(*index) && !node.lost;
        let n_lacks = self.nodes.iter_mut().enumerate().filter(lacks).count();
        let over = |node: &Node| node.missed_at.is_some_and(|at| now - at >= GRACE.get());
        let n_over = self.nodes.iter().filter(|node| !node.lost && over(node)).count();
        let mut plausible = n_lacks <= lost_max;
        if !plausible {
            self.hold = self.hold.or(Some(HoldCode::Implausible));
        } else if self.hold == Some(HoldCode::Implausible) {
            self.hold = None;
        }
        if plausible && self.recent(now) + n_over > mass_max {
            self.hold = self.hold.or(Some(HoldCode::MassUnhealthy));
            plausible = false;
        } else if plausible {
            self.believed.push((now, n_over));
        }
        for (_, node) in self.nodes.iter_mut().enumerate().filter(lacks) {
            node.lost = plausible && over(node);
            node.missed_at = node.missed_at.or(Some(now)).filter(|_| !node.lost);
        }
        self.heal(now);
    }

    /// Whoever is shown was never missed.
    fn shown(&mut self, hidden: u16) {
        for (index, node) in self.nodes.iter_mut().enumerate() {
            node.missed_at = node.missed_at.filter(|_| hidden >> index & 1 == 1);
        }
    }

    fn look(&mut self, index: usize, there: bool, now: u64) {
        if let Some(node) = self.nodes.get_mut(index).filter(|node| !node.lost) {
            *node = Node { missed_at: None, lost: !there };
        }
        self.heal(now);
    }

    /// The brake ends once what is still missed would be believed.
    fn heal(&mut self, now: u64) {
        let missed = self.nodes.iter().filter(|node| node.missed_at.is_some()).count();
        let believable = missed + self.recent(now) <= self.mass_max();
        if believable && self.hold == Some(HoldCode::MassUnhealthy) {
            self.hold = None;
        }
    }

    fn hear(&mut self, input: Input, now: u64) {
        match input {
            Input::Complete(hidden) => self.complete(hidden, now),
            Input::Partial(hidden) => {
                self.shown(hidden);
                self.heal(now);
            }
            Input::Nothing => {}
            Input::Look(index, there) => self.look(index as usize, there, now),
        }
    }
}

fn name(index: usize) -> String {
    format!("web-{index}")
}

/// The same input for the real state; what is lost stays so.
fn tell(state: &mut ClusterState, book: &Book, input: Input, now: u64) {
    let shown = |hidden: u16| {
        let there = |(index, node): &(usize, &Node)| hidden >> index & 1 == 0 && !node.lost;
        let nodes = book.nodes.iter().enumerate().filter(there);
        let lease = |(index, _): (usize, &Node)| {
            owned(&name(index), of(state, &name(index)).attempt, &format!("l-{index}"))
        };
        nodes.map(lease).collect()
    };
    let listing = match input {
        Input::Complete(hidden) => Listing::Complete(shown(hidden)),
        Input::Partial(hidden) => Listing::Partial(shown(hidden), Redacted::new("cut short")),
        Input::Nothing => Listing::Unknown(Redacted::new("no answer")),
        Input::Look(index, there) => {
            let index = index as usize;
            if book.nodes.get(index).is_some_and(|node| !node.lost) {
                let running = WorkloadState::Running { workload: lease("l").handle };
                let there = there.then(|| present(&format!("l-{index}"), running));
                let _verdict = looked(state, &name(index), there.unwrap_or(Look::Absent), at(now));
            }
            return;
        }
    };
    let (provider, asked_at, grace) = (provider(), at(now), GRACE);
    let _verdict =
        state.fold(Fact::Listed { provider, listing, asked_at, grace, fence: FENCE }, asked_at);
}

fn input() -> impl Strategy<Value = Input> {
    let hidden = || {
        prop_oneof![
            2 => Just(0_u16),
            4 => (0_u16..12).prop_map(|n| 1 << n),
            3 => (0_u16..12, 0_u16..12).prop_map(|(a, b)| 1 << a | 1 << b),
            2 => any::<u16>(),
        ]
    };
    prop_oneof![
        8 => hidden().prop_map(Input::Complete),
        2 => hidden().prop_map(Input::Partial),
        1 => Just(Input::Nothing),
        3 => (0_u32..12, any::<bool>()).prop_map(|(at, there)| Input::Look(at, there)),
    ]
}

/// A listing comes so much later than what came before, in milliseconds.
fn gap() -> impl Strategy<Value = u64> {
    prop::sample::select(vec![1_000, 30_000, 59_999, 60_000, 60_001, 300_000, 600_000])
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]

    /// C1, C3, C9, D6: who is missed, who is lost, and what is held, is what the plain book says.
    #[test]
    fn absence_is_believed_as_the_book_says(
        n in 1_usize..13,
        inputs in prop::collection::vec((input(), gap()), 1..40),
    ) {
        let shape = shape(&[("web", u32::try_from(n).expect("few"))]);
        let record = |index: usize| {
            let mut stage = stage(StageName::Dormant);
            if let reconciler_core::observed::NodeStage::Dormant { lease: known, .. } = &mut stage {
                *known = lease(&format!("l-{index}"));
            }
            in_stage(&shape, &name(index), stage)
        };
        let mut state = state((0..n).map(record));
        let mut book = Book { nodes: vec![Node::default(); n], ..Book::default() };
        let mut now = 600_000;
        for (input, gap) in inputs {
            now += gap;
            tell(&mut state, &book, input, now);
            book.hear(input, now);
            let failed = |index| of(&state, &name(index)).stage.name() == StageName::Failed;
            let lost: Vec<_> = (0..n).map(failed).collect();
            prop_assert_eq!(lost, book.nodes.iter().map(|node| node.lost).collect::<Vec<_>>());
            let missed: Vec<_> = state.missing().into_iter().map(|(slot, _)| slot).collect();
            let nodes = book.nodes.iter().enumerate().filter(|(_, node)| node.missed_at.is_some());
            prop_assert_eq!(missed, nodes.map(|(index, _)| slot(&name(index))).collect::<Vec<_>>());
            let hold = state.group(&group("web")).and_then(|g| g.hold()).map(|hold| hold.code);
            prop_assert_eq!(hold, book.hold, "{:?}", book);
        }
    }
}
