//! The driver under a service manager: what it tells, its socket, and the unit that runs it.

use std::{
    fs,
    os::unix::net::UnixDatagram,
    process::{Command, Stdio},
    time::Duration,
};

use rustix::process::Signal;
use serde_json::Value;

use crate::world::{World, code, ended, group, send, servers, until, until_true};

/// Everything that was told so far, one message after the other.
fn told(socket: &UnixDatagram) -> Vec<String> {
    let mut all = Vec::new();
    let mut buffer = [0; 4_096];
    while let Ok(length) = socket.recv(&mut buffer) {
        all.push(String::from_utf8_lossy(&buffer[..length]).into_owned());
    }
    all
}

/// R182, R186: ready once it has looked, alive while it turns, its status in words, and stopping before it stops.
#[test]
fn a_service_manager_is_told_how_the_driver_stands() {
    let world = World::new(&servers("web", 1));
    let path = world.dir().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let output = || Stdio::from(fs::File::create(world.dir().join("service.log")).unwrap());
    let mut driver = world
        .command(&["driver", "FILE"])
        .env("NOTIFY_SOCKET", &path)
        .env("WATCHDOG_USEC", "400000")
        .stdout(output())
        .stderr(output())
        .spawn()
        .unwrap();
    let mut all: Vec<String> = Vec::new();
    until_true("it is ready, alive and converged", || {
        all.extend(told(&socket));
        let has = |text: &str| all.iter().any(|message| message.contains(text));
        has("READY=1") && has("WATCHDOG=1") && has("STATUS=converged: 1 of 1 ready")
    });
    let at = |text: &str| all.iter().position(|message| message.contains(text)).unwrap();
    assert!(at("READY=1") < at("STATUS=converged"), "{all:?}");
    assert!(all[at("READY=1")].contains(&format!("MAINPID={}", driver.id())));
    send(&driver, Signal::TERM);
    assert_eq!(code(ended(&mut driver)), 143);
    assert!(told(&socket).iter().any(|message| message.starts_with("STOPPING=1")));
}

/// R190: a service manager whose socket is gone is said to be, once, and the run is driven all the same.
#[test]
fn a_service_manager_that_is_gone_is_logged_once() {
    let world = World::new(&servers("web", 1));
    let log = world.dir().join("service.log");
    let mut driver = world
        .command(&["driver", "FILE"])
        .env("NOTIFY_SOCKET", world.dir().join("nobody"))
        .env("WATCHDOG_USEC", "20000")
        .stdout(Stdio::null())
        .stderr(Stdio::from(fs::File::create(&log).unwrap()))
        .spawn()
        .unwrap();
    world.until_state("converged");
    let said = || fs::read_to_string(&log).unwrap().matches("cannot be told").count();
    until_true("it is said", || said() > 0);
    send(&driver, Signal::TERM);
    assert_eq!(code(ended(&mut driver)), 143);
    // READY, every status, every sign of life and the stop were lost; one of them is told of.
    assert_eq!(said(), 1);
}

