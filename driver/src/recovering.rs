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
};

use crate::{
    operations::{Health, Open, Unread},
    refusing::refuse,
    source::{Face, Source},
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

    /// Refuses the number of an operation that is not open.
    pub(crate) fn still_open(&self, id: OperationId) -> Result<(), Refusal> {
        if self.operations.unread(id).is_some() { Ok(()) } else { self.recoverable(id).map(drop) }
    }

    /// The shape that a verb leads to; nothing where it changes none.
    pub(crate) fn recovered(
        &self,
        id: OperationId,
        verb: RecoveryVerb,
    ) -> Result<Option<ClusterShape>, Refusal> {
        let forbid = |message: String, hint: &str| Refusal {
            hint: Some(hint.to_owned()),
            ..refuse(RefusalKind::Forbidden, message)
        };
        let in_the_dark = || {
            let message = format!("nobody can tell how far operation {id} came");
            let hint = format!("`levelhead recovery release {id}` closes it where it stands");
            Err(forbid(message, &hint))
        };
        if self.operations.unread(id).is_some() {
            return if verb == RecoveryVerb::Release { Ok(None) } else { in_the_dark() };
        }
        let (group, open) = self.recoverable(id)?;
        let unreadable = self.held_for(group).is_some_and(HoldCode::is_of_operation);
        if unreadable && verb != RecoveryVerb::Release {
            return in_the_dark();
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
    pub(crate) fn doubted(&self, group: &GroupId) -> Option<LogicalNodeId> {
        let records = self.cluster.group(group).map(AsRef::as_ref);
        let mut attempts =
            records.into_iter().flat_map(GroupState::records).flat_map(|r| r.attempts());
        attempts.find(|one| one.ambiguity.is_some()).map(|one| one.slot.clone())
    }

    /// What a recovery does to the observed state before its plan is made: the holds of its group end.
    pub(crate) fn recovery_facts(&self, edit: &Edit) -> Vec<Fact> {
        let Some(group) = self.recovered_group(edit) else { return Vec::new() };
        released(&self.cluster, &group)
    }

    /// The group of a recovery whose holds end with it: not while another operation of it cannot be read.
    fn recovered_group(&self, edit: &Edit) -> Option<GroupId> {
        let Edit::Recover { operation, .. } = edit else { return None };
        let unread = self.operations.unread(*operation);
        let group = match unread {
            Some(unread) => unread.group()?,
            None => self.operations.find(*operation).map(|(group, _)| group.clone())?,
        };
        let others = self.operations.unread_of(&group);
        let all_goes = unread.is_none() || others == [*operation];
        all_goes.then_some(group)
    }

    /// What the hash of a recovery is bound to beside its plan.
    pub(crate) fn recovers(&self, edit: &Edit) -> Option<Recovers> {
        let Edit::Recover { operation, verb } = edit else { return None };
        let of = if let Some(unread) = self.operations.unread(*operation) {
            Recovered::Unread(*operation, unread.clone())
        } else {
            let (group, open) = self.operations.find(*operation)?;
            Recovered::Open(group.clone(), Box::new(open.clone()))
        };
        Some(Recovers { verb: *verb, of })
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
        for group in self.operations.going_back().chain(self.operations.handed_over()) {
            let (before, after) = (self.shape.group(group), target.group(group));
            let Some(open) = self.operations.get(group) else { continue };
            let held = self.cluster.group(group).is_some_and(|state| state.hold().is_some());
            let goes = after.is_none_or(|after| after.count == 0);
            if before == after || goes || (held && open.goes_back()) {
                continue;
            }
            let id = open.id;
            let (message, hint) = if open.goes_back() {
                let hint =
                    format!("wait for it; `levelhead recovery show {id}` says how far it is");
                (format!("`{group}` is being taken back by operation {id}"), hint)
            } else {
                let hint = format!("`levelhead recovery show {id}` says what leads on");
                (format!("operation {id} of `{group}` was handed over to be taken back"), hint)
            };
            return Err(Refusal { hint: Some(hint), ..refuse(RefusalKind::Forbidden, message) });
        }
        Ok(())
    }

    /// The attempts in doubt that are looked at by id before a recovery is shown or done.
    pub(crate) fn recovery_looks(&self, edit: &Edit) -> Vec<(LogicalNodeId, AttemptId)> {
        let group = self.recovered_group(edit);
        group.map_or_else(Vec::new, |group| self.doubtful_of(&group))
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
        self.end_handover(group, commit.at);
    }

    /// Does to the operations what a confirmed recovery says; true if `edit` is one.
    pub(crate) fn take_recovery(
        &mut self,
        edit: &Edit,
        plan: PlanHash,
        source: &Source,
        commit: &mut Commit,
    ) -> bool {
        let Edit::Recover { operation, verb } = edit else { return false };
        let now = commit.at;
        let facts = self.recovery_facts(edit);
        for fact in facts {
            self.fold(fact, now);
        }
        if let Some(unread) = self.operations.unread(*operation).cloned() {
            self.break_off(*operation, &unread, plan, commit);
            return true;
        }
        let Some(group) = self.operations.find(*operation).map(|(group, _)| group.clone()) else {
            return true;
        };
        match verb {
            RecoveryVerb::Resume => self.go_on(&group, commit),
            RecoveryVerb::Rollback => self.turn_back(&group, plan, commit),
            RecoveryVerb::Release => self.abandon(&group, commit),
        }
        let done = match verb {
            RecoveryVerb::Resume => "is gone on with",
            RecoveryVerb::Rollback => "is taken back",
            RecoveryVerb::Release => "is closed where it stands",
        };
        let by = if source.face == Face::Driver { source.who.as_str() } else { "an operator" };
        let text = format!("operation {operation} {done}, by {by} under plan {}", plan.short());
        self.tell(Subject::Group(group), "operation", &text, now, commit);
        true
    }

    /// Closes whatever is open of a group where it stands; what is missing is planned anew.
    pub(crate) fn abandon(&mut self, group: &GroupId, commit: &mut Commit) {
        self.operations.close(group);
        for id in self.operations.unread_of(group) {
            self.operations.close_unread(id);
        }
        commit.operations.push(OperationWrite::Abandon { group: group.clone() });
        // What was declared meanwhile may be declared now.
        self.taken_back = true;
    }
}

impl State {
    /// Breaks off each operation of a group for itself, so that one that is opened beside it stays.
    pub(crate) fn break_all_off(&mut self, group: &GroupId, commit: &mut Commit) {
        let unread = self.operations.unread_of(group);
        for id in &unread {
            self.operations.close_unread(*id);
        }
        let open = self.operations.close(group).map(|open| open.id);
        let all = unread.into_iter().chain(open);
        commit.operations.extend(all.map(|id| OperationWrite::Break { id }));
    }

    /// Closes an operation that nobody can read where it stands.
    fn break_off(&mut self, id: OperationId, unread: &Unread, plan: PlanHash, commit: &mut Commit) {
        self.operations.close_unread(id);
        commit.operations.push(OperationWrite::Break { id });
        self.taken_back = true;
        let text = format!(
            "operation {id} is closed where it stands, by an operator under plan {}; it could not be read: {}",
            plan.short(),
            unread.why
        );
        let subject = unread.group().map_or(Subject::Run, Subject::Group);
        self.tell(subject, "operation", &text, commit.at, commit);
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
    of: Recovered,
}

/// What is recovered, as it stands.
enum Recovered {
    /// An operation that is gone by.
    Open(GroupId, Box<Open>),
    /// One that nobody can read.
    Unread(OperationId, Unread),
}

impl Recovers {
    /// The hash of the recovery whose plan has the hash `plan`.
    pub(crate) fn hash(&self, plan: PlanHash) -> PlanHash {
        let mut parts =
            vec![("recovery", Canon::text(self.verb.as_str())), ("plan", Canon::show(plan))];
        parts.extend(match &self.of {
            Recovered::Open(group, open) => vec![
                ("operation", Canon::num(open.id.get())),
                ("group", Canon::text(group.as_str())),
                ("of-plan", Canon::show(open.plan)),
                ("of-fence", Canon::num(open.fence.get())),
                ("direction", Canon::text(open.direction.as_str())),
            ],
            Recovered::Unread(id, unread) => vec![
                ("operation", Canon::num(id.get())),
                ("group", Canon::text(&unread.group)),
                ("unread", Canon::text(unread.why.as_str())),
            ],
        });
        let canon = Canon::object(parts);
        PlanHash::of(canon.write().as_bytes())
    }
}

/// True for an edit after which a driver that waited for it goes on waiting.
pub(crate) const fn closes_only(edit: &Edit) -> bool {
    matches!(edit, Edit::Recover { verb: RecoveryVerb::Release, .. })
}
