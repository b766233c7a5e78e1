//! What an engine is asked for a node, call by call: as little as proves it, and nothing twice.

use std::time::Duration;

use reconciler_core::effect::{ExitStatus, Look};
use serde_json::json;

use super::{
    door::Door,
    engine::remove,
    rig::{PATIENCE, Rig},
};

/// Waits until the engine was asked so of a path below `below`.
async fn until(door: &Door, below: &str, wanted: &[&str]) {
    let asked = async {
        while door.asked(below) != wanted {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, asked).await.is_ok();
    assert!(in_time, "in vain waited for {wanted:?}: {:?}", door.asked(below));
}

/// C5: the stream of events is asked for once, is given, and alone tells that a container was removed by hand.
#[tokio::test]
async fn one_stream_of_events_tells_of_an_end() {
    let test = "one_stream_of_events_tells_of_an_end";
    let Some(door) = Door::open(test) else { return };
    let Some(rig) = Rig::new(test, &[door.host()]).await else { return };
    let leased = rig.create().await.unwrap();
    let workload = rig.start(&leased, 1).await.unwrap();
    let end = tokio::spawn(rig.provider.watch(&leased.lease, &workload).unwrap());
    until(&door, "/events", &["GET /events 200"]).await;
    door.forget();
    remove(&rig.docker, leased.lease.id.as_str()).await;
    let exit = tokio::time::timeout(PATIENCE, end).await.unwrap().unwrap();
    assert_ne!(exit.status, ExitStatus::Code(0), "{exit:?}");
    assert_eq!(door.asked("/events"), [""; 0], "the stream goes on");
    assert_eq!(door.asked("/info"), [""; 0]);
    rig.destroy(&leased.lease).await.unwrap();
    rig.clean().await;
}

/// D6, D8: an end that is asked for takes a listing for whose it is, the stop, another such listing, the removal, and the look
/// that proves it; nobody asks besides how it ended, or for its last lines.
#[tokio::test]
async fn an_end_takes_no_more_calls_than_prove_it() {
    let test = "an_end_takes_no_more_calls_than_prove_it";
    let Some(door) = Door::open(test) else { return };
    let more = [door.host(), ("init", json!(true))];
    let Some(rig) = Rig::new(test, &more).await else { return };
    let leased = rig.create().await.unwrap();
    let workload = rig.start(&leased, 1).await.unwrap();
    let end = tokio::spawn(rig.provider.watch(&leased.lease, &workload).unwrap());
    until(&door, "/events", &["GET /events 200"]).await;
    door.forget();
    rig.cancel(&leased.lease).await.unwrap();
    rig.destroy(&leased.lease).await.unwrap();
    assert_eq!(rig.look(Some(&leased.lease)).await, Look::Absent);
    let exit = tokio::time::timeout(PATIENCE, end).await.unwrap().unwrap();
    assert_eq!(exit.status, ExitStatus::Unknown, "nobody looked");
    let wanted = [
        "GET /containers/json 200",
        "POST /containers/ID/stop 204",
        "GET /containers/json 200",
        "DELETE /containers/ID 204",
        "GET /containers/ID/json 404",
    ];
    // Whoever begins to wait looks whether there is something to wait for, and that may be a little late.
    let mut asked = door.asked("");
    asked.retain(|line| line != "GET /containers/ID/json 200");
    assert_eq!(asked, wanted);
    rig.clean().await;
}
