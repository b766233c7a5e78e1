//! What a drift is: its kind, how much it weighs, and who mends it.

use alloc::{format, string::String};
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    hold::Hold,
    id::{GroupId, LogicalNodeId, ProviderName},
};

/// What kind of drift it is; the order is that of the lists, the text form is stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriftKind {
    /// A provider could not be looked at: nothing can be claimed of it.
    Unobserved,
    /// A provider showed a part of what it holds.
    PartlyObserved,
    /// More vanished from a listing at once than is believed.
    Implausible,
    /// More of a group looks broken at once than is believed.
    MassUnhealthy,
    /// A group has another number of nodes than it should.
    Replicas,
    /// A wanted slot has no node.
    Missing,
    /// A listing lacks a node that was there.
    ReportedMissing,
    /// A node that is no longer wanted is there.
    Unwanted,
    /// A resource of this run that no record accounts for.
    Unmanaged,
    /// One identity was observed in two places.
    DuplicateIdentity,
    /// The state of a slot makes no sense.
    UnknownState,
    /// A newer controller's mark.
    Fence,
    /// Whether an effect happened is not known.
    OutcomeUnknown,
    /// A lease without a running workload.
    Created,
    /// A workload ended.
    Exited,
    /// An attempt failed in another way.
    Failed,
    /// A sign that nobody confirmed says that the workload ended.
    Unhealthy,
    /// The image differs.
    Image,
    /// The ports differ.
    Ports,
    /// Another part of what a node is differs.
    Revision,
    /// How a node is treated differs.
    Policy,
}

/// How much a drift weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Not as it should be.
    Warning,
    /// Something is broken.
    Error,
    /// Nothing may be decided before it is resolved.
    Blocker,
}

/// Who mends a drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Repair {
    /// The driver, by its next steps.
    Driver,
    /// A person; the driver leaves it alone and goes on with the rest.
    Person,
    /// A person, and plans that would act on its group are refused until then.
    Refused,
}

/// What a drift is about; providers come first, then groups, then slots.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DriftSubject {
    /// A provider.
    Provider(ProviderName),
    /// A whole group.
    Group(GroupId),
    /// One slot.
    Slot(LogicalNodeId),
}

/// One difference between what is desired and what is observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drift {
    /// What it is about.
    pub subject: DriftSubject,
    /// What kind it is.
    pub kind: DriftKind,
    /// How much it weighs.
    pub severity: Severity,
    /// Who mends it.
    pub repair: Repair,
    /// What is desired.
    pub expected: String,
    /// What is observed.
    pub found: String,
    /// Why it is one, in plain words.
    pub reason: &'static str,
    /// True if a hold stands behind it, which can be released.
    is_held: bool,
}

impl DriftKind {
    /// Every kind, in order.
    pub const ALL: [Self; 21] = [
        Self::Unobserved,
        Self::PartlyObserved,
        Self::Implausible,
        Self::MassUnhealthy,
        Self::Replicas,
        Self::Missing,
        Self::ReportedMissing,
        Self::Unwanted,
        Self::Unmanaged,
        Self::DuplicateIdentity,
        Self::UnknownState,
        Self::Fence,
        Self::OutcomeUnknown,
        Self::Created,
        Self::Exited,
        Self::Failed,
        Self::Unhealthy,
        Self::Image,
        Self::Ports,
        Self::Revision,
        Self::Policy,
    ];

