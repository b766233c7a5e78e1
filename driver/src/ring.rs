//! The last values of a kind, newest first, of which every snapshot has its own view at little cost.
//!
//! A snapshot is taken with each turn of the loop. Copying a flat list would cost its length each time, in counts of
//! references that are cold by then; here they are shared by the block, and only the newest block is ever copied.

use std::{collections::VecDeque, sync::Arc};

/// Values of a block: about the root of what is kept, so that neither blocks nor the values of one are many.
const BLOCK: usize = 16;

type Block<T> = Vec<Arc<T>>;

/// The last `KEPT` values; cloning shares them.
#[derive(Debug)]
pub(crate) struct Ring<T, const KEPT: usize> {
    /// Newest first; within a block the newest is the last one.
    blocks: VecDeque<Arc<Block<T>>>,
}

impl<T, const KEPT: usize> Default for Ring<T, KEPT> {
    fn default() -> Self {
        Self { blocks: VecDeque::new() }
    }
}

impl<T, const KEPT: usize> Clone for Ring<T, KEPT> {
    fn clone(&self) -> Self {
        Self { blocks: self.blocks.clone() }
    }
}

impl<T, const KEPT: usize> Ring<T, KEPT> {
    /// Adds the newest value, and lets go of a block of old ones where enough are left without it.
    pub(crate) fn push(&mut self, value: Arc<T>) {
        if let Some(block) = self.blocks.front_mut().filter(|block| block.len() < BLOCK) {
            Arc::make_mut(block).push(value);
        } else {
            self.blocks.push_front(Arc::new(vec![value]));
            self.blocks.truncate(KEPT.div_ceil(BLOCK).saturating_add(1));
        }
    }

    /// The values, newest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.blocks.iter().flat_map(|block| block.iter().rev()).map(AsRef::as_ref).take(KEPT)
    }

    /// The value of age `at` (the newest one's is nought), to be changed for whoever takes a view from now on.
    pub(crate) fn get_mut(&mut self, at: usize) -> Option<&mut Arc<T>> {
        let mut left = at;
        for block in &mut self.blocks {
            if let Some(place) = block.len().checked_sub(left.saturating_add(1)) {
                return Arc::make_mut(block).get_mut(place);
            }
            left = left.saturating_sub(block.len());
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_kept_newest_first_and_a_view_stays_as_it_was() {
        let mut ring: Ring<usize, 40> = Ring::default();
        for n in 0..1_000 {
            let before: Vec<usize> = ring.iter().copied().collect();
            let view = ring.clone();
            ring.push(Arc::new(n));
            assert!(view.iter().copied().eq(before));
            assert!(ring.iter().copied().eq((0..=n).rev().take(40)));
            assert!(ring.blocks.len() <= 4);
        }
    }

    #[test]
    fn a_value_is_changed_where_it_stands_and_in_no_view_that_was_taken() {
        let mut ring: Ring<usize, 40> = Ring::default();
        (0..70).for_each(|n| ring.push(Arc::new(n)));
        let view = ring.clone();
        for at in 0..40 {
            let value = ring.get_mut(at).unwrap();
            assert_eq!(**value, 69 - at);
            *Arc::make_mut(value) = 1_000 + at;
        }
        assert!(ring.iter().copied().eq(1_000..1_040));
        assert!(view.iter().copied().eq((30..70).rev()));
    }
}
