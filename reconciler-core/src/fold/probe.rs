//! Folding what probes show, and what follows where one fails: never anything for readiness, the end of the attempt
//! for startup, and a new node for liveness, within the budget of its slot and under the brake of its group.

use alloc::{boxed::Box, format};

use super::{
    NoteKind, Verdict,
    brake::{Signs, those},
    failure,
    folding::Folding,
};
use crate::{
    desired::{Probe, ProbeKind, Probes},
    effect::FailureClass,
    hold::HoldCode,
    id::{GroupId, LogicalNodeId, SessionId},
    limits,
    observed::{
        ClusterState, FailureFacts, Health, MemberFacts, NodeRecord, NodeStage, ProbeAnswer,
        ProbeVerdict, Remains, SessionFacts, SessionStage, Side, Trial,
    },
    redact::Redacted,
    time::Timestamp,
};

/// A workload was asked.
///
/// What it was asked in another session, by a probe that is not declared any more, or out of its turn says nothing.
pub(super) fn answered(
    f: &mut Folding<'_>,
    (session, kind): (SessionId, ProbeKind),
    probe: &Probe,
    answer: ProbeAnswer,
) -> Verdict {
    let asked = f.record.probes().any(|(known, of, _)| known == kind && **of == *probe);
    if f.record.stage.session() != Some(session) || !asked {
        return Verdict::Stale;
    }
    let present = f.record.health.take().filter(|health| health.session == session);
    let mut health = present.unwrap_or_else(|| Box::new(Health { session, ..Health::default() }));
    let trial = health.of_mut(kind);
    let before = trial.verdict;
    let news = trial.count(answer, probe, f.now);
    let (after, said) = (trial.verdict, trial.said.clone());
    f.record.health = Some(health);
    if after != before {
        turned(f, kind, after, said);
    }
    if news { Verdict::Applied } else { Verdict::Unchanged }
}

fn turned(f: &mut Folding<'_>, kind: ProbeKind, verdict: ProbeVerdict, said: Redacted) {
    f.tell(NoteKind::Probe { kind, verdict, said });
    if let (ProbeKind::Liveness, Some(health)) = (kind, &mut f.record.health) {
        health.believed = false;
    }
    let proven = f.now.after(f.record.policy.stable);
    if let (ProbeKind::Readiness, ProbeVerdict::Passing) = (kind, verdict)
        && let NodeStage::HandedOff { stable_at, .. } = &mut f.record.stage
    {
        // It serves from now on: from now on it has to prove itself.
        *stable_at = proven;
    }
}

/// The group is asked otherwise from now on: what came up, serves and is well goes on counting as that until a new
/// probe says otherwise. A candidate proves itself anew, since it is yet to serve.
pub(super) fn retuned(f: &mut Folding<'_>, probes: &Probes, side: Side) {
    let Some(session) = f.record.stage.session() else { return };
    let others = |kind: &ProbeKind| f.record.policy.probes.of(*kind) != probes.of(*kind);
    let changed = ProbeKind::ALL.map(|kind| others(&kind).then_some(kind));
    if changed.iter().all(Option::is_none) {
        return;
    }
    let (up, serves) = (f.record.stage.is_ready(), f.record.is_ready());
    let mut health = f.record.health.take().filter(|health| health.session == session);
    for kind in changed.into_iter().flatten() {
        let stands = match kind {
            ProbeKind::Startup => up,
            ProbeKind::Readiness => serves,
            ProbeKind::Liveness => false,
        };
        let vouched = stands && side == Side::Present && probes.of(kind).is_some();
        let health =
            health.get_or_insert_with(|| Box::new(Health { session, ..Health::default() }));
        *health.of_mut(kind) = if vouched { Trial::vouched(f.now) } else { Trial::default() };
    }
    f.record.health = health;
}

impl ClusterState {
    /// Ends an attempt whose probe fails; the group is held instead if too many of it do at once.
    pub(super) fn give_up(
        &mut self,
        slot: &LogicalNodeId,
        side: Side,
        kind: ProbeKind,
        now: Timestamp,
    ) -> Verdict {
        let record = self.record(slot).and_then(|record| record.side(side));
        let Some(record) = record.filter(|record| record.gives_up() == Some(kind)) else {
            return Verdict::Illegal;
        };
        if kind == ProbeKind::Liveness && !is_spent(record, now) && !is_believed(record, now) {
            let known = self.group(&slot.group).map_or(0, |group| group.len());
            let known = u32::try_from(known).unwrap_or(u32::MAX);
            let signs = Signs { count: 1, known, believed_max: record.policy.mass_max(known) };
            let who = format!("the liveness probe of {slot}");
            if !self.believes(&slot.group, &signs, &who, now) {
                return Verdict::Applied;
            }
        }
        self.with_side(slot, side, now, |f| end(f, kind))
    }

