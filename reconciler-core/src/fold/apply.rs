//! The entry of every fold: finds the record and sends the fact to the file that knows its kind.

use super::{
    Fact, NoteKind, StepEnd, Verdict, agent, ending,
    ending::fold_exit,
    failure,
    folding::{Folding, ambiguity},
    hooks,
    listing::Round,
    look::fold_look,
    probe,
};
use crate::{
    effect::{CommandKind, Look, WorkloadState},
    hold::HoldCode,
    id::{AttemptId, LogicalNodeId, SessionId},
    limits,
    observed::{ClusterState, FailureFacts, NodeStage, Pending, Remains, SessionStage, Side},
    redact::Redacted,
    time::Timestamp,
};

impl ClusterState {
    /// Folds one fact at `now`.
    pub fn fold(&mut self, fact: Fact, now: Timestamp) -> Verdict {
        self.latest = self.latest.max(now);
        match fact {
            Fact::Decided { slot, transition } => self.fold_decided(&slot, transition, now),
            Fact::Dispatched { slot, attempt, pending } => {
                self.with(&slot, attempt, now, |f| fold_dispatched(f, pending))
            }
            Fact::Reported(report) => {
                let group = report.slot.group.clone();
                let verdict = self.fold_report(report, now);
                self.heal_mass(&group, now);
                verdict
            }
            Fact::Session { slot, attempt, session, seq, stage } => {
                self.with(&slot, attempt, now, |f| fold_session(f, session, seq, stage))
            }
            Fact::Said { slot, attempt, session, tail } => {
                self.with(&slot, attempt, now, |f| agent::said(f, session, tail))
            }
            Fact::Agent { slot, attempt, session, news } => {
                self.with(&slot, attempt, now, |f| agent::heard(f, session, news))
            }
            Fact::Exited { slot, attempt, workload, status, tail } => {
                let verdict =
                    self.with(&slot, attempt, now, |f| fold_exit(f, &workload, &status, &tail));
                self.heal_mass(&slot.group, now);
                verdict
            }
            Fact::Probed { slot, attempt, session, kind, probe, answer } => {
                let asked = (session, kind);
                let verdict =
                    self.with(&slot, attempt, now, |f| probe::answered(f, asked, &probe, answer));
                self.heal_mass(&slot.group, now);
                verdict
            }
            Fact::Looked { slot, attempt, look, visibility } => {
                let runs = shows_running(&look);
                let verdict = self.with(&slot, attempt, now, |f| fold_look(f, look, visibility));
                self.heal_mass(&slot.group, now);
                if self.note_sight(&slot, attempt, runs, now) { Verdict::Applied } else { verdict }
            }
            Fact::Listed { provider, listing, asked_at, grace, fence } => {
                let round = Round { provider, asked_at, grace, fence };
                self.fold_listing(&round, listing, now)
            }
            Fact::Resumed => self.fold_resumed(now),
            Fact::Rollout { group, change } => self.fold_rollout(&group, change, now),
            Fact::Paused(group, paused) => self.fold_paused(&group, paused, now),
            Fact::ReleasedSlot(slot) => self.fold_released_slot(&slot, now),
            Fact::ReleasedGroup(group) => self.fold_released_group(&group, now),
        }
    }

    fn fold_resumed(&mut self, now: Timestamp) -> Verdict {
        let attempts = self.groups().flat_map(|(_, group)| group.records());
        let attempts = attempts.flat_map(|record| record.attempts());
        let on_the_way = attempts.filter(|attempt| attempt.pending.is_some());
        let slots: alloc::vec::Vec<_> =
            on_the_way.map(|one| (one.slot.clone(), one.attempt)).collect();
        for (slot, attempt) in &slots {
            let verdict = self.with(slot, *attempt, now, |f| {
                let Some(pending) = f.record.pending.clone() else { return Verdict::Unchanged };
                f.settle(StepEnd::AmbiguousAfterResume, Redacted::default());
                f.record.pending = None;
                f.record.ambiguity = Some(ambiguity(&pending, now));
                f.tell(NoteKind::Ambiguous(pending.command));
                Verdict::Applied
            });
            debug_assert_eq!(verdict, Verdict::Applied);
        }
        if slots.is_empty() { Verdict::Unchanged } else { Verdict::Applied }
    }

    fn fold_released_slot(&mut self, slot: &LogicalNodeId, now: Timestamp) -> Verdict {
        let present = self.with_any(slot, now, release);
        match self.with_side(slot, Side::Second, now, release) {
            Verdict::Applied => Verdict::Applied,
            Verdict::Unchanged | Verdict::Stale | Verdict::Illegal => present,
        }
    }

