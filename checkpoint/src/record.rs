//! Records, shapes, holds and used plans: the state that a pass starts from.

use std::sync::Arc;

use reconciler_core::{
    desired::ClusterShape,
    hold::Hold,
    id::{GroupId, LogicalNodeId, PlanHash, PlanSerial},
    observed::{NodeRecord, Rollout},
    redact::Redacted,
    time::Timestamp,
};
use rusqlite::{Row, types::Type};

use crate::{
    codec::{misread, number},
    sum,
};

/// What happens to a slot's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordWrite {
    /// It is this now.
    Put(Arc<NodeRecord>),
    /// The slot is gone for good.
    Remove(LogicalNodeId),
}

/// What happens to the hold of a whole group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupWrite {
    /// The group.
    pub group: GroupId,
    /// Its hold now.
    pub hold: Option<Hold>,
}

/// What becomes of the row of a group's update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolloutWrite {
    /// The group.
    pub group: GroupId,
    /// Its update now; none if it is over.
    pub rollout: Option<Rollout>,
}

/// A plan that is confirmed by this commit; a second use of its hash is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsedPlan {
    /// Its hash.
    pub hash: PlanHash,
    /// The serial that went into the hash.
    pub serial: PlanSerial,
}

/// Where a shape came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ShapeSource {
    /// The declared file.
    File,
    /// An edit in the console.
    Console,
    /// A verb of the command line.
    Cli,
    /// The driver itself, as when an update failed.
    Driver,
}

impl ShapeSource {
    /// Every source.
    pub const ALL: [Self; 4] = [Self::File, Self::Console, Self::Cli, Self::Driver];

    /// The stable text.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Console => "console",
            Self::Cli => "cli",
            Self::Driver => "driver",
        }
    }
}

/// One generation of the desired shape, with who made it (D14).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeRow {
    /// The shape; it knows its generation.
    pub shape: Arc<ClusterShape>,
    /// Where it came from.
    pub source: ShapeSource,
    /// Who changed it.
    pub who: Redacted,
    /// The plan by which it was confirmed.
    pub plan: Option<PlanHash>,
    /// The digest of the file as it was last applied; carried on by edits that are not of the file.
    pub file_digest: Option<String>,
    /// When.
    pub at: Timestamp,
}

impl ShapeRow {
    pub(crate) const COLUMNS: &str = "generation, shape, source, who, plan, file_digest, at, sum";

    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let json = row.get_ref("shape")?.as_bytes()?;
        let generation = number(row, "generation")?;
        sum::check(row, &[&generation.to_le_bytes(), json])?;
        let shape: ClusterShape =
            serde_json::from_slice(json).map_err(|error| misread(Type::Blob, error))?;
        let source = row.get_ref("source")?.as_str()?;
        let source = ShapeSource::ALL
            .into_iter()
            .find(|known| known.as_str() == source)
            .ok_or_else(|| misread(Type::Text, "the source is not known"))?;
        let plan = row.get_ref("plan")?.as_str_or_null()?.map(str::parse).transpose();
        Ok(Self {
            shape: Arc::new(shape),
            source,
            who: Redacted::from(row.get::<_, String>("who")?),
            plan: plan.map_err(|error| misread(Type::Text, error))?,
            file_digest: row.get("file_digest")?,
            at: Timestamp::from_millis(number(row, "at")?),
        })
    }
}
