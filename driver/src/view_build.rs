//! Builds the view of a run from what was published; the reasons come from the decider itself.

use std::{collections::BTreeMap, sync::Arc};

use reconciler_core::{
    desired::{GroupKind, RunNodeGroupSpec},
    drift::classify,
    id::{GroupId, LogicalNodeId, RevisionDigest},
    observed::{Endpoint, GroupState, NodeRecord, NodeStage, Remains, Rollout, Side, StageName},
    reconcile::{
        Outstanding, Reason, ReconcilePlan, Rung, WaitsFor, held_back, ready_on, reconcile,
    },
};

use crate::{
    history::{Ribbons, letter},
    publish::Published,
    release::{group_hold_view, slot_hold_view},
    view::{
        DriftView, GroupView, HoldView, NodeView, OrphanView, OutstandingView, ProviderView,
        RunView, SecondView, UpdateView, VIEW_SCHEMA, WaitsForView,
    },
};

impl Published {
    /// The whole view: costs the number of nodes, so it is made by who looks, never by a pass.
    pub fn view(&self) -> RunView {
        run_view(self)
    }

    /// What the decider says of every slot now; what finds no place among the effects in flight waits for one.
    pub(crate) fn decided(&self) -> ReconcilePlan {
        let mut plan = reconcile(&self.cluster, &self.shape, self.at);
        let groups = self.cluster.groups().filter(|(_, group)| group.busy() > 0);
        let records = groups.flat_map(|(_, group)| group.records());
        let in_flight = records.filter(|record| record.pending.is_some()).count();
        let places = usize::try_from(self.parallelism).unwrap_or(usize::MAX);
        plan.admit(places.saturating_sub(in_flight));
        plan
    }
}

fn run_view(published: &Published) -> RunView {
    let Published { cluster, shape, history, .. } = published;
    let standing = published.standing();
    let ribbons = history.ribbons();
    let plan = published.decided();
    let outlook = published.outlook(&plan);
    RunView {
        schema: VIEW_SCHEMA,
        run: shape.run.clone(),
        uuid: shape.uuid,
        driver: published.driver.clone(),
        generation: shape.generation,
        changed_by: published.source.map(|source| source.as_str().to_owned()),
        pass: published.pass,
        at: published.at,
        state: published.state_by(&outlook),
        want: standing.want,
        ready: standing.ready,
        due: published.due,
        ribbon_len: u32::try_from(ribbons.len()).unwrap_or(0),
        file: published.file.as_deref().cloned(),
        groups: groups(published),
        nodes: nodes(published, &plan, &ribbons),
        holds: holds(published),
        outstanding: outlook.outstanding.iter().map(outstanding).collect(),
        passes: history.passes().cloned().collect(),
        events: history.events().cloned().collect(),
        orphans: cluster.groups().flat_map(|(_, group)| orphans(group)).collect(),
        providers: cluster
            .providers()
            .iter()
            .map(|(name, provider)| ProviderView {
                name: name.clone(),
                listed_at: provider.listed_at,
                trouble: provider.trouble.as_ref().map(ToString::to_string),
                paused_until: provider.paused_until,
            })
            .collect(),
        drift: classify(cluster, shape, published.fence()).iter().map(DriftView::from).collect(),
    }
}

fn orphans(group: &Arc<GroupState>) -> impl Iterator<Item = OrphanView> {
    group.orphans().map(|(provider, owned)| OrphanView {
        provider: provider.clone(),
        slot: owned.slot.clone(),
        lease: owned.lease.id.to_string(),
    })
}

fn groups(published: &Published) -> Vec<GroupView> {
    let mut views: BTreeMap<GroupId, GroupView> = BTreeMap::new();
    for spec in published.shape.groups() {
        views.insert(spec.group.clone(), declared(published, spec));
    }
    for (name, group) in published.cluster.groups() {
        let view = views.remove(name).or_else(|| undeclared(name, group));
        if let Some(view) = view {
            let spec = published.shape.group(name).map(AsRef::as_ref);
            let wanted = spec.map(|spec| spec.revision);
            let rollout = published.cluster.rollout(name);
            let update = rollout.map(|rollout| update(rollout, group, wanted));
            views.insert(name.clone(), GroupView { update, ..observed(view, group, spec) });
        }
    }
    views.into_values().collect()
}

