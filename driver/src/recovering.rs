//! What a person does to an open operation: gone on with, taken back, or closed where it stands (R136, R139).
//!
//! Each is an edit like any other: shown as a plan on what is observed, and confirmed by its hash, which is bound to
//! exactly this operation, its plan and its fence.

use checkpoint::{event::Subject, operation::OperationWrite, store::Commit};
use reconciler_core::{
    canonical::Canon,
    checkpoint::Direction,
    desired::ClusterShape,
    fold::Fact,
    hold::HoldCode,
    id::{AttemptId, GroupId, LogicalNodeId, OperationId, PlanHash},
    observed::{ClusterState, GroupState, NodeRecord},
    time::Timestamp,
};

use crate::{
    operations::{Health, Open},
    refusing::refuse,
    state::State,
    view::{Edit, RecoveryVerb, Refusal, RefusalKind},
};

impl State {
    /// The open operation of that number with its group.
    fn recoverable(&self, id: OperationId) -> Result<(&GroupId, &Open), Refusal> {
        self.operations.find(id).ok_or_else(|| Refusal {
            hint: Some("`levelhead recovery` lists what is open".to_owned()),
            ..refuse(RefusalKind::Invalid, format!("operation {id} is not open"))
        })
    }

    /// The shape that a verb leads to; nothing where it changes none.
    pub(crate) fn recovered(
        &self,
        id: OperationId,
        verb: RecoveryVerb,
    ) -> Result<Option<ClusterShape>, Refusal> {
        let (group, open) = self.recoverable(id)?;
        let unreadable = self.held_for(group).is_some_and(HoldCode::is_of_operation);
        let forbid = |message: String, hint: &str| Refusal {
            hint: Some(hint.to_owned()),
            ..refuse(RefusalKind::Forbidden, message)
        };
        if unreadable && verb != RecoveryVerb::Release {
            let message = format!("nobody can tell how far operation {id} came");
            let hint = format!("`levelhead recovery release {id}` closes it where it stands");
            return Err(forbid(message, &hint));
        }
        if verb != RecoveryVerb::Rollback {
            return Ok(None);
        }
        let resume = format!("`levelhead recovery resume {id}` goes on with it");
        if open.goes_back() {
            return Err(forbid(format!("operation {id} is being taken back already"), &resume));
        }
        let Some(compensation) = &open.compensation else {
            let message = format!(
                "operation {id} repairs what was declared before it; there is nothing to go back to"
            );
            return Err(forbid(message, &resume));
        };
        if let Some(slot) = self.doubted(group) {
            let message = format!("nobody can say yet what became of the last effect on {slot}");
            return Err(forbid(
                message,
                &format!("`levelhead explain {slot}` says what is awaited"),
            ));
        }
        let target = compensation.restored(group, &self.shape);
        let target = target.map_err(|error| {
            let message = format!("operation {id} cannot be taken back alone: {error}");
            forbid(message, &resume)
        })?;
        if self.shape.same_content(&target) {
            let message = format!("the shape is what it was before operation {id}");
            return Err(forbid(message, &resume));
        }
        Ok(Some(target))
    }

    /// A slot of a group where an effect of unknown outcome is open (R129).
    fn doubted(&self, group: &GroupId) -> Option<LogicalNodeId> {
        let records = self.cluster.group(group).map(AsRef::as_ref);
        let mut attempts =
            records.into_iter().flat_map(GroupState::records).flat_map(|r| r.attempts());
        attempts.find(|one| one.ambiguity.is_some()).map(|one| one.slot.clone())
    }

    /// What a recovery does to the observed state before its plan is made: the holds of its group end.
    pub(crate) fn recovery_facts(&self, edit: &Edit) -> Vec<Fact> {
        let Edit::Recover { operation, .. } = edit else { return Vec::new() };
        let Some((group, _)) = self.operations.find(*operation) else { return Vec::new() };
        released(&self.cluster, group)
    }

    /// What the hash of a recovery is bound to beside its plan.
    pub(crate) fn recovers(&self, edit: &Edit) -> Option<Recovers> {
        let Edit::Recover { operation, verb } = edit else { return None };
        let (group, open) = self.operations.find(*operation)?;
        Some(Recovers { verb: *verb, group: group.clone(), open: open.clone() })
    }

    /// Refuses to declare a group anew while it is being taken back (R95); a group that goes is not kept by that.
    pub(crate) fn refuse_while_going_back(
        &self,
        edit: &Edit,
        target: &ClusterShape,
    ) -> Result<(), Refusal> {
        if matches!(edit, Edit::Recover { .. } | Edit::Rollback { .. }) {
            return Ok(());
        }
        for group in self.operations.going_back() {
            let (before, after) = (self.shape.group(group), target.group(group));
            let held = self.cluster.group(group).is_some_and(|state| state.hold().is_some());
            let goes = after.is_none_or(|after| after.count == 0);
            if before == after || goes || held {
                continue;
            }
            let Some(id) = self.operations.of(group) else { continue };
            let message = format!("`{group}` is being taken back by operation {id}");
            let hint = format!("wait for it; `levelhead recovery show {id}` says how far it is");
            return Err(Refusal { hint: Some(hint), ..refuse(RefusalKind::Forbidden, message) });
        }
        Ok(())
    }

