//! A slot explained in full: the rung that held, every fact that it read, what stands in the way, and when that
//! changes by itself (P7).
//!
//! The line is the reason's own text, and each fact is read where the ladder read it, so that there is no second
//! account of a decision. Times are left as times: how they look is for a face.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;

use super::{
    blockers::Blocker,
    known::Known,
    reason::{Reason, Rung},
    sight::Sight,
    trials,
};
use crate::{
    desired::{ClusterShape, ProbeKind},
    effect::CommandKind,
    hold::{Hold, HoldCode},
    id::LogicalNodeId,
    observed::{
        ClusterState, DeleteReason, Failing, GroupState, HookFacts, Hooked, NodeStage, Side,
        next_due,
    },
    redact::Redacted,
    time::Timestamp,
};

/// A slot explained in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Which slot.
    pub slot: LogicalNodeId,
    /// The name of the rung that held.
    pub rung: &'static str,
    /// Why, in one line.
    pub line: String,
    /// Every fact that the rung read, by name.
    pub facts: Vec<(&'static str, Known)>,
    /// What stands in its way.
    pub blockers: Vec<Blocker>,
    /// When its answer changes by itself, if it does.
    pub due: Option<Timestamp>,
}

/// Explains one slot by `reason`, which a decision on the same state gave for it; without one it is steady.
pub fn explain(
    slot: &LogicalNodeId,
    reason: Option<&Reason>,
    observed: &ClusterState,
    desired: &ClusterShape,
    now: Timestamp,
) -> Explanation {
    let record = observed.record(slot).map(AsRef::as_ref);
    let steady = Reason { rung: record.map_or(Rung::Steady, Rung::at_rest), until: None };
    let reason = reason.unwrap_or(&steady);
    let sight = Sight {
        record,
        state: observed.group(&slot.group).map(AsRef::as_ref),
        group: desired.group(&slot.group).map(AsRef::as_ref),
        slot,
        observed,
    };
    let mut facts = sight.common();
    sight.of_rung(&reason.rung, &mut facts);
    let by_itself = record.and_then(|record| next_due(record, now));
    Explanation {
        slot: slot.clone(),
        rung: reason.rung.name(),
        line: reason.to_string(),
        facts,
        blockers: sight.blockers(&reason.rung),
        due: reason.until.or(by_itself),
    }
}

