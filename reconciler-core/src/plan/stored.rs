//! A plan as it is kept: its one text, and reading it back under its hash (R80).

use alloc::{
    collections::BTreeMap,
    string::{String, ToString},
    vec::Vec,
};
use core::str::FromStr;

use sha2::{Digest, Sha256};

use super::{
    graph::{Graph, GraphError},
    header::{PLAN_SCHEMA, PlanHeader},
    impact::Impact,
    key::StepKey,
    step::{Frames, PlanStep},
};
use crate::{
    canonical::{Canon, ReadError, read, write_object},
    effect::CommandKind,
    id::{AttemptId, Fence, Generation, PlanHash, PlanSerial, RevisionDigest, SessionId},
    time::Millis,
};

/// What each revision is, redacted: for people; the revision itself is the digest of what was not redacted.
pub type Specs = BTreeMap<RevisionDigest, Canon>;

/// A plan that was read back: the part of it that its hash vouches for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPlan {
    /// What it is bound to.
    pub header: PlanHeader,
    /// What the attempts of its steps implement.
    pub specs: Specs,
    /// Its steps.
    pub steps: Vec<PlanStep>,
    /// What it does to the availability of the groups whose nodes it replaces.
    pub impacts: Vec<Impact>,
}

/// Why a stored plan is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoredPlanError {
    /// Its text is not the one that was hashed.
    #[error("the plan was changed after it was made: its hash is {}, and it is kept as {}", found.short(), expected.short())]
    Edited {
        /// The hash under which it is kept.
        expected: PlanHash,
        /// The hash of what is there.
        found: PlanHash,
    },
    /// It is no canonical text.
    #[error("the plan cannot be read")]
    Text(#[source] ReadError),
    /// It was made by another version.
    #[error("the plan has form {0}, this version knows form {PLAN_SCHEMA}")]
    Schema(String),
    /// Something in it is missing or is not what it should be.
    #[error("`{0}` of the plan is missing or wrong")]
    Member(&'static str),
    /// Its steps are no graph.
    #[error("the steps of the plan contradict each other")]
    Graph(#[source] GraphError),
    /// Its steps are in another order than the one that follows from them.
    #[error("the steps of the plan are not in their order")]
    Order,
}

/// Writes the text of a plan in pieces, so that hashing it needs no copy of the whole.
pub(super) fn write_plan(
    header: &PlanHeader,
    specs: &Specs,
    steps: &[PlanStep],
    impacts: &[Impact],
    mut write: impl FnMut(&str),
) {
    write("{\"header\":");
    write(&header.canon().write());
    write(",\"impacts\":");
    write(&Canon::list(impacts.iter().map(Impact::canon)).write());
    write(",\"specs\":[");
    let mut part = String::new();
    for (n, (revision, spec)) in specs.iter().enumerate() {
        part.clear();
        part.push_str(if n > 0 { "," } else { "" });
        write_object(&mut part, |members| {
            members.text("revision", &revision.to_string());
            members.canon("spec", spec);
        });
        write(&part);
    }
    write("],\"steps\":[");
    let places: BTreeMap<_, usize> = specs.keys().zip(0..).collect();
    let mut frames = Frames::default();
    for (n, step) in steps.iter().enumerate() {
        part.clear();
        part.push_str(if n > 0 { "," } else { "" });
        let spec = places.get(&step.revision).copied().unwrap_or(usize::MAX);
        step.write(&mut part, spec, &mut frames);
        write(&part);
    }
    write("]}");
}

/// The hash of a plan's text.
pub(super) fn hash_plan(
    header: &PlanHeader,
    specs: &Specs,
    steps: &[PlanStep],
    impacts: &[Impact],
) -> PlanHash {
    let mut hash = Sha256::new();
    write_plan(header, specs, steps, impacts, |part| hash.update(part.as_bytes()));
    PlanHash::from_bytes(hash.finalize().into())
}

impl StoredPlan {
    /// Reads the text that is kept under `hash`.
    ///
    /// # Errors
    /// Refuses a text with another hash, of another version, with steps that contradict each other, and any
    /// other than the canonical one.
    pub fn read(text: &str, hash: PlanHash) -> Result<Self, StoredPlanError> {
        let found = PlanHash::of(text.as_bytes());
        if found != hash {
            return Err(StoredPlanError::Edited { expected: hash, found });
        }
        let canon = read(text).map_err(StoredPlanError::Text)?;
        let header = member(&canon, "header")?;
        let schema = text_of(header, "schema")?;
        if schema != PLAN_SCHEMA.to_string() {
            return Err(StoredPlanError::Schema(schema.to_string()));
        }
        let specs = list_of(&canon, "specs")?
            .iter()
            .map(|spec| Ok((parsed(spec, "revision")?, member(spec, "spec")?.clone())));
        let specs = specs.collect::<Result<Specs, StoredPlanError>>()?;
        let revisions: Vec<RevisionDigest> = specs.keys().copied().collect();
        let steps = list_of(&canon, "steps")?.iter().map(|step| read_step(step, &revisions));
        let impacts = list_of(&canon, "impacts")?.iter().map(read_impact);
        let plan = Self {
            header: read_header(header)?,
            specs,
            steps: steps.collect::<Result<_, _>>()?,
            impacts: impacts.collect::<Result<_, _>>()?,
        };
        plan.check()?;
        Ok(plan)
    }

    /// Its canonical text.
    pub fn canonical(&self) -> String {
        let mut text = String::new();
        let Self { header, specs, steps, impacts } = self;
        write_plan(header, specs, steps, impacts, |part| text.push_str(part));
        text
    }

    /// The wave of each step, as [`waves`](super::LifecyclePlan::waves) of the plan that was made.
    ///
    /// # Errors
    /// Fails if the steps are no graph, which a plan that was read here never is.
    pub fn waves(&self) -> Result<Vec<u32>, GraphError> {
        Ok(Graph::new(&self.steps)?.waves(self.header.parallelism as usize))
    }

    /// Checks what a hash alone does not vouch for.
    fn check(&self) -> Result<(), StoredPlanError> {
        let graph = Graph::new(&self.steps).map_err(StoredPlanError::Graph)?;
        let order = graph.order(&self.steps).map_err(StoredPlanError::Graph)?;
        if !order.into_iter().eq(0..self.steps.len()) {
            return Err(StoredPlanError::Order);
        }
        Ok(())
    }
}

fn read_header(canon: &Canon) -> Result<PlanHeader, StoredPlanError> {
    let number = |name| parsed::<u64>(canon, name);
    Ok(PlanHeader {
        run: parsed(canon, "run")?,
        base: Generation::new(number("base")?),
        target: Generation::new(number("target")?),
        fence: Fence::new(number("fence")?),
        serial: PlanSerial::new(number("serial")?),
        parallelism: parsed(canon, "parallelism")?,
        spec_digest: parsed(canon, "spec")?,
        observation_digest: parsed(canon, "observation")?,
        capability_digest: parsed(canon, "capability")?,
    })
}

fn read_impact(canon: &Canon) -> Result<Impact, StoredPlanError> {
    let reason = text_of(canon, "reason")?;
    let mode = Impact::mode_of(reason).ok_or(StoredPlanError::Member("reason"))?;
    let Canon::Bool(downtime) = member(canon, "downtime")? else {
        return Err(StoredPlanError::Member("downtime"));
    };
    Ok(Impact {
        group: parsed(canon, "group")?,
        mode,
        desired: parsed(canon, "desired")?,
        replaced: parsed(canon, "replaced")?,
        minimum_available: parsed(canon, "minimum-available")?,
        peak: parsed(canon, "peak")?,
        downtime: *downtime,
    })
}

fn read_step(canon: &Canon, revisions: &[RevisionDigest]) -> Result<PlanStep, StoredPlanError> {
    let key: StepKey = parsed(canon, "key")?;
    let spec: usize = parsed(canon, "spec")?;
    let revision = revisions.get(spec).copied().ok_or(StoredPlanError::Member("spec"))?;
    let after = list_of(canon, "after")?.iter().map(|key| {
        let key = key.as_text().and_then(|text| text.parse().ok());
        key.ok_or(StoredPlanError::Member("after"))
    });
    let inverse = match member(canon, "inverse")? {
        Canon::Null => None,
        Canon::Bool(_) | Canon::Text(_) | Canon::List(_) | Canon::Object(_) => {
            let known = CommandKind::from_name(text_of(canon, "inverse")?);
            Some(known.ok_or(StoredPlanError::Member("inverse"))?)
        }
    };
    // A plan that was kept by an earlier version has no word of sessions.
    let session = match canon.member("session").and_then(Canon::as_text) {
        None => None,
        Some(text) => {
            let number = text.parse().map_err(|_bad| StoredPlanError::Member("session"))?;
            Some(SessionId::new(number))
        }
    };
    Ok(PlanStep {
        attempt: AttemptId { ordinal: key.ordinal, uuid: parsed(canon, "attempt")? },
        action: key.action,
        slot: key.slot,
        after: after.collect::<Result<_, _>>()?,
        requires: parsed(canon, "requires")?,
        brings: parsed(canon, "brings")?,
        timeout: Millis::new(parsed(canon, "timeout-ms")?),
        inverse,
        revision,
        session,
    })
}

fn member<'a>(canon: &'a Canon, name: &'static str) -> Result<&'a Canon, StoredPlanError> {
    canon.member(name).ok_or(StoredPlanError::Member(name))
}

fn text_of<'a>(canon: &'a Canon, name: &'static str) -> Result<&'a str, StoredPlanError> {
    member(canon, name)?.as_text().ok_or(StoredPlanError::Member(name))
}

fn list_of<'a>(canon: &'a Canon, name: &'static str) -> Result<&'a [Canon], StoredPlanError> {
    member(canon, name)?.as_list().ok_or(StoredPlanError::Member(name))
}

fn parsed<T: FromStr>(canon: &Canon, name: &'static str) -> Result<T, StoredPlanError> {
    text_of(canon, name)?.parse().map_err(|_bad| StoredPlanError::Member(name))
}
