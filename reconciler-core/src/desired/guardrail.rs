//! Guardrails as they are declared: what plans may not do, and what an operator has to say before one is confirmed.
//!
//! How a plan is judged by them stands in `plan::guard`.

use alloc::{collections::BTreeSet, string::String};

use serde::{Deserialize, Serialize};

use crate::{canonical::Canon, id::GroupId};

/// What a plan can do to a slot on an operator's account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deed {
    /// To make a node.
    Create,
    /// To let a node give way to one of another revision.
    Replace,
    /// To destroy a node.
    Destroy,
    /// To end a workload.
    Stop,
    /// To start a workload that rests.
    Start,
    /// To let a workload begin anew.
    Restart,
}

impl Deed {
    /// Every deed.
    pub const ALL: [Self; 6] =
        [Self::Create, Self::Replace, Self::Destroy, Self::Stop, Self::Start, Self::Restart];

    /// True if it takes away or interrupts what may serve.
    pub const fn takes(self) -> bool {
        match self {
            Self::Replace | Self::Destroy | Self::Stop | Self::Restart => true,
            Self::Create | Self::Start => false,
        }
    }

    /// Its word, as it stands in the file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Replace => "replace",
            Self::Destroy => "destroy",
            Self::Stop => "stop",
            Self::Start => "start",
            Self::Restart => "restart",
        }
    }
}

/// What an operator must say to confirm a plan; a later one is more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Demand {
    /// An explicit yes.
    Yes,
    /// A name, typed.
    Name,
}

impl Demand {
    /// Its word, as it stands in the file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Name => "name",
        }
    }

    /// True if `typed` says enough where the name is `name`: who types the name says yes as well.
    pub fn is_met(self, name: &str, typed: Option<&str>) -> bool {
        typed.is_some_and(|typed| match self {
            Self::Yes => typed == Self::Yes.as_str() || typed == name,
            Self::Name => typed == name,
        })
    }
}

/// One guardrail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guardrail {
    /// The group that it is about; nothing for all of the run.
    pub group: Option<GroupId>,
    /// What no plan may do.
    pub deny: BTreeSet<Deed>,
    /// What must be said to confirm a plan that takes something away from it, or interrupts it.
    pub confirm: Option<Demand>,
    /// The most nodes that one plan may destroy.
    pub max_destroy: Option<u32>,
    /// Why, in the words of who declared it; shown as they are.
    pub reason: String,
}

impl Guardrail {
    /// True if it is about the group.
    pub fn is_about(&self, group: &GroupId) -> bool {
        self.group.as_ref().is_none_or(|own| own == group)
    }

    /// What is hashed of it.
    pub(crate) fn canon(&self) -> Canon {
        Canon::object([
            ("group", self.group.as_ref().map_or(Canon::Null, |it| Canon::text(it.as_str()))),
            ("deny", Canon::list(self.deny.iter().map(|deed| Canon::text(deed.as_str())))),
            ("confirm", self.confirm.map_or(Canon::Null, |it| Canon::text(it.as_str()))),
            ("max-destroy", self.max_destroy.map_or(Canon::Null, |it| Canon::num(it.into()))),
            ("reason", Canon::text(&self.reason)),
        ])
    }
}
