//! Runs the dependency checks over the real workspace; each check is a file beside this one.

use super::{duplicates, graph, licences, manifests};
use crate::finding::settle;
use crate::metadata;
use crate::shell::Shell;
use anyhow::Result;

/// Checks graph, licences, duplicates and manifests, and tells all findings at once.
pub(crate) fn run(shell: &Shell) -> Result<()> {
    let metadata = metadata::read(shell)?;
    let repeated = duplicates::repeated(&metadata);
    for (name, versions) in &repeated {
        Shell::say(&duplicates::line(name, versions))?;
    }
    let mut findings = graph::check(&metadata);
    findings.extend(licences::check(&metadata));
    findings.extend(duplicates::check(&repeated));
    findings.extend(manifests::check_workspace(shell.root())?);
    settle("deps", findings)
}
