//! Probes by a command in the node's own container.

use std::time::Duration;

use executor::seam::ProbeAsk;
use reconciler_core::{
    desired::ProbeKind,
    observed::{Handle, LeaseFacts, ProbeAnswer},
};
use serde_json::json;

use super::rig::Rig;

async fn ask(rig: &Rig, lease: &LeaseFacts, words: &[&str], ms: u64) -> ProbeAnswer {
    let ask = ProbeAsk {
        request: rig.request(),
        lease: lease.clone(),
        workload: Handle::default(),
        kind: ProbeKind::Readiness,
        argv: words.iter().map(|&word| word.to_owned()).collect(),
        timeout: Duration::from_millis(ms),
    };
    rig.provider.probe(&ask).await
}

fn says(answer: &ProbeAnswer, words: &str) {
    let ProbeAnswer::Failed(said) = answer else { panic!("it failed: {answer:?}") };
    assert!(said.as_str().contains(words), "{said}");
}

/// It passes by its status, sees the container's own files and environment, and what it writes is told.
#[tokio::test]
async fn a_command_asks_within_the_container() {
    let test = "a_command_asks_within_the_container";
    let Some(mut rig) = Rig::new(test, &[]).await else { return };
    let boot = &mut rig.spec.boot;
    boot.command = ["sh", "-c", "echo up > /own; sleep 3600"].map(String::from).to_vec();
    boot.env.insert("GREETING".to_owned(), "hello".to_owned());
    let leased = rig.create().await.unwrap();
    let none = ask(&rig, &leased.lease, &["true"], 10_000).await;
    assert!(matches!(none, ProbeAnswer::Unknown(_)), "what does not run is not asked: {none:?}");
    rig.start(&leased, 1).await.unwrap();
    let sees = "until test -e /own; do sleep 0.05; done; test $GREETING-{slot} = hello-web-0";
    assert_eq!(ask(&rig, &leased.lease, &["sh", "-c", sees], 20_000).await, ProbeAnswer::Passed);
    let failed = ask(&rig, &leased.lease, &["sh", "-c", "echo no route; exit 3"], 20_000).await;
    says(&failed, "the command exited with 3: no route");
    says(&ask(&rig, &leased.lease, &["./missing"], 20_000).await, "missing");
    rig.clean().await;
}

/// One that takes too long has failed, and no other is begun while it runs; a container that is gone is nobody's fault.
#[tokio::test]
async fn a_command_over_its_time_is_not_begun_a_second_time() {
    let test = "a_command_over_its_time_is_not_begun_a_second_time";
    let Some(rig) = Rig::new(test, &[("init", json!(true))]).await else { return };
    let leased = rig.create().await.unwrap();
    rig.start(&leased, 1).await.unwrap();
    let counts = "echo x >> /begun; while [ ! -e /enough ]; do sleep 0.05; done";
    for _ in 0..3 {
        says(&ask(&rig, &leased.lease, &["sh", "-c", counts], 2_000).await, "took longer");
    }
    // Another kind has a command of its own.
    let one = ProbeAsk {
        request: rig.request(),
        lease: leased.lease.clone(),
        workload: Handle::default(),
        kind: ProbeKind::Liveness,
        argv: ["sh", "-c", "test $(wc -l < /begun) = 1 && touch /enough"]
            .map(String::from)
            .to_vec(),
        timeout: Duration::from_secs(20),
    };
    assert_eq!(rig.provider.probe(&one).await, ProbeAnswer::Passed);
    let mut again = ProbeAnswer::Passed;
    for _ in 0..100 {
        again = ask(&rig, &leased.lease, &["true"], 5_000).await;
        if again == ProbeAnswer::Passed {
            break;
        }
    }
    assert_eq!(again, ProbeAnswer::Passed, "the one that was left behind has ended");
    rig.destroy(&leased.lease).await.unwrap();
    let gone = ask(&rig, &leased.lease, &["true"], 5_000).await;
    assert!(matches!(gone, ProbeAnswer::Unknown(_)), "{gone:?}");
    rig.clean().await;
}
