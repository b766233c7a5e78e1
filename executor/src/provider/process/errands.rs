//! Short pieces of work that touch the disk, one after another on one thread.
//!
//! When many nodes end at once, a thread for each of them would cost more than the work.

use std::{
    collections::VecDeque,
    fmt,
    panic::{self, AssertUnwindSafe},
    sync::{Arc, Mutex},
};

use super::lock::locked;

type Errand = Box<dyn FnOnce() + Send>;

/// What waits to be done.
#[derive(Clone, Default)]
pub(super) struct Errands(Arc<Mutex<Queue>>);

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Errand>,
    runs: bool,
}

impl Errands {
    /// Has `errand` done soon, and never waits. Must be called within the runtime.
    pub(super) fn run(&self, errand: impl FnOnce() + Send + 'static) {
        let mut queue = locked(&self.0);
        queue.waiting.push_back(Box::new(errand));
        if !std::mem::replace(&mut queue.runs, true) {
            let queue = Arc::clone(&self.0);
            drop(tokio::task::spawn_blocking(move || {
                while let Some(errand) = next(&queue) {
                    // Whoever waits for its answer notices that there is none; the others are not held up.
                    if panic::catch_unwind(AssertUnwindSafe(errand)).is_err() {
                        tracing::error!("a piece of work of a provider broke off");
                    }
                }
            }));
        }
    }
}

impl fmt::Debug for Errands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Errands").field("waiting", &locked(&self.0).waiting.len()).finish()
    }
}

fn next(queue: &Mutex<Queue>) -> Option<Errand> {
    let mut queue = locked(queue);
    let errand = queue.waiting.pop_front();
    queue.runs = errand.is_some();
    errand
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn one_that_panics_takes_no_other_with_it() {
        let errands = Errands::default();
        let (sender, answer) = oneshot::channel::<()>();
        errands.run(move || {
            let _dropped_when_it_panics = sender;
            panic!("on purpose");
        });
        assert!(answer.await.is_err());
        let (sender, answer) = oneshot::channel();
        errands.run(move || sender.send(7).unwrap());
        assert_eq!(answer.await, Ok(7));
    }
}
