//! The way out of a hold: a fresh look, then the operator's confirmation of exactly this hold.

use std::fmt;

use checkpoint::store::Commit;
use reconciler_core::{
    canonical::Canon,
    fold::Fact,
    hold::Hold,
    id::{AttemptId, GroupId, LogicalNodeId, PlanHash, Uuid},
    observed::{GroupState, NodeRecord},
    time::Timestamp,
};

use crate::{
    pass::Tally,
    refusing::refuse,
    state::State,
    view::{HoldView, Refusal, RefusalKind, ReleaseView},
};

/// What is to be released.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// One slot.
    Slot(LogicalNodeId),
    /// A whole group: its own hold and those of its slots.
    Group(GroupId),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slot(slot) => slot.fmt(f),
            Self::Group(group) => group.fmt(f),
        }
    }
}

/// The token of one hold: another hold on the same subject has another.
fn token(run: Uuid, subject: &str, holds: &[&Hold]) -> PlanHash {
    let canon = Canon::object([
        ("release", Canon::text(subject)),
        ("run", Canon::show(run)),
        (
            "holds",
            Canon::list(holds.iter().map(|hold| {
                Canon::object([
                    ("code", Canon::text(hold.code.as_str())),
                    ("since-ms", Canon::num(hold.since.as_millis())),
                ])
            })),
        ),
    ]);
    PlanHash::of(canon.write().as_bytes())
}

/// The hold of a slot as it is shown, with the exact command that leaves it.
pub(crate) fn slot_hold_view(run: Uuid, slot: &LogicalNodeId, hold: &Hold) -> HoldView {
    let subject = slot.to_string();
    let hash = token(run, &subject, &[hold]);
    hold_view(subject, hold, hash)
}

/// The hold of a group as it is shown; a release of the group ends those of its slots as well.
pub(crate) fn group_hold_view(
    run: Uuid,
    group: &GroupState,
    hold: &Hold,
    name: &GroupId,
) -> HoldView {
    let subject = name.to_string();
    let all: Vec<&Hold> = core::iter::once(hold).chain(slot_holds(group).map(|(_, h)| h)).collect();
    let hash = token(run, &subject, &all);
    hold_view(subject, hold, hash)
}

/// The holds of a group's slots, in their order.
fn slot_holds(group: &GroupState) -> impl Iterator<Item = (&LogicalNodeId, &Hold)> {
    let attempts = group.records().flat_map(|record| record.attempts());
    attempts.filter_map(|record| Some((&record.slot, record.hold.as_ref()?)))
}

fn hold_view(subject: String, hold: &Hold, hash: PlanHash) -> HoldView {
    HoldView {
        way_out: format!("{} --confirm {hash}", Hold::way_out(&subject)),
        subject,
        code: hold.code,
        text: hold.text.to_string(),
        since: hold.since,
    }
}

impl State {
    /// Finds what `text` names.
    pub(crate) fn release_subject(&self, text: &str) -> Result<Subject, Refusal> {
        if let Ok(group) = text.parse::<GroupId>()
            && (self.cluster.group(&group).is_some() || self.shape.group(&group).is_some())
        {
            return Ok(Subject::Group(group));
        }
        match text.parse::<LogicalNodeId>() {
            Ok(slot) if self.cluster.record(&slot).is_some() => Ok(Subject::Slot(slot)),
            Ok(_) | Err(_) => {
                let message = format!("there is no slot or group `{text}`");
                let hint = Some("`levelhead status` lists them".to_owned());
                Err(Refusal { hint, ..refuse(RefusalKind::Invalid, message) })
            }
        }
    }

    /// The attempts that a release of `subject` looks at anew.
    pub(crate) fn release_looks(&self, subject: &Subject) -> Vec<(LogicalNodeId, AttemptId)> {
        let id = |record: &NodeRecord| (record.slot.clone(), record.attempt);
        match subject {
            Subject::Slot(slot) => {
                let record = self.cluster.record(slot).into_iter();
                record.flat_map(|record| record.attempts()).map(id).collect()
            }
            Subject::Group(group) => {
                let doubtful = |r: &&NodeRecord| {
                    r.hold.is_some() || r.missing_since.or(r.suspect_since).is_some()
                };
                let records = self.cluster.group(group).map(AsRef::as_ref);
                let records = records.into_iter().flat_map(GroupState::records);
                records.flat_map(|record| record.attempts()).filter(doubtful).map(id).collect()
            }
        }
    }

