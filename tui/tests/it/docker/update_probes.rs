//! Probes of containers that decide: an update that never serves is taken back, all give way at once where that is asked
//! for, and many that fail at once are not believed.

use serde_json::Value;

use super::fleet::{Fleet, group, provider};
use crate::world::until_true;

/// `count` servers of `page`, which are ready while they have `/image`; `policy` goes before their probes.
fn servers(count: u32, page: &str, policy: &str) -> String {
    let serve = format!(r#"["httpd", "-f", "-p", "{{port}}", "-h", "{page}"]"#);
    provider("")
        + &group("web", count, &serve, "").replace("settle", "ports = [\"http\"]\nsettle")
        + policy
        + "[group.web.policy.probes]\n\
           readiness = { http = \"/image\", interval = \"100ms\", failures = 1 }\n"
}

/// R169, D4: a new version that runs and never serves is taken back at its deadline, and nothing that served is missed.
#[test]
fn an_update_whose_containers_never_serve_is_taken_back() {
    let test = "an_update_whose_containers_never_serve_is_taken_back";
    let policy = "[group.web.policy.update]\nmax_surge = 1\nprogress_deadline = \"4s\"\n";
    let Some(mut fleet) = Fleet::new(test, &servers(2, "/etc", policy)) else { return };
    fleet.world.drive();
    fleet.world.until_state("converged");
    let before = fleet.ids();
    fleet.world.write(&servers(2, "/tmp", policy));
    let mut least = 2;
    until_true("the update is taken back", || {
        least = least.min(fleet.world.status()["ready"].as_u64().unwrap());
        let told = fleet.world.events_of("update", "group/web");
        told.iter().any(|event| event["text"].as_str().unwrap().contains("back to"))
    });
    until_true("only what served is left", || {
        fleet.nodes().values().map(Vec::len).sum::<usize>() == 2
    });
    assert_eq!((fleet.ids(), least), (before, 2), "what served was never missed");
    fleet.world.expect(0, &["down", "FILE", "--yes"]);
    fleet.is_bare();
}

/// R170: with `recreate` all old containers are gone before the first new one is there.
#[test]
fn all_containers_go_before_the_first_new_one_comes() {
    let test = "all_containers_go_before_the_first_new_one_comes";
    let policy = "[group.web.policy.update]\nmode = \"recreate\"\n";
    let Some(mut fleet) = Fleet::new(test, &servers(3, "/etc", policy)) else { return };
    fleet.world.drive();
    fleet.world.until_state("converged");
    let before = fleet.ids();
    // The same page by another command.
    fleet.world.write(&servers(3, "/etc/", policy));
    let is_old = |id: &String| before.values().any(|old| old == id);
    until_true("all are anew", || {
        let all: Vec<String> = fleet.nodes().into_values().flatten().map(|one| one.id).collect();
        let old = all.iter().filter(|id| is_old(id)).count();
        assert!(old == 0 || old == all.len(), "both at once: {all:?}");
        old == 0 && all.len() == 3
    });
    fleet.world.until_state("converged");
    fleet.world.expect(0, &["down", "FILE", "--yes"]);
    fleet.is_bare();
}

/// C9: where the liveness of more containers fails than is believed, the group is held and those are not replaced; when they
/// recover the hold ends by itself.
#[test]
fn containers_that_fail_together_are_held_and_not_replaced() {
    let test = "containers_that_fail_together_are_held_and_not_replaced";
    let live = "[group.web.policy.probes]\n\
        liveness = { exec = [\"test\", \"!\", \"-e\", \"/data/broken\"], interval = \"200ms\", failures = 2 }\n";
    let data = tempfile::tempdir().unwrap();
    let options = format!("networks = [\"none\"]\nbinds = [\"{}:/data\"]", data.path().display());
    let file = provider(&options) + &group("web", 5, r#"["sleep", "3600"]"#, "") + live;
    let Some(mut fleet) = Fleet::new(test, &file) else { return };
    fleet.world.drive();
    fleet.world.until_state("converged");
    let before = fleet.ids();
    std::fs::write(data.path().join("broken"), "").unwrap();
    until_true("the group is held", || {
        fleet.world.status()["holds"].to_string().contains("health.mass")
    });
    std::fs::remove_file(data.path().join("broken")).unwrap();
    until_true("the hold is over", || fleet.world.status()["holds"] == Value::Array(Vec::new()));
    let view = fleet.world.until_state("converged");
    let kept = fleet.ids().into_iter().filter(|(slot, id)| before[slot] == *id).count();
    assert!(kept >= 3, "two of five may be believed before the others fail: {view}");
    fleet.world.expect(0, &["down", "FILE", "--yes"]);
    fleet.is_bare();
}
