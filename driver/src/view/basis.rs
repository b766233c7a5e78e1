//! What a plan is bound to, and what moved between two plans: for a confirmation that came too late.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
};

use reconciler_core::id::{Fence, Generation, GroupId, PlanHash, PlanSerial};
use serde_json::{Map, Value};

use super::PlanView;

/// Lines about single slots and groups, at most.
const MOVED_MAX: usize = 8;

/// What a plan is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Basis {
    base: Generation,
    serial: PlanSerial,
    fence: Fence,
    parallelism: u32,
    spec: PlanHash,
    capability: PlanHash,
    wanted: BTreeMap<GroupId, u32>,
    observed: String,
}

impl PlanView {
    /// What it is bound to.
    pub fn basis(&self) -> Basis {
        Basis {
            base: self.base,
            serial: self.serial,
            fence: self.bound.fence,
            parallelism: self.bound.parallelism,
            spec: self.bound.spec,
            capability: self.bound.capability,
            wanted: self.groups.iter().map(|group| (group.group.clone(), group.to)).collect(),
            observed: self.bound.observed.clone(),
        }
    }
}

impl Basis {
    /// What is otherwise `now` than it was here, a line each: first the run, then a handful of groups and slots.
    pub fn moved(&self, now: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut number = |what: &str, was: &dyn Display, is: &dyn Display| {
            let (was, is) = (was.to_string(), is.to_string());
            if was != is {
                lines.push(format!("{what}: {was} -> {is}"));
            }
        };
        number("live generation", &self.base, &now.base);
        number("plans confirmed", &self.serial, &now.serial);
        number("fence", &self.fence, &now.fence);
        number("parallelism", &self.parallelism, &now.parallelism);
        if self.capability != now.capability {
            lines.push("what the providers can do has changed".to_owned());
        }
        let mut single = self.wanted_otherwise(now);
        if self.spec != now.spec && single.is_empty() {
            single.push("what is wanted of the groups has changed".to_owned());
        }
        single.extend(self.observed_otherwise(now));
        let more = single.len().saturating_sub(MOVED_MAX);
        single.truncate(MOVED_MAX);
        lines.extend(single);
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        lines
    }

    fn wanted_otherwise(&self, now: &Self) -> Vec<String> {
        let names: BTreeSet<&GroupId> = self.wanted.keys().chain(now.wanted.keys()).collect();
        let count = |of: &Self, name| of.wanted.get(name).copied().unwrap_or(0);
        let pairs = names.into_iter().map(|name| (name, count(self, name), count(now, name)));
        let differ = pairs.filter(|(_, was, is)| was != is);
        differ.map(|(name, was, is)| format!("{name}: wanted nodes {was} -> {is}")).collect()
    }

    fn observed_otherwise(&self, now: &Self) -> Vec<String> {
        let (was, is) = (rows(&self.observed), rows(&now.observed));
        let names: BTreeSet<&Key> = was.keys().chain(is.keys()).collect();
        let line = |key: &Key| match (was.get(key), is.get(key)) {
            (Some(was), Some(is)) if was == is => None,
            (Some(was), Some(is)) => Some(format!("{}: {}", told(key), differences(was, is))),
            (Some(was), None) => Some(format!("{}: {} -> gone", told(key), brief(was))),
            (None, Some(is)) => Some(format!("{}: new, {}", told(key), brief(is))),
            (None, None) => None,
        };
        names.into_iter().filter_map(line).collect()
    }
}

/// The slot or group that a row is about, and which of its rows: a slot may have two attempts.
type Key = (String, usize);

fn told((subject, nth): &Key) -> String {
    if *nth == 0 { subject.clone() } else { format!("{subject}, second attempt") }
}

/// The rows of an observation by what they are about.
fn rows(observed: &str) -> BTreeMap<Key, Map<String, Value>> {
    let mut rows = BTreeMap::new();
    for line in observed.lines() {
        // Whatever the hash covers is canonical text, which is JSON; a line that is not says nothing.
        let Ok(Value::Object(mut row)) = serde_json::from_str(line) else { continue };
        let name = |row: &mut Map<String, Value>, member: &str| {
            row.remove(member).map(|name| shown(&name))
        };
        let subject = name(&mut row, "slot")
            .or_else(|| name(&mut row, "group").map(|group| format!("group {group}")))
            .or_else(|| name(&mut row, "paused").map(|group| format!("paused update of {group}")));
        let Some(subject) = subject else { continue };
        let nth = usize::from(rows.contains_key(&(subject.clone(), 0)));
        rows.insert((subject, nth), row);
    }
    rows
}

/// Each member that differs, from what to what.
fn differences(was: &Map<String, Value>, is: &Map<String, Value>) -> String {
    let names: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    let member = |of: &Map<String, Value>, name: &String| of.get(name).map_or("none".into(), shown);
    let pairs = names.into_iter().map(|name| (name, member(was, name), member(is, name)));
    let differ = pairs.filter(|(_, was, is)| was != is);
    differ.map(|(name, was, is)| format!("{name} {was} -> {is}")).collect::<Vec<_>>().join(", ")
}

/// What stands for a row that is on one side alone.
fn brief(row: &Map<String, Value>) -> String {
    let members = ["stage", "lease", "hold"].iter().filter_map(|name| {
        let value = row.get(*name).filter(|value| !value.is_null())?;
        Some(format!("{name} {}", shown(value)))
    });
    let text = members.collect::<Vec<_>>().join(", ");
    if text.is_empty() { "there".to_owned() } else { text }
}

/// A value in a few letters; digests and identities are cut.
fn shown(value: &Value) -> String {
    const LETTERS_MAX: usize = 40;
    const LETTERS_OF_DIGEST: usize = 8;
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null => "none".to_owned(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    let digits = text.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    let bound = if digits && text.len() >= 32 { LETTERS_OF_DIGEST } else { LETTERS_MAX };
    text.chars().take(bound).collect()
}
