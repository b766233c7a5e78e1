//! A plan as faces see it: what happens to each node, in which steps, and what its hash is bound to.

use std::collections::BTreeMap;

use reconciler_core::{
    canonical::Canon,
    id::GroupId,
    plan::{Change, ChangeKind as CoreKind, LifecyclePlan, PlanStep},
};

use crate::view::{
    BoundView, ChangeKind, ChangeView, ImpactView, PlanGroupView, PlanView, StepView, VIEW_SCHEMA,
};

/// A plan as it is shown.
pub(crate) fn plan_view(plan: &LifecyclePlan, known: u32) -> PlanView {
    let mut groups: BTreeMap<GroupId, PlanGroupView> = BTreeMap::new();
    for (group, (from, to)) in &plan.counts {
        let view = PlanGroupView {
            group: group.clone(),
            from: *from,
            to: *to,
            changes: Vec::new(),
            unchanged: 0,
            impact: plan.impacts.iter().find(|i| i.group == *group).map(ImpactView::of),
        };
        groups.insert(group.clone(), view);
    }
    for change in &plan.changes {
        let group = groups.entry(change.slot.group.clone()).or_insert_with(|| PlanGroupView {
            group: change.slot.group.clone(),
            from: 0,
            to: 0,
            changes: Vec::new(),
            unchanged: 0,
            impact: None,
        });
        group.changes.push(change_view(change));
    }
    show_blocked(plan, &mut groups);
    let mut view = PlanView {
        schema: VIEW_SCHEMA,
        hash: plan.hash,
        serial: plan.header.serial,
        base: plan.header.base,
        target: plan.header.target,
        bound: Box::new(bound_view(plan)),
        steps: step_views(plan),
        create: 0,
        replace: 0,
        repair: 0,
        destroy: 0,
        stop: 0,
        start: 0,
        restart: 0,
        unchanged: 0,
        blocked: 0,
        empty: plan.is_empty() && plan.header.base == plan.header.target,
        offline: false,
        groups: Vec::new(),
        drift: Vec::new(),
        demand: None,
    };
    for group in groups.values_mut() {
        count(&mut view, group);
    }
    let moved = view.replace + view.repair + view.destroy + view.stop + view.start + view.restart;
    view.unchanged = known.saturating_sub(moved + view.blocked);
    view.groups = groups.into_values().collect();
    view
}

/// What is held stands in place of what would be done.
fn show_blocked(plan: &LifecyclePlan, groups: &mut BTreeMap<GroupId, PlanGroupView>) {
    for (slot, reason) in &plan.blocked {
        if let Some(group) = groups.get_mut(&slot.group) {
            group.changes.retain(|change| change.slot != *slot);
            let (slot, why) = (slot.clone(), reason.to_string());
            group.changes.push(ChangeView { slot, kind: ChangeKind::Blocked, ready: false, why });
            group.changes.sort_by(|a, b| a.slot.cmp(&b.slot));
        }
    }
}

fn count(view: &mut PlanView, group: &mut PlanGroupView) {
    let of =
        |kind| u32::try_from(group.changes.iter().filter(|c| c.kind == kind).count()).unwrap_or(0);
    view.create += of(ChangeKind::Create);
    view.replace += of(ChangeKind::Replace);
    view.repair += of(ChangeKind::Repair);
    view.destroy += of(ChangeKind::Destroy);
    view.stop += of(ChangeKind::Stop);
    view.start += of(ChangeKind::Start);
    view.restart += of(ChangeKind::Restart);
    view.blocked += of(ChangeKind::Blocked);
    let staying = group.to.saturating_sub(of(ChangeKind::Create) + of(ChangeKind::Replace));
    let powered = of(ChangeKind::Stop) + of(ChangeKind::Start) + of(ChangeKind::Restart);
    let moved = powered + of(ChangeKind::Repair) + of(ChangeKind::Blocked);
    group.unchanged = staying.saturating_sub(moved);
}

fn change_view(change: &Change) -> ChangeView {
    let kind = match change.kind {
        CoreKind::Create => ChangeKind::Create,
        CoreKind::Replace => ChangeKind::Replace,
        CoreKind::Repair => ChangeKind::Repair,
        CoreKind::Destroy => ChangeKind::Destroy,
        CoreKind::Stop => ChangeKind::Stop,
        CoreKind::Start => ChangeKind::Start,
        CoreKind::Restart => ChangeKind::Restart,
    };
    ChangeView { slot: change.slot.clone(), kind, ready: change.ready, why: change.why.to_owned() }
}

fn bound_view(plan: &LifecyclePlan) -> BoundView {
    let header = &plan.header;
    BoundView {
        run: header.run,
        fence: header.fence,
        parallelism: header.parallelism,
        spec: header.spec_digest,
        observation: header.observation_digest,
        observed: String::new(),
        capability: header.capability_digest,
        specs: plan.specs.iter().map(|(revision, spec)| (*revision, spec_view(spec))).collect(),
    }
}

fn spec_view(spec: &Canon) -> serde_json::Value {
    // Canonical text is JSON, so it always reads.
    serde_json::from_str(&spec.write()).unwrap_or_default()
}

fn step_views(plan: &LifecyclePlan) -> Vec<StepView> {
    // The steps of a plan that was made here are a graph.
    let mut waves = plan.waves().unwrap_or_default().into_iter();
    let view = |step: &PlanStep| StepView {
        key: step.key().to_string(),
        slot: step.slot.clone(),
        action: step.action.as_str().to_owned(),
        after: step.after.iter().map(ToString::to_string).collect(),
        attempt: step.attempt.uuid,
        requires: step.requires.to_string(),
        brings: step.brings.to_string(),
        timeout_ms: step.timeout.get(),
        idempotency_key: step.idempotency_key(),
        inverse: step.inverse.map(|inverse| inverse.as_str().to_owned()),
        revision: step.revision,
        session: step.session,
        wave: waves.next().unwrap_or_default(),
    };
    plan.steps.iter().map(view).collect()
}
