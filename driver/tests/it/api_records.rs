//! Laws of what the API shows beside the run: events by cursor, operations, readiness, and metrics.

use std::{collections::BTreeMap, time::Instant};

use driver::{Begin, view::EventsView};
use reconciler_core::effect::CommandKind;
use serde_json::Value;

use crate::{
    http::{get, post},
    stand::{Stand, counts, eventually},
    world::{Act, BOUND, Sight},
};

/// Pages by cursor are the whole history once, in order; the cursor of the last waits for what comes.
#[test]
fn events_by_cursor_are_each_event_once() {
    let stand = Stand::new(6);
    let run = stand.up(&[("web", 3)]);
    run.client();
    let socket = stand.paths().socket();
    let page = |query: &str| -> EventsView {
        serde_json::from_value(get(&socket, &format!("/v1/events{query}")).json()).unwrap()
    };
    let journaled = || driver::events(&stand.paths(), Some(0), 10_000).unwrap();
    let uuid = run.view().uuid.to_string();
    let mut cursor = format!("0-{}", &uuid[..8]);
    let mut all = Vec::new();
    loop {
        let next = page(&format!("?limit=4&after={cursor}"));
        assert!(next.events.len() <= 4 && next.gap.is_none(), "{next:?}");
        cursor = next.cursor;
        all.extend(next.events);
        if !next.more {
            break;
        }
    }
    assert_eq!(all, journaled());
    let newest = page("?limit=2");
    assert_eq!(newest.events, all[all.len() - 2..]);
    assert_eq!(newest.cursor, cursor);

    let begun = Instant::now();
    let waiter = std::thread::spawn({
        let (socket, cursor) = (socket.clone(), cursor.clone());
        move || get(&socket, &format!("/v1/events?wait=true&after={cursor}"))
    });
    run.edit(&counts(&[("web", 4)]));
    let woken: EventsView = serde_json::from_value(waiter.join().unwrap().json()).unwrap();
    assert!(!woken.events.is_empty() && begun.elapsed() < BOUND, "{woken:?}");
    assert_eq!(woken.events[0].seq, all.last().unwrap().seq + 1);
    run.stop();
    stand.world.lawful();
}

/// A cursor of another run is refused, and one that is ahead of the journal is told of a gap.
#[test]
fn a_cursor_that_fits_nothing_is_told_so() {
    let stand = Stand::new(2);
    let run = stand.up(&[("web", 1)]);
    run.client();
    let socket = stand.paths().socket();
    for cursor in ["x", "12", "0-ffffffff", "zz-07070707", "-07070707"] {
        let answer = get(&socket, &format!("/v1/events?after={cursor}"));
        assert_eq!((answer.status, answer.json()["kind"].clone()), (400, "invalid".into()));
    }
    let ahead = get(&socket, "/v1/events?after=ffff-07070707").json();
    assert!(ahead["gap"].as_str().unwrap().contains("restore"), "{ahead}");
    assert_eq!(ahead["events"], Value::Array(Vec::new()));
    run.stop();
}

/// What was confirmed is an operation, and each of its effects a step of it.
#[test]
fn operations_show_their_steps() {
    let stand = Stand::new(3);
    let run = stand.up(&[("web", 2)]);
    run.client();
    let socket = stand.paths().socket();
    eventually("its operation is closed", || {
        get(&socket, "/v1/operations").json()[0]["status"] == "succeeded"
    });
    let all = get(&socket, "/v1/operations").json();
    assert_eq!(all.as_array().unwrap().len(), 1, "{all}");
    assert_eq!(all[0]["group"], "web");
    assert_eq!(all[0]["checkpoint"], "verified");
    assert_eq!(all[0].get("steps"), None);
    let one = get(&socket, &format!("/v1/operations/{}", all[0]["operation"])).json();
    let steps = one["steps"].as_array().unwrap();
    let creates = steps.iter().filter(|step| step["action"] == "CreateLease").count();
    assert_eq!(creates, 2, "{one}");
    assert!(steps.iter().all(|step| step["finished_at"].is_number()), "{one}");
    assert_eq!(get(&socket, "/v1/operations/99").status, 400);
    assert_eq!(get(&socket, "/v1/operations/x").status, 400);
    run.stop();
    stand.world.lawful();
}

/// A bound of nothing, or beyond a page, is refused, and nothing is cut silently.
#[test]
fn a_number_of_events_is_one_to_a_page() {
    let stand = Stand::new(2);
    let run = stand.up(&[("web", 1)]);
    run.client();
    let socket = stand.paths().socket();
    for path in [
        "/v1/events?limit=0",
        "/v1/events?limit=1001",
        "/v1/operations?limit=0",
        "/v1/operations?limit=4000000000",
    ] {
        let none = get(&socket, path);
        assert_eq!((none.status, none.json()["kind"].clone()), (400, "invalid".into()));
    }
    run.stop();
}

