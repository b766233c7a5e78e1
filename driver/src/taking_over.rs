//! What was handed over to be taken back: looked at first, then turned back under a plan of the driver's own, or held
//! with its reason until a person leads on (R129, R138, R145).
//!
//! The handoff stands in the journal until the operation is turned, so a driver that dies before that leaves it to the
//! next one. Meanwhile the group is held: nothing of it goes forward.

use checkpoint::{
    operation::{OperationRow, OperationWrite},
    store::Commit,
};
use reconciler_core::{
    fold::Fact,
    hold::{Hold, HoldCode},
    id::{AttemptId, GroupId, LogicalNodeId, OperationId},
    reconcile::RolloutChange,
    redact::Redacted,
    saga,
    time::Timestamp,
};

use crate::{
    looping::Loop,
    operations::Handover,
    source::{Face, Source},
    state::{Mode, State},
    view::{Edit, RecoveryVerb},
};

/// The hold of a group whose operation waits for a driver that takes it back.
pub(crate) fn awaits(row: &OperationRow, now: Timestamp) -> (GroupId, Hold) {
    let text = said(row.id, "; a driver does it as it takes the run");
    (row.group.clone(), Hold { code: HoldCode::HandedOver, text, since: now })
}

fn said(id: OperationId, then: &str) -> Redacted {
    let text = format!("operation {id} was handed over to be taken back{then}");
    Redacted::new(&text)
}

/// Why an operation is not taken back by the driver itself.
enum Why {
    /// A doubt that looks may still end.
    Doubt(String),
    /// A person is to lead on, under this code.
    Person(HoldCode, String),
}

impl State {
    /// Ends what an operation was handed over for: it goes back now, or a person wants it otherwise.
    pub(crate) fn end_handover(&mut self, group: &GroupId, now: Timestamp) -> bool {
        let Some(open) = self.operations.get_mut(group) else { return false };
        if std::mem::take(&mut open.handover) == Handover::None {
            return false;
        }
        let hold = self.cluster.group(group).and_then(|state| state.hold());
        if hold.is_some_and(|hold| hold.code == HoldCode::HandedOver) {
            self.fold(Fact::ReleasedGroup(group.clone()), now);
        }
        true
    }

    /// Has the operation of `group` go on the way that it goes, whatever it was handed over for.
    pub(crate) fn go_on(&mut self, group: &GroupId, commit: &mut Commit) {
        let id = self.operations.of(group);
        if self.end_handover(group, commit.at) {
            commit.operations.extend(id.map(|id| OperationWrite::GoOn { id }));
        }
    }

    /// The attempts of a group that are looked at before it is taken back.
    pub(crate) fn doubtful_of(&self, group: &GroupId) -> Vec<(LogicalNodeId, AttemptId)> {
        let attempts = saga::doubtful(self.cluster.group(group).map(AsRef::as_ref));
        attempts.map(|one| (one.slot.clone(), one.attempt)).collect()
    }

    /// Takes the operation of `group` back under a plan of its own; the answer is to be journaled.
    fn take_back_handed(&mut self, group: &GroupId, now: Timestamp) -> Result<Commit, Why> {
        let state = self.cluster.group(group).map(AsRef::as_ref);
        if let Some(left) = saga::left_to_person(state, self.cluster.rollout(group)) {
            return Err(Why::Person(left.code, left.text));
        }
        let Some(operation) = self.operations.of(group) else { return Ok(Commit::default()) };
        let who = format!("the driver, which operation {operation} was handed over to");
        let source = Source { face: Face::Driver, who, typed: None };
        let edit = Edit::Recover { operation, verb: RecoveryVerb::Rollback };
        match self.confirm_own(&edit, &source, now) {
            Ok(confirmed) => Ok(confirmed.commit),
            Err(refusal) if self.doubted(group).is_some() => Err(Why::Doubt(refusal.message)),
            Err(refusal) => Err(Why::Person(HoldCode::HandedOver, refusal.message)),
        }
    }
}

impl Loop {
    /// Goes on with everything that was handed over to be taken back, as far as can be done at this moment.
    pub(crate) fn take_over(&mut self) {
        if self.state.mode == Mode::Waiting {
            return;
        }
        let groups: Vec<GroupId> = self.state.operations.handed_over().cloned().collect();
        for group in groups {
            let Some(open) = self.state.operations.get(&group) else { continue };
            match &open.handover {
                Handover::None | Handover::Held => {}
                Handover::Looking(waiting) if !waiting.is_empty() => {}
                Handover::Doubtful if self.state.doubted(&group).is_some() => {}
                Handover::Due => self.look_before(&group),
                Handover::Looking(_) | Handover::Doubtful => self.turn_handed(&group),
            }
        }
    }

    fn look_before(&mut self, group: &GroupId) {
        let looks = self.state.doubtful_of(group);
        for (slot, attempt) in &looks {
            self.look(slot, *attempt);
        }
        if let Some(open) = self.state.operations.get_mut(group) {
            open.handover = Handover::Looking(looks.into_iter().collect());
        }
        self.take_over();
    }

    fn turn_handed(&mut self, group: &GroupId) {
        // What was seen is folded first; while effects wait for the journal, that is not yet.
        if self.barrier.is_some() {
            return;
        }
        self.fold_waiting();
        if self.barrier.is_some() {
            return;
        }
        let now = self.now();
        let why = match self.state.take_back_handed(group, now) {
            Ok(commit) => {
                let _ticket = self.submit(commit);
                self.trigger = "handover";
                self.news.next_step = true;
                return self.publish();
            }
            Err(why) => why,
        };
        let Some(open) = self.state.operations.get_mut(group) else { return };
        let id = open.id;
        let (after, code, text) = match why {
            Why::Doubt(text) => (Handover::Doubtful, HoldCode::HandedOver, text),
            Why::Person(code, text) => (Handover::Held, code, text),
        };
        let is_known = std::mem::replace(&mut open.handover, after.clone()) == after;
        let hold = self.state.cluster.group(group).and_then(|state| state.hold());
        if is_known || hold.is_some_and(|hold| hold.code != HoldCode::HandedOver) {
            return;
        }
        let text =
            said(id, &format!(", and cannot be: {text}; see `levelhead recovery show {id}`"));
        self.facts.push(Fact::Rollout {
            group: group.clone(),
            change: RolloutChange::Fail { code, text },
        });
    }
}
