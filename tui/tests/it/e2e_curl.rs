//! The control API with nothing but `curl`: looked at, planned, applied, watched and refused, as `docs/api.md` shows it.
//! Where curl is not installed, the test says so and passes.

use std::process::Command;

use serde_json::{Value, json};

use crate::world::{World, servers, until};

/// A plain client.
struct Curl {
    socket: String,
}

impl Curl {
    fn text(&self, words: &[&str], path: &str) -> String {
        let url = format!("http://x{path}");
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--max-time", "60", "--unix-socket", &self.socket]).args(words).arg(url);
        let output = curl.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn get(&self, path: &str) -> Value {
        serde_json::from_str(&self.text(&[], path)).unwrap()
    }

    /// The status and the answer.
    fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let (body, kind) = (body.to_string(), "content-type: application/json");
        let text = self.text(&["-w", "\n%{http_code}", "-H", kind, "-d", &body], path);
        let (answer, status) = text.rsplit_once('\n').unwrap();
        (status.parse().unwrap(), serde_json::from_str(answer).unwrap())
    }
}

#[test]
fn curl_is_client_enough() {
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("skipped: curl is not installed");
        return;
    }
    let mut world = World::new(&servers("web", 2));
    world.drive();
    world.until_state("converged");
    let curl = Curl { socket: world.state().join("control.sock").display().to_string() };
    assert_eq!(curl.get("/v1/health")["state"], "converged");
    assert_eq!(curl.get("/v1/ready")["ready"], true);
    let view = curl.get("/v1/snapshot");
    assert_eq!((view["want"].as_u64(), view["ready"].as_u64()), (Some(2), Some(2)));
    assert!(curl.get("/v1/explain?subject=web-0")[0]["slot"] == "web-0");
    assert!(curl.text(&[], "/metrics").contains("levelhead_nodes"));
    // What an edit would do, and then exactly that.
    let edit = json!({"edit": "counts", "counts": {"web": 3}});
    let (status, plan) = curl.post("/v1/plan", &json!({"edit": edit}));
    assert_eq!((status, plan["create"].as_u64()), (200, Some(1)), "{plan}");
    let source = json!({"face": "cli", "who": "curl"});
    let call = json!({"edit": edit, "hash": plan["hash"], "source": source});
    let (status, applied) = curl.post("/v1/apply", &call);
    assert_eq!((status, applied["generation"].as_u64()), (200, Some(2)), "{applied}");
    until("the third node is ready", || {
        let view = curl.get("/v1/snapshot");
        (view["ready"] == 3).then_some(())
    });
    // The same hash a second time changes nothing, and an edit that makes no sense says what does.
    let (status, refusal) = curl.post("/v1/apply", &call);
    assert_eq!((status, refusal["kind"].as_str()), (409, Some("stale")), "{refusal}");
    let wrong = json!({"edit": {"edit": "counts", "counts": {"wub": 4}}});
    let (status, refusal) = curl.post("/v1/plan", &wrong);
    assert_eq!(status, 400, "{refusal}");
    assert_eq!(refusal["hint"], "the groups are: web");
    // A watch begins with the whole, and ends with whoever asked for it.
    let mut watch = Command::new("curl");
    watch.args(["-sN", "--max-time", "3", "--unix-socket", &curl.socket, "http://x/v1/watch"]);
    let lines = String::from_utf8(watch.output().unwrap().stdout).unwrap();
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(
        (first["type"].as_str(), first["view"]["ready"].as_u64()),
        (Some("snapshot"), Some(3))
    );
    let events = curl.get("/v1/events?limit=3");
    assert_eq!(events["events"].as_array().map(Vec::len), Some(3), "{events}");
}