/// A driver is ready once it has looked at every provider, and not before.
#[test]
fn readiness_waits_for_the_first_look() {
    let stand = Stand::new(2);
    let run = stand.up(&[("web", 1)]);
    run.client();
    let socket = stand.paths().socket();
    let ready = get(&socket, "/v1/ready");
    assert_eq!((ready.status, ready.json()["ready"].clone()), (200, true.into()));
    run.stop();
    stand.world.with(|land| land.sight = Sight::Late);
    let run = stand.drive(Begin::Driving);
    run.client();
    let early = get(&socket, "/v1/ready");
    assert_eq!((early.status, early.json()["ready"].clone()), (503, false.into()));
    assert!(early.json()["why"].as_str().unwrap().contains("looked at"), "{early:?}");
    stand.world.heal();
    eventually("it is ready", || get(&socket, "/v1/ready").status == 200);
    run.stop();
    stand.world.with(|land| land.sight = Sight::Blind);
    let run = stand.drive(Begin::Driving);
    run.client();
    // A listing that failed was a look: the driver works, and says of the provider what it knows.
    eventually("it is ready", || get(&socket, "/v1/ready").status == 200);
    eventually("the provider is said to be away", || {
        get(&socket, "/metrics").body.contains("levelhead_provider_up{provider=\"fake\"} 0")
    });
    run.stop();
}

/// The families of a text in Prometheus' form, read as strictly as the form is defined: each has a help and a type
/// once and before its samples, which stand together and are not there twice.
fn families(text: &str) -> BTreeMap<String, (String, BTreeMap<String, f64>)> {
    let mut families: BTreeMap<String, (String, BTreeMap<String, f64>)> = BTreeMap::new();
    let (mut helped, mut current) = (None::<String>, String::new());
    assert!(text.ends_with('\n'));
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, what) = help.split_once(' ').unwrap();
            assert!(!what.is_empty() && !families.contains_key(name), "{line}");
            helped = Some(name.to_owned());
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            assert_eq!(helped.take().as_deref(), Some(name), "{line}");
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert!(families.insert(name.to_owned(), (kind.to_owned(), BTreeMap::new())).is_none());
            name.clone_into(&mut current);
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let (name, labels) = series.split_once('{').unwrap_or((series, ""));
            let (kind, samples) = families.get_mut(&current).unwrap();
            let ends = ["_bucket", "_sum", "_count"];
            let base = ends.iter().find_map(|end| name.strip_suffix(end));
            let base = if kind == "histogram" { base.unwrap() } else { name };
            assert_eq!(base, current, "{line}");
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(name.starts_with("levelhead_") && name.chars().all(plain), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            if !labels.is_empty() {
                for pair in labels.strip_suffix('}').unwrap().split(',') {
                    let (key, value) = pair.split_once("=\"").unwrap();
                    assert!(key.chars().all(plain) && value.ends_with('"'), "{line}");
                }
            }
            let value: f64 = value.parse().unwrap();
            assert!(value.is_finite() && value >= 0.0, "{line}");
            assert!(samples.insert(series.to_owned(), value).is_none(), "{line}");
        }
    }
    families
}

/// The metrics can be read by what reads such texts, name their units, and count what happened; no series names a node.
#[test]
fn metrics_keep_to_the_form_and_count_what_happened() {
    let stand = Stand::new(6);
    stand.world.script(CommandKind::CreateLease, Some("web-1"), 1, Act::Doubt { done: true });
    let run = stand.up(&[("api", 1), ("web", 3)]);
    run.client();
    let socket = stand.paths().socket();
    let scraped = get(&socket, "/metrics");
    assert!(scraped.head.contains("content-type: text/plain; version=0.0.4"), "{}", scraped.head);
    let read = families(&scraped.body);
    let sample = |family: &str, series: &str| read[family].1.get(series).copied();
    let of = |name: &str| sample(name, name);
    assert_eq!(of("levelhead_nodes_ready"), Some(4.0));
    assert_eq!(of("levelhead_nodes_wanted"), Some(4.0));
    let group = "levelhead_group_nodes_ready";
    assert_eq!(sample(group, &format!("{group}{{group=\"web\"}}")), Some(3.0));
    let effects = "levelhead_effects_total";
    let starts = format!("{effects}{{action=\"StartBootstrap\"}}");
    assert_eq!(sample(effects, &starts), Some(4.0));
    let syncs = of("levelhead_journal_syncs_total").unwrap();
    let commits = of("levelhead_journal_commits_total").unwrap();
    assert!(0.0 < syncs && syncs <= 2.0 * commits, "{syncs} syncs of {commits} commits (SD4)");
    let name = "levelhead_pass_duration_seconds";
    let all = sample(name, &format!("{name}_count"));
    assert_eq!(sample(name, &format!("{name}_bucket{{le=\"+Inf\"}}")), all);
    let buckets: Vec<f64> =
        read[name].1.iter().filter(|(s, _)| s.contains("le=\"")).map(|(_, n)| *n).collect();
    assert_eq!(buckets.len(), 9);
    assert!(buckets[1..].is_sorted(), "each holds what is in those before it: {buckets:?}");
    assert!(all.unwrap() >= 4.0 && buckets.iter().all(|n| *n <= all.unwrap()), "{buckets:?}");
    assert_eq!(
        sample("levelhead_run_state", "levelhead_run_state{state=\"converged\"}"),
        Some(1.0)
    );
    assert!(!scraped.body.contains("web-"), "a node has no series");

    let series = scraped.body.lines().filter(|line| !line.starts_with('#')).count();
    run.edit(&counts(&[("web", 5)]));
    run.converged();
    let later = get(&socket, "/metrics").body;
    let more = later.lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!(series, more, "series grow with groups, not with nodes");
    let asked = "levelhead_api_requests_total";
    assert_eq!(post(&socket, "/v1/plan", "{").status, 400);
    let count = |text: &str| families(text)[asked].1[&format!("{asked}{{code=\"4xx\"}}")];
    assert!(count(&get(&socket, "/metrics").body) > count(&later));
    run.stop();
    stand.world.lawful();
}
