//! Several engines are several providers of one run, each with its own way in; one of them is reached by TLS.

use std::path::PathBuf;

use super::{
    fleet::{Fleet, group, provider, sleepers},
    own::Own,
    tls_door::TlsDoor,
};
use crate::world::until;

fn two_engines(far: &str) -> String {
    let api = group("api", 2, r#"["sleep", "3600"]"#, "").replace("\"box\"", "\"far\"");
    provider("networks = [\"none\"]")
        + &format!("[provider.far]\nkind = \"docker\"\ninit = true\nnetworks = [\"none\"]\n{far}\n")
        + &group("web", 2, r#"["sleep", "3600"]"#, "")
        + &api
}

/// One run keeps nodes on two engines, the second of which asks for TLS on both sides; each has its own, and `down`
/// leaves nothing on either.
#[test]
fn two_engines_are_two_providers_one_by_tls() {
    let test = "two_engines_are_two_providers_one_by_tls";
    let Some(own) = Own::new(test) else { return };
    let door = TlsDoor::open(own.socket());
    let Some(fleet) = Fleet::new(test, &two_engines(&door.options())) else { return };
    let world = &fleet.world;
    world.expect(0, &["up", "FILE", "--yes"]);
    assert_eq!(fleet.ids().into_keys().collect::<Vec<_>>(), ["web-0", "web-1"]);
    assert_eq!(own.running(), 2);
    world.expect(0, &["scale", "api=3", "web=1", "--file", "FILE", "--yes"]);
    assert_eq!((fleet.ids().len(), own.running()), (1, 3));
    world.expect(0, &["down", "FILE", "--yes"]);
    assert_eq!(own.running(), 0);
    fleet.is_bare();
}

/// C1: an engine whose certificate is not of the authority that is named is not spoken to, nothing is concluded of it, and
/// the other one goes on (P4).
#[test]
fn an_engine_with_another_certificate_is_not_spoken_to() {
    let test = "an_engine_with_another_certificate_is_not_spoken_to";
    let Some(mut fleet) = Fleet::new(test, "") else { return };
    let doors = [(); 2].map(|()| TlsDoor::open(PathBuf::from("/var/run/docker.sock")));
    let port = |door: &TlsDoor| door.address.port().to_string();
    // The way to the first with the papers of the second.
    let wrong = doors[1].options().replacen(&port(&doors[1]), &port(&doors[0]), 1);
    fleet.world.write(&two_engines(&wrong));
    fleet.world.drive();
    let trouble = until("the trouble is told", || {
        let view = fleet.world.status();
        let far = view["providers"].as_array()?.iter().find(|one| one["name"] == "far")?.clone();
        far["trouble"].as_str().map(str::to_owned)
    });
    assert!(trouble.contains("certificate"), "{trouble}");
    until("the other engine has its nodes", || {
        (fleet.nodes().len() == 2 && fleet.world.status()["ready"] == 2).then_some(())
    });
    assert_eq!(fleet.ids().into_keys().collect::<Vec<_>>(), ["web-0", "web-1"]);
    // What could not be made is nobody's to take away.
    fleet.world.write(&two_engines(&doors[0].options()));
    fleet.world.end_driver(rustix::process::Signal::TERM);
    fleet.world.expect(0, &["down", "FILE", "--yes"]);
    fleet.is_bare();
}

/// R97: where no host is named, a provider goes where `DOCKER_HOST` says, with the papers of `DOCKER_CERT_PATH`.
#[test]
fn the_surroundings_name_the_engine_and_its_papers() {
    let test = "the_surroundings_name_the_engine_and_its_papers";
    let Some(own) = Own::new(test) else { return };
    let door = TlsDoor::open(own.socket());
    let Some(fleet) = Fleet::new(test, &sleepers(2)) else { return };
    let run = |words: &[&str]| {
        let mut command = fleet.world.command(words);
        command.env("DOCKER_HOST", format!("tcp://{}", door.address));
        let done = command.env("DOCKER_CERT_PATH", door.papers()).output().unwrap();
        assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    run(&["up", "FILE", "--yes"]);
    assert_eq!((own.running(), fleet.nodes().len()), (2, 0));
    run(&["down", "FILE", "--yes"]);
    assert_eq!(own.running(), 0);
}
