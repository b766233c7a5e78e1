//! What the probes of a workload have shown: pure counting, so that what a probe means is the same wherever it is run.
//!
//! Nothing is kept of an answer that tells nothing new: a fleet that is well writes nothing, however often it is asked.

use serde::{Deserialize, Serialize};

use crate::{
    desired::{Probe, ProbeKind},
    id::SessionId,
    redact::Redacted,
    time::Timestamp,
};

/// What the answers so far amount to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeVerdict {
    /// Too few answers.
    #[default]
    Unproven,
    /// As many passes in a row as are asked for, and never since as many failures.
    Passing,
    /// As many failures in a row as are asked for, and never since as many passes.
    Failing,
}

impl ProbeVerdict {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Unproven, Self::Passing, Self::Failing];

    /// The word for it in messages and in texts of fleets.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unproven => "unproven",
            Self::Passing => "passing",
            Self::Failing => "failing",
        }
    }
}

/// What came of asking once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeAnswer {
    /// It passed.
    Passed,
    /// It failed, or gave no answer in time.
    Failed(Redacted),
    /// It could not be asked; that says nothing of the workload.
    Unknown(Redacted),
}

/// What one probe has shown in one session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trial {
    /// What the answers amount to.
    pub verdict: ProbeVerdict,
    /// Since when.
    pub since: Timestamp,
    /// Passes in a row that speak against it.
    pub passes: u32,
    /// Failures in a row that speak against it.
    pub failures: u32,
    /// What the last failure that counted said, cleaned.
    pub said: Redacted,
    /// Why it could not be asked, if the last try told nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Redacted>,
}

impl Trial {
    /// Counts `answer`; true if anything is known now that was not.
    pub(crate) fn count(&mut self, answer: ProbeAnswer, probe: &Probe, now: Timestamp) -> bool {
        let passed = match answer {
            ProbeAnswer::Unknown(why) => {
                let news = self.trouble.is_none();
                self.trouble.get_or_insert(why);
                return news;
            }
            ProbeAnswer::Passed => true,
            ProbeAnswer::Failed(ref why) => {
                if self.verdict != ProbeVerdict::Failing {
                    self.said = why.clone();
                }
                false
            }
        };
        let heard = self.trouble.take().is_some();
        let (counts, against, verdict, wanted) = if passed {
            (&mut self.passes, &mut self.failures, ProbeVerdict::Passing, probe.successes)
        } else {
            (&mut self.failures, &mut self.passes, ProbeVerdict::Failing, probe.failures)
        };
        let broken = core::mem::take(against) > 0;
        if self.verdict == verdict {
            return broken || heard;
        }
        *counts = counts.saturating_add(1);
        if *counts >= wanted {
            *self = Self { verdict, since: now, said: self.said.clone(), ..Self::default() };
        }
        true
    }

    /// True if `answer` would tell nothing that is not known.
    pub const fn knows(&self, answer: &ProbeAnswer) -> bool {
        match answer {
            ProbeAnswer::Unknown(_) => self.trouble.is_some(),
            ProbeAnswer::Passed => {
                matches!(self.verdict, ProbeVerdict::Passing)
                    && self.failures == 0
                    && self.trouble.is_none()
            }
            ProbeAnswer::Failed(_) => {
                matches!(self.verdict, ProbeVerdict::Failing)
                    && self.passes == 0
                    && self.trouble.is_none()
            }
        }
    }

    /// What was proven before the probe was another stands until the new one says otherwise.
    pub(crate) fn vouched(since: Timestamp) -> Self {
        Self { verdict: ProbeVerdict::Passing, since, ..Self::default() }
    }
}

/// What the probes of one session have shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Health {
    /// Whose.
    pub session: SessionId,
    /// What the startup probe has shown.
    pub startup: Trial,
    /// What the liveness probe has shown.
    pub liveness: Trial,
    /// What the readiness probe has shown.
    pub readiness: Trial,
    /// True once a person said that the failing liveness probe is to be believed (C9).
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub believed: bool,
}

impl Health {
    /// What the probe of `kind` has shown.
    pub const fn of(&self, kind: ProbeKind) -> &Trial {
        match kind {
            ProbeKind::Startup => &self.startup,
            ProbeKind::Liveness => &self.liveness,
            ProbeKind::Readiness => &self.readiness,
        }
    }

    /// The same, to be counted on.
    pub(crate) const fn of_mut(&mut self, kind: ProbeKind) -> &mut Trial {
        match kind {
            ProbeKind::Startup => &mut self.startup,
            ProbeKind::Liveness => &mut self.liveness,
            ProbeKind::Readiness => &mut self.readiness,
        }
    }
}
