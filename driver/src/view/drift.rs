//! Drift as it is shown: what is not as it should be, and who mends it.

use reconciler_core::drift::{Drift, DriftKind, Repair, Severity};
use serde::{Deserialize, Serialize};

/// One difference between what is desired and what is observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriftView {
    /// The provider, group or slot that it is about.
    pub subject: String,
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
    /// Why it is one.
    pub reason: String,
    /// What differs, as one stable text.
    pub detail: String,
    /// The command that leads on, where the driver does not.
    pub way_out: Option<String>,
}

impl DriftView {
    /// True if it takes a person.
    pub const fn needs_a_person(&self) -> bool {
        match self.repair {
            Repair::Driver => false,
            Repair::Person | Repair::Refused => true,
        }
    }

    /// The drift in one line.
    pub fn line(&self) -> String {
        let Self { subject, kind, severity, expected, found, reason, .. } = self;
        let (severity, kind) = (severity.as_str(), kind.as_str());
        format!("{severity} {subject}: {kind}: {reason} (expected {expected}; found {found})")
    }
}

impl From<&Drift> for DriftView {
    fn from(drift: &Drift) -> Self {
        Self {
            subject: drift.subject.to_string(),
            kind: drift.kind,
            severity: drift.severity,
            repair: drift.repair,
            expected: drift.expected.clone(),
            found: drift.found.clone(),
            reason: drift.reason.to_owned(),
            detail: drift.detail(),
            way_out: drift.way_out(),
        }
    }
}
