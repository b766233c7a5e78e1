//! Options of a docker provider: every mistake is told at its key.

use executor::{
    provider::docker::DockerFactory,
    seam::{ProviderFactory as _, ProviderOptions},
};
use serde_json::{Value, json};

fn problems(key: &str, value: Value) -> Vec<(String, String)> {
    let options = ProviderOptions::from([(key.to_owned(), value)]);
    let told = DockerFactory.validate(&options);
    assert!(told.iter().all(|problem| problem.hint.is_some()), "{told:?}");
    told.into_iter().map(|problem| (problem.key, problem.message)).collect()
}

/// R14: what cannot be meant is refused at its key, with a hint.
#[test]
fn every_mistake_is_told_at_its_key() {
    let rows = [
        ("host", json!("ssh://far")),
        ("host", json!(7)),
        ("tls.ca", json!("ca.pem")),
        ("pull", json!("always")),
        ("publish", json!("everywhere")),
        ("port_range", json!("9000-8000")),
        ("port_range", json!("a-b")),
        ("ports.http", json!(0)),
        ("ports.http", json!("80")),
        ("ports.http", json!(70_000)),
        ("volumes", json!(["data:/data"])),
        ("volumes", json!([{ "name": "data" }])),
        ("volumes", json!([{ "name": "data", "path": "data" }])),
        ("volumes", json!([{ "name": "a", "path": "/d" }, { "name": "b", "path": "/d" }])),
        ("volumes", json!([{ "name": "data", "path": "/data", "kept": true }])),
        ("binds", json!(["relative:/data"])),
        ("binds", json!(["/a:/b:rx"])),
        ("binds", json!(["/a:/b:ro:z"])),
        ("networks", json!(["host", "backend"])),
        ("networks", json!(["container:db"])),
        ("user", json!("")),
        ("read_only", json!("yes")),
        ("init", json!(1)),
        ("entrypoint", json!("image")),
        ("labels.levelhead.run", json!("mine")),
        ("labels.team", json!(7)),
        ("log_max_bytes", json!(100)),
        ("restart", json!("always")),
    ];
    for (key, value) in rows {
        let told = problems(key, value.clone());
        let near = |found: &str| key == found || key.starts_with(&format!("{found}."));
        assert!(told.iter().any(|(found, _)| near(found)), "{key} = {value}: {told:?}");
    }
}

#[test]
fn what_can_be_meant_is_taken() {
    let rows = [
        ("host", json!("unix:///run/docker.sock")),
        ("host", json!("tcp://build-1:2376")),
        ("pull", json!("missing")),
        ("publish", json!("0.0.0.0")),
        ("port_range", json!("40000-40100")),
        ("ports.http", json!(80)),
        ("ports.http", json!("8080:80")),
        ("volumes", json!([{ "name": "data", "path": "/data", "keep": true, "read_only": true }])),
        ("binds", json!(["/srv/web:/web", "/etc/ssl:/ssl:ro"])),
        ("networks", json!(["front", "back"])),
        ("labels.com.example.team", json!("red")),
    ];
    for (key, value) in rows {
        assert_eq!(problems(key, value), [], "{key}");
    }
    assert!(DockerFactory.validate(&ProviderOptions::new()).is_empty());
}
