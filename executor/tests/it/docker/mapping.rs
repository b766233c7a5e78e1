//! What a file says of a node is what the engine is asked for.

use std::time::Instant;

use bollard::models::NetworkCreateRequest;
use reconciler_core::effect::WorkloadState;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::rig::{PATIENCE, Rig, fresh_run};

/// The whole table of options and needs, as `docker inspect` shows it.
#[tokio::test]
async fn options_and_needs_reach_the_container() {
    let more = [
        ("networks", json!(["bridge"])),
        ("user", json!("1000:1000")),
        ("read_only", json!(true)),
        ("init", json!(true)),
        ("labels.team", json!("red")),
        ("ports.http", json!(80)),
        ("binds", json!(["/etc:/host:ro"])),
        ("volumes", json!([{ "name": "cache", "path": "/cache" }])),
        ("log_max_bytes", json!(65_536)),
    ];
    let Some(mut rig) = Rig::new("options_and_needs_reach_the_container", &more).await else {
        return;
    };
    rig.spec.shape.cpu_millis = Some(500);
    rig.spec.shape.memory_mib = Some(64);
    rig.spec.shape.labels.insert("tier".to_owned(), "front".to_owned());
    rig.spec.boot.ports = vec!["http".to_owned()];
    rig.spec.boot.workdir = Some("/tmp".to_owned());
    rig.spec.boot.env.insert("WHO".to_owned(), "{slot} on {port}".to_owned());
    let leased = rig.create().await.unwrap();
    let found = rig.docker.inspect_container(leased.lease.id.as_str(), None).await.unwrap();
    let (config, host) = (found.config.unwrap(), found.host_config.unwrap());
    let outside = leased.endpoint.unwrap().ports["http"];
    assert_eq!(found.name.unwrap(), format!("/{}", rig.name()));
    assert_eq!(config.user.as_deref(), Some("1000:1000"));
    assert_eq!(config.working_dir.as_deref(), Some("/tmp"));
    assert_eq!(config.hostname.as_deref(), Some("web-0"));
    let env = config.env.unwrap();
    for line in ["WHO=web-0 on 80", "PORT=80", "LEVELHEAD_SLOT=web-0", "LEVELHEAD_ORDINAL=1"] {
        assert!(env.contains(&line.to_owned()), "{line}: {env:?}");
    }
    let labels = config.labels.unwrap();
    let attempt = rig.attempt().uuid.to_string();
    let revision = rig.spec.revision().to_string();
    let wanted = [
        ("team", "red"),
        ("tier", "front"),
        ("levelhead.fence", "5"),
        ("levelhead.attempt", attempt.as_str()),
        ("levelhead.revision", revision.as_str()),
    ];
    for (name, value) in wanted {
        assert_eq!(labels.get(name).map(String::as_str), Some(value), "{name}");
    }
    assert_eq!((host.nano_cpus, host.memory), (Some(500_000_000), Some(64 << 20)));
    assert_eq!((host.readonly_rootfs, host.init), (Some(true), Some(true)));
    let policy = serde_json::to_value(host.restart_policy).unwrap();
    assert_eq!(policy["Name"], "no");
    let bound = &host.port_bindings.unwrap()["80/tcp"].clone().unwrap()[0];
    assert_eq!(bound.host_ip.as_deref(), Some("127.0.0.1"));
    assert_eq!(bound.host_port.as_deref(), Some(outside.to_string().as_str()));
    assert_eq!(host.log_config.unwrap().config.unwrap()["max-size"], "65536");
    let mounts = host.mounts.unwrap();
    let at = |path: &str| mounts.iter().find(|one| one.target.as_deref() == Some(path)).unwrap();
    assert_eq!((at("/host").read_only, at("/host").source.as_deref()), (Some(true), Some("/etc")));
    let cache = at("/cache").source.clone().unwrap();
    assert_eq!(cache, format!("levelhead-{attempt}-cache"));
    rig.destroy(&leased.lease).await.unwrap();
    rig.clean().await;
}

/// A node is reached where its endpoint says, on the port that its command was given.
#[tokio::test]
async fn a_node_serves_where_its_endpoint_says() {
    let more = [("networks", json!(["bridge"])), ("init", json!(true))];
    let Some(mut rig) = Rig::new("a_node_serves_where_its_endpoint_says", &more).await else {
        return;
    };
    rig.spec.boot.command =
        ["httpd", "-f", "-p", "{port}", "-h", "/etc"].map(String::from).to_vec();
    let leased = rig.create().await.unwrap();
    let endpoint = leased.endpoint.clone().unwrap();
    let workload = rig.start(&leased, 1).await.unwrap();
    let page = async {
        loop {
            if let Ok(page) = get(&endpoint.host, endpoint.ports["main"]).await
                && page.contains("levelhead-test/busybox:1")
            {
                break;
            }
            assert_eq!(
                rig.workload(&leased.lease).await,
                WorkloadState::Running { workload: workload.clone() }
            );
        }
    };
    tokio::time::timeout_at((Instant::now() + PATIENCE).into(), page).await.unwrap();
    rig.clean().await;
}

async fn get(host: &str, port: u16) -> std::io::Result<String> {
    let mut stream = tokio::net::TcpStream::connect((host, port)).await?;
    stream.write_all(b"GET /image HTTP/1.0\r\n\r\n").await?;
    let mut page = String::new();
    stream.read_to_string(&mut page).await?;
    Ok(page)
}

/// What is asked for of graphics processors reaches the engine, which looks for them at the start.
#[tokio::test]
async fn gpus_are_asked_for() {
    let more = [("gpu_driver", json!("nvidia"))];
    let Some(mut rig) = Rig::new("gpus_are_asked_for", &more).await else { return };
    rig.spec.shape.gpus = Some(2);
    let leased = rig.create().await.unwrap();
    let found = rig.docker.inspect_container(leased.lease.id.as_str(), None).await.unwrap();
    let devices = found.host_config.unwrap().device_requests.unwrap();
    assert_eq!((devices[0].count, devices.len()), (Some(2), 1));
    assert_eq!(devices[0].driver.as_deref(), Some("nvidia"));
    assert_eq!(devices[0].capabilities.clone().unwrap(), [["gpu".to_owned()]]);
    rig.destroy(&leased.lease).await.unwrap();
    rig.clean().await;
}

/// On networks of one's own a node is known by its slot and by its group, also on those that it joins after its creation.
#[tokio::test]
async fn a_node_is_found_by_its_slot_and_its_group() {
    let test = "a_node_is_found_by_its_slot_and_its_group";
    let names = [0, 1].map(|nth| format!("levelhead-test-{}-{nth}", fresh_run()));
    let Some(rig) = Rig::new(test, &[("networks", json!(names))]).await else { return };
    for name in &names {
        let request = NetworkCreateRequest { name: name.clone(), ..Default::default() };
        rig.docker.create_network(request).await.unwrap();
    }
    let leased = rig.create().await.unwrap();
    let found = rig.docker.inspect_container(leased.lease.id.as_str(), None).await.unwrap();
    let networks = found.network_settings.unwrap().networks.unwrap();
    for name in &names {
        let known = networks[name].aliases.clone().unwrap_or_default();
        for wanted in ["web-0", "web"] {
            assert!(known.iter().any(|one| one == wanted), "{name}: {known:?}");
        }
    }
    rig.destroy(&leased.lease).await.unwrap();
    let docker = rig.docker.clone();
    rig.clean().await;
    for name in &names {
        docker.remove_network(name).await.unwrap();
    }
}
