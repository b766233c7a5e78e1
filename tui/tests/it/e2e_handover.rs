//! A handover for the way back with real drivers: killed between the handoff and the takeover, and at several moments of
//! the way back, it ends as ADR 0016 says, and what served before serves untouched (R123, R129, R138, R145).

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    census::Census,
    world::{World, group, node, until_true},
};

/// Two nodes; what is new hears no polite end, so that the way back takes its time, and has a hook if one is asked for.
fn web(is_new: bool, hooked: bool) -> String {
    let script = if is_new { "trap \"\" TERM; exec sleep 86393" } else { "exec sleep 86394" };
    let nodes = group("web", 2, &format!("[\"sh\", \"-c\", '{script}']"));
    let nodes = nodes.replace("settle = ", "stop_grace = \"1s\"\nsettle = ");
    let update = "[group.web.policy.update]\nmax_surge = 1\nobservation = \"4m\"\n";
    let hooks =
        "[group.web.policy.hooks]\npost_start = { command = [\"true\"], timeout = \"60s\" }\n";
    format!("{nodes}{update}{}", if hooked { hooks } else { "" })
}

/// What served before, after the only open operation was handed over to be taken back; its driver ended in good order.
fn handed_over(hooked: bool) -> (World, Census, String) {
    let mut world = World::new(&web(false, hooked));
    world.drive();
    world.until_state("converged");
    let before = world.alive();
    world.write(&web(true, hooked));
    until_true("a candidate is watched", || {
        node(&world.status(), "web-0")["second"]["stage"] == "handed-off"
    });
    assert_eq!(world.end_driver(Signal::TERM), 143);
    let lease = world.json(&["ownership", "status", "--file", "FILE"])["leases"][0].clone();
    let [id, plan, fence, owner, until] = ["operation", "plan", "fence", "owner", "until"]
        .map(|name| lease[name].as_str().map_or_else(|| lease[name].to_string(), str::to_owned));
    let named = ["ownership", "handoff", &id, "--plan", &plan, "--fence", &fence];
    let rest = ["--owner", &owner, "--until", &until, "--to", "rollback", "--file", "FILE"];
    world.expect(0, &[&named[..], &rest].concat());
    (world, before, id)
}

fn shown(world: &World, id: &str) -> Value {
    world.json(&["recovery", "show", id, "--file", "FILE"])
}

fn goes_back(world: &World, id: &str) -> bool {
    shown(world, id)["direction"] == "rollback"
}

/// The processes that served before, of those that live now.
fn left_of(before: &Census, now: &Census) -> Census {
    let still = |(slot, pids): (&String, &Vec<i32>)| {
        let pids =
            pids.iter().copied().filter(|pid| now.get(slot).is_some_and(|all| all.contains(pid)));
        (slot.clone(), pids.collect())
    };
    before.iter().map(still).collect()
}

/// R123, R145: whichever drivers are killed, and when, the last one ends the way back, and nothing goes forward on it.
#[test]
fn a_handover_is_taken_back_whenever_its_drivers_are_killed() {
    let (mut world, before, id) = handed_over(false);
    // Between the handoff and the takeover: a driver that has only just begun.
    let mut young = world.spawn("young", &["driver", "FILE"]);
    young.kill().unwrap();
    young.wait().unwrap();
    assert_eq!(left_of(&before, &world.alive()), before);
    // As soon as it answers, as soon as the operation is turned, and while the candidate is being ended.
    for what in ["it answers", "it is turned", "a step back is under way"] {
        world.drive();
        until_true(what, || match what {
            "it answers" => true,
            "it is turned" => goes_back(&world, &id),
            _under_way => {
                let steps = shown(&world, &id)["steps"].as_array().unwrap().clone();
                steps.iter().any(|step| step["direction"] == "rollback")
            }
        });
        world.end_driver(Signal::KILL);
        assert_eq!(left_of(&before, &world.alive()), before, "{what}: what served is untouched");
    }
    world.drive();
    until_true("it is closed", || shown(&world, &id)["status"] == "compensated");
    let view = shown(&world, &id);
    assert_eq!(view["restored"], true, "{view}");
    let steps = view["steps"].as_array().unwrap();
    let turned = steps.iter().position(|step| step["direction"] == "rollback").unwrap();
    assert!(steps[turned..].iter().all(|step| step["direction"] == "rollback"), "{view}");
    until_true("nothing else is left", || world.alive() == before);
    let stands = world.status();
    assert_eq!(stands["groups"][0]["command"][2], "exec sleep 86394", "{stands}");
    assert_eq!(stands["holds"], json!([]), "{stands}");
    until_true("each node has one lease", || world.leases().len() == 2);
    assert_eq!(world.end_driver(Signal::TERM), 143);
}

/// R138: past a completed hook only a person leads on: each driver that finds the handover holds the group, whatever
/// became of the one before, and all that served still does.
#[test]
fn a_handover_past_a_hook_is_held_by_every_driver_until_a_person_leads_on() {
    let (mut world, before, id) = handed_over(true);
    let all = world.alive();
    for _kill in 0..3 {
        world.drive();
        until_true("it is held", || {
            let holds = world.status()["holds"].as_array().unwrap().clone();
            holds.iter().any(|hold| hold["code"] == "rollback.irreversible-hook")
        });
        world.end_driver(Signal::KILL);
        assert!(!goes_back(&world, &id));
        assert_eq!(world.alive(), all, "nothing was touched");
    }
    world.expect(0, &["recovery", "release", &id, "--yes", "--file", "FILE"]);
    assert_eq!(shown(&world, &id)["status"], "interrupted");
    assert_eq!(left_of(&before, &world.alive()), before);
}
