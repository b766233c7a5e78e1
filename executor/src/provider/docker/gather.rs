//! Listings of single attempts, shared by those who ask at the same time.
//!
//! An engine goes through all of its containers for each listing, so a fleet that is looked at node by node would cost
//! the square of its size. Who asks while a listing is under way waits for the next one, together with everybody else
//! who does: what one is shown was so after it asked.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, OnceLock},
    time::{Duration, Instant},
};

use bollard::models::ContainerSummary;
use reconciler_core::id::Uuid;

use super::{
    ground::{Ground, Listed, locked},
    labels,
    problem::EngineError,
};

/// An engine is left alone for as long as a listing took it, so that it is busy with them for half of its time at most,
/// however many ask; and no longer than this: what waits for a listing is to be ended.
const REST_MAX: Duration = Duration::from_millis(500);

/// Who asks, and whose turn it is.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    next: Mutex<Option<Arc<Batch>>>,
    /// Until when the engine is left alone.
    turn: tokio::sync::Mutex<Option<tokio::time::Instant>>,
}

/// Those who are served by one listing.
#[derive(Debug)]
struct Batch {
    run: Uuid,
    attempts: Mutex<BTreeSet<Uuid>>,
    found: OnceLock<Result<Vec<ContainerSummary>, EngineError>>,
}

impl Gathering {
    /// Joins those who wait for the next listing of `run`.
    fn join(&self, run: Uuid, attempt: Uuid) -> Arc<Batch> {
        let mut next = locked(&self.next);
        let batch = next.take().filter(|batch| batch.run == run).unwrap_or_else(|| {
            let (attempts, found) = (Mutex::default(), OnceLock::new());
            Arc::new(Batch { run, attempts, found })
        });
        locked(&batch.attempts).insert(attempt);
        *next = Some(Arc::clone(&batch));
        batch
    }

    /// Nobody joins it any more: its listing begins.
    fn close(&self, batch: &Arc<Batch>) {
        let mut next = locked(&self.next);
        if next.as_ref().is_some_and(|next| Arc::ptr_eq(next, batch)) {
            *next = None;
        }
    }
}

impl Ground {
    /// Lists what belongs to an attempt: its node, and what ran beside it.
    ///
    /// # Cancel safety
    /// Dropping the future costs nobody else anything: the next one of those who wait asks in its place.
    pub(super) async fn of_attempt(
        &self,
        run: Uuid,
        attempt: Uuid,
        limit: Instant,
    ) -> Result<Vec<Listed>, EngineError> {
        let batch = self.gathering.join(run, attempt);
        let until = tokio::time::Instant::from_std(limit);
        let turn = tokio::time::timeout_at(until, self.gathering.turn.lock()).await;
        let mut turn = turn.map_err(|_late| EngineError::Late)?;
        if let Some(found) = batch.found.get() {
            drop(turn);
            return of(attempt, found.as_ref().map_err(Clone::clone)?);
        }
        // Those who ask meanwhile are served as well.
        if let Some(free_at) = *turn {
            tokio::time::sleep_until(free_at.min(until)).await;
        }
        self.gathering.close(&batch);
        let begun = tokio::time::Instant::now();
        let alone = locked(&batch.attempts).len() == 1;
        let of_run = [(labels::RUN, run.to_string())];
        let found = if alone {
            let [of_run] = of_run;
            self.summaries([of_run, (labels::ATTEMPT, attempt.to_string())], limit).await
        } else {
            self.summaries(of_run, limit).await
        };
        *turn = Some(tokio::time::Instant::now() + begun.elapsed().min(REST_MAX));
        // That one had too little time says nothing of the others.
        let found = match found {
            Err(EngineError::Late) => return Err(EngineError::Late),
            found => batch.found.get_or_init(|| found),
        };
        drop(turn);
        of(attempt, found.as_ref().map_err(Clone::clone)?)
    }
}

/// What of a listing belongs to an attempt; what others have that cannot be read is their own trouble (C17).
fn of(attempt: Uuid, found: &[ContainerSummary]) -> Result<Vec<Listed>, EngineError> {
    let attempt = attempt.to_string();
    let label = |one: &ContainerSummary, name| one.labels.as_ref()?.get(name).cloned();
    let is_asked_for = |one: &ContainerSummary| label(one, labels::RUN).is_some();
    if !found.iter().all(is_asked_for) {
        let why = "it lists a container without the label that was asked for".to_owned();
        return Err(EngineError::Broken(why));
    }
    let its = found.iter().filter(|one| label(one, labels::ATTEMPT).as_ref() == Some(&attempt));
    its.cloned().map(Listed::of).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Who asks before a listing begins shares it, and who asks afterwards does not.
    #[test]
    fn who_asks_later_waits_for_the_next_listing() {
        let [run, other, one, two] = [1, 2, 3, 4].map(|n| Uuid::from_bytes([n; 16]));
        let gathering = Gathering::default();
        let first = gathering.join(run, one);
        assert!(Arc::ptr_eq(&first, &gathering.join(run, two)));
        assert_eq!(*locked(&first.attempts), BTreeSet::from([one, two]));
        gathering.close(&first);
        let second = gathering.join(run, one);
        assert!(!Arc::ptr_eq(&first, &second));
        gathering.close(&first);
        assert!(Arc::ptr_eq(&second, &gathering.join(run, two)), "another's end is not its own");
        assert!(
            !Arc::ptr_eq(&second, &gathering.join(other, one)),
            "another run is another listing"
        );
    }

    /// C17: one garbled container hides no other one's.
    #[test]
    fn each_attempt_gets_its_own() {
        let summary = |id: Option<&str>, attempt: u8| ContainerSummary {
            id: id.map(str::to_owned),
            labels: Some(HashMap::from([
                (labels::RUN.to_owned(), "a run".to_owned()),
                (labels::ATTEMPT.to_owned(), Uuid::from_bytes([attempt; 16]).to_string()),
            ])),
            ..ContainerSummary::default()
        };
        let found = [summary(Some("a"), 1), summary(None, 2), summary(Some("b"), 1)];
        let ids = |attempt: u8| {
            let found = of(Uuid::from_bytes([attempt; 16]), &found)?;
            Ok::<Vec<String>, EngineError>(found.into_iter().map(|one| one.id).collect())
        };
        assert_eq!(ids(1), Ok(vec!["a".to_owned(), "b".to_owned()]));
        assert!(matches!(ids(2), Err(EngineError::Broken(_))));
        assert_eq!(ids(3), Ok(Vec::new()));
        let bare = ContainerSummary { labels: None, ..summary(Some("a"), 1) };
        assert!(of(Uuid::from_bytes([1; 16]), &[bare]).is_err(), "nobody asked for that");
    }
}