    /// The attempts in doubt that are looked at by id before a recovery is shown or done.
    pub(crate) fn recovery_looks(&self, edit: &Edit) -> Vec<(LogicalNodeId, AttemptId)> {
        let Edit::Recover { operation, .. } = edit else { return Vec::new() };
        let Some((group, _)) = self.operations.find(*operation) else { return Vec::new() };
        let records = self.cluster.group(group).map(AsRef::as_ref);
        let attempts = records.into_iter().flat_map(GroupState::records).flat_map(|r| r.attempts());
        let doubtful = |one: &&NodeRecord| {
            one.ambiguity.is_some()
                || one.hold.is_some()
                || one.missing_since.or(one.suspect_since).is_some()
        };
        attempts.filter(doubtful).map(|one| (one.slot.clone(), one.attempt)).collect()
    }

    /// Turns the operation of `group` back under `plan`; one is opened where none is.
    pub(crate) fn turn_back(&mut self, group: &GroupId, plan: PlanHash, commit: &mut Commit) {
        if self.operations.get(group).is_none() {
            self.open_operation(group, plan, None, &mut commit.operations);
        }
        let Some(open) = self.operations.get_mut(group) else { return };
        open.direction = Direction::Rollback;
        open.rollback_plan = Some(plan);
        open.restored = None;
        open.health = Health::Unasked;
        commit.operations.push(OperationWrite::TurnBack { id: open.id, plan });
    }

    /// Does to the operations what a confirmed recovery says; true if `edit` is one.
    pub(crate) fn take_recovery(
        &mut self,
        edit: &Edit,
        plan: PlanHash,
        now: Timestamp,
        commit: &mut Commit,
    ) -> bool {
        let Edit::Recover { operation, verb } = edit else { return false };
        let Some(group) = self.operations.find(*operation).map(|(group, _)| group.clone()) else {
            return true;
        };
        let facts = self.recovery_facts(edit);
        for fact in facts {
            self.fold(fact, now);
        }
        match verb {
            RecoveryVerb::Resume => {}
            RecoveryVerb::Rollback => self.turn_back(&group, plan, commit),
            RecoveryVerb::Release => self.abandon(&group, commit),
        }
        let done = match verb {
            RecoveryVerb::Resume => "is gone on with",
            RecoveryVerb::Rollback => "is taken back",
            RecoveryVerb::Release => "is closed where it stands",
        };
        let text =
            format!("operation {operation} {done}, by an operator under plan {}", plan.short());
        self.tell(Subject::Group(group), "operation", &text, now, commit);
        true
    }

    /// Closes whatever is open of a group where it stands; what is missing is planned anew.
    pub(crate) fn abandon(&mut self, group: &GroupId, commit: &mut Commit) {
        self.operations.close(group);
        commit.operations.push(OperationWrite::Abandon { group: group.clone() });
        // What was declared meanwhile may be declared now.
        self.taken_back = true;
    }
}

/// The release of everything that holds a group or a slot of it.
fn released(cluster: &ClusterState, group: &GroupId) -> Vec<Fact> {
    let Some(state) = cluster.group(group) else { return Vec::new() };
    let own = state.hold().map(|_| Fact::ReleasedGroup(group.clone()));
    let held = |record: &&std::sync::Arc<NodeRecord>| {
        record.attempts().any(|attempt| attempt.hold.is_some())
    };
    let slots = state.records().filter(held).map(|record| Fact::ReleasedSlot(record.slot.clone()));
    own.into_iter().chain(slots).collect()
}

/// What the hash of a recovery is bound to beside its plan: exactly this operation, and what becomes of it (R139).
pub(crate) struct Recovers {
    verb: RecoveryVerb,
    group: GroupId,
    open: Open,
}

impl Recovers {
    /// The hash of the recovery whose plan has the hash `plan`.
    pub(crate) fn hash(&self, plan: PlanHash) -> PlanHash {
        let canon = Canon::object([
            ("recovery", Canon::text(self.verb.as_str())),
            ("operation", Canon::num(self.open.id.get())),
            ("group", Canon::text(self.group.as_str())),
            ("of-plan", Canon::show(self.open.plan)),
            ("of-fence", Canon::num(self.open.fence.get())),
            ("direction", Canon::text(self.open.direction.as_str())),
            ("plan", Canon::show(plan)),
        ]);
        PlanHash::of(canon.write().as_bytes())
    }
}

/// True for an edit after which a driver that waited for it goes on waiting.
pub(crate) const fn closes_only(edit: &Edit) -> bool {
    matches!(edit, Edit::Recover { verb: RecoveryVerb::Release, .. })
}