type Facts = Vec<(&'static str, Known)>;

fn text(value: impl fmt::Display) -> Known {
    Known::Text(value.to_string())
}

fn count(value: impl Into<u64>) -> Known {
    Known::Count(value.into())
}

impl Sight<'_> {
    /// What every rung starts from: whether the slot is wanted, and where its attempt is.
    fn common(&self) -> Facts {
        let wanted = self.group.filter(|group| self.slot.index < group.count);
        let mut facts = alloc::vec![("wanted", text(if wanted.is_some() { "yes" } else { "no" }))];
        let Some(record) = self.record else {
            facts.push(("record", text("none")));
            return facts;
        };
        facts.push(("stage", text(record.stage.name().as_str())));
        facts.push(("since", Known::At(record.since)));
        facts.push(("attempt", count(record.attempt.ordinal.get())));
        facts.push(("revision", text(record.revision.short())));
        if let Some(wanted) = wanted.filter(|wanted| wanted.revision != record.revision) {
            facts.push(("wanted revision", text(wanted.revision.short())));
        }
        if let Some(deletion) = &record.deletion {
            facts.push(("deleting because", text(deletion.reason.as_str())));
            facts.push(("deleting since", Known::At(deletion.since)));
        }
        if let Some(lease) = record.stage.lease() {
            facts.push(("lease", text(&lease.id)));
        }
        if let Some(agent) = &record.agent {
            facts.push(("agent of session", count(agent.session.get())));
            facts.extend(agent.lost_since.map(|at| ("agent not heard since", Known::At(at))));
        }
        facts.extend(trials::facts(record));
        let HookFacts { passed, completed, doubt, stopped: _ } = &record.hooks;
        let hooks =
            [("hook done", passed), ("hook completed", completed), ("hook in doubt", doubt)];
        facts.extend(hooks.iter().filter_map(|(name, mark)| Some((*name, text(mark.as_ref()?)))));
        facts
    }

    /// What the rung read beyond that.
    fn of_rung(&self, rung: &Rung, facts: &mut Facts) {
        match rung {
            Rung::Steady
            | Rung::MarkDestroyed
            | Rung::Reap
            | Rung::Completed
            | Rung::Gate(_)
            | Rung::Dependents(_)
            | Rung::BeginDelete(DeleteReason::Replaced) => {}
            Rung::Retune
            | Rung::Off
            | Rung::Turn { .. }
            | Rung::BeginDelete(DeleteReason::Rerun) => self.power(facts),
            Rung::Insert | Rung::BeginDelete(DeleteReason::Undesired) => {
                facts.push(("count", count(self.group.map_or(0, |group| group.count))));
            }
            Rung::Step(command) => {
                facts.push(("step", text(command.as_str())));
                if *command == CommandKind::CreateLease {
                    self.room(facts);
                }
                self.times(facts);
            }
            Rung::BeginDelete(DeleteReason::Failed) => self.failure(facts),
            Rung::Restart | Rung::Backoff { .. } => self.backoff(facts),
            Rung::Settle
            | Rung::Settling
            | Rung::Rest
            | Rung::Stabilising
            | Rung::Working
            | Rung::TimeOut
            | Rung::AwaitEndpoint
            | Rung::AwaitAgent
            | Rung::AwaitProbe(..)
            | Rung::GiveUp(_) => self.times(facts),
            Rung::Expire | Rung::EffectPending(_) => self.pending(facts),
            Rung::Ambiguous(_) => self.ambiguity(facts),
            Rung::GroupHeld(code) => {
                hold(self.state.and_then(GroupState::hold), facts);
                if code.is_of_update() {
                    self.update(facts);
                }
            }
            Rung::Held(code, why) => self.held(*code, why, facts),
            Rung::Retry { .. } => self.retry(facts),
            Rung::ProviderPaused => self.pause(facts),
            Rung::Parallelism => self.provider(facts),
            Rung::Overshoot { .. } => self.room(facts),
            Rung::AwaitTurn { .. }
            | Rung::UpdatePaused
            | Rung::AwaitOthersGone { .. }
            | Rung::AwaitCandidate(_)
            | Rung::AwaitSecondGone(_)
            | Rung::Candidate
            | Rung::Observing
            | Rung::Verifying
            | Rung::Promote => self.update(facts),
        }
    }

    /// The hold of the record; one that contradicts itself is held with this very decision.
    fn held(&self, code: HoldCode, why: &Redacted, facts: &mut Facts) {
        let known = self.record.and_then(|record| record.hold.as_ref());
        match known.filter(|known| known.code == code) {
            Some(known) => hold(Some(known), facts),
            None => facts.extend([("hold", text(code.as_str())), ("because", text(why))]),
        }
    }

    /// What is asked of the workload.
    fn power(&self, facts: &mut Facts) {
        let Some((group, record)) = self.group.zip(self.record) else { return };
        let off = group.power.is_off(self.slot.index);
        facts.push(("power", text(if off { "off" } else { "on" })));
        facts.push(("round", count(record.round)));
        facts.push(("wanted round", count(group.power.round(self.slot.index))));
    }

    /// How the update of the group stands, and the attempt beside this one.
    fn update(&self, facts: &mut Facts) {
        if let Some(rollout) = self.observed.rollout(&self.slot.group) {
            facts.push(("update to", text(rollout.target.short())));
            facts.extend(rollout.deadline.map(|at| ("fails at", Known::At(at))));
            let hooked = rollout.hooked.as_ref();
            facts.extend(hooked.map(|Hooked { slot, point }| {
                ("no way back past", text(format_args!("the {} hook of {slot}", point.as_str())))
            }));
            let failing = rollout.failing.as_ref();
            facts.extend(
                failing.map(|Failing { slot, why }| {
                    ("failed at", text(format_args!("{slot}: {why}")))
                }),
            );
        }
        let second = self.record.and_then(|record| record.side(Side::Second));
        facts.extend(second.map(|second| ("beside", text(second.stage.name().as_str()))));
    }

    fn room(&self, facts: &mut Facts) {
        let owning = self.state.map_or(0, GroupState::owning);
        let orphans = self.state.map_or(0, |state| state.orphans().count());
        facts.push(("count", count(self.group.map_or(0, |group| group.count))));
        facts.push(("owned with a record", count(owning)));
        facts.push(("owned without one", count(u64::try_from(orphans).unwrap_or(u64::MAX))));
    }

    fn failure(&self, facts: &mut Facts) {
        let Some(NodeStage::Failed { failure, .. }) = self.record.map(|record| &record.stage)
        else {
            return;
        };
        facts.push(("failure", text(&failure.message)));
        facts.push(("failed at", Known::At(failure.at)));
    }

    fn backoff(&self, facts: &mut Facts) {
        let Some(record) = self.record else { return };
        facts.push(("failures", count(record.backoff.failures)));
        facts.push(("allowed", count(record.policy.restart.attempts)));
        if let Some(at) = record.backoff.not_before {
            facts.push(("not before", Known::At(at)));
        }
        if let NodeStage::Destroyed { failure: Some(failure), .. } = &record.stage {
            facts.push(("failure", text(&failure.message)));
        }
    }

    /// The times that the stage waits for.
    fn times(&self, facts: &mut Facts) {
        let Some(record) = self.record else { return };
        let timeouts = &record.policy.timeouts;
        match &record.stage {
            NodeStage::LeaseCreated { endpoint, probe_at, .. } => {
                if endpoint.is_none() {
                    facts.push(("endpoint", text("not known")));
                    facts.push(("given up at", Known::At(record.since.after(timeouts.endpoint))));
                }
                facts.extend(probe_at.map(|at| ("next look", Known::At(at))));
            }
            NodeStage::BootstrapRunning { session, settle_at, .. } => {
                facts.push(("started", Known::At(session.started_at)));
                // Where its agent or its startup probe is waited for, nobody knows when it joins.
                if !record.awaits_agent() && record.passes(ProbeKind::Startup) {
                    facts.push(("joined at", Known::At(*settle_at)));
                }
                facts.push(("given up at", Known::At(record.since.after(timeouts.bootstrap))));
            }
            // While its readiness fails it proves nothing: neither time is meant then.
            NodeStage::HandedOff { stable_at, .. } if record.is_ready() => {
                facts.extend(record.ready_since().map(|at| ("ready since", Known::At(at))));
                facts.push(("stable at", Known::At(*stable_at)));
            }
            NodeStage::SwactorJoined { session, .. } => {
                facts.push(("session", count(session.id.get())));
            }
            NodeStage::New
            | NodeStage::LeaseRequested
            | NodeStage::EndpointKnown { .. }
            | NodeStage::HandedOff { .. }
            | NodeStage::Dormant { .. }
            | NodeStage::Failed { .. }
            | NodeStage::Destroyed { .. } => {}
        }
    }

    fn pending(&self, facts: &mut Facts) {
        let Some(pending) = self.record.and_then(|record| record.pending.as_ref()) else { return };
        facts.push(("effect", text(pending.command.as_str())));
        facts.push(("step", count(pending.step.get())));
        facts.push(("answer due", Known::At(pending.deadline)));
    }

    fn ambiguity(&self, facts: &mut Facts) {
        let Some(open) = self.record.and_then(|record| record.ambiguity.as_ref()) else { return };
        facts.push(("effect", text(open.command.as_str())));
        facts.push(("step", count(open.step.get())));
        facts.push(("unknown since", Known::At(open.since)));
        facts.push(("looks in vain", count(open.looks)));
        facts.push(("next look", Known::At(open.look_at)));
    }

    fn retry(&self, facts: &mut Facts) {
        let Some(retry) = self.record.and_then(|record| record.retry.as_ref()) else { return };
        facts.push(("tries", count(retry.tries)));
        facts.push(("last error", text(&retry.message)));
        facts.push(("next try", Known::At(retry.at)));
    }

    fn provider(&self, facts: &mut Facts) {
        if let Some(record) = self.record {
            facts.push(("provider", text(&record.spec.provider)));
        }
    }

    fn pause(&self, facts: &mut Facts) {
        self.provider(facts);
        let name = self.record.map(|record| &record.spec.provider);
        let state = name.and_then(|name| self.observed.providers().get(name));
        let until = state.and_then(|state| state.paused_until);
        facts.extend(until.map(|until| ("paused until", Known::At(until))));
    }
}

fn hold(hold: Option<&Hold>, facts: &mut Facts) {
    let Some(hold) = hold else { return };
    facts.push(("hold", text(hold.code.as_str())));
    facts.push(("because", text(&hold.text)));
    facts.push(("held since", Known::At(hold.since)));
}

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Count(count) => count.fmt(f),
            Self::At(at) => write!(f, "{} ms", at.as_millis()),
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { slot, rung, line, facts, blockers, due } = self;
        write!(f, "{slot}: {line}\n  rung: {rung}")?;
        for (name, known) in facts {
            write!(f, "\n  {name}: {known}")?;
        }
        for blocker in blockers {
            write!(f, "\n  waits for: {blocker}")?;
        }
        match due {
            Some(at) => write!(f, "\n  due: {}", Known::At(*at)),
            None => Ok(()),
        }
    }
}
