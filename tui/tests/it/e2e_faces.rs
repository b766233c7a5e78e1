//! What faces of a running driver promise from outside: waiting, watching, and calling one that is named.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustix::process::Signal;
use serde_json::Value;

use crate::world::{World, code, ended, group, node, send, servers, until, until_true};

/// What a command that was started with `name` has printed so far.
fn printed(world: &World, name: &str) -> String {
    fs::read_to_string(world.dir().join(format!("{name}.out"))).unwrap_or_default()
}

/// `wait` returns when it is so, says what is held, and gives up in time, each with a code of its own.
#[test]
fn waiting_ends_with_what_it_came_to() {
    let mut world = World::new(&servers("web", 2));
    let none = world.expect(69, &["wait", "FILE", "--timeout", "30s"]);
    assert!(none.err.contains("levelhead driver"), "{}", none.err);
    world.expect(75, &["wait", "FILE", "--for", "driver", "--timeout", "50ms"]);
    let mut early = world.spawn("early", &["wait", "FILE", "--for", "driver", "--timeout", "60s"]);
    world.drive();
    assert_eq!(code(ended(&mut early)), 0);
    let done = world.expect(0, &["wait", "FILE", "--timeout", "60s"]);
    assert!(done.out.contains("2 of 2 nodes ready"), "{}", done.out);
    world.expect(0, &["wait", "FILE", "--for", "ready=web"]);
    world.expect(65, &["wait", "FILE", "--for", "ready=nowhere"]);
    world.expect(64, &["wait", "FILE", "--for", "rain"]);

    let generation = world.status()["generation"].as_u64().unwrap();
    let next = format!("generation={}", generation + 1);
    let mut waits = world.spawn("waits", &["wait", "FILE", "--for", &next, "--json"]);
    world.expect(0, &["scale", "web=3", "--yes", "--detach", "--file", "FILE"]);
    assert_eq!(code(ended(&mut waits)), 0);
    let told: Value = serde_json::from_str(&printed(&world, "waits")).unwrap();
    assert_eq!((&told["ready"], &told["state"]), (&3.into(), &"converged".into()));
    let past = world.expect(73, &["wait", "FILE", "--for", &format!("generation={generation}")]);
    assert!(past.err.contains("gave way"), "{}", past.err);

    let mut world = World::new(&format!(
        "{}[group.web.policy.restart]\nattempts = 2\ninitial = \"50ms\"\n",
        group("web", 1, r#"["sh", "-c", "exit 7"]"#)
    ));
    world.drive();
    let held = world.expect(72, &["wait", "FILE", "--timeout", "60s"]);
    assert_eq!(held.err.matches("--file").count(), 1, "what it says can be pasted: {held:?}");
    assert!(held.err.contains("levelhead release web-0"), "{}", held.err);
}

/// A driver that goes away while it is waited for may come back.
#[test]
fn waiting_outlives_the_driver() {
    let mut world = World::new(&servers("web", 1));
    world.drive();
    world.until_state("converged");
    let mut waits = world.spawn("waits", &["wait", "FILE", "--for", "generation=2"]);
    until_true("it is watched", || watchers(&world) == 1);
    assert_eq!(world.end_driver(Signal::TERM), 143);
    world.write(&servers("web", 2));
    world.drive();
    assert_eq!(code(ended(&mut waits)), 0, "{}", printed(&world, "waits"));
}

/// How many watches the driver counts.
fn watchers(world: &World) -> u64 {
    use std::io::{Read as _, Write as _};
    let socket = world.state().join("control.sock");
    let mut stream = std::os::unix::net::UnixStream::connect(socket).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("levelhead_api_watchers "));
    line.unwrap().parse().unwrap()
}

