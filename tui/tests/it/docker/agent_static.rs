//! The static program as agent, as `docs/agent.md` has it: mounted into an image without a library, and alone in an image
//! of its own.
//!
//! Making that program takes longer than all these tests, so they use what was made: `cargo xtask ci` makes it where the
//! target is installed, and elsewhere they are skipped by name.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use bollard::query_parameters::{CreateImageOptions, RemoveImageOptions};
use futures_util::StreamExt as _;
use serde_json::Value;

use super::{
    agent::{JOIN, Network},
    fleet::{Fleet, group, provider},
};
use crate::world::{node, until_true};

const TARGET: &str = "x86_64-unknown-linux-musl";

/// The static program that was made last; nothing, with its reason, where none was.
fn program(test: &str) -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_BIN_EXE_levelhead"));
    let all = own.parent()?.parent()?.join(TARGET);
    let made = ["debug", "release"].map(|profile| all.join(profile).join("levelhead"));
    let newest = made
        .into_iter()
        .filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path)))
        .max();
    if newest.is_none() {
        eprintln!("skipped: {test}, there is no `cargo build --target {TARGET}` to try");
    }
    newest.map(|(_, path)| path)
}

/// A fleet whose nodes join by agents over `network`; `options` are its provider's.
fn write(fleet: &Fleet, (network, gateway): (&Network, &str), options: &str, groups: &str) {
    let options = format!("networks = [\"{}\"]\n{options}", network.name);
    let provider = provider(&options).replace("init = true\n", "");
    fleet.world.write(&format!("[agent]\nlisten = \"{gateway}:0\"\n{provider}{groups}"));
}

fn reason(view: &Value, slot: &str) -> String {
    node(view, slot)["reason"].as_str().unwrap_or_default().to_owned()
}

/// Mounted read-only into an image that has no library, below a root that cannot be written and for a user of no rights,
/// a static agent runs its workload, ends it within its grace, and tells how it ended.
#[test]
fn a_static_agent_is_mounted_into_an_image_without_libraries() {
    let test = "a_static_agent_is_mounted_into_an_image_without_libraries";
    let Some(program) = program(test) else { return };
    let Some((network, gateway)) = Network::new(test) else { return };
    let Some(mut fleet) = Fleet::new(test, "") else { return };
    // It is a file that anybody may run, wherever the project stands.
    let shared = fleet.world.dir().join("levelhead");
    fs::copy(program, &shared).unwrap();
    for path in [fleet.world.dir(), &shared] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let options =
        format!("agent_source = \"{}\"\nread_only = true\nuser = \"1000:1000\"", shared.display());
    let polite = r#"["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.05; done"]"#;
    let fails = r#"["sh", "-c", "echo it is over; exit 7"]"#;
    let job = group("job", 1, fails, &format!("kind = \"job\"\n{JOIN}"));
    let groups = group("web", 2, polite, JOIN) + &job + "restart = { attempts = 1 }\n";
    write(&fleet, (&network, &gateway), &options, &groups);
    fleet.world.drive();
    until_true("both join", || fleet.world.status()["ready"] == 2);
    until_true("how the job ended is told", || {
        let view = fleet.world.status();
        reason(&view, "job-0").contains("exited with status 7")
            || view["holds"].to_string().contains("status 7")
    });
    let events = fleet.world.expect(0, &["events", "FILE"]).out;
    assert!(events.contains("it is over"), "{events}");
    // The job is held, which every verb says at its end (72).
    fleet.world.expect(72, &["stop", "web-1", "--file", "FILE", "--yes"]);
    let stopped = fleet.node("web-1");
    let seen = fleet.ask(fleet.docker.inspect_container(&stopped.id, None)).unwrap();
    assert_eq!(seen.state.unwrap().exit_code, Some(0), "it ended in its own time");
    fleet.world.expect(72, &["start", "web-1", "--file", "FILE", "--yes"]);
    assert!(fleet.node("web-1").runs);
    fleet.world.expect(0, &["down", "FILE", "--yes"]);
    fleet.is_bare();
}

/// An image of the static program and nothing else is agent and workload in one.
#[test]
fn a_static_agent_is_all_that_an_image_needs() {
    let test = "a_static_agent_is_all_that_an_image_needs";
    let Some(program) = program(test) else { return };
    let Some((network, gateway)) = Network::new(test) else { return };
    let Some(mut fleet) = Fleet::new(test, "") else { return };
    let image = format!("levelhead-test/static:{}", fleet.world.uuid());
    import(&fleet, &program, &image);
    let serve = r#"["/levelhead", "node", "--port", "{port}"]"#;
    let web = group("web", 2, serve, JOIN)
        .replace("levelhead-test/busybox:1", &image)
        .replace("settle", "ports = [\"http\"]\nsettle")
        + "[group.web.policy.probes]\nreadiness = { http = \"/\", interval = \"200ms\" }\n";
    write(&fleet, (&network, &gateway), "agent_path = \"/levelhead\"", &web);
    fleet.world.drive();
    fleet.world.until_state("converged");
    let before = fleet.ids();
    fleet.ask(super::engine::remove(&fleet.docker, &before["web-0"]));
    fleet.until_replaced("web-0", &before["web-0"]);
    fleet.world.until_state("converged");
    fleet.world.expect(0, &["down", "FILE", "--yes"]);
    fleet.is_bare();
    let gone = fleet.docker.remove_image(&image, None::<RemoveImageOptions>, None);
    fleet.ask(gone).unwrap();
}

/// Makes an image of `program` alone.
fn import(fleet: &Fleet, program: &Path, image: &str) {
    let mut tar = Command::new("tar");
    let tar = tar.arg("-C").arg(program.parent().unwrap()).args(["-c", "levelhead"]).output();
    let (repo, tag) = image.split_once(':').unwrap();
    let options = CreateImageOptions {
        from_src: Some("-".to_owned()),
        repo: Some(repo.to_owned()),
        tag: Some(tag.to_owned()),
        ..CreateImageOptions::default()
    };
    let body = bollard::body_full(tar.unwrap().stdout.into());
    fleet.ask(async {
        let mut steps = fleet.docker.create_image(Some(options), Some(body), None);
        while let Some(step) = steps.next().await {
            step.unwrap();
        }
    });
}
