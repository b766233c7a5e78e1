//! A plan as it is shown before it is confirmed.

use std::collections::BTreeMap;

use reconciler_core::{
    canonical::Canon,
    effect::CommandKind,
    id::{
        AttemptId, Fence, Generation, GroupId, IdempotencyKey, LogicalNodeId, PlanHash, PlanSerial,
        RevisionDigest, SessionId, Uuid,
    },
    plan::{Impact, PlanHeader, PlanStep, StepKey, StoredPlan, StoredPlanError},
    time::Millis,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::drift::DriftView;

/// What a plan does to a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// A node is made where none was.
    Create,
    /// A node gives way to one of another revision.
    Replace,
    /// A node that is not as it should be is brought on.
    Repair,
    /// A node goes.
    Destroy,
    /// A workload is ended; its node keeps its lease.
    Stop,
    /// The workload of a node that rests is started.
    Start,
    /// A workload begins anew.
    Restart,
    /// Nothing can be done: it is held, or waits for what does not come.
    Blocked,
}

/// What happens to one slot, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeView {
    /// Which.
    pub slot: LogicalNodeId,
    /// What.
    pub kind: ChangeKind,
    /// True if the node serves at present.
    pub ready: bool,
    /// Why, in one line.
    pub why: String,
}

/// What a plan's update does to the availability of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImpactView {
    /// Why the nodes give way as they do: `requested-rolling` or `requested-recreate`.
    pub reason: String,
    /// How many nodes are replaced.
    pub replaced: u32,
    /// The fewest nodes that serve on the way.
    pub minimum_available: u32,
    /// The most attempts that exist at once on the way.
    pub peak: u32,
    /// True if nodes serve now, and at some time on the way none does.
    pub downtime: bool,
    /// All of it in one line.
    pub summary: String,
}

/// One group within a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanGroupView {
    /// Which.
    pub group: GroupId,
    /// Its count before.
    pub from: u32,
    /// Its count after.
    pub to: u32,
    /// What happens to its slots, in order; those that stay are left out.
    pub changes: Vec<ChangeView>,
    /// How many stay as they are.
    pub unchanged: u32,
    /// What happens to its availability, where nodes are replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impact: Option<ImpactView>,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepView {
    /// Its key, unique within the plan.
    pub key: String,
    /// The slot.
    pub slot: LogicalNodeId,
    /// The action.
    pub action: String,
    /// Keys of the steps that come first.
    pub after: Vec<String>,
    /// The attempt that it is for.
    pub attempt: Uuid,
    /// How the attempt must stand before it, with nothing under way.
    pub requires: String,
    /// How the attempt stands after it.
    pub brings: String,
    /// How long it may take, in milliseconds.
    pub timeout_ms: u64,
    /// The key by which a provider recognises the request.
    pub idempotency_key: IdempotencyKey,
    /// What undoes it; nothing if nothing does.
    pub inverse: Option<String>,
    /// The bootstrap session of the attempt that it is about, if it is about one.
    #[serde(default)]
    pub session: Option<SessionId>,
    /// What the attempt implements; described among what the plan is bound to.
    pub revision: RevisionDigest,
    /// The wave in which it may go out: at most the plan's parallelism of steps each.
    pub wave: u32,
}

/// What a plan is bound to, beside its generations and its serial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundView {
    /// The run.
    pub run: Uuid,
    /// The last fence that was durable when it was made.
    pub fence: Fence,
    /// How many effects may be on their way at once.
    pub parallelism: u32,
    /// The digest of the wanted shape.
    pub spec: PlanHash,
    /// The digest of what was observed.
    pub observation: PlanHash,
    /// The text of that digest: an object a line, per attempt, doubtful group and paused update.
    #[serde(default)]
    pub observed: String,
    /// The digest of what the providers can do.
    pub capability: PlanHash,
    /// What each revision in it is, redacted.
    pub specs: BTreeMap<RevisionDigest, Value>,
}

