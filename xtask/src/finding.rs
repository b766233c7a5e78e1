//! What a check found: a value that is printed in one shape and counted in one place.

use crate::shell::Shell;
use anyhow::{Result, bail};
use std::fmt;

/// One violation of one rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// Where: a path from the root, or a crate's name.
    pub(crate) place: String,
    /// The line, where one line is to blame; counted from 1.
    pub(crate) line: Option<usize>,
    /// The rule's name.
    pub(crate) rule: &'static str,
    /// What is wrong and what is wanted.
    pub(crate) message: String,
}

impl Finding {
    /// A finding about a whole file or crate.
    pub(crate) fn whole(rule: &'static str, place: &str, message: impl Into<String>) -> Self {
        Self { place: place.to_owned(), line: None, rule, message: message.into() }
    }

    /// A finding at one line.
    pub(crate) fn at(
        rule: &'static str,
        place: &str,
        line: usize,
        message: impl Into<String>,
    ) -> Self {
        Self { place: place.to_owned(), line: Some(line), rule, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, line, rule, message } = self;
        match line {
            Some(line) => write!(f, "{place}:{line}: {rule}: {message}"),
            None => write!(f, "{place}: {rule}: {message}"),
        }
    }
}

/// Prints every finding in order of place and fails when there is one.
pub(crate) fn settle(verb: &str, mut findings: Vec<Finding>) -> Result<()> {
    findings.sort();
    for finding in &findings {
        Shell::print(&finding.to_string())?;
    }
    match findings.len() {
        0 => Shell::say(&format!("{verb}: clean")),
        1 => bail!("{verb}: 1 finding"),
        n_findings => bail!("{verb}: {n_findings} findings"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Finding, settle};

    #[test]
    fn a_finding_names_place_line_and_rule() {
        let finding = Finding::at("size", "a/b.rs", 7, "too long");
        assert_eq!(finding.to_string(), "a/b.rs:7: size: too long");
        let finding = Finding::whole("law", "driver", "may not name tui");
        assert_eq!(finding.to_string(), "driver: law: may not name tui");
    }

    #[test]
    fn one_finding_is_enough_to_fail() {
        assert!(settle("tidy", Vec::new()).is_ok());
        assert!(settle("tidy", vec![Finding::whole("size", "a.rs", "long")]).is_err());
    }
}
