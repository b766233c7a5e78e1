//! `GET /metrics`: the run and its driver in Prometheus' text form.
//!
//! The series are bounded: no label names a node, and beyond the first groups the rest is one series. Names end in
//! their unit, counters in `_total`. What costs the number of nodes is made beside the loop.

use std::{
    collections::BTreeMap,
    fmt::{Display, Write as _},
};

use reconciler_core::{observed::StageName, time::Timestamp};

use super::tally::Tally;
use crate::{
    publish::Published,
    totals::{PASS_BOUNDS, Totals},
    view::RunState,
};

/// The form's content type.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Groups with series of their own.
const GROUPS_MAX: usize = 100;
/// The label of the others; no group can be called so.
const OTHERS: &str = "_others";

/// The metrics of `published`, as of `now`.
pub(super) fn render(published: &Published, tally: &Tally, now: Timestamp) -> String {
    let mut text = Text(String::with_capacity(8 * 1_024));
    about_driver(&mut text, published);
    about_run(&mut text, published);
    about_groups(&mut text, published);
    about_providers(&mut text, published, now);
    about_passes(&mut text, &published.totals);
    about_api(&mut text, tally);
    text.0
}

fn about_driver(text: &mut Text, published: &Published) {
    let Some(driver) = &published.driver else { return };
    text.family("levelhead_build_info", "gauge", "The version of the driver.");
    text.sample("levelhead_build_info", &[("version", &driver.version)], &1);
    text.family("levelhead_start_time_seconds", "gauge", "When the driver took the run.");
    text.sample("levelhead_start_time_seconds", &[], &seconds(driver.since.as_millis()));
    text.one("levelhead_fence", "The fence of the driver.", &driver.fence.get());
    let observed = "True once every provider was looked at.";
    text.one("levelhead_observed", observed, &u64::from(published.observed));
}

fn about_run(text: &mut Text, published: &Published) {
    let standing = published.standing();
    let state = published.state();
    text.family("levelhead_run_state", "gauge", "How the run stands: one of these is 1.");
    for (word, is) in [
        ("converged", RunState::Converged),
        ("converging", RunState::Converging),
        ("held", RunState::Held),
    ] {
        text.sample("levelhead_run_state", &[("state", word)], &u64::from(state == is));
    }
    let generation = published.generation().get();
    text.one("levelhead_generation", "The generation of the live shape.", &generation);
    for (name, help, n) in [
        ("levelhead_nodes_wanted", "Nodes that are to run.", standing.want),
        ("levelhead_nodes_ready", "Of the wanted nodes, those that are ready.", standing.ready),
        ("levelhead_held", "Slots and groups that are held.", standing.held),
        ("levelhead_nodes_failing", "Slots that failed and recover.", standing.failing),
        ("levelhead_groups_gated", "Groups that wait for other groups.", standing.gated),
    ] {
        text.one(name, help, &n);
    }
    text.family("levelhead_nodes", "gauge", "Slots by stage.");
    for stage in StageName::ALL {
        let groups = published.cluster.groups();
        let n: u64 = groups.map(|(_, group)| u64::from(group.in_stage(stage))).sum();
        text.sample("levelhead_nodes", &[("stage", stage.as_str())], &n);
    }
}

/// The numbers of one group.
#[derive(Default)]
struct Numbers {
    wanted: u64,
    ready: u64,
    held: u64,
    deleting: u64,
    orphans: u64,
}

/// One number of a group.
type Number = fn(&Numbers) -> u64;

fn about_groups(text: &mut Text, published: &Published) {
    let mut groups: BTreeMap<String, Numbers> = BTreeMap::new();
    for spec in published.shape.groups() {
        groups.entry(spec.group.to_string()).or_default().wanted = spec.count.into();
    }
    for (name, group) in published.cluster.groups() {
        let numbers = groups.entry(name.to_string()).or_default();
        numbers.ready = group.ready().into();
        numbers.held = u64::from(group.held()) + u64::from(group.hold().is_some());
        numbers.deleting = group.deleting().into();
        numbers.orphans = u64::try_from(group.orphans().count()).unwrap_or(u64::MAX);
    }
    let mut shown: Vec<(String, Numbers)> = Vec::new();
    for (name, numbers) in groups {
        if shown.len() < GROUPS_MAX {
            shown.push((name, numbers));
            continue;
        }
        if shown.last().is_none_or(|(name, _)| name != OTHERS) {
            shown.push((OTHERS.to_owned(), Numbers::default()));
        }
        if let Some((_, others)) = shown.last_mut() {
            others.wanted += numbers.wanted;
            others.ready += numbers.ready;
            others.held += numbers.held;
            others.deleting += numbers.deleting;
            others.orphans += numbers.orphans;
        }
    }
    let families: [(&str, &str, Number); 5] = [
        ("levelhead_group_nodes_wanted", "Nodes declared for a group.", |n| n.wanted),
        ("levelhead_group_nodes_ready", "Nodes of a group that are ready.", |n| n.ready),
        ("levelhead_group_held", "Holds of a group.", |n| n.held),
        ("levelhead_group_nodes_deleting", "Nodes that are being deleted.", |n| n.deleting),
        ("levelhead_group_orphans", "Resources without a record.", |n| n.orphans),
    ];
    for (name, help, number) in families {
        text.family(name, "gauge", help);
        for (group, numbers) in &shown {
            text.sample(name, &[("group", group)], &number(numbers));
        }
    }
}

