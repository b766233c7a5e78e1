//! Updates on containers: within their budget, without a gap, taken back where they fail, and whole after a crash.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::process::Signal;
use serde_json::Value;

use super::fleet::{Fleet, group, provider, sleepers};
use crate::world::{until, until_true};

const SERVE: &str = r#"["httpd", "-f", "-p", "{port}", "-h", "/etc"]"#;
const SERVE_ANEW: &str = r#"["httpd", "-f", "-p", "{port}", "-h", "/etc", "-v"]"#;

fn servers(command: &str) -> String {
    provider("")
        + &group("web", 3, command, "")
            .replace("settle = \"50ms\"", "ports = [\"http\"]\nsettle = \"300ms\"")
        + "update = { max_surge = 1 }\n"
}

/// Asks one of the endpoints for the page; the next one where one does not answer, as any balancer does.
fn served(endpoints: &[(String, u16)]) -> bool {
    let one = |(host, port): &(String, u16)| {
        let mut stream = TcpStream::connect((host.as_str(), *port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /image HTTP/1.0\r\n\r\n")?;
        let mut page = String::new();
        stream.read_to_string(&mut page)?;
        Ok::<bool, std::io::Error>(page.contains("levelhead-test"))
    };
    endpoints.iter().any(|endpoint| one(endpoint).unwrap_or(false))
}

fn endpoints(view: &Value) -> Vec<(String, u16)> {
    let ready = view["nodes"].as_array().unwrap().iter().filter(|node| node["ready"] == true);
    let endpoint = |node: &Value| {
        let (host, port) = node["endpoint"].as_str()?.strip_prefix("http=")?.rsplit_once(':')?;
        Some((host.to_owned(), port.parse().ok()?))
    };
    ready.filter_map(endpoint).collect()
}

/// D10: with one beside and none missing, three servers change while every request is answered.
#[test]
fn no_request_is_lost_while_three_servers_change() {
    let test = "no_request_is_lost_while_three_servers_change";
    let Some(mut fleet) = Fleet::new(test, &servers(SERVE)) else { return };
    fleet.world.drive();
    fleet.world.until_state("converged");
    let before = fleet.ids();
    let (over, asked, lost) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicUsize::new(0)),
    );
    thread::scope(|scope| {
        let client = {
            let (over, asked, lost, world) = (&over, &asked, &lost, &fleet.world);
            scope.spawn(move || {
                while !over.load(Ordering::SeqCst) {
                    let endpoints = endpoints(&world.status());
                    asked.fetch_add(1, Ordering::SeqCst);
                    if !served(&endpoints) {
                        lost.fetch_add(1, Ordering::SeqCst);
                    }
                }
            })
        };
        until_true("the client has begun", || asked.load(Ordering::SeqCst) > 3);
        fleet.world.write(&servers(SERVE_ANEW));
        for (slot, old) in &before {
            until(&format!("{slot} is replaced"), || {
                let nodes = fleet.nodes();
                let all = nodes.values().flatten().filter(|one| one.runs).count();
                assert!((3..=4).contains(&all), "{nodes:?}");
                let found = nodes.get(slot)?;
                (found.len() == 1 && found[0].id != *old).then_some(())
            });
        }
        over.store(true, Ordering::SeqCst);
        client.join().unwrap();
    });
    assert_eq!(lost.load(Ordering::SeqCst), 0, "of {} requests", asked.load(Ordering::SeqCst));
    fleet.world.until_state("converged");
    fleet.world.expect(0, &["down", "FILE", "--yes"]);
    fleet.is_bare();
}

/// R105, D4: an update to an image that is not there is taken back, and what served goes on serving.
#[test]
fn an_update_to_a_missing_image_is_taken_back() {
    let file = sleepers(3) + "update = { max_surge = 1 }\n";
    let test = "an_update_to_a_missing_image_is_taken_back";
    let Some(mut fleet) = Fleet::new(test, &file) else { return };
    fleet.world.drive();
    fleet.world.until_state("converged");
    let before = fleet.ids();
    fleet.world.write(&file.replace("levelhead-test/busybox:1", "levelhead-test/never:1"));
    until("the update is taken back", || {
        let told = fleet.world.events_of("update", "group/web");
        told.iter().any(|event| event["text"].as_str().unwrap().contains("back")).then_some(())
    });
    until_true("only what served is there", || fleet.nodes().len() == 3);
    assert_eq!(fleet.ids(), before);
    fleet.world.expect(0, &["down", "FILE", "--yes"]);
    fleet.is_bare();
}

/// Numbers that follow from one another, and look like chance.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// P2, D7, C2: a driver that is killed at thirty moments of updates makes nothing twice and forgets nothing.
#[test]
fn a_driver_that_is_killed_amid_an_update_ends_it_whole() {
    const KILLS: usize = 30;
    let file = sleepers(3) + "update = { max_surge = 1 }\n";
    let test = "a_driver_that_is_killed_amid_an_update_ends_it_whole";
    let Some(mut fleet) = Fleet::new(test, &file) else { return };
    fleet.world.expect(0, &["up", "FILE", "--yes"]);
    let (mut dice, mut seconds, mut kills) = (Dice(20), 3_600, 0);
    while kills < KILLS {
        let before = fleet.ids();
        seconds += 1;
        fleet.world.write(&file.replace("3600", &seconds.to_string()));
        loop {
            fleet.world.drive();
            // Which step it is in after that time is as it comes.
            thread::sleep(Duration::from_millis(dice.below(400)));
            let is_over = fleet.world.status()["state"] == "converged" && is_at(&fleet, seconds);
            fleet.world.end_driver(Signal::KILL);
            if is_over {
                break;
            }
            kills += 1;
            let nodes = fleet.nodes();
            let all = nodes.values().flatten().count();
            assert!(nodes.len() == 3 && all <= 4, "after {kills} kills: {nodes:?}");
        }
        let after = fleet.ids();
        assert!(after.iter().all(|(slot, id)| before[slot] != *id), "{before:?} and {after:?}");
    }
    fleet.world.drive();
    fleet.world.until_state("converged");
    assert_eq!(fleet.ids().len(), 3);
    fleet.world.expect(0, &["down", "FILE", "--yes"]);
    fleet.is_bare();
}

/// True if what runs sleeps so many seconds, in three containers that are all there is.
fn is_at(fleet: &Fleet, seconds: u32) -> bool {
    let nodes = fleet.nodes();
    let command = |id: &str| {
        let seen = fleet.ask(fleet.docker.inspect_container(id, None)).ok()?;
        seen.args?.last().cloned()
    };
    let mut all = nodes.values().flatten();
    nodes.values().flatten().count() == 3
        && all.all(|one| one.runs && command(&one.id).as_deref() == Some(&*seconds.to_string()))
}