/// R186: a node that keeps failing is never success, and the status says when the next try is.
#[test]
fn a_status_is_no_success_while_a_node_backs_off() {
    let world = World::new(&group("web", 1, r#"["false"]"#));
    let path = world.dir().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let mut driver = world
        .command(&["driver", "FILE"])
        .env("NOTIFY_SOCKET", &path)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut all = Vec::new();
    until_true("the next try is told, or the hold", || {
        all.extend(told(&socket));
        all.iter().any(|message| message.contains("next try in") || message.contains("1 held"))
    });
    assert!(all.iter().all(|message| !message.contains("converged: 1")), "{all:?}");
    // Nothing has failed yet, and no deadline of a step under way is a try.
    let first = all.iter().find(|message| message.contains("STATUS=")).unwrap();
    assert!(!first.contains("next try"), "{first}");
    send(&driver, Signal::TERM);
    assert_eq!(code(ended(&mut driver)), 143);
}

/// A socket whose file somebody removed is there again, and answers.
#[test]
fn a_control_socket_that_vanishes_is_made_anew() {
    let mut world = World::new(&servers("web", 1));
    world.drive();
    world.until_state("converged");
    let socket = world.state().join("control.sock");
    fs::remove_file(&socket).unwrap();
    until_true("the socket is there again", || socket.exists());
    assert_eq!(world.until_state("converged")["ready"], 1);
    assert_eq!(world.end_driver(Signal::TERM), 143);
    assert!(!socket.exists(), "a driver that ends takes its socket with it");
}

/// Several runs are listed, driven or not, and one that cannot be read hides none of them.
#[test]
fn every_run_in_the_usual_place_is_listed() {
    let home = tempfile::tempdir().unwrap();
    let place = home.path().join("levelhead");
    let state = |name: &str| {
        fs::create_dir_all(&place).unwrap();
        place.join(name)
    };
    let mut first = World::at(tempfile::tempdir().unwrap(), state("first"), &servers("web", 1));
    let second = World::at(tempfile::tempdir().unwrap(), state("second"), &servers("web", 1));
    fs::create_dir(place.join("third")).unwrap();
    fs::write(place.join("third/journal.db"), b"no database at all").unwrap();
    first.drive();
    first.until_state("converged");
    second.expect(0, &["up", "--yes", "FILE"]);
    let all = |words: &[&str]| {
        let program = env!("CARGO_BIN_EXE_levelhead");
        let output = Command::new(program).args(words).env("XDG_STATE_HOME", home.path()).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let found = until("the first run is driven", || {
        let found: Value = serde_json::from_str(&all(&["status", "--all", "--json"])).unwrap();
        (found["runs"][0]["state"] == "converged").then_some(found)
    });
    let states: Vec<&str> = found["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["state"].as_str().unwrap())
        .collect();
    assert_eq!(&states[..2], ["converged", "unattended"]);
    assert!(states[2].contains("damaged"), "{states:?}");
    assert!(found["runs"][0]["driver"].is_u64() && found["runs"][1]["driver"].is_null());
    assert_eq!(all(&["status", "--all"]).lines().count(), 4);
}

/// R197: a driver whose process is stopped answers nobody, and is said to be stopped without being asked.
#[test]
fn a_stopped_driver_is_listed_as_stopped() {
    let home = tempfile::tempdir().unwrap();
    let state = home.path().join("levelhead/only");
    fs::create_dir_all(home.path().join("levelhead")).unwrap();
    let mut world = World::at(tempfile::tempdir().unwrap(), state, &servers("web", 1));
    let pid = world.drive();
    world.until_state("converged");
    let listed = || -> Value {
        let program = env!("CARGO_BIN_EXE_levelhead");
        let words = ["status", "--all", "--json"];
        let output = Command::new(program).args(words).env("XDG_STATE_HOME", home.path()).output();
        let all: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
        all["runs"][0].clone()
    };
    let process = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(process, Signal::STOP).unwrap();
    let line = until("it is stopped", || Some(listed()).filter(|line| line["state"] == "stopped"));
    assert_eq!((line["driver"].as_u64(), line["ready"].as_u64()), (Some(pid.into()), Some(1)));
    // Whoever asks it is told so, and how it goes on; a shell that completes a word has no time to wait.
    for words in
        [&["status", "FILE"][..], &["explain", "web-0", "--file", "FILE"], &["down", "FILE"]]
    {
        let refused = world.expect(69, words);
        assert!(refused.err.contains(&format!("process {pid}, is stopped")), "{refused:?}");
        assert!(refused.err.contains(&format!("`kill -CONT {pid}`")), "{refused:?}");
    }
    let names = world.expect(0, &["names", "nodes", "--file", "FILE"]);
    assert_eq!(names.out, "web-0\n");
    rustix::process::kill_process(process, Signal::CONT).unwrap();
    until("it is said to drive again", || Some(()).filter(|()| listed()["state"] == "converged"));
    assert_eq!(world.end_driver(Signal::TERM), 143);
}

/// The unit in the documents is one that systemd takes, where systemd can be asked.
#[test]
fn the_unit_in_the_documents_is_valid() {
    let unit = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/levelhead@.service");
    let text = fs::read_to_string(unit).unwrap();
    for line in ["Type=notify", "WatchdogSec=", "KillMode=process", "Restart=on-failure"] {
        assert!(text.contains(line), "{line}");
    }
    // It looks for the program that the unit names: here, for this one.
    let dir = tempfile::tempdir().unwrap();
    let named = text.replace("/usr/local/bin/levelhead", env!("CARGO_BIN_EXE_levelhead"));
    let copy = dir.path().join("levelhead@it.service");
    fs::write(&copy, named).unwrap();
    let Ok(output) = Command::new("systemd-analyze").arg("verify").arg(&copy).output() else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    let about_it: Vec<&str> = said.lines().filter(|line| line.contains("levelhead@")).collect();
    assert!(output.status.success() && about_it.is_empty(), "{said}");
}