fn about_providers(text: &mut Text, published: &Published, now: Timestamp) {
    let providers = published.cluster.providers();
    let up = "levelhead_provider_up";
    text.family(up, "gauge", "1 if the last listing of the provider was complete.");
    for (name, provider) in providers {
        let is_up = provider.trouble.is_none() && provider.listed_at.is_some();
        text.sample(up, &[("provider", &name.to_string())], &u64::from(is_up));
    }
    let age = "levelhead_provider_listing_age_seconds";
    text.family(age, "gauge", "Time since the last complete listing.");
    for (name, provider) in providers {
        if let Some(at) = provider.listed_at {
            let age_ms = now.since(at).get();
            text.sample(age, &[("provider", &name.to_string())], &seconds(age_ms));
        }
    }
}

fn about_passes(text: &mut Text, totals: &Totals) {
    let name = "levelhead_pass_duration_seconds";
    text.family(name, "histogram", "How long passes took that did something.");
    let bucket = format!("{name}_bucket");
    let mut below = 0;
    for (bound, n) in PASS_BOUNDS.iter().zip(totals.took) {
        below += n;
        text.sample(&bucket, &[("le", &micros(*bound))], &below);
    }
    text.sample(&bucket, &[("le", "+Inf")], &totals.passes);
    text.sample(&format!("{name}_sum"), &[], &micros(totals.micros));
    text.sample(&format!("{name}_count"), &[], &totals.passes);
    for (name, help, n) in [
        ("levelhead_facts_total", "Observations that were folded.", totals.facts),
        ("levelhead_transitions_total", "Transitions that were decided.", totals.transitions),
        ("levelhead_failures_total", "Failures among what was observed.", totals.failures),
    ] {
        text.counter(name, help, &n);
    }
    for (name, help, n) in [
        ("levelhead_journal_commits_total", "Commits that were kept.", totals.store.commits),
        ("levelhead_journal_rows_total", "Rows that they touched.", totals.store.rows),
        ("levelhead_journal_syncs_total", "Syncs of the log and the file.", totals.store.syncs),
    ] {
        text.counter(name, help, &n);
    }
    text.family("levelhead_effects_total", "counter", "Effects that were sent.");
    for (action, n) in totals.effects.iter() {
        text.sample("levelhead_effects_total", &[("action", action)], &n);
    }
}

fn about_api(text: &mut Text, tally: &Tally) {
    let name = "levelhead_api_requests_total";
    text.family(name, "counter", "Answers of the control API by class of status.");
    for (code, n) in [("2xx", &tally.done), ("4xx", &tally.refused), ("5xx", &tally.failed)] {
        text.sample(name, &[("code", code)], &n.get());
    }
    let open = tally.connections.get();
    text.one("levelhead_api_connections", "Connections that are open.", &open);
    let away = tally.turned_away.get();
    text.counter("levelhead_api_turned_away_total", "Connections that found no place.", &away);
    text.one("levelhead_api_watchers", "Watches under way.", &tally.watchers.get());
    text.counter("levelhead_api_gaps_total", "Gaps that watchers were told of.", &tally.gaps.get());
}

/// The text as it grows.
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.write(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }

    fn one(&mut self, name: &str, help: &str, value: &dyn Display) {
        self.family(name, "gauge", help);
        self.sample(name, &[], value);
    }

    fn counter(&mut self, name: &str, help: &str, value: &dyn Display) {
        self.family(name, "counter", help);
        self.sample(name, &[], value);
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: &dyn Display) {
        let pairs: Vec<String> =
            labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
        if pairs.is_empty() {
            self.write(format_args!("{name} {value}\n"));
        } else {
            self.write(format_args!("{name}{{{}}} {value}\n", pairs.join(",")));
        }
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        self.0.write_fmt(text).expect("a string takes all that is written");
    }
}

/// A label's value: the form gives three characters a meaning.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Milliseconds as seconds.
fn seconds(millis: u64) -> String {
    format!("{}.{:03}", millis / 1_000, millis % 1_000)
}

/// Microseconds as seconds.
fn micros(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}
