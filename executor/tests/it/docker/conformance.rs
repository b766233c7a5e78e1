//! A real engine passes the battery that every provider must pass.

use std::time::Duration;

use executor::conformance::{BatteryOptions, run};
use serde_json::json;

use super::{
    engine::{IMAGE, containers, volumes},
    rig::{Rig, fresh_run},
};

/// C1 to C5, D6 to D8: every check but that of fences, which an engine does not enforce (D11), and nothing is left.
#[tokio::test]
async fn an_engine_passes_the_battery() {
    let data = json!([{ "name": "data", "path": "/data" }]);
    let more = [("volumes", data)];
    let Some(rig) = Rig::new("an_engine_passes_the_battery", &more).await else { return };
    let run_id = fresh_run();
    let mut battery = BatteryOptions::new("box".parse().unwrap(), "trial".parse().unwrap(), run_id);
    battery.shape.image = Some(IMAGE.to_owned());
    // Hooks run beside the node: what they share with it are its volumes.
    battery.once = ["mkdir", "/data/once"].map(String::from).to_vec();
    battery.grace = Duration::from_secs(1);
    let report = run(rig.another(&more), battery).await;
    assert!(report.passed(), "{report}");
    let skipped: Vec<String> = report
        .to_string()
        .lines()
        .filter(|line| line.contains("skipped"))
        .map(String::from)
        .collect();
    assert!(skipped.iter().all(|line| line.contains("stale")), "{report}");
    assert!(containers(&rig.docker, &run_id.to_string()).await.is_empty());
    assert!(volumes(&rig.docker, &run_id.to_string()).await.is_empty());
    rig.clean().await;
}