/// What is followed is told as it comes, a line or a picture each, until who follows is interrupted.
#[test]
fn what_happens_is_told_to_all_who_follow() {
    let mut world = World::new(&servers("web", 1));
    world.expect(69, &["status", "FILE", "--watch"]);
    world.drive();
    world.until_state("converged");
    let followers: Vec<_> = [
        ("watch", vec!["watch", "FILE"]),
        ("watch-json", vec!["watch", "FILE", "--json"]),
        ("status", vec!["status", "FILE", "--watch"]),
        ("status-json", vec!["status", "FILE", "--watch", "--json"]),
        ("events", vec!["events", "FILE", "--follow"]),
    ]
    .into_iter()
    .map(|(name, words)| (name, world.spawn(name, &words)))
    .collect();
    until_true("four watch", || watchers(&world) == 4);
    world.expect(0, &["scale", "web=2", "--yes", "--file", "FILE"]);
    for (name, mut child) in followers {
        until_true(&format!("{name} tells of web-1"), || {
            let text = printed(&world, name);
            text.contains("web-1") && (text.contains("handed-off") || name == "events")
        });
        send(&child, Signal::INT);
        assert_eq!(code(ended(&mut child)), 130, "{name}");
    }
    assert!(!printed(&world, "status").contains('\x1b'), "no picture is painted over in a file");
    for name in ["watch-json", "status-json"] {
        let text = printed(&world, name);
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        assert!(lines.count() > 1, "{name}: {text}");
    }
    assert_eq!(world.end_driver(Signal::TERM), 143);
}

/// With `ACCESSIBLE` the console is lines: nothing is drawn over, and it drives as the screen does.
#[test]
fn an_accessible_console_is_lines() {
    let world = World::new(&servers("web", 1));
    let out = fs::File::create(world.dir().join("lines.out")).unwrap();
    let mut console = world.command(&["console", "FILE"]);
    let mut console = console.env("ACCESSIBLE", "1").stdout(out).spawn().unwrap();
    until_true("it says that the node is ready", || {
        let said = printed(&world, "lines");
        said.contains("web-0 handed-off") && said.contains("run converged")
    });
    world.expect(0, &["scale", "web=2", "--yes", "--file", "FILE"]);
    until_true("it says of the next", || printed(&world, "lines").contains("web-1 handed-off"));
    send(&console, Signal::INT);
    assert_eq!(code(ended(&mut console)), 130);
    let said = printed(&world, "lines");
    assert!(!said.contains('\x1b') && !said.contains('\r'), "{said}");
    assert_eq!(world.status()["state"], "unattended");
}

/// A driver is called by its socket from anywhere, also where there is no file.
#[test]
fn a_driver_that_is_named_by_its_socket_is_called_from_anywhere() {
    let mut world = World::new(&servers("web", 1));
    world.drive();
    world.until_state("converged");
    let socket = world.state().join("control.sock").display().to_string();
    let away = World::new("");
    fs::remove_file(away.file()).unwrap();
    let view = away.json(&["status", "--attach", &socket]);
    assert_eq!(view["uuid"], world.uuid());
    let events = away.expect(0, &["events", "--attach", &socket]).out;
    assert!(events.contains("web-0"), "{events}");
    let scaled = away.expect(0, &["scale", "web=2", "--yes", "--attach", &socket]);
    assert!(scaled.err.contains("2/2 ready") || scaled.out.contains("2 of 2"), "{scaled:?}");
    assert_eq!(world.status()["ready"], 2);
    assert!(!away.state().exists(), "nothing is written where the caller is");
    let logs = away.expect(64, &["logs", "web-0", "--attach", &socket]);
    assert!(logs.err.contains("without --attach"), "{}", logs.err);
    // What is not here is not planned, and what a face prints is run from here.
    let unread = away.expect(65, &["plan", "FILE", "--attach", &socket]);
    assert!(unread.err.contains("which says what is wanted"), "{}", unread.err);
    let dry = away.expect(0, &["scale", "web=3", "--dry-run", "--attach", &socket]).out;
    assert!(dry.contains(&format!("--attach {socket}")), "{dry}");
    let gone = away.dir().join("gone.sock").display().to_string();
    away.expect(69, &["status", "--attach", &gone]);
    // The file of another run is not applied here.
    away.write(&servers("api", 1));
    let wrong = away.expect(65, &["up", "FILE", "--yes", "--attach", &socket]);
    assert!(wrong.err.contains("this driver has"), "{}", wrong.err);
    assert!(node(&world.status(), "api-0").is_null());
}

fn write(dir: &Path, name: &str, text: &str) -> String {
    let path: PathBuf = dir.join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path.display().to_string()
}

/// The PEM files of a driver on this machine.
struct Papers {
    ca: String,
    cert: String,
    key: String,
}

