//! What the probes of a node have shown, in the words of an explanation.

use alloc::{format, string::ToString, vec::Vec};
use core::fmt;

use super::known::Known;
use crate::{
    desired::{Probe, ProbeKind},
    observed::{NodeRecord, ProbeVerdict, Trial},
};

/// The facts that the probes of `record` come to.
pub(super) fn facts(record: &NodeRecord) -> Vec<(&'static str, Known)> {
    let names = [
        ("startup probe", "startup since"),
        ("liveness probe", "liveness since"),
        ("readiness probe", "readiness since"),
    ];
    let mut facts = Vec::new();
    for (kind, (name, since)) in ProbeKind::ALL.into_iter().zip(names) {
        let (Some(probe), Some(trial)) = (record.policy.probes.of(kind), record.trial(kind)) else {
            continue;
        };
        facts.push((name, Known::Text(Told { trial, probe }.to_string())));
        if trial.verdict != ProbeVerdict::Unproven {
            facts.push((since, Known::At(trial.since)));
        }
    }
    if !record.revived.is_empty() {
        let budget = &record.policy.probes.budget;
        let used = format!("{} of {} times", record.revived.len(), budget.restarts);
        facts.push(("replaced for liveness", Known::Text(used)));
    }
    facts
}

/// A trial in words.
struct Told<'a> {
    trial: &'a Trial,
    probe: &'a Probe,
}

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Trial { verdict, since: _, passes, failures, said, trouble } = self.trial;
        f.write_str(verdict.as_str())?;
        if *passes > 0 {
            write!(f, ", {passes} of {} passes", self.probe.successes)?;
        }
        if *failures > 0 {
            write!(f, ", {failures} of {} failures", self.probe.failures)?;
        }
        if *verdict != ProbeVerdict::Passing && !said.as_str().is_empty() {
            write!(f, ": {said}")?;
        }
        trouble.as_ref().map_or(Ok(()), |why| write!(f, "; it cannot be asked: {why}"))
    }
}
