//! The graph of a plan's steps: whether it is one, its stable order, and its waves (R79).

use alloc::{
    collections::{BTreeSet, BinaryHeap, binary_heap::PeekMut},
    string::String,
    vec,
    vec::Vec,
};
use core::{cmp::Reverse, fmt::Write};

use super::{
    key::{KeyRef, StepKey},
    step::PlanStep,
};

/// Why steps are no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// Two steps have one key.
    #[error("two steps are called {0}")]
    Duplicate(StepKey),
    /// A step comes after one that is not there.
    #[error("step {step} comes after {needs}, which is not in the plan")]
    Missing {
        /// The step.
        step: StepKey,
        /// What it comes after.
        needs: StepKey,
    },
    /// Steps wait for each other.
    #[error("steps wait for each other in a circle: {}", chain(.0))]
    Cycle(Vec<StepKey>),
}

fn chain(keys: &[StepKey]) -> String {
    let mut text = String::new();
    for (n, key) in keys.iter().chain(keys.first()).enumerate() {
        let arrow = if n > 0 { " -> " } else { "" };
        // Writing to a string cannot fail.
        let _written = write!(text, "{arrow}{key}");
    }
    text
}

/// The rank of a step that the one at `rank` comes after: mostly that of its neighbour.
fn place(keys: &[(KeyRef<'_>, usize)], rank: usize, needs: &StepKey) -> Option<usize> {
    let needs = needs.parts();
    let neighbour = rank.checked_sub(1).filter(|at| keys.get(*at).is_some_and(|k| k.0 == needs));
    neighbour.or_else(|| keys.binary_search_by(|(known, _)| known.cmp(&needs)).ok())
}

/// The steps by place in the order of their keys, and who follows whom.
pub(super) struct Graph {
    /// The place of each in the given list, in the order of their keys.
    by_key: Vec<usize>,
    /// Pairs of ranks, sorted: the first comes before the second.
    edges: Vec<(usize, usize)>,
    /// How many come before each, by rank.
    waits_for: Vec<usize>,
}

impl Graph {
    /// Reads the edges of `steps`.
    pub(super) fn new(steps: &[PlanStep]) -> Result<Self, GraphError> {
        let mut keys: Vec<(KeyRef<'_>, usize)> =
            steps.iter().enumerate().map(|(at, step)| (step.key_parts(), at)).collect();
        // What is projected comes in long sorted runs, which a stable sort merges in linear time.
        keys.sort();
        let twin = keys.iter().zip(keys.iter().skip(1)).find(|(one, other)| one.0 == other.0);
        if let Some(step) = twin.and_then(|((_, at), _)| steps.get(*at)) {
            return Err(GraphError::Duplicate(step.key()));
        }
        let mut edges = Vec::with_capacity(keys.len());
        let mut waits_for = vec![0_usize; keys.len()];
        for (rank, (_, at)) in keys.iter().enumerate() {
            let Some(step) = steps.get(*at) else { continue };
            for needs in &step.after {
                let Some(before) = place(&keys, rank, needs) else {
                    return Err(GraphError::Missing { step: step.key(), needs: needs.clone() });
                };
                edges.push((before, rank));
                if let Some(count) = waits_for.get_mut(rank) {
                    *count = count.saturating_add(1);
                }
            }
        }
        edges.sort_unstable();
        Ok(Self { by_key: keys.into_iter().map(|(_, at)| at).collect(), edges, waits_for })
    }

    fn followers(&self, rank: usize) -> impl Iterator<Item = usize> {
        let first = self.edges.partition_point(|(before, _)| *before < rank);
        let from_here = self.edges.get(first..).unwrap_or_default().iter();
        from_here.take_while(move |(before, _)| *before == rank).map(|(_, after)| *after)
    }

    /// Counts `rank` as done; gives back those that wait for nothing any more.
    fn release(&self, rank: usize, waits_for: &mut [usize], mut free: impl FnMut(usize)) {
        for after in self.followers(rank) {
            if let Some(count) = waits_for.get_mut(after) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    free(after);
                }
            }
        }
    }

    fn without_wait(&self) -> impl Iterator<Item = usize> {
        let counts = self.waits_for.iter().enumerate();
        counts.filter(|(_, count)| **count == 0).map(|(rank, _)| rank)
    }

    /// Kahn's order, the smallest key first among those that are free: places in the given list.
    pub(super) fn order(&self, steps: &[PlanStep]) -> Result<Vec<usize>, GraphError> {
        let mut waits_for = self.waits_for.clone();
        let mut free: BinaryHeap<_> = self.without_wait().map(Reverse).collect();
        let mut order = Vec::with_capacity(steps.len());
        let mut freed = Vec::new();
        loop {
            let Some(mut first) = free.peek_mut() else { break };
            order.extend(self.by_key.get(first.0));
            self.release(first.0, &mut waits_for, |after| freed.push(Reverse(after)));
            // What a step frees mostly comes next: in its place it is found without a walk through the heap.
            match freed.pop() {
                Some(after) => {
                    *first = after;
                    drop(first);
                }
                None => drop(PeekMut::pop(first)),
            }
            free.extend(freed.drain(..));
        }
        if order.len() < steps.len() {
            return Err(GraphError::Cycle(self.circle(steps, &waits_for)));
        }
        Ok(order)
    }

    /// One circle among the steps that were never free, in the order of waiting, smallest key first.
    fn circle(&self, steps: &[PlanStep], waits_for: &[usize]) -> Vec<StepKey> {
        let bound = |rank: &usize| waits_for.get(*rank).is_some_and(|count| *count > 0);
        let before = |rank: usize| {
            let into = self.edges.iter().filter(move |(_, after)| *after == rank);
            into.map(|(before, _)| *before).find(bound)
        };
        let mut way: Vec<usize> = Vec::new();
        let mut present = (0..waits_for.len()).find(bound);
        while let Some(rank) = present {
            if let Some(first) = way.iter().position(|seen| *seen == rank) {
                way.drain(..first);
                break;
            }
            way.push(rank);
            present = before(rank);
        }
        let least = way.iter().enumerate().min_by_key(|(_, rank)| **rank).map_or(0, |(at, _)| at);
        way.rotate_left(least);
        let key = |rank: &usize| Some(steps.get(*self.by_key.get(*rank)?)?.key());
        way.iter().filter_map(key).collect()
    }

    /// The wave of each step, by its place in the given list: every wave has at most `width` steps, and what a
    /// step comes after lies in earlier waves.
    pub(super) fn waves(&self, width: usize) -> Vec<u32> {
        let mut waits_for = self.waits_for.clone();
        let mut free: BTreeSet<usize> = self.without_wait().collect();
        let mut waves = vec![0; self.by_key.len()];
        let mut wave = 0_u32;
        while !free.is_empty() {
            let mut now = Vec::new();
            while now.len() < width.max(1) {
                let Some(rank) = free.pop_first() else { break };
                now.push(rank);
            }
            for rank in now {
                let place = self.by_key.get(rank).and_then(|at| waves.get_mut(*at));
                if let Some(place) = place {
                    *place = wave;
                }
                self.release(rank, &mut waits_for, |after| {
                    free.insert(after);
                });
            }
            wave = wave.saturating_add(1);
        }
        waves
    }
}
