//! Fleets that are thrown: any record beside any other, as far as the types let one be written.

use std::sync::Arc;

use reconciler_core::{
    desired::{
        ClusterShape, GateCondition, GroupKind, HookPoint, JoinMode, NodeSpec, Policy, Power,
        ProbeKind, RunNodeGroupSpec,
    },
    effect::{ActionKind, CommandKind, FailureClass},
    hold::{Hold, HoldCode},
    id::{AttemptOrdinal, Generation, GroupId, ProviderName, SessionId},
    observed::{
        AgentFacts, Backoff, ClusterState, DeleteReason, Deletion, Endpoint, Failing, Handle,
        Health, HookMark, Hooked, NodeRecord, NodeStage, Prior, ProbeVerdict, Remains, Retry,
        Rollout, Second, SessionStage, StageName, Trial,
    },
    redact::Redacted,
    time::{Millis, Timestamp},
};

use crate::{
    fleet::{
        RUN, ambiguity, at, failure, group, lease, node_spec, pending, provider, session, slot,
        stage,
    },
    probes::probed,
    trace::{hooks, updates},
};

/// When a thrown fleet is decided: times of its records lie before it, at it and after it.
pub(crate) const NOW: u64 = 5_000;

/// A source of choices; the same start gives the same choices.
pub(crate) struct Dice {
    last: u64,
    /// Of which provider the fleets are.
    provider: ProviderName,
}

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self { last: seed, provider: provider() }
    }

    pub(crate) fn of_provider(seed: u64, name: &str) -> Self {
        Self { last: seed, provider: name.parse().expect("a provider name") }
    }

    /// One of the first `sides` numbers.
    fn below(&mut self, sides: u64) -> u64 {
        self.last = self.last.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.last ^ (self.last >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }

    fn small(&mut self, sides: u32) -> u32 {
        u32::try_from(self.below(sides.into())).expect("a small number")
    }

    /// True once in `sides`.
    fn one_in(&mut self, sides: u64) -> bool {
        self.below(sides) == 0
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        let at = usize::try_from(self.below(all.len() as u64)).expect("a place");
        all[at].clone()
    }

    fn time(&mut self) -> Timestamp {
        at(self.of(&[0, NOW - 1, NOW, NOW + 1, NOW + 20_000]))
    }

    fn node(&mut self) -> NodeSpec {
        let image = self.of(&["v1", "v1", "v2"]);
        NodeSpec { provider: self.provider.clone(), ..node_spec(image) }
    }

    fn policy(&mut self, kind: GroupKind, after: &[&str]) -> Policy {
        let kinds = [ProbeKind::Startup, ProbeKind::Liveness, ProbeKind::Readiness];
        let asked: Vec<_> = kinds.into_iter().filter(|_| self.one_in(4)).collect();
        let all = [GateCondition::Completed, GateCondition::Started, GateCondition::Ready];
        let after = after.iter().filter_map(|on| {
            // Only of a job can it be waited for that it ends.
            let condition = self.of(&all[usize::from(*on != "job")..]);
            self.one_in(2).then(|| (group(on), condition))
        });
        let after = after.collect();
        Policy {
            kind,
            after,
            update: updates(self.small(5) as usize),
            hooks: if self.one_in(2) { hooks(self.below(4)) } else { hooks(0) },
            ..probed(&asked)
        }
    }

    fn power(&mut self, count: u32) -> Power {
        let plain = Power::default();
        let index = self.small(4);
        match self.below(8) {
            0 => plain.switched(true),
            1 => plain.anew(),
            2 => plain.switched_slot(index, true, count),
            3 => plain.anew_slot(index),
            4 => plain.anew().switched_slot(index, true, count),
            _ => plain,
        }
    }

    /// Three groups, of which one may wait for another, and one is a job.
    pub(crate) fn shape(&mut self) -> ClusterShape {
        let groups = [
            ("db", GroupKind::Service, &[][..]),
            ("job", GroupKind::Job, &["db"][..]),
            ("web", GroupKind::Service, &["db", "job"][..]),
        ];
        let mut specs = Vec::new();
        for (name, kind, after) in groups {
            let (policy, count) = (self.policy(kind, after), self.small(6));
            let mut spec = self.node();
            spec.join =
                self.of(&[JoinMode::None, JoinMode::None, JoinMode::Probe, JoinMode::Agent]);
            let mut spec = RunNodeGroupSpec::new(group(name), count, spec, policy);
            spec.power = self.power(count);
            // What is gone from the shape may still be there, and be waited for.
            if !self.one_in(8) {
                specs.push(spec);
            }
        }
        let known: Vec<GroupId> = specs.iter().map(|spec| spec.group.clone()).collect();
        for spec in &mut specs {
            Arc::make_mut(&mut spec.policy).after.retain(|on, _| known.contains(on));
        }
        let name = "demo".parse().expect("a run name");
        ClusterShape::new(name, RUN, Generation::new(2), specs).expect("a shape")
    }

    fn stage(&mut self) -> NodeStage {
        // Ready ones are thrown more often: an update moves nothing else.
        let name = match self.below(3) {
            0 => self.of(&[StageName::Dormant, StageName::HandedOff]),
            _ => self.of(&StageName::ALL),
        };
        let mut stage = stage(name);
        match &mut stage {
            NodeStage::LeaseCreated { endpoint, probe_at, .. } => {
                *endpoint = self.one_in(2).then(|| self.endpoint());
                *probe_at = self.one_in(2).then(|| self.time());
            }
            NodeStage::BootstrapRunning { settle_at, session, lease, .. } => {
                *settle_at = self.time();
                (lease.handle, session.workload) = (self.handle(), self.handle());
                session.stage =
                    self.of(&[SessionStage::Converged, SessionStage::WaitingForSwactorJoin]);
            }
            NodeStage::HandedOff { stable_at, member, endpoint, .. } => {
                *stable_at = self.time();
                (*endpoint, member.workload) = (self.endpoint(), self.handle());
                member.ready_at = self.time();
            }
            NodeStage::Dormant { completed, .. } => {
                *completed = self.one_in(4).then(|| at(0));
            }
            NodeStage::Failed { remains, .. } => {
                let (lease, session) = (lease("l-1"), session(1));
                *remains = self.of(&[
                    Remains::Nothing,
                    Remains::Lease { lease: lease.clone() },
                    Remains::Session { lease, session },
                ]);
            }
            NodeStage::Destroyed { failure: known, .. } => {
                *known = self.one_in(2).then(|| failure(FailureClass::Workload));
            }
            NodeStage::New
            | NodeStage::LeaseRequested
            | NodeStage::EndpointKnown { .. }
            | NodeStage::SwactorJoined { .. } => {}
        }
        stage
    }

    fn action(&mut self) -> ActionKind {
        let hook = ActionKind::Hook(self.of(&HookPoint::ALL));
        let command = self.of(&[
            CommandKind::CreateLease,
            CommandKind::StartBootstrap,
            CommandKind::CancelBootstrap,
            CommandKind::DestroyLease,
        ]);
        if self.one_in(4) { hook } else { command.into() }
    }

    fn trial(&mut self) -> Trial {
        let (verdict, since) = (self.of(&ProbeVerdict::ALL), self.time());
        let trouble = self.one_in(4).then(|| self.said());
        let (passes, failures) = (self.small(3), self.small(3));
        Trial { verdict, since, passes, failures, said: self.said(), trouble }
    }

    /// What somebody said: quotes, blanks and signs in it are no end of it.
    fn said(&mut self) -> Redacted {
        let all = ["", "refused", "no way", "said \"no way\" = 1", "C:\\", "\\\" \\", "a=b #c"];
        Redacted::new(self.of(&all))
    }

    fn handle(&mut self) -> Handle {
        let facts = [("pid".to_owned(), "17".to_owned()), ("name".to_owned(), "a b".to_owned())];
        if self.one_in(2) { Handle::new(facts.into()) } else { Handle::default() }
    }

    fn endpoint(&mut self) -> Endpoint {
        let ports = [("main".to_owned(), 80)].into();
        let known = Endpoint { host: "h.example".into(), ports: Arc::new(ports) };
        if self.one_in(2) { known } else { Endpoint::default() }
    }

    fn mark(&mut self) -> HookMark {
        let session = SessionId::new(self.of(&[1, 2]));
        HookMark { session, point: self.of(&HookPoint::ALL) }
    }

    /// The axes beside the stage, most of them at rest.
    fn axes(&mut self, record: &mut NodeRecord) {
        record.since = self.of(&[Timestamp::from_millis(0), at(0), at(NOW)]);
        if self.one_in(4) {
            let deadline = self.time();
            record.pending = Some(pending(self.action(), 1, deadline));
        }
        if self.one_in(6) {
            let look_at = self.time();
            record.ambiguity = Some(ambiguity(self.action(), look_at));
        }
        let message = self.said();
        record.retry = self.one_in(8).then(|| Retry { tries: 1, at: self.time(), message });
        let reasons = [
            DeleteReason::Undesired,
            DeleteReason::Replaced,
            DeleteReason::Failed,
            DeleteReason::Rerun,
        ];
        let deletion = Deletion { reason: self.of(&reasons), since: at(0) };
        record.deletion = self.one_in(5).then_some(deletion);
        record.hold = self.hold(8);
        let not_before = self.one_in(4).then(|| self.time());
        record.backoff = Backoff { failures: self.small(3), delays: 1, not_before };
        record.round = self.small(2);
        record.next_session = SessionId::new(self.of(&[1, 2]));
        record.hooks.passed = self.one_in(3).then(|| self.mark());
        record.hooks.doubt = self.one_in(6).then(|| self.mark());
        record.hooks.stopped = self.one_in(4).then(|| SessionId::new(1));
        if self.one_in(2) {
            let (startup, liveness, readiness) = (self.trial(), self.trial(), self.trial());
            let session = SessionId::new(self.of(&[1, 1, 1, 2]));
            let health = Health { session, startup, liveness, readiness, believed: self.one_in(4) };
            record.health = Some(Box::new(health));
        }
        let seal = reconciler_core::id::AgentSeal::from_bytes([1; 32]);
        let agent = AgentFacts { session: SessionId::new(1), seal, lost_since: None };
        record.revived = (0..self.below(3)).map(at).collect();
        record.agent = self.one_in(2).then(|| Box::new(agent));
        record.said = self.one_in(4).then(|| Box::new(self.said()));
    }

    fn hold(&mut self, sides: u64) -> Option<Hold> {
        let hold = Hold { code: self.of(&HoldCode::ALL), text: self.said(), since: at(0) };
        self.one_in(sides).then_some(hold)
    }

    fn attempt(
        &mut self,
        spec: &RunNodeGroupSpec,
        shape: &ClusterShape,
        index: u32,
        nth: u64,
    ) -> NodeRecord {
        let mut spec = spec.clone();
        let join = spec.spec.join;
        let mut node = self.node();
        node.join = join;
        spec = RunNodeGroupSpec {
            power: spec.power,
            ..RunNodeGroupSpec::new(spec.group, spec.count, node, Policy::clone(&spec.policy))
        };
        if self.one_in(12) {
            Arc::make_mut(&mut spec.policy).settle = Millis::new(1);
        }
        let slot = slot(&format!("{}-{index}", spec.group));
        let stamped =
            shape.stamp(&Arc::new(spec), slot, shape.generation, AttemptOrdinal::new(nth));
        let mut record = NodeRecord::fresh(stamped, Backoff::default(), at(0));
        record.stage = self.stage();
        if self.one_in(2) {
            self.axes(&mut record);
        }
        record
    }

    /// Any state of the groups of `shape`.
    pub(crate) fn state(&mut self, shape: &ClusterShape) -> ClusterState {
        let (mut records, mut holds, mut rollouts) = (Vec::new(), Vec::new(), Vec::new());
        for name in ["db", "job", "web"] {
            let gone = || RunNodeGroupSpec::new(group(name), 0, node_spec("v1"), Policy::default());
            let spec =
                shape.group(&group(name)).map_or_else(gone, |spec| RunNodeGroupSpec::clone(spec));
            for index in 0..spec.count + 2 {
                if self.one_in(5) {
                    continue;
                }
                let mut record = self.attempt(&spec, shape, index, 1);
                if self.one_in(5) {
                    let mut second = Second::new(self.attempt(&spec, shape, index, 2));
                    second.seen = self.one_in(2).then(|| self.time());
                    second.look_at = self.one_in(2).then(|| self.time());
                    record.second = Some(Box::new(second));
                }
                records.push(record);
            }
            holds.extend(self.hold(6).map(|hold| (group(name), hold)));
            if self.one_in(3) {
                rollouts.push((group(name), self.rollout()));
            }
        }
        ClusterState::restore(records, holds, at(NOW)).with_rollouts(rollouts, at(NOW))
    }

    fn rollout(&mut self) -> Rollout {
        let (before, slot) = (self.node(), slot("web-1"));
        let prior = Prior { revision: before.revision(), spec: Arc::new(before) };
        let hooked = Hooked { slot: slot.clone(), point: self.of(&HookPoint::ALL) };
        Rollout {
            target: self.node().revision(),
            prior: self.one_in(2).then_some(prior),
            reverts: self.one_in(2),
            since: at(0),
            done: self.small(3),
            patience: Millis::from_secs(600),
            deadline: self.one_in(2).then(|| self.time()),
            paused: self.one_in(2),
            hooked: self.one_in(2).then_some(hooked),
            failing: self.one_in(2).then(|| Failing { slot, why: self.said() }),
        }
    }
}
