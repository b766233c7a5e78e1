//! The life of a fleet of containers: up, wider, narrower, down; jobs, hooks, secrets; and nothing left behind.

use std::fs;

use rustix::process::Signal;

use super::fleet::{Fleet, group, provider, sleepers};
use crate::world::until;

/// R75, C11: a fleet grows and shrinks at its end, one container for each slot, and `down` leaves nothing.
#[test]
fn a_fleet_of_containers_grows_shrinks_and_goes() {
    let file = provider("networks = [\"none\"]\nvolumes = [{ name = \"data\", path = \"/data\" }]")
        + &group("web", 0, r#"["sleep", "3600"]"#, "");
    let Some(fleet) = Fleet::new("a_fleet_of_containers_grows_shrinks_and_goes", &file) else {
        return;
    };
    let world = &fleet.world;
    world.expect(0, &["up", "FILE", "--yes"]);
    fleet.is_bare();
    world.expect(0, &["scale", "web=20", "--file", "FILE", "--yes"]);
    let wide = fleet.ids();
    assert_eq!(wide.len(), 20);
    world.expect(0, &["scale", "web=3", "--file", "FILE", "--yes"]);
    let left = fleet.ids();
    assert_eq!(left.keys().collect::<Vec<_>>(), ["web-0", "web-1", "web-2"]);
    assert!(left.iter().all(|(slot, id)| wide[slot] == *id), "{wide:?} and {left:?}");
    world.expect(0, &["down", "FILE", "--yes"]);
    fleet.is_bare();
}

/// D1: a stop ends what runs in a container and keeps it; a start runs it again.
#[test]
fn a_stopped_container_rests_and_is_started_again() {
    let test = "a_stopped_container_rests_and_is_started_again";
    let Some(fleet) = Fleet::new(test, &sleepers(1)) else { return };
    let world = &fleet.world;
    world.expect(0, &["up", "FILE", "--yes"]);
    let id = fleet.node("web-0").id;
    world.expect(0, &["stop", "web", "--file", "FILE", "--yes"]);
    let rests = fleet.node("web-0");
    assert!(rests.id == id && !rests.runs, "{rests:?}");
    world.expect(0, &["start", "web", "--file", "FILE", "--yes"]);
    assert!(fleet.node("web-0").runs);
    world.expect(0, &["down", "FILE", "--yes"]);
    fleet.is_bare();
}

/// R180: a job that ends well is completed and keeps its output; gates wait for it; hooks run beside the node.
#[test]
fn jobs_gates_and_hooks_work_on_containers() {
    let job =
        group("migrate", 1, r#"["sh", "-c", "echo migrated > /data/done"]"#, "kind = \"job\"");
    let web = group(
        "web",
        1,
        r#"["sh", "-c", "cat /data/done && sleep 3600"]"#,
        "after = { migrate = \"completed\" }",
    ) + "[group.web.policy.hooks]\n\
           post_start = { command = [\"sh\", \"-c\", \"echo $LEVELHEAD_SLOT in >> /data/log\"] }\n\
           pre_stop = { command = [\"sh\", \"-c\", \"echo $LEVELHEAD_SLOT out >> /data/log\"] }\n";
    let data = tempfile::tempdir().unwrap();
    let bind = format!("networks = [\"none\"]\nbinds = [\"{}:/data\"]", data.path().display());
    let file = provider(&bind) + &job + &web;
    let Some(fleet) = Fleet::new("jobs_gates_and_hooks_work_on_containers", &file) else { return };
    fleet.world.expect(0, &["up", "FILE", "--yes"]);
    let hooks = fleet.nodes()["web-0"].iter().filter(|one| one.name.contains("-hook-")).count();
    assert_eq!((fleet.nodes()["web-0"].len(), hooks), (2, 1));
    fleet.world.expect(0, &["down", "FILE", "--yes"]);
    assert_eq!(fs::read_to_string(data.path().join("log")).unwrap(), "web-0 in\nweb-0 out\n");
    fleet.is_bare();
}

/// `logs` shows what a container wrote, without the secrets of its group, and follows what is still to come.
#[test]
fn the_output_of_a_container_is_shown() {
    let command = r#"["sh", "-c", "echo it is $LEVELHEAD_SLOT; exec sleep 3600"]"#;
    let file = provider("networks = [\"none\"]") + &group("web", 1, command, "");
    let Some(fleet) = Fleet::new("the_output_of_a_container_is_shown", &file) else { return };
    fleet.world.expect(0, &["up", "FILE", "--yes"]);
    let shown = fleet.world.expect(0, &["logs", "web-0", "--file", "FILE"]);
    assert_eq!(shown.out, "it is web-0\n");
    assert!(shown.err.contains(&fleet.node("web-0").name), "{shown:?}");
    let mut follows = fleet.world.spawn("logs", &["logs", "web-0", "--file", "FILE", "--follow"]);
    let followed = fleet.world.dir().join("logs.out");
    until("it is followed", || fs::read_to_string(&followed).ok().filter(|text| !text.is_empty()));
    crate::world::send(&follows, Signal::INT);
    assert_eq!(crate::world::code(crate::world::ended(&mut follows)), 130);
    fleet.world.expect(65, &["logs", "web-7", "--file", "FILE"]);
    fleet.world.expect(0, &["down", "FILE", "--yes"]);
    fleet.is_bare();
}

/// P8: a secret stands in nothing that Levelhead writes, however much it is told to log.
#[test]
fn a_secret_of_a_container_stands_in_no_file_of_ours() {
    let canary = "canary-9b1f6d";
    let file = provider("networks = [\"none\"]")
        + &group("web", 1, r#"["sh", "-c", "echo key $API_KEY; exit 1"]"#, "")
            .replace("settle", "secret_env = { API_KEY = \"file:key\" }\nsettle")
        + "restart = { attempts = 1 }\n";
    let test = "a_secret_of_a_container_stands_in_no_file_of_ours";
    let Some(mut fleet) = Fleet::new(test, &file) else { return };
    let key = fleet.world.dir().join("key");
    fs::write(&key, canary).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(&key, mode).unwrap();
    let mut driver = fleet.world.command(&["driver", "FILE"]);
    let mut driver =
        driver.env("RUST_LOG", "trace").stderr(std::process::Stdio::null()).spawn().unwrap();
    until("the slot is held", || {
        let view = fleet.world.run(&["status", "FILE", "--json"]);
        view.out.contains("restart.crash-loop").then_some(())
    });
    crate::world::send(&driver, Signal::TERM);
    crate::world::ended(&mut driver);
    let events = fleet.world.expect(0, &["events", "FILE"]).out;
    assert!(events.contains("its last lines: key"), "{events}");
    assert_eq!(holders(fleet.world.state(), canary), [""; 0]);
    fleet.world.stop_drivers();
}

/// P8: what the engine shows of a node holds a secret in the secret's own variable, and nowhere else.
#[test]
fn a_secret_of_a_container_stands_in_its_own_variable_alone() {
    let canary = "canary-57c2e1";
    let file = provider("networks = [\"none\"]")
        + &group("web", 1, r#"["sleep", "3600"]"#, "").replace(
            "settle",
            "secret_env = { API_KEY = \"file:key\" }\n\
             verify = [{ command = [\"true\"] }]\nsettle",
        )
        + "[group.web.policy.hooks]\npost_start = { command = [\"true\"] }\n";
    let test = "a_secret_of_a_container_stands_in_its_own_variable_alone";
    let Some(fleet) = Fleet::new(test, &file) else { return };
    let key = fleet.world.dir().join("key");
    fs::write(&key, canary).unwrap();
    fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    fleet.world.expect(0, &["up", "FILE", "--yes"]);
    let all: Vec<_> = fleet.nodes().into_values().flatten().collect();
    assert_eq!(all.len(), 2, "the node and its hook: {all:?}");
    for one in all {
        let mut seen = fleet.ask(fleet.docker.inspect_container(&one.id, None)).unwrap();
        let env = seen.config.as_mut().unwrap().env.as_mut().unwrap();
        let own = format!("API_KEY={canary}");
        let had = env.len();
        env.retain(|line| *line != own);
        assert_eq!(had - env.len(), 1, "{}", one.name);
        let rest = serde_json::to_string(&seen).unwrap();
        assert!(!rest.contains(canary), "{}", one.name);
    }
    fleet.world.expect(0, &["down", "FILE", "--yes"]);
    fleet.is_bare();
}

/// The files below `dir` that hold `text`.
fn holders(dir: &std::path::Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(holders(&entry.path(), text));
        } else if kind.is_file() {
            let bytes = fs::read(entry.path()).unwrap();
            if bytes.windows(text.len()).any(|part| part == text.as_bytes()) {
                found.push(entry.path().display().to_string());
            }
        }
    }
    found
}