    /// Keeps what a look showed of a ready attempt beside the present one: its promotion waits for that (R173).
    fn note_sight(
        &mut self,
        slot: &LogicalNodeId,
        attempt: AttemptId,
        runs: bool,
        now: Timestamp,
    ) -> bool {
        self.change(slot, now, |record| {
            let second = record.second.as_deref_mut();
            let Some(second) = second.filter(|second| second.record.attempt == attempt) else {
                return false;
            };
            if !second.record.is_ready() {
                return false;
            }
            let again = now.after(limits::ENDPOINT_PROBE);
            (second.seen, second.look_at) =
                if runs { (Some(now), None) } else { (second.seen, Some(again)) };
            true
        })
    }
}

/// A step's intent is on its way to disk: from now on its outcome is waited for.
pub(super) fn fold_dispatched(f: &mut Folding<'_>, pending: Pending) -> Verdict {
    if f.record.pending.is_some() || f.record.ambiguity.is_some() {
        return Verdict::Illegal;
    }
    if matches!(f.record.stage, NodeStage::New) {
        f.enter(NodeStage::LeaseRequested);
    }
    f.record.pending = Some(pending);
    Verdict::Applied
}

fn release(f: &mut Folding<'_>) -> Verdict {
    let Some(hold) = f.record.hold.take() else { return Verdict::Unchanged };
    f.record.backoff = crate::observed::Backoff::default();
    f.record.retry = None;
    f.record.revived.clear();
    if hold.code == HoldCode::CrashLoop {
        probe::vouched(f);
    }
    if hold.code == HoldCode::ExitUnknown {
        ending::run_again(f);
    }
    if hold.code == HoldCode::HookUnknown {
        hooks::vouched(f);
    }
    f.tell(NoteKind::Released(hold.code));
    Verdict::Applied
}

const fn shows_running(look: &Look) -> bool {
    match look {
        Look::Present { workload: WorkloadState::Running { .. }, .. } => true,
        Look::Present { .. } | Look::Absent | Look::Unknown { .. } => false,
    }
}

fn fold_session(f: &mut Folding<'_>, session: SessionId, seq: u64, stage: SessionStage) -> Verdict {
    let (NodeStage::BootstrapRunning { session: known, .. }
    | NodeStage::SwactorJoined { session: known, .. }) = &mut f.record.stage
    else {
        return Verdict::Unchanged;
    };
    if known.id != session || seq <= known.seq {
        return Verdict::Stale;
    }
    known.seq = seq;
    known.stage = stage;
    let cancelled = f.record.is_under_way(CommandKind::CancelBootstrap);
    let going = f.record.deletion.is_some() || cancelled;
    let failed = !going && ends_badly(&f.record.stage, stage);
    if let (true, Some(remains)) = (failed, session_remains(&f.record.stage)) {
        f.overtaken("the session ended first");
        let message = Redacted::new("its bootstrap session ended before it joined");
        let class = crate::effect::FailureClass::Workload;
        failure::fail(f, FailureFacts { at: f.now, class, message }, remains);
    }
    Verdict::Applied
}

/// True if a session that reports `end` fails its attempt: closed before the join is a failure (R57).
const fn ends_badly(stage: &NodeStage, end: SessionStage) -> bool {
    match end {
        SessionStage::Closed => matches!(stage, NodeStage::BootstrapRunning { .. }),
        SessionStage::BootCheckFailed
        | SessionStage::StartFailed
        | SessionStage::SwactorJoinFailed
        | SessionStage::Cancelled => true,
        SessionStage::Created
        | SessionStage::StdoutStreaming
        | SessionStage::BootChecking
        | SessionStage::SwactorStarting
        | SessionStage::WaitingForSwactorJoin
        | SessionStage::Converged
        // That its output cannot be read says nothing of the workload.
        | SessionStage::StreamError => false,
    }
}

fn session_remains(stage: &NodeStage) -> Option<Remains> {
    let (NodeStage::BootstrapRunning { lease, session, .. }
    | NodeStage::SwactorJoined { lease, session, .. }) = stage
    else {
        return None;
    };
    Some(Remains::Session { lease: lease.clone(), session: session.clone() })
}

/// True for holds that say that the record itself is not to be trusted.
pub(crate) const fn forbids_everything(code: HoldCode) -> bool {
    match code {
        HoldCode::Unrecognised | HoldCode::NewerFence | HoldCode::DuplicateIdentity => true,
        HoldCode::CrashLoop
        | HoldCode::Refused
        | HoldCode::CleanupRefused
        | HoldCode::Implausible
        | HoldCode::MassUnhealthy
        | HoldCode::ExitUnknown
        | HoldCode::UpdateStalled
        | HoldCode::HookUnknown
        | HoldCode::IrreversibleHook
        | HoldCode::RestoredHealthFailed
        | HoldCode::PlanningIncomplete
        | HoldCode::HandedOver => false,
    }
}
