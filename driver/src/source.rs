//! Who asks for a change, and by which face.

use checkpoint::record::ShapeSource;
use serde::{Deserialize, Serialize};

/// Who asks for a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// By which face: `file`, `console`, `cli`, or the `driver` itself.
    pub face: Face,
    /// Who: a user name, or the driver itself.
    pub who: String,
    /// What was typed to confirm it: `yes`, or the name that a guardrail wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typed: Option<String>,
}

/// The face that a change comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Face {
    /// The followed file.
    File,
    /// The console.
    Console,
    /// The command line.
    Cli,
    /// The driver itself, as when an update failed.
    Driver,
}

impl From<Face> for ShapeSource {
    fn from(face: Face) -> Self {
        match face {
            Face::File => Self::File,
            Face::Console => Self::Console,
            Face::Cli => Self::Cli,
            Face::Driver => Self::Driver,
        }
    }
}
