//! The example program passes the battery that every provider must pass.

use std::{path::Path, process::Command, time::Duration};

use executor::{
    conformance::{BatteryOptions, run},
    provider::exec::ExecFactory,
    seam::{ProviderFactory, ProviderOptions, ProviderPlace},
    secret::Secrets,
};
use reconciler_core::id::Uuid;
use serde_json::json;
use tempfile::TempDir;

/// The example of the documentation, run by the Python of this machine; without one there is nothing to show.
#[tokio::test]
async fn the_example_program_passes_the_battery() {
    if !Command::new("python3").arg("--version").output().is_ok_and(|out| out.status.success()) {
        return;
    }
    let directory = TempDir::new().unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/exec-provider.py");
    let options = ProviderOptions::from([
        ("program".to_owned(), json!(["python3", example])),
        ("hooks".to_owned(), json!(true)),
    ]);
    let place = ProviderPlace {
        state_dir: directory.path().join("state"),
        base_dir: directory.path().to_owned(),
        secrets: Secrets::new(directory.path().to_owned()),
    };
    let provider = ExecFactory.build(&options, &place).unwrap();
    let name = "mine".parse().unwrap();
    let mut battery =
        BatteryOptions::new(name, "trial".parse().unwrap(), Uuid::from_bytes([9; 16]));
    battery.bound = Duration::from_secs(20);
    let report = run(provider, battery).await;
    assert!(report.passed(), "{report}");
    assert!(!report.to_string().contains("skipped"), "{report}");
}
