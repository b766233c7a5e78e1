//! What the plans that were shown last are bound to, so that one that is stale by now can say what moved since.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use checkpoint::event::Subject;
use reconciler_core::id::PlanHash;

use crate::view::{Basis, EventView, PlanView};

/// Plans that are kept: a person looks at one or two, and their text is that of the whole fleet.
const SHOWN_MAX: usize = 4;
/// How much of what happened lately is told where the plan itself is not known here any more.
const NEWS_MAX: usize = 5;

/// The last plans that were shown; shared with those who make plans beside the loop.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    plans: Arc<Mutex<VecDeque<(PlanHash, Basis)>>>,
}

impl Shown {
    /// Keeps what `plan` is bound to.
    pub(crate) fn keep(&self, plan: &PlanView) {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.retain(|(hash, _)| *hash != plan.hash);
        plans.truncate(SHOWN_MAX.saturating_sub(1));
        plans.push_front((plan.hash, plan.basis()));
    }

    /// What moved between the plan with `hash` and the `present` one, a line each; where that plan was not shown here,
    /// the newest of `events`.
    pub(crate) fn moved<'a>(
        &self,
        hash: PlanHash,
        present: &PlanView,
        events: impl Iterator<Item = &'a EventView>,
    ) -> Vec<String> {
        let mut lines = vec![
            format!("the live generation is {}", present.base),
            format!("{} plans were confirmed so far", present.serial),
            format!("the fence is {}", present.bound.fence),
            format!("the plan would now be {}", present.hash),
        ];
        let plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        match plans.iter().find(|(known, _)| *known == hash) {
            Some((_, basis)) => lines.extend(basis.moved(&present.basis())),
            None => lines.extend(news(events)),
        }
        lines
    }
}

/// What happened lately, by `events` from the newest on: of the run, and of each of a few others, the last.
pub(crate) fn news<'a>(events: impl Iterator<Item = &'a EventView>) -> Vec<String> {
    let mut last: Vec<&EventView> = Vec::new();
    for event in events {
        let known = last.iter().any(|known| known.subject == event.subject);
        let is_of_run = event.subject == Subject::Run.to_string();
        if !known && (is_of_run || last.len() < NEWS_MAX) {
            last.push(event);
        }
    }
    let line = |event: &EventView| {
        let EventView { subject, kind, text, .. } = event;
        format!("lately: {subject}: {kind}: {text}")
    };
    last.into_iter().map(line).collect()
}
