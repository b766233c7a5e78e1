//! One slot explained in full, as plain data.

use reconciler_core::{
    reconcile::{Blocker, Explanation, Known},
    time::Timestamp,
};
use serde::{Deserialize, Serialize};

use super::{drift::DriftView, run::NodeView};

/// What a fact says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FactValue {
    /// A text.
    Text(String),
    /// A number.
    Count(u64),
    /// A time.
    At(Timestamp),
}

/// One fact that the decision read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactView {
    /// Its name.
    pub name: String,
    /// What it says.
    #[serde(flatten)]
    pub value: FactValue,
}

/// What stands in a slot's way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockerView {
    /// What it is.
    pub what: String,
    /// The command that leads on, where a person is needed.
    pub way_out: Option<String>,
}

/// A slot explained in full: the node as it is shown, and what was read to decide it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExplainView {
    /// The node; its `reason` is the explanation in one line, its `due` when that changes by itself.
    #[serde(flatten)]
    pub node: NodeView,
    /// The name of the rung that held.
    pub rung: String,
    /// Every fact that the rung read.
    pub facts: Vec<FactView>,
    /// What stands in the way.
    pub blockers: Vec<BlockerView>,
    /// What of the slot is not as it should be.
    pub drift: Vec<DriftView>,
    /// Its lines of the fleet text: everything that decides it.
    #[serde(default)]
    pub text: Vec<String>,
    /// True if a driver says so; otherwise it is what the journal says, and nobody looks.
    pub driven: bool,
}

impl ExplainView {
    /// What the decider read and says; nothing beside it is known yet.
    pub(crate) fn new(node: NodeView, explained: Explanation) -> Self {
        let blocker = |Blocker { what, way_out }: Blocker| BlockerView { what, way_out };
        let fact = |(name, known): (&str, Known)| FactView {
            name: name.to_owned(),
            value: match known {
                Known::Text(text) => FactValue::Text(text),
                Known::Count(count) => FactValue::Count(count),
                Known::At(at) => FactValue::At(at),
            },
        };
        Self {
            node: NodeView { reason: explained.line, due: explained.due, ..node },
            rung: explained.rung.to_owned(),
            facts: explained.facts.into_iter().map(fact).collect(),
            blockers: explained.blockers.into_iter().map(blocker).collect(),
            drift: Vec::new(),
            text: Vec::new(),
            driven: false,
        }
    }
}
