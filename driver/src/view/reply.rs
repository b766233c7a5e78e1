//! What is asked of a driver, and why it may refuse.

use std::collections::BTreeMap;

use reconciler_core::{
    desired::ClusterShape,
    id::{AttemptOrdinal, GroupId, LogicalNodeId, OperationId, PlanHash},
};
use serde::{Deserialize, Serialize};

/// An edit of the desired shape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "edit", rename_all = "kebab-case")]
pub enum Edit {
    /// No edit: what is needed to reach the live shape.
    None,
    /// Other counts for the named groups.
    Counts {
        /// The counts.
        counts: BTreeMap<GroupId, u32>,
    },
    /// The content of the desired-state file; its counts win over live edits.
    File {
        /// The shape that the file declares.
        shape: Box<ClusterShape>,
        /// The digest of the file's bytes, to notice a change between plan and apply.
        digest: String,
    },
    /// Everything goes.
    Down,
    /// The named groups and slots rest: their workloads end, their leases stay.
    Stop {
        /// Groups and slots by name.
        subjects: Vec<String>,
    },
    /// The named groups and slots run again.
    Start {
        /// Groups and slots by name.
        subjects: Vec<String>,
    },
    /// The workloads of the named groups and slots begin anew, in turn.
    Restart {
        /// Groups and slots by name.
        subjects: Vec<String>,
    },
    /// The named jobs run again, each node as a fresh attempt.
    Run {
        /// The groups.
        groups: Vec<GroupId>,
    },
    /// The named groups go back to what served before the update that is under way.
    Rollback {
        /// The groups.
        groups: Vec<GroupId>,
    },
    /// The updates of the named groups are paused.
    Pause {
        /// The groups.
        groups: Vec<GroupId>,
    },
    /// The updates of the named groups go on.
    Resume {
        /// The groups.
        groups: Vec<GroupId>,
    },
    /// An open operation is gone on with, taken back, or closed where it stands.
    Recover {
        /// Which one.
        operation: OperationId,
        /// What is to become of it.
        verb: RecoveryVerb,
    },
    /// The named groups go, with all of their nodes.
    Remove {
        /// The groups.
        groups: Vec<GroupId>,
    },
}

/// What becomes of an open operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecoveryVerb {
    /// Its holds end, and it goes on the way that it goes.
    Resume,
    /// Its group goes back to what it was before.
    Rollback,
    /// Its holds end and it is closed; what is still missing is planned anew.
    Release,
}

impl RecoveryVerb {
    /// Every verb.
    pub const ALL: [Self; 3] = [Self::Resume, Self::Rollback, Self::Release];

    /// Its name, as it is typed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Resume => "resume",
            Self::Rollback => "rollback",
            Self::Release => "release",
        }
    }
}

/// What kind of refusal it is; decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalKind {
    /// The request makes no sense (65).
    Invalid,
    /// The confirmation is stale or used; nothing changed (70).
    Stale,
    /// Policy or fence forbids it; nothing changed (71).
    Forbidden,
    /// The journal failed (66).
    Journal,
    /// The driver is stopping or gone (69).
    Unavailable,
    /// Too much is asked of the driver at once; the same call may succeed later (69).
    Busy,
}

/// A refusal; nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// What kind.
    pub kind: RefusalKind,
    /// What is wrong, as a lower-case fragment.
    pub message: String,
    /// What moved since the plan was made, one line each.
    pub moved: Vec<String>,
    /// What to do.
    pub hint: Option<String>,
}

/// What an agent told last of what its workload wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputView {
    /// The slot.
    pub slot: LogicalNodeId,
    /// Which attempt at the slot it is.
    pub attempt: AttemptOrdinal,
    /// The last lines, without known secrets; four kibibytes of them at most.
    pub lines: Vec<String>,
}

/// What releasing a hold would do, or did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleaseView {
    /// The slot or group.
    pub subject: String,
    /// The holds that it ends.
    pub holds: Vec<String>,
    /// What the fresh look showed.
    pub seen: Vec<String>,
    /// Confirms it.
    pub hash: PlanHash,
    /// True once done.
    pub released: bool,
}
