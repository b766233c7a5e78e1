//! What the battery found: one value per check, written for the author of the provider.

use std::fmt;

/// How a check went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The provider does what callers rely on.
    Passed,
    /// It does not; the text says what was expected and what came.
    Failed(String),
    /// It could not be tried; the text says why.
    Skipped(String),
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name, as a law.
    pub name: &'static str,
    /// The decisions and requirements that it comes from.
    pub cites: &'static [&'static str],
    /// How it went.
    pub outcome: Outcome,
}

/// All checks, in the order in which they ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The kind of provider.
    pub kind: String,
    /// The checks.
    pub checks: Vec<Check>,
}

impl Report {
    /// True if no check failed; a skipped one does not count against a provider.
    pub fn passed(&self) -> bool {
        self.failures().next().is_none()
    }

    /// The checks that failed.
    pub fn failures(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| matches!(check.outcome, Outcome::Failed(_)))
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Outcome::Passed => write!(f, "passed   {}", self.name),
            Outcome::Failed(why) => {
                write!(f, "failed   {} ({}): {why}", self.name, self.cites.join(", "))
            }
            Outcome::Skipped(why) => write!(f, "skipped  {}: {why}", self.name),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.checks.iter().try_for_each(|check| writeln!(f, "{check}"))
    }
}

/// Why a check went no further.
#[derive(Debug)]
pub(super) enum Stop {
    /// The provider does something else than it must.
    Failed(String),
    /// What the check builds on is missing.
    Skipped(String),
}

/// How one check went.
pub(super) type Verdict<T = ()> = Result<T, Stop>;

/// A failed verdict.
pub(super) fn failed<T>(why: impl Into<String>) -> Verdict<T> {
    Err(Stop::Failed(why.into()))
}

/// A skipped verdict.
pub(super) fn skipped<T>(why: impl Into<String>) -> Verdict<T> {
    Err(Stop::Skipped(why.into()))
}

impl From<Verdict> for Outcome {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Ok(()) => Self::Passed,
            Err(Stop::Failed(why)) => Self::Failed(why),
            Err(Stop::Skipped(why)) => Self::Skipped(why),
        }
    }
}
