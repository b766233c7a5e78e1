//! What is done to an update that is under way: paused, let go on, taken back by an operator or, when it failed, by
//! the driver itself under a plan of its own (D4, D10).

use std::{collections::BTreeSet, sync::Arc};

use checkpoint::store::Commit;
use reconciler_core::{
    desired::ClusterShape, fold::Fact, id::GroupId, observed::Rollout, time::Timestamp,
};

use crate::{
    pass::Tally,
    refusing::refuse,
    source::{Face, Source},
    state::State,
    view::{Edit, Refusal, RefusalKind},
};

/// What an edit does to updates beside the shape.
pub(crate) fn pauses(edit: &Edit) -> impl Iterator<Item = Fact> + '_ {
    let (groups, paused) = match edit {
        Edit::Pause { groups } => (groups.as_slice(), true),
        // What goes back goes on.
        Edit::Resume { groups } | Edit::Rollback { groups } => (groups.as_slice(), false),
        Edit::None
        | Edit::Counts { .. }
        | Edit::File { .. }
        | Edit::Down
        | Edit::Stop { .. }
        | Edit::Start { .. }
        | Edit::Restart { .. }
        | Edit::Run { .. }
        | Edit::Recover { .. }
        | Edit::Remove { .. } => (&[] as &[GroupId], false),
    };
    groups.iter().map(move |group| Fact::Paused(group.clone(), paused))
}

impl State {
    /// The shape of a pause, which is the live one; refuses to pause what is not under way, or is so already.
    pub(crate) fn may_pause(
        &self,
        groups: &[GroupId],
        paused: bool,
    ) -> Result<Arc<ClusterShape>, Refusal> {
        self.all_known(groups)?;
        for group in groups {
            let message = match self.cluster.rollout(group) {
                None => format!("there is no update of `{group}` under way"),
                Some(rollout) if rollout.paused && paused => {
                    format!("the update of `{group}` is paused already")
                }
                Some(rollout) if !rollout.paused && !paused => {
                    format!("the update of `{group}` is not paused")
                }
                Some(_) => continue,
            };
            let hint = Some(self.updates());
            return Err(Refusal { hint, ..refuse(RefusalKind::Invalid, message) });
        }
        Ok(Arc::clone(&self.shape))
    }

    /// Which updates are under way, and which of them are paused.
    fn updates(&self) -> String {
        let told = |(group, rollout): (&GroupId, &Rollout)| {
            format!("{group}{}", if rollout.paused { " (paused)" } else { "" })
        };
        let known: Vec<String> = self.cluster.rollouts().map(told).collect();
        if known.is_empty() {
            return "no update is under way; `levelhead status` says how the groups stand"
                .to_owned();
        }
        format!("updates are under way of: {}", known.join(", "))
    }

    /// Pauses updates, or lets them go on, as a confirmed edit says.
    pub(crate) fn pause(&mut self, edit: &Edit, now: Timestamp, commit: &mut Commit) {
        let mut changed = false;
        for fact in pauses(edit) {
            changed |= self.fold(fact, now);
        }
        if changed {
            // The pause is durable before anyone is told of it; the slots that it marked are the next pass's.
            self.journal_changes(&BTreeSet::new(), now, commit, &mut Tally::default());
        }
    }

    /// The live shape with `groups` at what served before their updates.
    pub(crate) fn rolled_back(&self, groups: &[GroupId]) -> Result<ClusterShape, Refusal> {
        self.all_known(groups)?;
        let mut specs = Vec::new();
        for group in groups {
            let (rollout, live) = (self.cluster.rollout(group), self.shape.group(group));
            let Some((rollout, live)) = rollout.zip(live) else {
                let message = format!("there is no update of `{group}` under way to take back");
                return Err(refuse(RefusalKind::Invalid, message));
            };
            let prior = rollout.way_back(live.revision).map_err(|none| {
                let message = format!("the update of `{group}` cannot be taken back: {none}");
                refuse(RefusalKind::Invalid, message)
            })?;
            specs.push((group.clone(), Arc::clone(&prior.spec)));
        }
        Ok(self.shape.with_specs(specs))
    }

    /// Takes back the updates of `groups` under a plan of its own; the answer is to be journaled.
    ///
    /// Until that is durable the update is as failed as before, so a driver that dies in between does it again.
    pub(crate) fn revert(
        &mut self,
        groups: Vec<GroupId>,
        now: Timestamp,
    ) -> Result<Commit, Refusal> {
        let names: Vec<&str> = groups.iter().map(GroupId::as_str).collect();
        let who = format!("the driver, since the update of {} failed", names.join(", "));
        let source = Source { face: Face::Driver, who, typed: None };
        Ok(self.confirm_own(&Edit::Rollback { groups }, &source, now)?.commit)
    }
}
