//! Edits become plans, plans become confirmed shapes: the one way by which desired state changes.

use std::{collections::BTreeMap, sync::Arc};

use checkpoint::{
    event::Subject,
    record::{ShapeRow, UsedPlan},
    store::Commit,
};
use executor::{seam::Capabilities, secret::Secrets};
use reconciler_core::{
    desired::ClusterShape,
    drift::{Drift, classify},
    id::{Fence, Generation, PlanHash, PlanSerial, ProviderName},
    observed::ClusterState,
    plan::{Demanded, LifecyclePlan, PlanInput, ProjectError, Scope, observation_text, project},
    redact::Redacted,
    time::Timestamp,
};

use crate::{
    capacity::{self, Declared},
    guarding,
    plan_view::plan_view,
    recovering::{Recovers, closes_only},
    refusing::refuse,
    reverting::pauses,
    secrets::Needs,
    source::Source,
    state::{Mode, State},
    view::{DriftView, Edit, PlanView, Refusal, RefusalKind},
};

/// A plan that passed its confirmation.
pub(crate) struct Confirmed {
    /// The generation that is live now.
    pub(crate) generation: Generation,
    /// What is to be journaled; the answer waits for it.
    pub(crate) commit: Commit,
}

/// Whether the secrets of what is confirmed were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SecretsAre {
    /// Not yet.
    Unknown,
    /// They were all there a moment ago.
    AtHand,
}

/// What became of a confirmation.
pub(crate) enum Confirming {
    /// It is confirmed.
    Done(Box<Confirmed>),
    /// These secrets are to be asked for first, away from the loop; then it is confirmed again.
    Needs(Needs),
}

/// Everything that one plan is made from, as of one moment. Shares the records with the driver.
pub(crate) struct Planner {
    cluster: ClusterState,
    secrets: Secrets,
    declared: Declared,
    base: Arc<ClusterShape>,
    target: Arc<ClusterShape>,
    capabilities: BTreeMap<ProviderName, String>,
    fence: Fence,
    serial: PlanSerial,
    parallelism: u32,
    now: Timestamp,
    /// What a recovery is bound to beside the plan.
    recovers: Option<Recovers>,
    /// True if guardrails judge it.
    is_judged: bool,
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
        capacity::refuse_beyond(&plan, &self.target, &self.declared)?;
        plan.hash = self.recovers.as_ref().map_or(plan.hash, |recovers| recovers.hash(plan.hash));
        Ok(plan)
    }

    /// The secrets that `plan` needs.
    fn needs(&self, plan: &LifecyclePlan) -> Needs {
        Needs::of(plan, &self.cluster, &self.target)
    }

    /// What its guardrails want said to confirm `plan`.
    fn demanded(&self, plan: &LifecyclePlan) -> Result<Option<Demanded>, Refusal> {
        guarding::demanded(self.is_judged, plan, &self.base, &self.target)
    }

    /// Makes the plan as it is shown, if nothing forbids it and what it needs can be had; reads files.
    pub(crate) fn view(&self) -> Result<PlanView, Refusal> {
        let plan = self.plan()?;
        let demanded = self.demanded(&plan)?;
        self.needs(&plan).check(&self.secrets)?;
        let demand = demanded.as_ref().map(guarding::demand_view);
        Ok(PlanView { demand, ..self.view_of(&plan) })
    }

    /// The plan as it is shown.
    fn view_of(&self, plan: &LifecyclePlan) -> PlanView {
        let known = u32::try_from(self.cluster.len()).unwrap_or(u32::MAX);
        let drift = classify(&self.cluster, &self.target, None);
        let drift = drift.iter().map(DriftView::from).collect();
        let mut view = PlanView { drift, ..plan_view(plan, known) };
        view.bound.observed = observation_text(&self.cluster);
        // A recovery is worth carrying out also where no step follows.
        view.empty &= self.recovers.is_none();
        view
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
            declared: self.declared.clone(),
            capabilities: capability_texts(&self.capabilities),
            fence: self.plan_fence,
            serial: self.counters.serial,
            parallelism: self.parallelism,
            now,
            recovers: self.recovers(edit),
            is_judged: guarding::is_judged(edit),
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
        (used, checked): (bool, SecretsAre),
        now: Timestamp,
    ) -> Result<Confirming, Refusal> {
        if used {
            // That what was recovered is open no more says more than that its hash was used.
            if let Edit::Recover { operation, .. } = edit {
                self.still_open(*operation)?;
            }
            return Err(stale("this plan was confirmed before; a plan is good for one use"));
        }
        let planner = self.planner(edit, now)?;
        let plan = planner.plan()?;
        if plan.hash != hash {
            let present = planner.view_of(&plan);
            let moved = self.shown.moved(hash, &present, self.history.history().events());
            return Err(Refusal { moved, ..stale("what the plan was made from has changed") });
        }
        guarding::check(planner.demanded(&plan)?.as_ref(), source.typed.as_deref())?;
        self.take_checked(edit, &plan, source, (planner.needs(&plan), checked), now)
    }

    /// Takes `plan` unless its secrets are to be asked for first.
    fn take_checked(
        &mut self,
        edit: &Edit,
        plan: &LifecyclePlan,
        source: &Source,
        (needs, checked): (Needs, SecretsAre),
        now: Timestamp,
    ) -> Result<Confirming, Refusal> {
        match checked {
            SecretsAre::Unknown if !needs.is_empty() => Ok(Confirming::Needs(needs)),
            SecretsAre::Unknown | SecretsAre::AtHand => {
                self.take(edit, plan, source, now).map(|done| Confirming::Done(Box::new(done)))
            }
        }
    }

    /// Plans `edit` and confirms that very plan, once what it needs is at hand: for a file that applies itself.
    pub(crate) fn confirm_file(
        &mut self,
        edit: &Edit,
        source: &Source,
        checked: SecretsAre,
        now: Timestamp,
    ) -> Result<Confirming, Refusal> {
        let planner = self.planner(edit, now)?;
        let plan = planner.plan()?;
        guarding::check(planner.demanded(&plan)?.as_ref(), source.typed.as_deref())?;
        self.take_checked(edit, &plan, source, (planner.needs(&plan), checked), now)
    }

    /// Plans `edit` and confirms that very plan: for what nobody is asked about. Its secrets are asked for before each
    /// effect, as always.
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
        if !self.take_recovery(edit, plan.hash, source, &mut commit) {
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