    /// An operator believes the signs: every node whose liveness probe fails is replaced.
    pub(super) fn believe_probes(&mut self, group: &GroupId, now: Timestamp) {
        let fails = |record: &NodeRecord| record.gives_up() == Some(ProbeKind::Liveness);
        let Some(failing) = self.group(group).map(|group| those(group, fails)) else { return };
        for (slot, attempt) in failing {
            let _believed = self.with(&slot, attempt, now, believe);
        }
    }
}

fn believe(f: &mut Folding<'_>) -> Verdict {
    let Some(health) = &mut f.record.health else { return Verdict::Unchanged };
    health.believed = true;
    Verdict::Applied
}

/// An operator releases a node that is held for its liveness probe: where that fails still, a new one is due, whatever
/// the budget is (R176).
pub(super) fn vouched(f: &mut Folding<'_>) {
    if f.record.gives_up() == Some(ProbeKind::Liveness) {
        let _known = believe(f);
    }
}

/// True if the failing liveness probe of `record` is no further sign that its whole group is broken.
pub(crate) fn is_believed(record: &NodeRecord, now: Timestamp) -> bool {
    record.health.as_ref().is_some_and(|health| health.believed) || record.is_known_sign(now)
}

/// True if the slot of `record` had as many new nodes for a failing liveness probe as its budget allows, and nobody
/// asked for one more.
fn is_spent(record: &NodeRecord, now: Timestamp) -> bool {
    let asked_for = record.health.as_ref().is_some_and(|health| health.believed);
    !asked_for && record.revived_within(now) >= record.policy.probes.budget.restarts
}

fn end(f: &mut Folding<'_>, kind: ProbeKind) -> Verdict {
    let (Some(trial), Some(remains)) = (f.record.trial(kind), remains(&f.record.stage)) else {
        return Verdict::Illegal;
    };
    let why = format!("its {} probe failed: {}", kind.as_str(), trial.said);
    if kind == ProbeKind::Liveness {
        if is_spent(f.record, f.now) {
            let budget = &f.record.policy.probes.budget;
            let text = format!(
                "{why}; its slot was given {} new nodes for that within {} s, which is as many as its budget allows",
                budget.restarts,
                budget.window.get() / 1_000,
            );
            failure::hold(f, HoldCode::CrashLoop, &Redacted::new(&text));
            return Verdict::Applied;
        }
        let longest = f.record.policy.probes.budget.window.max(limits::MASS_WINDOW);
        let now = f.now;
        f.record.revived.retain(|at| now.since(*at) < longest);
        f.record.revived.push(now);
    }
    let message = Redacted::new(&why);
    let failure = FailureFacts { at: f.now, class: FailureClass::Workload, message };
    failure::fail(f, failure, remains);
    Verdict::Applied
}

/// What is left of an attempt whose workload still runs.
fn remains(stage: &NodeStage) -> Option<Remains> {
    let (lease, session) = match stage {
        NodeStage::BootstrapRunning { lease, session, .. }
        | NodeStage::SwactorJoined { lease, session, .. } => (lease, session.clone()),
        NodeStage::HandedOff { lease, member, .. }
        | NodeStage::Dormant { lease, member, completed: None, .. } => (lease, closed(member)),
        NodeStage::New
        | NodeStage::LeaseRequested
        | NodeStage::LeaseCreated { .. }
        | NodeStage::EndpointKnown { .. }
        | NodeStage::Dormant { completed: Some(_), .. }
        | NodeStage::Failed { .. }
        | NodeStage::Destroyed { .. } => return None,
    };
    Some(Remains::Session { lease: lease.clone(), session })
}

/// The session through which a member joined.
fn closed(member: &MemberFacts) -> SessionFacts {
    SessionFacts {
        id: member.session,
        stage: SessionStage::Closed,
        seq: 0,
        started_at: member.joined_at,
        workload: member.workload.clone(),
    }
}
