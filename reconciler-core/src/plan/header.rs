//! What a plan is made from, as the digests and numbers that bind it (P3).

use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::String,
    sync::Arc,
};

use crate::{
    canonical::{Canon, write_object},
    desired::{ClusterShape, Guardrail},
    hex::with_hex,
    id::{Fence, Generation, GroupId, LogicalNodeId, PlanHash, PlanSerial, ProviderName, Uuid},
    observed::{ClusterState, GroupState, NodeRecord},
};

/// The version of the plan's form; part of the hash.
pub(super) const PLAN_SCHEMA: u64 = 2;

/// What a plan is made from, beside the observed state.
#[derive(Clone, Debug)]
pub struct PlanInput<'a> {
    /// The shape that is live.
    pub base: &'a ClusterShape,
    /// The shape that is wanted.
    pub target: &'a ClusterShape,
    /// What the providers can do, in their own words.
    pub capabilities: &'a BTreeMap<ProviderName, String>,
    /// The last fence that was durable when the plan was made.
    pub fence: Fence,
    /// How many plans were confirmed before.
    pub serial: PlanSerial,
    /// How many effects may be on their way at once.
    pub parallelism: u32,
}

/// Which slots a plan is about.
#[derive(Clone, Copy, Debug)]
pub enum Scope<'a> {
    /// Every slot that is wanted or known.
    All,
    /// These alone, as for a repair: their number is what the plan costs.
    Slots(&'a BTreeSet<LogicalNodeId>),
}

/// The digests and numbers that bind a plan to what it was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanHeader {
    /// The run.
    pub run: Uuid,
    /// The generation that it starts from.
    pub base: Generation,
    /// The generation that it leads to.
    pub target: Generation,
    /// The last fence that was durable when the plan was made.
    pub fence: Fence,
    /// How many plans were confirmed before: a used plan can never come back.
    pub serial: PlanSerial,
    /// How many effects may be on their way at once.
    pub parallelism: u32,
    /// The digest of the wanted shape.
    pub spec_digest: PlanHash,
    /// The digest of what was observed.
    pub observation_digest: PlanHash,
    /// The digest of what the providers can do.
    pub capability_digest: PlanHash,
}

impl PlanHeader {
    pub(super) fn new(observed: &ClusterState, input: &PlanInput<'_>, scope: Scope<'_>) -> Self {
        Self {
            run: input.target.uuid,
            base: input.base.generation,
            target: input.target.generation,
            fence: input.fence,
            serial: input.serial,
            parallelism: input.parallelism,
            spec_digest: spec_digest(input.target),
            observation_digest: match scope {
                Scope::All => observation_digest(observed),
                Scope::Slots(slots) => digest_of_slots(observed, slots),
            },
            capability_digest: capability_digest(input.capabilities),
        }
    }

    pub(super) fn canon(&self) -> Canon {
        Canon::object([
            ("schema", Canon::num(PLAN_SCHEMA)),
            ("run", Canon::show(self.run)),
            ("base", Canon::num(self.base.get())),
            ("target", Canon::num(self.target.get())),
            ("fence", Canon::num(self.fence.get())),
            ("serial", Canon::num(self.serial.get())),
            ("parallelism", Canon::num(self.parallelism.into())),
            ("spec", Canon::show(self.spec_digest)),
            ("observation", Canon::show(self.observation_digest)),
            ("capability", Canon::show(self.capability_digest)),
        ])
    }
}

fn spec_digest(shape: &ClusterShape) -> PlanHash {
    let groups = shape.groups().map(|group| {
        let canon = Canon::object([
            ("count", Canon::num(group.count.into())),
            ("revision", Canon::show(group.revision)),
            ("policy", group.policy.canon()),
            ("power", group.power.canon()),
        ]);
        (group.group.as_str(), canon)
    });
    let mut text = Canon::object(groups).write();
    // A shape without guardrails keeps the digest that it had before there were any.
    if !shape.guardrails().is_empty() {
        text.push_str(&Canon::list(shape.guardrails().iter().map(Guardrail::canon)).write());
    }
    PlanHash::of(text.as_bytes())
}

/// The digest of what the providers can do.
pub fn capability_digest(capabilities: &BTreeMap<ProviderName, String>) -> PlanHash {
    let canon = Canon::object(capabilities.iter().map(|(k, v)| (k.as_str(), Canon::text(v))));
    PlanHash::of(canon.write().as_bytes())
}

fn observation_digest(observed: &ClusterState) -> PlanHash {
    PlanHash::of(observation_text(observed).as_bytes())
}

/// What a plan takes to be observed, as it is hashed: a canonical line per attempt, doubtful group and paused update.
///
/// Slot, attempt, stage, lease, revision, certainty: never sequences, process ids, ages or times.
pub fn observation_text(observed: &ClusterState) -> String {
    let mut text = String::new();
    let records = observed.groups().flat_map(|(_, group)| group.records());
    for record in records.flat_map(|record| record.attempts()) {
        observation(&mut text, record);
        text.push('\n');
    }
    // A group without records says nothing: it is not there any more after a restart.
    let doubtful = |(_, group): &(&GroupId, &Arc<GroupState>)| {
        group.hold().is_some() || group.orphans().next().is_some()
    };
    for (name, group) in observed.groups().filter(doubtful) {
        let holds = group.hold().map(|hold| Canon::text(hold.code.as_str()));
        let orphans = group.orphans().map(|(_, o)| Canon::text(o.lease.id.as_str()));
        let canon = Canon::object([
            ("group", Canon::text(name.as_str())),
            ("hold", holds.unwrap_or(Canon::Null)),
            ("orphans", Canon::list(orphans)),
        ]);
        text.push_str(&canon.write());
        text.push('\n');
    }
    for (name, _) in observed.rollouts().filter(|(_, rollout)| rollout.paused) {
        text.push_str(&Canon::object([("paused", Canon::text(name.as_str()))]).write());
        text.push('\n');
    }
    text
}

fn digest_of_slots(observed: &ClusterState, slots: &BTreeSet<LogicalNodeId>) -> PlanHash {
    let mut text = String::new();
    let records = slots.iter().filter_map(|slot| observed.record(slot));
    for record in records.flat_map(|record| record.attempts()) {
        observation(&mut text, record);
        text.push('\n');
    }
    PlanHash::of(text.as_bytes())
}

fn observation(out: &mut String, record: &NodeRecord) {
    let doubted = record.missing_since.or(record.suspect_since).is_some();
    let certain = record.ambiguity.is_none() && !doubted;
    write_object(out, |members| {
        members.plain("attempt", |out| record.attempt.uuid.push(out));
        members.flag("certain", certain);
        members.flag("completed", record.stage.is_completed());
        members.flag("deleting", record.deletion.is_some());
        members.text_if_any("hold", record.hold.as_ref().map(|hold| hold.code.as_str()));
        members.text_if_any("lease", record.stage.lease().map(|lease| lease.id.as_str()));
        members.plain("revision", |out| {
            with_hex(record.revision.as_bytes(), |text| out.push_str(text));
        });
        members.num("round", record.round.into());
        members.plain("slot", |out| record.slot.push(out));
        members.plain("stage", |out| out.push_str(record.stage.name().as_planned().as_str()));
    });
}
