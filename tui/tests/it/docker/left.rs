//! What `down` leaves at the engine: the volumes that are declared as kept, and nothing else.

use std::collections::BTreeMap;

use bollard::{
    models::{ContainerConfig, ContainerCreateBody, MountPoint},
    query_parameters::{
        CommitContainerOptions, CreateContainerOptions, RemoveImageOptions, RemoveVolumeOptions,
    },
};

use super::{
    engine::remove,
    fleet::{Fleet, IMAGE, group, provider},
};

/// Makes an image that asks for a volume itself, at `/cache`.
fn with_a_volume(fleet: &Fleet, image: &str) {
    let body = ContainerCreateBody {
        image: Some(IMAGE.to_owned()),
        cmd: Some(vec!["true".to_owned()]),
        ..ContainerCreateBody::default()
    };
    let made = fleet.docker.create_container(None::<CreateContainerOptions>, body);
    let made = fleet.ask(made).unwrap().id;
    let (repo, tag) = image.split_once(':').unwrap();
    let options = CommitContainerOptions {
        container: Some(made.clone()),
        repo: Some(repo.to_owned()),
        tag: Some(tag.to_owned()),
        changes: Some("VOLUME /cache".to_owned()),
        ..CommitContainerOptions::default()
    };
    fleet.ask(fleet.docker.commit_container(options, ContainerConfig::default())).unwrap();
    fleet.ask(remove(&fleet.docker, &made));
}

/// The names of the volumes of all nodes, each with the place where it is mounted.
fn volumes(fleet: &Fleet) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for one in fleet.nodes().into_values().flatten() {
        let seen = fleet.ask(fleet.docker.inspect_container(&one.id, None)).unwrap();
        let named = |mount: MountPoint| mount.name.zip(mount.destination);
        found.extend(seen.mounts.unwrap_or_default().into_iter().filter_map(named));
    }
    found
}

/// D8: after `down` the engine, asked for each by its name, has neither the volumes of the attempts nor those that their
/// image asked for, those of a node that was replaced included; what is declared as kept is there.
#[test]
fn down_leaves_the_volumes_that_are_kept_and_no_other() {
    let test = "down_leaves_the_volumes_that_are_kept_and_no_other";
    let Some(mut fleet) = Fleet::new(test, "") else { return };
    let image = format!("levelhead-test/volume:{}", fleet.world.uuid());
    let kept = format!("levelhead-test-{}", fleet.world.uuid());
    with_a_volume(&fleet, &image);
    let options = format!(
        "networks = [\"none\"]\nvolumes = [{{ name = \"{kept}\", path = \"/kept\", keep = true }}, \
         {{ name = \"own\", path = \"/own\" }}]"
    );
    let web = group("web", 2, r#"["sleep", "3600"]"#, "").replace(IMAGE, &image);
    fleet.world.write(&(provider(&options) + &web));
    fleet.world.drive();
    fleet.world.until_state("converged");
    let mut all = volumes(&fleet);
    let old = fleet.node("web-0").id;
    let kill = bollard::query_parameters::KillContainerOptions { signal: "KILL".to_owned() };
    fleet.ask(fleet.docker.kill_container(&old, Some(kill))).unwrap();
    fleet.until_replaced("web-0", &old);
    fleet.world.until_state("converged");
    all.extend(volumes(&fleet));
    let at = |place: &str| all.values().filter(|at| *at == place).count();
    assert_eq!((at("/own"), at("/cache"), at("/kept")), (3, 3, 1), "{all:?}");
    fleet.world.expect(0, &["down", "FILE", "--yes"]);
    fleet.is_bare();
    for (name, place) in &all {
        let is_there = fleet.ask(fleet.docker.inspect_volume(name)).is_ok();
        assert_eq!(is_there, *name == kept, "{name} at {place}");
    }
    fleet.ask(fleet.docker.remove_volume(&kept, None::<RemoveVolumeOptions>)).unwrap();
    let gone = fleet.docker.remove_image(&image, None::<RemoveImageOptions>, None);
    fleet.ask(gone).unwrap();
}
