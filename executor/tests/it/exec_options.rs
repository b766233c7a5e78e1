//! What an exec provider accepts as options: every problem at once, each with its key.

use executor::{
    provider::exec::ExecFactory,
    seam::{BuildError, Fencing, ProviderFactory, ProviderOptions, ProviderPlace, Rate},
    secret::Secrets,
};
use serde_json::{Value, json};

fn options(value: &Value) -> ProviderOptions {
    value.as_object().expect("an object").clone().into_iter().collect()
}

#[test]
fn every_problem_is_told_at_once_by_its_key() {
    let wrong = options(&json!({
        "program": [],
        "timeout_ms": 0,
        "env": ["A", "A", "CLOUD_TOKEN=hush"],
        "visibility_ms": "long",
        "listing_period_ms": 1,
        "rate_per_second": 0,
        "rate_burst": -1,
        "progam": "x",
    }));
    let problems = ExecFactory.validate(&wrong);
    let keys: Vec<&str> = problems.iter().map(|problem| problem.key.as_str()).collect();
    let expected = [
        "program",
        "timeout_ms",
        "env",
        "env",
        "visibility_ms",
        "listing_period_ms",
        "rate_per_second",
        "rate_burst",
        "progam",
    ];
    let sorted = |mut keys: Vec<&'static str>| {
        keys.sort_unstable();
        keys
    };
    let mut found = keys.clone();
    found.sort_unstable();
    assert_eq!(found, sorted(expected.to_vec()));
    assert!(problems.iter().all(|problem| problem.hint.is_some()));
    assert!(!format!("{problems:?}").contains("hush"), "a value may be a secret");
}

#[test]
fn a_missing_program_is_a_problem_and_no_provider() {
    let none = ProviderOptions::new();
    let problems = ExecFactory.validate(&none);
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].key, "");
    let directory = tempfile::TempDir::new().unwrap();
    let place = ProviderPlace {
        state_dir: directory.path().join("state"),
        base_dir: directory.path().to_owned(),
        secrets: Secrets::new(directory.path().to_owned()),
    };
    let error = ExecFactory.build(&none, &place).map(|_| ()).unwrap_err();
    assert!(matches!(error, BuildError::Options(_)), "{error}");
}

#[test]
fn defaults_are_as_documented() {
    let plain = options(&json!({ "program": "./provider" }));
    assert!(ExecFactory.validate(&plain).is_empty());
    let capabilities = ExecFactory.capabilities(&plain);
    assert_eq!(capabilities.fencing, Fencing::Enforced);
    assert_eq!(capabilities.visibility.as_secs(), 60);
    assert_eq!(capabilities.listing_period.as_secs(), 15);
    assert_eq!(capabilities.rate, Some(Rate { per_second: 20, burst: 40 }));
}
