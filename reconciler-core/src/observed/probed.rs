//! What the probes of a node show of it: whether it serves, which one ends its attempt, and what is asked when.

use alloc::sync::Arc;

use super::{
    health::{ProbeVerdict, Trial},
    record::NodeRecord,
    stage::NodeStage,
};
use crate::{
    desired::{Probe, ProbeKind},
    limits,
    time::Timestamp,
};

impl NodeRecord {
    /// What the probe of `kind` has shown of the workload that runs.
    pub fn trial(&self, kind: ProbeKind) -> Option<&Trial> {
        let health = self.health.as_deref()?;
        (self.stage.session() == Some(health.session)).then(|| health.of(kind))
    }

    /// What the answers of the probe of `kind` amount to.
    pub fn verdict(&self, kind: ProbeKind) -> ProbeVerdict {
        self.trial(kind).map_or(ProbeVerdict::Unproven, |trial| trial.verdict)
    }

    /// True if no probe of `kind` is declared, or it passes.
    pub fn passes(&self, kind: ProbeKind) -> bool {
        self.policy.probes.of(kind).is_none() || self.verdict(kind) == ProbeVerdict::Passing
    }

    /// The first declared probe that is not known to pass.
    pub fn unproven_probe(&self) -> Option<ProbeKind> {
        ProbeKind::ALL.into_iter().find(|kind| !self.passes(*kind))
    }

    /// True if it joined, and its readiness probe does not pass. A job that ended well is asked nothing more.
    pub fn is_unready(&self) -> bool {
        self.stage.is_ready() && !self.stage.is_completed() && !self.passes(ProbeKind::Readiness)
    }

    /// Since when the node serves, in the stages in which it does.
    pub fn ready_since(&self) -> Option<Timestamp> {
        match &self.stage {
            NodeStage::HandedOff { member, .. } | NodeStage::Dormant { member, .. } => {
                let passes = self.trial(ProbeKind::Readiness).map(|trial| trial.since);
                Some(passes.map_or(member.ready_at, |since| member.ready_at.max(since)))
            }
            NodeStage::New
            | NodeStage::LeaseRequested
            | NodeStage::LeaseCreated { .. }
            | NodeStage::EndpointKnown { .. }
            | NodeStage::BootstrapRunning { .. }
            | NodeStage::SwactorJoined { .. }
            | NodeStage::Failed { .. }
            | NodeStage::Destroyed { .. } => None,
        }
    }

    /// The probe whose failure ends the attempt.
    pub fn gives_up(&self) -> Option<ProbeKind> {
        let ends = |kind: &ProbeKind| {
            self.policy.probes.of(*kind).is_some() && self.verdict(*kind) == ProbeVerdict::Failing
        };
        [ProbeKind::Startup, ProbeKind::Liveness].into_iter().find(ends)
    }

    /// What is to be asked of the workload now, and when it may be asked first: the startup probe until it passed,
    /// then the others.
    pub fn probes(&self) -> impl Iterator<Item = (ProbeKind, &Arc<Probe>, Timestamp)> {
        let started = self.started_at();
        let probes = &self.policy.probes;
        let up = match (&probes.startup, self.trial(ProbeKind::Startup)) {
            (None, _) => started,
            (Some(_), Some(trial)) if trial.verdict == ProbeVerdict::Passing => {
                started.map(|at| at.max(trial.since))
            }
            (Some(_), _) => None,
        };
        let startup = probes
            .startup
            .as_ref()
            .filter(|_| up.is_none() && self.verdict(ProbeKind::Startup) == ProbeVerdict::Unproven);
        let startup = startup.and_then(|probe| Some((ProbeKind::Startup, probe, started?)));
        let others = [ProbeKind::Liveness, ProbeKind::Readiness];
        let others = others.into_iter().filter_map(move |kind| Some((kind, probes.of(kind)?, up?)));
        let all = startup.into_iter().chain(others);
        all.map(|(kind, probe, from)| (kind, probe, from.after(probe.initial_delay)))
    }

    /// When the workload that is to be asked was started, or joined where that is not known any more.
    fn started_at(&self) -> Option<Timestamp> {
        if self.deletion.is_some() || self.is_stopping() {
            return None;
        }
        match &self.stage {
            NodeStage::BootstrapRunning { session, .. }
            | NodeStage::SwactorJoined { session, .. } => Some(session.started_at),
            NodeStage::HandedOff { member, .. }
            | NodeStage::Dormant { member, completed: None, .. } => Some(member.joined_at),
            NodeStage::New
            | NodeStage::LeaseRequested
            | NodeStage::LeaseCreated { .. }
            | NodeStage::EndpointKnown { .. }
            | NodeStage::Dormant { completed: Some(_), .. }
            | NodeStage::Failed { .. }
            | NodeStage::Destroyed { .. } => None,
        }
    }

    /// How often its slot was given a new node for a failing liveness probe within the window of the budget.
    pub fn revived_within(&self, now: Timestamp) -> u32 {
        let window = self.policy.probes.budget.window;
        let recent = self.revived.iter().filter(|at| now.since(**at) < window).count();
        u32::try_from(recent).unwrap_or(u32::MAX)
    }

    /// True if its slot counted as a sign of many broken nodes lately: one that fails over and over is one sign.
    pub(crate) fn is_known_sign(&self, now: Timestamp) -> bool {
        self.revived.iter().any(|at| now.since(*at) < limits::MASS_WINDOW)
    }
}
