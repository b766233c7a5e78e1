//! Everything that can reach the console, and everything that it can order, as two closed lists.

use std::{collections::BTreeMap, sync::Arc};

use driver::view::{Edit, RunView};
use reconciler_core::{id::GroupId, time::Timestamp};
use serde::{Deserialize, Serialize};

pub use super::moment::Moment;
use super::{
    confirm::Confirmed,
    link::{Lost, Reply},
    release::ConfirmedRelease,
};

/// A key as the console knows it; what is not listed is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Key {
    /// A printed character.
    Char(char),
    /// A letter with Control.
    Ctrl(char),
    /// Enter.
    Enter,
    /// Escape.
    Esc,
    /// Tab.
    Tab,
    /// Shift and Tab.
    BackTab,
    /// Backspace; never a verb.
    Backspace,
    /// Up.
    Up,
    /// Down.
    Down,
    /// Left.
    Left,
    /// Right.
    Right,
    /// Home.
    Home,
    /// End.
    End,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
}

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
    /// The terminal is gone.
    Hangup,
    /// A signal asks the process to end.
    Terminate(i32),
    /// A signal asks the process to stop for now.
    Stop,
    /// The process goes on after a stop.
    Resumed,
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