/// What guardrails want said to confirm a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DemandView {
    /// How much: `yes`, or `name` where a name is to be typed.
    pub confirm: String,
    /// The name: that of the one group whose guardrails want it, else that of the run.
    pub name: String,
    /// Why, in the words of the file.
    pub reasons: Vec<String>,
}

/// A plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanView {
    /// The version of this form.
    pub schema: u32,
    /// Confirms the plan: the hash of everything that it was made from.
    pub hash: PlanHash,
    /// How many plans were confirmed before.
    pub serial: PlanSerial,
    /// The generation that it starts from.
    pub base: Generation,
    /// The generation that it leads to.
    pub target: Generation,
    /// The groups that it touches or that exist.
    pub groups: Vec<PlanGroupView>,
    /// What it is bound to, and what it is about.
    pub bound: Box<BoundView>,
    /// Its steps in a stable topological order.
    pub steps: Vec<StepView>,
    /// Nodes made.
    pub create: u32,
    /// Nodes replaced.
    pub replace: u32,
    /// Nodes repaired.
    pub repair: u32,
    /// Nodes destroyed.
    pub destroy: u32,
    /// Workloads ended.
    #[serde(default)]
    pub stop: u32,
    /// Workloads of resting nodes started.
    #[serde(default)]
    pub start: u32,
    /// Workloads begun anew.
    #[serde(default)]
    pub restart: u32,
    /// Nodes that stay.
    pub unchanged: u32,
    /// Nodes that are held.
    pub blocked: u32,
    /// True if it changes nothing.
    pub empty: bool,
    /// True if it was made of what the journal says, and nobody looked: such a plan confirms nothing.
    #[serde(default)]
    pub offline: bool,
    /// Where what is observed is not what the plan leads to, in a stable order.
    #[serde(default)]
    pub drift: Vec<DriftView>,
    /// What guardrails want said to confirm it; nothing where they want no more than the hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demand: Option<DemandView>,
}

impl PlanView {
    /// Checks a plan that was kept: that its hash still is that of what it shows, and that its steps are a graph.
    ///
    /// What its groups say of each slot follows from what was observed, which its hash covers as a digest alone; that
    /// is compared with the plan made anew (see [`PlanView::is_shown_as`]).
    ///
    /// # Errors
    /// Refuses a plan that was changed after it was made, or whose steps contradict each other.
    pub fn check(&self) -> Result<(), StoredPlanError> {
        let bound = &self.bound;
        let header = PlanHeader {
            run: bound.run,
            base: self.base,
            target: self.target,
            fence: bound.fence,
            serial: self.serial,
            parallelism: bound.parallelism,
            spec_digest: bound.spec,
            observation_digest: bound.observation,
            capability_digest: bound.capability,
        };
        let specs = bound.specs.iter().map(|(revision, spec)| Ok((*revision, canon(spec)?)));
        let steps = self.steps.iter().map(StepView::step);
        let impacts = self.groups.iter().filter_map(PlanGroupView::stored_impact);
        let plan = StoredPlan {
            header,
            specs: specs.collect::<Result<_, StoredPlanError>>()?,
            steps: steps.collect::<Result<_, _>>()?,
            impacts: impacts.collect::<Result<_, _>>()?,
        };
        let read = StoredPlan::read(&plan.canonical(), self.hash)?;
        let waves = read.waves().map_err(StoredPlanError::Graph)?;
        if !self.steps.iter().map(|step| step.wave).eq(waves) {
            return Err(StoredPlanError::Member("wave"));
        }
        if PlanHash::of(bound.observed.as_bytes()) != bound.observation {
            return Err(StoredPlanError::Member("observed"));
        }
        self.check_sums()
    }