    /// Shows what a release of `subject` would end; ends it if `confirm` is right.
    pub(crate) fn release(
        &mut self,
        subject: &Subject,
        confirm: Option<PlanHash>,
        now: Timestamp,
    ) -> Result<(ReleaseView, Option<Commit>), Refusal> {
        let held = self.held(subject);
        if held.is_empty() {
            let hint = Some("`levelhead status --problems` lists what is held".to_owned());
            let message = format!("{subject} is not held");
            return Err(Refusal { hint, ..refuse(RefusalKind::Invalid, message) });
        }
        let holds: Vec<&Hold> = held.iter().map(|(_, hold)| hold).collect();
        let hash = token(self.shape.uuid, &subject.to_string(), &holds);
        let mut view = ReleaseView {
            subject: subject.to_string(),
            holds: held
                .iter()
                .map(|(at, h)| format!("{at}: {}: {}", h.code.as_str(), h.text))
                .collect(),
            seen: self.seen(subject),
            hash,
            released: false,
        };
        let Some(confirm) = confirm else { return Ok((view, None)) };
        if confirm != hash {
            let hint = format!("levelhead release {subject} --confirm {hash}");
            let message =
                format!("the holds on {subject} are not the ones that this hash confirms");
            return Err(Refusal { hint: Some(hint), ..refuse(RefusalKind::Stale, message) });
        }
        let mut commit = Commit { at: now, ..Commit::default() };
        if let Subject::Group(group) = subject {
            self.fold(Fact::ReleasedGroup(group.clone()), now);
            if holds.iter().any(|hold| hold.code.is_of_operation()) {
                self.abandon(group, &mut commit);
            }
            self.go_on(group, &mut commit);
        }
        for (at, _) in &held {
            if let Subject::Slot(slot) = at {
                self.fold(Fact::ReleasedSlot(slot.clone()), now);
            }
        }
        view.released = true;
        let text = format!("released by an operator: {}", view.holds.join("; "));
        let about = match subject {
            Subject::Slot(slot) => checkpoint::event::Subject::Slot(slot.clone()),
            Subject::Group(group) => checkpoint::event::Subject::Group(group.clone()),
        };
        self.tell(about, "hold", &text, now, &mut commit);
        // The release and what it changed are one commit: who is told of it can rely on it.
        let changed = self.cluster.take_dirty();
        self.journal_changes(&changed, now, &mut commit, &mut Tally::default());
        self.work.extend(changed);
        Ok((view, Some(commit)))
    }

    fn held(&self, subject: &Subject) -> Vec<(Subject, Hold)> {
        match subject {
            Subject::Slot(slot) => {
                let record = self.cluster.record(slot);
                let hold = record.and_then(|r| r.attempts().find_map(|one| one.hold.clone()));
                hold.map(|hold| (subject.clone(), hold)).into_iter().collect()
            }
            Subject::Group(name) => {
                let Some(group) = self.cluster.group(name) else { return Vec::new() };
                let own = group.hold().map(|hold| (subject.clone(), hold.clone()));
                let slots = slot_holds(group)
                    .map(|(slot, hold)| (Subject::Slot(slot.clone()), hold.clone()));
                own.into_iter().chain(slots).collect()
            }
        }
    }

    fn seen(&self, subject: &Subject) -> Vec<String> {
        let line = |(slot, attempt): &(LogicalNodeId, AttemptId)| {
            let record = self.cluster.record(slot)?.of_attempt(*attempt)?;
            let lease =
                record.stage.lease().map_or("no lease".to_owned(), |l| format!("lease {}", l.id));
            let doubt = match (record.missing_since, record.suspect_since) {
                (Some(_), _) => ", missing from the last listing",
                (None, Some(_)) => ", ended as the last listing says",
                (None, None) => "",
            };
            Some(format!("{slot}: {}, {lease}{doubt}", record.stage.name().as_str()))
        };
        self.release_looks(subject).iter().filter_map(line).collect()
    }
}