fn papers(world: &World) -> Papers {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let cert = params.signed_by(&key, &authority).unwrap();
    Papers {
        ca: write(world.dir(), "ca.pem", &authority.pem()),
        cert: write(world.dir(), "server.pem", &cert.pem()),
        key: write(world.dir(), "server.key", &key.serialize_pem()),
    }
}

/// Over the network a driver is called with a token, of which no byte is kept; without one it does not even start.
#[test]
fn a_driver_is_called_over_the_network_with_a_token() {
    let world = World::new(&servers("web", 1));
    let Papers { ca, cert, key } = papers(&world);
    let drive =
        ["driver", "FILE", "--listen", "127.0.0.1:0", "--tls-cert", &cert, "--tls-key", &key];
    let nobody = world.expect(71, &drive);
    assert!(nobody.err.contains("levelhead token add"), "{}", nobody.err);
    assert!(!world.state().join("journal.db").exists(), "the run was not taken");
    world.expect(64, &["driver", "FILE", "--listen", "127.0.0.1:0"]);

    let token = world.expect(0, &["token", "add", "ada", "--file", "FILE"]).out.trim().to_owned();
    let reader = world.expect(0, &["token", "add", "bot", "--read-only", "--file", "FILE"]).out;
    let reader = write(world.dir(), "reader", &reader);
    let writer = write(world.dir(), "writer", &token);
    let mut driver = world.spawn("network", &drive);
    let address = until("it says where it listens", || {
        let said = fs::read_to_string(world.dir().join("network.err")).ok()?;
        let at = said.split("address=127.0.0.1:").nth(1)?;
        at.split_whitespace().next().map(str::to_owned)
    });
    let port: String = address.chars().take_while(char::is_ascii_digit).collect();
    let url = format!("https://localhost:{port}");
    let far = |words: &[&str], token: &str| {
        let words = [words, &["--attach", &url, "--ca", &ca, "--token-file", token]].concat();
        world.run(&words)
    };
    let waited = far(&["wait", "FILE", "--timeout", "60s"], &reader);
    assert_eq!(waited.code, 0, "{waited:?}");
    let refused = far(&["scale", "web=2", "--yes", "--file", "FILE"], &reader);
    assert_eq!(refused.code, 71, "{refused:?}");
    assert!(refused.err.contains("`bot` is read-only"), "{refused:?}");
    let done = far(&["scale", "web=2", "--yes", "--file", "FILE"], &writer);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(world.status()["ready"], 2);
    world.expect(0, &["token", "revoke", "ada", "--file", "FILE"]);
    assert_eq!(far(&["status", "FILE"], &writer).code, 71);
    let list = world.expect(0, &["token", "list", "--file", "FILE"]).out;
    assert!(list.contains("bot") && !list.contains("ada") && !list.contains("lh_"), "{list}");
    let nameless = world.expect(64, &["status", "FILE", "--attach", &url]);
    assert!(!nameless.err.contains("not valid"), "{}", nameless.err);
    let dry = far(&["scale", "web=3", "--dry-run", "--file", "FILE"], &reader);
    let way = format!("--attach {url} --ca {ca} --token-file {reader}");
    assert!(dry.out.contains(&way), "{dry:?}");
    let stranger = far(&["status", "FILE"], &writer);
    assert!(stranger.err.contains("`levelhead token add NAME`"), "{stranger:?}");
    world.expect(64, &["status", "FILE", "--attach", "http://localhost:1", "--ca", &ca]);
    let stranger = write(world.dir(), "other.pem", &{
        let key = KeyPair::generate().unwrap();
        CertificateParams::new(Vec::new()).unwrap().self_signed(&key).unwrap().pem()
    });
    let words = ["status", "FILE", "--attach", &url, "--ca", &stranger];
    let unknown = world.expect(69, &words);
    assert!(unknown.err.contains("certificate"), "{}", unknown.err);

    for entry in fs::read_dir(world.state()).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read(&path).unwrap_or_default();
        let there = text.windows(token.len()).any(|part| part == token.as_bytes());
        assert!(!there, "the token stands in {}", path.display());
    }
    send(&driver, Signal::TERM);
    assert_eq!(code(ended(&mut driver)), 143);
}