    /// The stable text of the kind.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unobserved => "unobserved",
            Self::PartlyObserved => "partly-observed",
            Self::Implausible => "implausible",
            Self::MassUnhealthy => "mass-unhealthy",
            Self::Replicas => "replicas",
            Self::Missing => "missing",
            Self::ReportedMissing => "reported-missing",
            Self::Unwanted => "unwanted",
            Self::Unmanaged => "unmanaged",
            Self::DuplicateIdentity => "duplicate-identity",
            Self::UnknownState => "unknown-state",
            Self::Fence => "fence",
            Self::OutcomeUnknown => "outcome-unknown",
            Self::Created => "created",
            Self::Exited => "exited",
            Self::Failed => "failed",
            Self::Unhealthy => "unhealthy",
            Self::Image => "image",
            Self::Ports => "ports",
            Self::Revision => "revision",
            Self::Policy => "policy",
        }
    }

    /// How much a drift of this kind weighs.
    pub const fn severity(self) -> Severity {
        match self {
            Self::Replicas | Self::Unwanted | Self::Policy => Severity::Info,
            Self::Unobserved
            | Self::PartlyObserved
            | Self::Missing
            | Self::ReportedMissing
            | Self::Unmanaged
            | Self::UnknownState
            | Self::OutcomeUnknown
            | Self::Created
            | Self::Exited
            | Self::Unhealthy
            | Self::Image
            | Self::Ports
            | Self::Revision => Severity::Warning,
            Self::Implausible | Self::MassUnhealthy | Self::Failed => Severity::Error,
            Self::DuplicateIdentity | Self::Fence => Severity::Blocker,
        }
    }

    /// Who mends a drift of this kind, unless a hold says that it takes a person.
    pub const fn repair(self) -> Repair {
        match self {
            Self::DuplicateIdentity | Self::UnknownState | Self::Fence => Repair::Refused,
            Self::Unobserved
            | Self::PartlyObserved
            | Self::Implausible
            | Self::MassUnhealthy
            | Self::Unmanaged => Repair::Person,
            Self::Replicas
            | Self::Missing
            | Self::ReportedMissing
            | Self::Unwanted
            | Self::OutcomeUnknown
            | Self::Created
            | Self::Exited
            | Self::Failed
            | Self::Unhealthy
            | Self::Image
            | Self::Ports
            | Self::Revision
            | Self::Policy => Repair::Driver,
        }
    }
}

impl Severity {
    /// The severity in a word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Blocker => "blocker",
        }
    }
}

impl Drift {
    pub(super) fn new(
        subject: DriftSubject,
        kind: DriftKind,
        (expected, found): (impl Into<String>, impl Into<String>),
        reason: &'static str,
    ) -> Self {
        let (severity, repair) = (kind.severity(), kind.repair());
        let (expected, found) = (expected.into(), found.into());
        Self { subject, kind, severity, repair, expected, found, reason, is_held: false }
    }

    /// The same drift, which is that of a hold.
    pub(super) fn of_hold(mut self) -> Self {
        self.is_held = true;
        self
    }

    /// The same drift, which a hold leaves to a person.
    pub(super) fn held(mut self) -> Self {
        self.severity = self.severity.max(Severity::Error);
        self.repair = self.repair.max(Repair::Person);
        self.of_hold()
    }

    /// What differs in one stable text.
    pub fn detail(&self) -> String {
        format!("desired={};observed={}", self.expected, self.found)
    }

    /// The command that leads on, where the driver does not.
    pub fn way_out(&self) -> Option<String> {
        let subject = &self.subject;
        match (self.repair, &self.subject) {
            (Repair::Driver, _) | (_, DriftSubject::Provider(_)) => None,
            // Which of the two is to stay is for a person to say, at the provider.
            (_, DriftSubject::Slot(_)) if self.kind == DriftKind::DuplicateIdentity => {
                Some(format!("levelhead explain {subject}"))
            }
            (_, DriftSubject::Group(_) | DriftSubject::Slot(_)) if self.is_held => {
                Some(Hold::way_out(&format!("{subject}")))
            }
            (_, DriftSubject::Group(_) | DriftSubject::Slot(_)) => {
                Some(String::from("levelhead status"))
            }
        }
    }
}

impl fmt::Display for DriftSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Provider(name) => name.fmt(f),
            Self::Group(group) => group.fmt(f),
            Self::Slot(slot) => slot.fmt(f),
        }
    }
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, kind, expected, found, reason, .. } = self;
        write!(f, "{subject}: {}: {reason} (expected {expected}; found {found})", kind.as_str())
    }
}
