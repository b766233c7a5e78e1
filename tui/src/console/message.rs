//! Everything that can reach the console, and everything that it can order, as two closed lists.

use std::{collections::BTreeMap, sync::Arc};

use driver::view::{Edit, RunView};
use reconciler_core::{
    id::{GroupId, LogicalNodeId},
    time::Timestamp,
};
use serde::{Deserialize, Serialize};

use super::{
    confirm::Confirmed,
    link::{Lost, Reply},
    release::ConfirmedRelease,
};
pub use super::{key::Key, moment::Moment};

/// Everything that can happen to the console.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Msg {
    /// A key, and when it was read.
    Key(Key, Moment),
    /// A click on a cell, counted from the upper left.
    Click {
        /// The column.
        column: u16,
        /// The row.
        row: u16,
    },
    /// What became of writing what was shown: the files, or why not.
    Saved(Result<String, String>),
    /// The screen has another size.
    Resize {
        /// Columns.
        width: u16,
        /// Rows.
        height: u16,
    },
    /// The link is being made.
    Connecting,
    /// A newer snapshot.
    Snapshot(Arc<RunView>),
    /// The link stands, and nothing was heard over it since then.
    Lagging(Timestamp),
    /// The driver cannot be reached.
    LinkLost(Lost),
    /// An answer to a request.
    Reply(Reply),
    /// Time went on.
    Tick(Moment),
    /// A frame with everything so far is on the screen.
    Painted(Moment),
    /// What the last frame cost; comes only while that is shown.
    Perf(Perf),
    /// The terminal is gone.
    Hangup,
    /// A signal asks the process to end.
    Terminate(i32),
    /// A signal asks the process to stop for now.
    Stop,
    /// The process goes on after a stop.
    Resumed,
}

/// What a frame cost, and what waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Perf {
    /// Microseconds that it took to make and send it.
    pub micros: u64,
    /// Bytes that were sent for it.
    pub bytes: u64,
    /// Keys that wait.
    pub keys: usize,
    /// Answers that wait.
    pub replies: usize,
}

/// What the console orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cmd {
    /// Ask for a plan; changes nothing.
    Plan {
        /// The request's number.
        id: u64,
        /// What to plan.
        edit: Edit,
    },
    /// Apply what was shown and confirmed.
    Apply(Confirmed),
    /// Look anew at what is held; changes nothing.
    Survey {
        /// The request's number.
        id: u64,
        /// The slot or group.
        subject: String,
    },
    /// End the holds that were shown and confirmed.
    Release(ConfirmedRelease),
    /// Ask for the open operations; changes nothing.
    Operations {
        /// The request's number.
        id: u64,
    },
    /// Ask what the driver says of a node; changes nothing.
    Explain {
        /// The request's number.
        id: u64,
        /// Which.
        subject: LogicalNodeId,
    },
    /// Write counts into the desired-state file.
    WriteBack {
        /// The request's number.
        id: u64,
        /// The counts, only of groups that stand in the file.
        counts: BTreeMap<GroupId, u32>,
    },
    /// Put a text on the clipboard of who looks.
    Copy(String),
    /// Write texts into new files whose names begin so, each with its ending.
    Save {
        /// How the names begin.
        stem: String,
        /// Endings and texts.
        parts: Vec<(&'static str, String)>,
    },
    /// Come to the driver anew, now.
    Reconnect,
    /// Paint everything anew.
    Redraw,
    /// Give the terminal back and stop until continued.
    Suspend,
    /// End.
    Quit(Farewell),
}

/// Why the console ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Farewell {
    /// Its user said so.
    Asked,
    /// The terminal went away.
    HungUp,
    /// This signal came.
    Signal(i32),
}
