//! Secrets on real processes, seen by whoever follows: streams, the API, the console, the journal's verbs, hooks, and
//! a provider of the user's own (R91, P8).

use std::{
    fs,
    io::{Read as _, Write as _},
    os::unix::net::UnixStream,
};

use rustix::process::Signal;

use crate::{
    console_tmux::Terminal,
    e2e_secrets::{Case, SAYS},
    world::{code, ended, node, send, until_true},
};

/// What the driver answers on its socket.
fn answered(case: &Case, path: &str) -> String {
    let mut stream = UnixStream::connect(case.world.state().join("control.sock")).unwrap();
    let ask = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(ask.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// A workload that says its secret in every way and fails, while everything that can follow it does.
#[test]
fn no_secret_is_shown_to_who_follows() {
    let mut case = Case::new();
    case.declare(
        "while [ ! -e $WHERE/go ]; do sleep 0.05; done; python3 $WHERE/says.py; sleep 0.3; exit 3",
        "true",
    );
    case.world.drive();
    case.world.until_state("converged");
    let followers: Vec<_> = [
        ("f-watch", vec!["watch", "FILE"]),
        ("f-watch-json", vec!["watch", "FILE", "--json"]),
        ("f-status", vec!["status", "FILE", "--watch", "--json"]),
        ("f-events", vec!["events", "FILE", "--follow"]),
        ("f-logs", vec!["logs", "web-0", "--file", "FILE", "--follow"]),
    ]
    .into_iter()
    .map(|(name, words)| (name, case.world.spawn(name, &words)))
    .collect();
    let terminal = Terminal::open(&case.world, 120, 36);
    if let Some(terminal) = &terminal {
        terminal.enter(&format!(
            "'{}' --state-dir '{}' console cluster.toml",
            env!("CARGO_BIN_EXE_levelhead"),
            case.world.state().display()
        ));
        terminal.shows(&["web-0"]);
    }
    fs::write(case.world.dir().join("go"), "").unwrap();
    until_true("it is held", || {
        node(&case.world.status(), "web-0")["hold"] == "restart.crash-loop"
    });
    for (name, mut child) in followers {
        until_true(&format!("{name} tells of it"), || {
            let path = case.world.dir().join(format!("{name}.out"));
            let text = fs::read_to_string(path).unwrap_or_default();
            let word = if name == "f-logs" { "[redacted] indeed" } else { "restart.crash-loop" };
            text.contains(word) || (name == "f-events" && text.contains("[redacted] indeed"))
        });
        send(&child, Signal::INT);
        code(ended(&mut child));
    }
    let mut shown = String::new();
    if let Some(terminal) = &terminal {
        for keys in [&["5"] as &[&str], &["4"], &["3"], &["2", "Enter"]] {
            terminal.press(keys);
            shown.push_str(&terminal.screen());
        }
        shown.push_str(&terminal.shows(&["web-0"]));
    }
    for path in ["/v1/snapshot", "/v1/events?limit=1000", "/v1/explain?subject=web", "/metrics"] {
        shown.push_str(&answered(&case, path));
    }
    for n in 1..=3 {
        shown.push_str(&answered(&case, &format!("/v1/operations/{n}")));
    }
    assert!(shown.contains("[redacted] indeed"), "the test does see what was said: {shown}");
    case.assert_nowhere(&shown);
    case.assert_nowhere(&case.everything_shown());
}

/// A hook that says the secret that it was given, and fails.
#[test]
fn no_secret_of_a_hook_stands_in_any_byte() {
    let mut case = Case::new();
    let dir = case.world.dir().display().to_string();
    case.world.write(&format!(
        "[group.web]\ncount = 1\n[group.web.boot]\ncommand = [\"sleep\", \"86397\"]\nsettle = \"50ms\"\n\
         secret_env = {{ API_TOKEN = \"file:key\" }}\n\
         [group.web.policy]\nstable = \"30m\"\nrestart = {{ attempts = 2, initial = \"50ms\" }}\n\
         [group.web.policy.hooks]\n\
         pre_start = {{ command = [\"sh\", \"-c\", \"python3 {dir}/says.py; exit 4\"], timeout = \"30s\" }}\n"
    ));
    case.world.drive();
    until_true("it is held", || !node(&case.world.status(), "web-0")["hold"].is_null());
    let shown = case.everything_shown();
    assert!(shown.contains("[redacted] indeed"), "{shown}");
    case.assert_nowhere(&shown);
}

/// A provider's program that gets a secret of a node, and says it wherever it can: in what it prints, in its answers,
/// and in the reasons of its failures.
#[test]
fn no_secret_that_a_program_was_given_stands_in_any_byte() {
    let mut case = Case::new();
    fs::write(case.world.dir().join("cloud.py"), format!("SAYS = '''{SAYS}'''\n{CLOUD}")).unwrap();
    case.world.write(
        "[provider.cloud]\nkind = \"exec\"\nprogram = [\"python3\", \"cloud.py\"]\nsecrets = true\n\
         timeout_ms = 20000\nvisibility_ms = 100\nlisting_period_ms = 200\n\
         [group.web]\ncount = 1\nprovider = \"cloud\"\n[group.web.boot]\ncommand = [\"serve\"]\n\
         settle = \"50ms\"\nsecret_env = { API_TOKEN = \"file:key\" }\n\
         [group.web.policy]\nstable = \"30m\"\nrestart = { attempts = 2, initial = \"50ms\" }\n",
    );
    case.world.drive();
    until_true("it is held", || !node(&case.world.status(), "web-0")["hold"].is_null());
    assert!(case.world.dir().join("given").exists(), "the program has the secret");
    let shown = case.everything_shown();
    assert!(shown.contains("[redacted]"), "{shown}");
    case.assert_nowhere(&shown);
}

/// A program that makes leases of nothing, and fails each start with the secret in its words.
const CLOUD: &str = r#"
import json, os, sys
ask = json.load(sys.stdin)
here = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "made.json")
made = json.load(open(here)) if os.path.exists(here) else {}
call, attempt = ask["call"], ask.get("attempt")
def keep():
    with open(here + ".new", "w") as file:
        json.dump(made, file)
    os.replace(here + ".new", here)
def owned(key):
    return {"slot": made[key]["slot"], "attempt": key, "fence": made[key]["fence"],
            "lease": {"id": "i-" + key}, "workload": {"state": "absent"}}
if call == "list-owned":
    print(json.dumps({"ok": {"complete": True, "owned": [owned(key) for key in made]}}))
elif call == "create-lease":
    made[attempt] = {"slot": ask["slot"], "fence": ask["fence"]}
    keep()
    print(json.dumps({"ok": {"lease": {"id": "i-" + attempt}}}))
elif call == "lookup-endpoint":
    print(json.dumps({"ok": {"endpoint": {"host": "127.0.0.1", "ports": {}}}}))
elif call == "start-bootstrap":
    os.environ["API_TOKEN"] = ask["secrets"]["API_TOKEN"]
    open(os.path.join(os.path.dirname(here), "given"), "w").close()
    sys.stdout, real = sys.stderr, sys.stdout
    exec(SAYS.replace("(sys.stdout, sys.stderr)", "(sys.stderr,)"))
    sys.stdout = real
    why = "quota of " + ask["secrets"]["API_TOKEN"] + " is used up"
    print(json.dumps({"error": {"definite": True, "class": "quota", "message": why}}))
elif call == "inspect":
    print(json.dumps({"ok": dict(owned(attempt), present=True) if attempt in made else {"present": False}}))
elif call == "destroy-lease":
    made.pop(attempt, None)
    keep()
    print(json.dumps({"ok": {}}))
else:
    print(json.dumps({"ok": {}}))
"#;
