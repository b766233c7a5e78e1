//! Readers against made-up input: whatever the bytes, they refuse it with a place, or what they read is sound.
//!
//! `PROPTEST_CASES=1000000 cargo nextest run -p reconciler-core fuzz` looks longer than the default; stable Rust is
//! enough. What is found belongs here as a test of its own.

use proptest::prelude::*;
use reconciler_core::{
    canonical::read,
    fixture::{parse, print},
    reconcile::reconcile,
};
use serde_json::Value;

use crate::fleet::{RUN, T0, catalogue, shape};

/// Lines of a whole life, of which made-up fleets are put together.
const LIFE: &str = include_str!("fixture_life.golden");

/// Reads a fleet. What reads is decided without a panic, and its text reads back as itself.
fn fleet_text(text: &str) {
    let state = match parse(text, &catalogue()) {
        Ok(state) => state,
        Err(error) => {
            assert!(error.line <= text.lines().count() && error.column > 0, "{error}\n{text}");
            return;
        }
    };
    let _plan = reconcile(&state, &shape(&[("db", 1), ("web", 2)]), T0);
    let printed = print(&state, &catalogue(), RUN);
    let again = parse(&printed, &catalogue()).unwrap_or_else(|error| panic!("{error}\n{printed}"));
    assert_eq!(print(&again, &catalogue(), RUN), printed, "from {text}");
}

/// Reads canonical JSON. Just what another hand's implementation writes in the same way is taken.
fn canonical_text(text: &str) {
    let value = serde_json::from_str::<Value>(text).ok().filter(|value| is_known(value, 0));
    let theirs = value.map(|value| serde_json_canonicalizer::to_string(&value).expect("JSON"));
    let ours = read(text);
    assert_eq!(ours.is_ok(), theirs.as_deref() == Some(text), "{text}: {ours:?}");
    match ours {
        Ok(value) => assert_eq!(value.write(), text),
        Err(error) => assert!(error.at <= text.len(), "{text}: {error}"),
    }
}

/// True for a value of the kinds that are used here, not deeper than is allowed.
fn is_known(value: &Value, depth: usize) -> bool {
    let inner = |value: &Value| is_known(value, depth + 1);
    depth <= 32
        && match value {
            Value::Null | Value::Bool(_) | Value::String(_) => true,
            Value::Number(_) => false,
            Value::Array(items) => items.iter().all(inner),
            Value::Object(members) => members.values().all(inner),
        }
}

/// A fleet of lines of a life, of which words are left out, doubled, and put into other lines.
fn fleet_like() -> impl Strategy<Value = String> {
    let words: Vec<&str> = LIFE.split_whitespace().collect();
    let lines: Vec<&str> = LIFE.lines().filter(|line| line.starts_with("web-0")).collect();
    let edit = (any::<prop::sample::Index>(), prop::sample::select(words), 0_u8..4);
    let line = (prop::sample::select(lines), prop::collection::vec(edit, 0..4));
    prop::collection::vec(line, 0..4).prop_map(|lines| {
        let mut text = format!("at {}\nrun {RUN}\n", T0.as_millis());
        for (slot, (line, edits)) in lines.into_iter().enumerate() {
            let mut words: Vec<&str> = line.split(' ').collect();
            for (at, other, how) in edits {
                let at = at.index(words.len());
                match how {
                    0 => words[at] = other,
                    1 => words.insert(at, other),
                    2 if words.len() > 1 => drop(words.remove(at)),
                    _ => words.push(words[at]),
                }
            }
            text.push_str(&words.join(" ").replacen("web-0", &format!("web-{slot}"), 1));
            text.push('\n');
        }
        text
    })
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]

    /// D13: a fleet of words in any order is refused, or read and decided.
    #[test]
    fn any_fleet_is_refused_or_decided(text in fleet_like()) {
        fleet_text(&text);
    }

    /// D13: so is any text that is no fleet.
    #[test]
    fn any_text_is_refused_or_decided(text in "(at [0-9]{1,20}\n)?(run [0-9a-f-]{36}\n)?(\\PC|[=# \n]){0,80}") {
        fleet_text(&text);
    }

    /// R82: of texts near JSON we take just those that another implementation writes.
    #[test]
    fn two_implementations_take_the_same_texts(text in "([\\[\\]{}:,]|\"[a-c]?\"|\"\\\\(u00[01][0-9a-f]|[bfnrt\"\\\\/])\"|null|true|false| |[0-9]){0,12}") {
        canonical_text(&text);
    }
}