    /// Checks that the numbers of the whole are those of its groups.
    fn check_sums(&self) -> Result<(), StoredPlanError> {
        let sums = [
            ("create", ChangeKind::Create, self.create),
            ("replace", ChangeKind::Replace, self.replace),
            ("repair", ChangeKind::Repair, self.repair),
            ("destroy", ChangeKind::Destroy, self.destroy),
            ("stop", ChangeKind::Stop, self.stop),
            ("start", ChangeKind::Start, self.start),
            ("restart", ChangeKind::Restart, self.restart),
            ("blocked", ChangeKind::Blocked, self.blocked),
        ];
        let changes = || self.groups.iter().flat_map(|group| &group.changes);
        let wrong = sums.iter().find(|(_, kind, told)| {
            changes().filter(|change| change.kind == *kind).count() != *told as usize
        });
        match wrong {
            Some((name, ..)) => Err(StoredPlanError::Member(name)),
            None => Ok(()),
        }
    }

    /// True if this plan says what `made` does, which has the same hash; drift is told as of the moment, and left out.
    pub fn is_shown_as(&self, made: &Self) -> bool {
        Self { drift: made.drift.clone(), ..self.clone() } == *made
    }
}

impl ImpactView {
    /// An impact as it is shown.
    pub(crate) fn of(impact: &Impact) -> Self {
        Self {
            reason: impact.reason().to_owned(),
            replaced: impact.replaced,
            minimum_available: impact.minimum_available,
            peak: impact.peak,
            downtime: impact.downtime,
            summary: impact.summary(),
        }
    }
}

impl PlanGroupView {
    /// What the plan's hash covers of the impact; the summary must be its very words.
    fn stored_impact(&self) -> Option<Result<Impact, StoredPlanError>> {
        let view = self.impact.as_ref()?;
        let Some(mode) = Impact::mode_of(&view.reason) else {
            return Some(Err(StoredPlanError::Member("reason")));
        };
        let impact = Impact {
            group: self.group.clone(),
            mode,
            desired: self.to,
            replaced: view.replaced,
            minimum_available: view.minimum_available,
            peak: view.peak,
            downtime: view.downtime,
        };
        let same = impact.summary() == view.summary;
        Some(if same { Ok(impact) } else { Err(StoredPlanError::Member("summary")) })
    }
}

impl StepView {
    fn step(&self) -> Result<PlanStep, StoredPlanError> {
        let wrong = StoredPlanError::Member;
        let key: StepKey = self.key.parse().map_err(|_bad| wrong("key"))?;
        let after = self.after.iter().map(|key| key.parse().map_err(|_bad| wrong("after")));
        let inverse = self
            .inverse
            .as_deref()
            .map(|name| CommandKind::from_name(name).ok_or(wrong("inverse")));
        let step = PlanStep {
            slot: key.slot,
            attempt: AttemptId { ordinal: key.ordinal, uuid: self.attempt },
            action: key.action,
            after: after.collect::<Result<_, _>>()?,
            requires: self.requires.parse().map_err(|_bad| wrong("requires"))?,
            brings: self.brings.parse().map_err(|_bad| wrong("brings"))?,
            timeout: Millis::new(self.timeout_ms),
            inverse: inverse.transpose()?,
            revision: self.revision,
            session: self.session,
        };
        // What is shown for convenience must follow from the rest.
        if self.slot != step.slot {
            return Err(wrong("slot"));
        }
        if self.action != step.action.as_str() {
            return Err(wrong("action"));
        }
        if self.idempotency_key != step.idempotency_key() {
            return Err(wrong("idempotency_key"));
        }
        Ok(step)
    }
}

fn canon(value: &Value) -> Result<Canon, StoredPlanError> {
    Ok(match value {
        Value::Null => Canon::Null,
        Value::Bool(value) => Canon::Bool(*value),
        Value::String(text) => Canon::text(text),
        Value::Number(_) => return Err(StoredPlanError::Member("specs")),
        Value::Array(items) => Canon::List(items.iter().map(canon).collect::<Result<_, _>>()?),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| Ok((name.as_str(), canon(value)?)));
            Canon::object(members.collect::<Result<Vec<_>, StoredPlanError>>()?)
        }
    })
}
