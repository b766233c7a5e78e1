//! What goes over the socket: the bodies of the calls, versioned by their path.

use reconciler_core::id::{Generation, LogicalNodeId, PassNumber, PlanHash};
use serde::{Deserialize, Serialize};

use crate::{source::Source, view::Edit};

/// `POST /v1/plan`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlanCall {
    pub(super) edit: Edit,
}

/// `POST /v1/apply`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ApplyCall {
    pub(super) edit: Edit,
    pub(super) hash: PlanHash,
    pub(super) source: Source,
}

/// The answer to `POST /v1/apply`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Applied {
    pub(super) generation: Generation,
}

/// `POST /v1/release`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReleaseCall {
    pub(super) subject: String,
    pub(super) confirm: Option<PlanHash>,
}

/// The query of `GET /v1/explain`: a slot or a group.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExplainQuery {
    pub(super) subject: String,
}

/// The query of `GET /v1/output`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OutputQuery {
    pub(super) slot: LogicalNodeId,
}

/// The query of `GET /v1/watch`: with `cursor`, it goes on from there.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WatchQuery {
    pub(super) cursor: Option<String>,
}

/// The query of `GET /v1/events`: those after a cursor, or the newest; with `wait`, the answer waits for one.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventsQuery {
    pub(super) after: Option<String>,
    pub(super) limit: Option<u32>,
    #[serde(default)]
    pub(super) wait: bool,
}

/// The query of `GET /v1/operations`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OperationsQuery {
    pub(super) limit: Option<u32>,
}

/// The query of `GET /v1/snapshot`: with `after`, the answer waits until a later pass did something.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SnapshotQuery {
    pub(super) after: Option<PassNumber>,
}