fn declared(published: &Published, spec: &RunNodeGroupSpec) -> GroupView {
    let lacks = held_back(&published.cluster, &published.shape, spec);
    GroupView {
        group: spec.group.clone(),
        role: spec.spec.role.clone(),
        provider: spec.spec.provider.clone(),
        want: spec.count,
        ready: 0,
        held: 0,
        deleting: 0,
        failing: 0,
        orphans: 0,
        off: spec.power.off_count(spec.count),
        completed: (spec.policy.kind == GroupKind::Job).then_some(0),
        after: spec.policy.after.clone(),
        waits_for: lacks.iter().map(ToString::to_string).collect(),
        revision: spec.revision.short(),
        command: spec.spec.boot.command.clone(),
        stages: Vec::new(),
        update: None,
    }
}

/// A group that is only observed any more: it is on its way out.
fn undeclared(name: &GroupId, group: &GroupState) -> Option<GroupView> {
    let record = group.records().next()?;
    Some(GroupView {
        group: name.clone(),
        role: record.spec.role.clone(),
        provider: record.spec.provider.clone(),
        want: 0,
        ready: 0,
        held: 0,
        deleting: 0,
        failing: 0,
        orphans: 0,
        off: 0,
        completed: (record.policy.kind == GroupKind::Job).then_some(0),
        after: record.policy.after.clone(),
        waits_for: Vec::new(),
        revision: record.revision.short(),
        command: record.spec.boot.command.clone(),
        stages: Vec::new(),
        update: None,
    })
}

fn observed(view: GroupView, group: &GroupState, spec: Option<&RunNodeGroupSpec>) -> GroupView {
    let stages = StageName::ALL.into_iter().map(|stage| (stage, group.in_stage(stage)));
    GroupView {
        ready: spec.map_or(0, |spec| ready_on(group, spec)),
        held: group.held() + u32::from(group.hold().is_some()),
        deleting: group.deleting(),
        failing: group.failing(),
        completed: view.completed.map(|_| group.completed()),
        orphans: u32::try_from(group.orphans().count()).unwrap_or(u32::MAX),
        stages: stages.filter(|(_, n)| *n > 0).collect(),
        ..view
    }
}

fn update(rollout: &Rollout, group: &GroupState, wanted: Option<RevisionDigest>) -> UpdateView {
    // Between the shape that goes back and the pass that begins with it, the update is still the failed one.
    let back = wanted.map_or(rollout.reverts, |wanted| rollout.goes_back(wanted));
    UpdateView {
        target: rollout.target.short(),
        prior: rollout.prior.as_ref().map(|prior| prior.revision.short()),
        reverts: back,
        paused: rollout.paused,
        ready: group.ready_at(rollout.target),
        deadline: rollout.deadline,
    }
}

fn outstanding(one: &Outstanding) -> OutstandingView {
    OutstandingView {
        subject: one.slot.as_ref().map_or_else(|| one.group.to_string(), ToString::to_string),
        count: one.count,
        why: one.why.to_string(),
        waits_for: match one.waits_for {
            WaitsFor::Itself => WaitsForView::Itself,
            WaitsFor::Others => WaitsForView::Others,
            WaitsFor::Person => WaitsForView::Person,
        },
        way_out: one.way_out.clone(),
    }
}

/// Every slot as it is shown.
pub(crate) fn nodes(
    published: &Published,
    plan: &ReconcilePlan,
    ribbons: &Ribbons,
) -> Vec<NodeView> {
    let reasons: BTreeMap<&LogicalNodeId, &Reason> =
        plan.reasons.iter().map(|(slot, reason)| (slot, reason)).collect();
    let beside: BTreeMap<&LogicalNodeId, &Reason> =
        plan.second_reasons.iter().map(|(slot, reason)| (slot, reason)).collect();
    let known = published.cluster.groups().flat_map(|(_, group)| group.records());
    let mut views: Vec<NodeView> = known
        .map(|record| {
            let reason = reasons.get(&record.slot).copied();
            let second = record.side(Side::Second);
            let second = second.map(|one| second_view(one, beside.get(&record.slot).copied()));
            let ribbon = ribbons.of(&record.slot, letter(Some(record)));
            NodeView { second, ..node(published, record, reason, ribbon) }
        })
        .collect();
    let mut missing: Vec<NodeView> = plan
        .to_start
        .iter()
        .map(|spec| absent(published, &spec.slot, ribbons.of(&spec.slot, letter(None))))
        .collect();
    if !missing.is_empty() {
        views.append(&mut missing);
        views.sort_by(|a, b| a.slot.cmp(&b.slot));
    }
    views
}

/// A wanted slot without a record.
fn absent(published: &Published, slot: &LogicalNodeId, ribbon: String) -> NodeView {
    NodeView {
        slot: slot.clone(),
        stage: StageName::New,
        reached: StageName::New,
        ready: false,
        deleting: false,
        off: is_off(published, slot),
        completed: false,
        hold: None,
        attempt: 0,
        since: published.at,
        pending: None,
        failures: 0,
        due: None,
        reason: Rung::Insert.to_string(),
        last_error: None,
        endpoint: None,
        lease: None,
        second: None,
        ribbon,
    }
}

