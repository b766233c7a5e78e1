//! Edits become plans, plans become confirmed shapes: the one way by which desired state changes.

use std::{collections::BTreeMap, sync::Arc};

use checkpoint::{
    event::Subject,
    record::{ShapeRow, UsedPlan},
    store::Commit,
};
use executor::{seam::Capabilities, secret::Secrets};
use reconciler_core::{
    canonical::Canon,
    desired::ClusterShape,
    drift::{Drift, classify},
    id::{Fence, Generation, GroupId, PlanHash, PlanSerial, ProviderName},
    observed::ClusterState,
    plan::{
        Change, ChangeKind as CoreKind, LifecyclePlan, PlanInput, PlanStep, ProjectError, Scope,
        observation_text, project,
    },
    redact::Redacted,
    time::Timestamp,
};

use crate::{
    recovering::{Recovers, closes_only},
    refusing::refuse,
    reverting::pauses,
    secrets,
    source::Source,
    state::{Mode, State},
    view::{
        BoundView, ChangeKind, ChangeView, DriftView, Edit, ImpactView, PlanGroupView, PlanView,
        Refusal, RefusalKind, StepView, VIEW_SCHEMA,
    },
};

/// A plan that passed its confirmation.
pub(crate) struct Confirmed {
    /// The generation that is live now.
    pub(crate) generation: Generation,
    /// What is to be journaled; the answer waits for it.
    pub(crate) commit: Commit,
}

/// Everything that one plan is made from, as of one moment. Shares the records with the driver.
pub(crate) struct Planner {
    cluster: ClusterState,
    secrets: Secrets,
    base: Arc<ClusterShape>,
    target: Arc<ClusterShape>,
    capabilities: BTreeMap<ProviderName, String>,
    fence: Fence,
    serial: PlanSerial,
    parallelism: u32,
    now: Timestamp,
    /// What a recovery is bound to beside the plan.
    recovers: Option<Recovers>,
}

impl Planner {
    /// Makes the plan; costs the number of nodes.
    pub(crate) fn plan(&self) -> Result<LifecyclePlan, Refusal> {
        let input = PlanInput {
            base: &self.base,
            target: &self.target,
            capabilities: &self.capabilities,
            fence: self.fence,
            serial: self.serial,
            parallelism: self.parallelism,
        };
        let mut plan = project(&self.cluster, &input, Scope::All, self.now).map_err(|error| {
            let hint = match &error {
                ProjectError::Refused { drifts } => drifts.first().and_then(Drift::way_out),
                ProjectError::NeverSettles { .. } | ProjectError::Graph(_) => None,
            };
            Refusal { hint, ..refuse(RefusalKind::Forbidden, error.to_string()) }
        })?;
        secrets::refuse_without(&plan, &self.cluster, &self.target, &self.secrets)?;
        plan.hash = self.recovers.as_ref().map_or(plan.hash, |recovers| recovers.hash(plan.hash));
        Ok(plan)
    }

    /// Makes the plan as it is shown.
    pub(crate) fn view(&self) -> Result<PlanView, Refusal> {
        let known = u32::try_from(self.cluster.len()).unwrap_or(u32::MAX);
        let drift = classify(&self.cluster, &self.target, None);
        let drift = drift.iter().map(DriftView::from).collect();
        let mut view = PlanView { drift, ..plan_view(&self.plan()?, known) };
        view.bound.observed = observation_text(&self.cluster);
        // A recovery is worth carrying out also where no step follows.
        view.empty &= self.recovers.is_none();
        Ok(view)
    }
}

/// What each provider can do, in words that are equal for equal capabilities.
pub(crate) fn capability_texts(
    capabilities: &BTreeMap<ProviderName, Capabilities>,
) -> BTreeMap<ProviderName, String> {
    capabilities.iter().map(|(name, c)| (name.clone(), c.digest_text())).collect()
}

impl State {
    /// What a plan of `edit` needs of the present moment; made anywhere, also beside the loop.
    pub(crate) fn planner(&self, edit: &Edit, now: Timestamp) -> Result<Planner, Refusal> {
        let target = self.target(edit)?;
        self.refuse_while_going_back(edit, &target)?;
        let mut cluster = self.cluster.clone();
        for fact in pauses(edit).chain(self.recovery_facts(edit)) {
            let _as_it_would_be = cluster.fold(fact, now);
        }
        Ok(Planner {
            target,
            base: Arc::clone(&self.shape),
            cluster,
            secrets: self.secrets.clone(),
            capabilities: capability_texts(&self.capabilities),
            fence: self.plan_fence,
            serial: self.counters.serial,
            parallelism: self.parallelism,
            now,
            recovers: self.recovers(edit),
        })
    }

