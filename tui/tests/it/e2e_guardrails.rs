//! Guardrails on real processes: the command line, a bare client of the socket and the file itself meet the same rail.

use rustix::process::Signal;

use crate::world::{World, servers, until_true};

const RAILS: &str = "[[guardrail]]\ngroup = \"db\"\nconfirm = \"name\"\nreason = \"it holds the accounts\"\n\
                     [[guardrail]]\nmax_destroy = 1\nreason = \"one at a time\"\n";

fn body(db: u32, web: u32, rails: &str) -> String {
    format!("{}{}{rails}", servers("db", db), servers("web", web))
}

/// What is refused is refused with 71, its reason verbatim, and a way on; nothing is begun.
#[test]
fn the_command_line_meets_the_guardrails_of_the_file() {
    let world = World::new(&body(2, 3, RAILS));
    // What only makes nodes asks for nothing.
    world.expect(0, &["up", "--yes", "FILE"]);
    let pids = world.pids();
    let many = world.expect(71, &["scale", "web=1", "--yes", "--file", "FILE"]);
    assert!(many.err.contains("one at a time") && many.err.contains("next: "), "{many:?}");
    let unnamed = world.expect(71, &["scale", "db=1", "--yes", "--file", "FILE"]);
    assert!(unnamed.err.contains("it holds the accounts"), "{unnamed:?}");
    assert!(unnamed.err.contains("--typed db"), "{unnamed:?}");
    let wrong = ["scale", "db=1", "--yes", "--typed", "web", "--file", "FILE"];
    world.expect(71, &wrong);
    assert_eq!(world.pids(), pids);
    let shown = world.expect(0, &["scale", "db=1", "--dry-run", "--file", "FILE"]);
    assert!(shown.out.contains("guardrail wants the name `db`, typed: it holds the accounts"));
    // The command that is told works as it is told, also after one that said too little.
    let next = shown.out.lines().find_map(|line| line.strip_prefix("next: ")).unwrap();
    let bare = next.replace(" --typed db", "");
    assert_ne!(bare, next);
    let short = world.paste(&bare);
    assert_eq!(short.code, 71, "{short:?}");
    let done = world.paste(next);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(world.pids().len(), 4);
    // No plan lowers the rail that it runs against; one that only lowers it does.
    world.write(&body(0, 0, ""));
    world.expect(71, &["up", "--yes", "--typed", "db", "FILE"]);
    world.write(&body(1, 3, ""));
    world.expect(0, &["up", "--yes", "FILE"]);
    world.expect(0, &["down", "--yes", "FILE"]);
    assert!(world.alive().is_empty());
}

/// A driver that follows the file does not do by itself what a person is to confirm by name.
#[test]
fn a_followed_file_waits_for_the_name_that_a_guardrail_wants() {
    let mut world = World::new(&body(2, 1, RAILS));
    world.drive();
    world.until_state("converged");
    world.write(&body(1, 1, RAILS));
    until_true("the file waits, and says for what", || {
        let view = world.status();
        view["file"]["problem"].as_str().is_some_and(|it| it.contains("it holds the accounts"))
    });
    assert_eq!(world.status()["want"], 3);
    let plan = world.json(&["plan", "FILE"]);
    assert_eq!(plan["demand"]["name"], "db");
    let hash = plan["hash"].as_str().unwrap();
    let refused = world.expect(71, &["apply", "--confirm", hash, "FILE"]);
    assert!(refused.err.contains("--typed db"), "{refused:?}");
    world.expect(0, &["apply", "--confirm", hash, "--typed", "db", "FILE"]);
    until_true("the file is applied", || world.status()["want"] == 2);
    until_true("nothing waits any more", || world.status()["file"]["problem"].is_null());
    assert_eq!(world.end_driver(Signal::TERM), 143);
}