fn is_off(published: &Published, slot: &LogicalNodeId) -> bool {
    published.shape.wanted(slot).is_some_and(|spec| spec.power.is_off(slot.index))
}

fn second_view(record: &NodeRecord, reason: Option<&Reason>) -> SecondView {
    SecondView {
        attempt: record.attempt.ordinal.get(),
        stage: record.stage.name(),
        deleting: record.deletion.is_some(),
        reason: reason.map_or_else(|| Rung::Steady.to_string(), ToString::to_string),
        last_error: last_error(record),
        lease: record.stage.lease().map(|lease| lease.id.to_string()),
    }
}

fn last_error(record: &NodeRecord) -> Option<String> {
    let failure = match &record.stage {
        NodeStage::Failed { failure, .. } | NodeStage::Destroyed { failure: Some(failure), .. } => {
            Some(failure.message.to_string())
        }
        NodeStage::New
        | NodeStage::LeaseRequested
        | NodeStage::LeaseCreated { .. }
        | NodeStage::EndpointKnown { .. }
        | NodeStage::BootstrapRunning { .. }
        | NodeStage::SwactorJoined { .. }
        | NodeStage::HandedOff { .. }
        | NodeStage::Dormant { .. }
        | NodeStage::Destroyed { failure: None, .. } => None,
    };
    failure.or_else(|| record.retry.as_ref().map(|retry| retry.message.to_string()))
}

fn node(
    published: &Published,
    record: &NodeRecord,
    reason: Option<&Reason>,
    ribbon: String,
) -> NodeView {
    NodeView {
        slot: record.slot.clone(),
        stage: record.stage.name(),
        reached: reached(&record.stage),
        ready: record.is_ready(),
        deleting: record.deletion.is_some(),
        off: is_off(published, &record.slot),
        completed: record.is_completed(),
        hold: record.hold.as_ref().map(|hold| hold.code),
        attempt: record.attempt.ordinal.get(),
        since: record.since,
        pending: record.pending.as_ref().map(|pending| pending.command),
        failures: record.backoff.failures,
        due: reason.and_then(|reason| reason.until),
        reason: why(published, record, reason),
        last_error: last_error(record),
        endpoint: record.stage.endpoint().map(endpoint),
        lease: record.stage.lease().map(|lease| lease.id.to_string()),
        second: None,
        ribbon,
    }
}

/// Why a slot is where it is; what a lease waits for at its provider comes before what the decider would do.
fn why(published: &Published, record: &NodeRecord, reason: Option<&Reason>) -> String {
    match published.short.get(&record.slot) {
        Some(short) => short.clone(),
        None => reason.map_or_else(|| Rung::at_rest(record).to_string(), ToString::to_string),
    }
}

/// How far an attempt had come, for the track of one that failed.
fn reached(stage: &NodeStage) -> StageName {
    match stage {
        NodeStage::Failed { remains: Remains::Lease { .. }, .. } => StageName::EndpointKnown,
        NodeStage::Failed { remains: Remains::Session { .. }, .. } => StageName::BootstrapRunning,
        NodeStage::Failed { remains: Remains::Nothing, .. } => StageName::New,
        NodeStage::New
        | NodeStage::LeaseRequested
        | NodeStage::LeaseCreated { .. }
        | NodeStage::EndpointKnown { .. }
        | NodeStage::BootstrapRunning { .. }
        | NodeStage::SwactorJoined { .. }
        | NodeStage::HandedOff { .. }
        | NodeStage::Dormant { .. }
        | NodeStage::Destroyed { .. } => stage.name(),
    }
}

fn endpoint(endpoint: &Endpoint) -> String {
    let ports: Vec<String> = endpoint
        .ports
        .iter()
        .map(|(name, port)| format!("{name}={}:{port}", endpoint.host))
        .collect();
    if ports.is_empty() { endpoint.host.to_string() } else { ports.join(" ") }
}

fn holds(published: &Published) -> Vec<HoldView> {
    let mut views = Vec::new();
    for (name, group) in published.cluster.groups() {
        if let Some(hold) = group.hold() {
            views.push(group_hold_view(published.shape.uuid, group, hold, name));
        }
        if group.held() == 0 {
            continue;
        }
        for record in group.records() {
            if let Some(hold) = record.attempts().find_map(|attempt| attempt.hold.as_ref()) {
                views.push(slot_hold_view(published.shape.uuid, &record.slot, hold));
            }
        }
    }
    views
}