    /// Plans `edit` on what is observed now.
    pub(crate) fn plan(&self, edit: &Edit, now: Timestamp) -> Result<LifecyclePlan, Refusal> {
        self.planner(edit, now)?.plan()
    }

    /// Confirms the plan of `edit` if its hash is the one that was shown (P3, R85).
    pub(crate) fn confirm(
        &mut self,
        edit: &Edit,
        hash: PlanHash,
        source: &Source,
        used: bool,
        now: Timestamp,
    ) -> Result<Confirmed, Refusal> {
        if used {
            return Err(stale("this plan was confirmed before; a plan is good for one use"));
        }
        let plan = self.plan(edit, now)?;
        if plan.hash != hash {
            let present = self.planner(edit, now)?.view()?;
            let moved = self.shown.moved(hash, &present, self.history.events());
            return Err(Refusal { moved, ..stale("what the plan was made from has changed") });
        }
        self.take(edit, &plan, source, now)
    }

    /// Plans `edit` and confirms that very plan: for what nobody is asked about.
    pub(crate) fn confirm_own(
        &mut self,
        edit: &Edit,
        source: &Source,
        now: Timestamp,
    ) -> Result<Confirmed, Refusal> {
        let plan = self.plan(edit, now)?;
        self.take(edit, &plan, source, now)
    }

    /// Makes what `edit` leads to the live shape under `plan`, and opens its operations.
    fn take(
        &mut self,
        edit: &Edit,
        plan: &LifecyclePlan,
        source: &Source,
        now: Timestamp,
    ) -> Result<Confirmed, Refusal> {
        let digest = if let Edit::File { digest, .. } = edit { Some(digest.clone()) } else { None };
        let target = self.target(edit)?;
        let mut commit = Commit { at: now, ..Commit::default() };
        let was_waiting = self.mode == Mode::Waiting;
        if !closes_only(edit) {
            self.mode = Mode::Driving;
        }
        let reshaped = target.generation != self.shape.generation;
        let redigested = digest.is_some() && digest != self.file_digest;
        let old = std::mem::replace(&mut self.shape, target);
        if digest.is_some() {
            self.file_digest = digest;
        }
        if reshaped || redigested {
            self.source = Some(source.face.into());
            commit.shape = Some(ShapeRow {
                shape: Arc::clone(&self.shape),
                source: source.face.into(),
                who: Redacted::new(&source.who),
                plan: Some(plan.hash),
                file_digest: self.file_digest.clone(),
                at: now,
            });
        }
        if reshaped || !plan.is_empty() || matches!(edit, Edit::Recover { .. }) {
            commit.used_plan = Some(UsedPlan { hash: plan.hash, serial: self.counters.serial });
            self.counters.serial = self.counters.serial.next();
        }
        if reshaped {
            self.tell_shape(&old, plan.hash, source, now, &mut commit);
        }
        if !self.take_recovery(edit, plan.hash, now, &mut commit) {
            self.open_for(edit, plan, &old, &mut commit);
        }
        self.pause(edit, now, &mut commit);
        if was_waiting {
            self.mark_all();
        } else {
            self.mark_changed(&old);
        }
        Ok(Confirmed { generation: self.shape.generation, commit })
    }

    fn tell_shape(
        &mut self,
        old: &ClusterShape,
        hash: PlanHash,
        source: &Source,
        now: Timestamp,
        commit: &mut Commit,
    ) {
        let text = format!(
            "generation {} -> {} by {}, plan {}",
            old.generation,
            self.shape.generation,
            source.who,
            hash.short()
        );
        self.tell(Subject::Run, "shape", &text, now, commit);
    }
}

fn stale(message: &str) -> Refusal {
    let hint = "make the plan again, look at it, and confirm its new hash".to_owned();
    Refusal { hint: Some(hint), ..refuse(RefusalKind::Stale, message) }
}

/// A plan as it is shown.
fn plan_view(plan: &LifecyclePlan, known: u32) -> PlanView {
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
    for (slot, reason) in &plan.blocked {
        if let Some(group) = groups.get_mut(&slot.group) {
            group.changes.retain(|change| change.slot != *slot);
            let (slot, why) = (slot.clone(), reason.to_string());
            group.changes.push(ChangeView { slot, kind: ChangeKind::Blocked, ready: false, why });
            group.changes.sort_by(|a, b| a.slot.cmp(&b.slot));
        }
    }
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
        groups: Vec::new(),
        drift: Vec::new(),
    };
    for group in groups.values_mut() {
        count(&mut view, group);
    }
    let moved = view.replace + view.repair + view.destroy + view.stop + view.start + view.restart;
    view.unchanged = known.saturating_sub(moved + view.blocked);
    view.groups = groups.into_values().collect();
    view
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
