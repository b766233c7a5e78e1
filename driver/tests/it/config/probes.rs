//! The probes of the file: what they mean, and what is refused where (R176, C13, D16).

use reconciler_core::{
    desired::{JoinMode, Probe, ProbeCheck, Probes},
    limits,
    time::Millis,
};

use super::support::{HEAD, WEB, checked, problems};

fn text(lines: &str) -> String {
    format!("{HEAD}{WEB}[group.web.policy.probes]\n{lines}")
}

fn read(lines: &str) -> Probes {
    let loaded = checked(&text(lines)).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let group = loaded.shape.groups().next().expect("a group").clone();
    group.policy.probes.clone()
}

#[test]
fn every_probe_is_read_and_what_is_left_out_is_the_default() {
    assert!(read("").is_empty());
    let probes = read(
        "startup = { exec = [\"./up\", \"{port:http}\"], interval = \"100ms\", failures = 100 }\n\
         liveness = { tcp = \"http\" }\n\
         readiness = { http = \"/ready?deep=1\", initial_delay = \"24h\", interval = \"30s\", timeout = \"30s\", successes = 2 }\n\
         liveness_restarts = 0\nliveness_window = \"10m\"\n\
         [group.web.policy.update]\nprogress_deadline = \"25h\"\n",
    );
    let exec = ProbeCheck::Exec { argv: vec!["./up".to_owned(), "{port:http}".to_owned()] };
    let startup = probes.startup.expect("a probe");
    assert_eq!(
        (&startup.check, startup.interval, startup.failures),
        (&exec, Millis::new(100), 100)
    );
    let tcp = Probe::new(ProbeCheck::Tcp { port: "http".to_owned() });
    assert_eq!(probes.liveness.as_deref(), Some(&tcp), "the times are those of the specification");
    assert_eq!(tcp.interval, Millis::from_secs(10));
    let readiness = probes.readiness.expect("a probe");
    let http = ProbeCheck::Http { port: "http".to_owned(), path: "/ready?deep=1".to_owned() };
    assert_eq!((&readiness.check, readiness.successes), (&http, 2), "its only port is meant");
    assert_eq!(readiness.initial_delay, limits::PROBE_PERIOD_MAX);
    assert_eq!((probes.budget.restarts, probes.budget.window), (0, Millis::from_secs(600)));
}

/// Probes are treatment: neither having one nor another one makes another revision (C13).
#[test]
fn no_probe_replaces_a_node() {
    let revision = |text: &str| {
        let loaded = checked(text).expect("a sound file");
        loaded.shape.groups().next().expect("a group").revision
    };
    let plain = revision(&format!("{HEAD}{WEB}"));
    for probe in ["startup", "liveness", "readiness"] {
        assert_eq!(revision(&text(&format!("{probe} = {{ tcp = \"http\" }}\n"))), plain);
    }
}

/// One problem is found, there, and with a hint.
fn refused(lines: &str, message: &str, place: (usize, usize)) {
    let found = problems(&text(lines));
    let [problem] = found.as_slice() else {
        panic!("{} problems instead of one for {lines}: {found:#?}", found.len());
    };
    assert!(problem.message.contains(message), "{lines}: {}", problem.message);
    assert_eq!((problem.line, problem.column), place, "{lines}: {problem:?}");
    assert!(problem.hint.is_some(), "{lines} gives no hint");
}

/// R132, R172, R176: times of a probe that contradict each other, or the group that waits for it, are refused where
/// they stand; what only just fits is not.
#[test]
fn times_that_contradict_each_other_are_refused() {
    let update =
        |deadline: &str| format!("[group.web.policy.update]\nprogress_deadline = \"{deadline}\"\n");
    let timeouts =
        |bootstrap: &str| format!("[group.web.policy.timeouts]\nbootstrap = \"{bootstrap}\"\n");
    let late = "before its startup probe can have passed";
    let slow = "before its first node can have passed";
    let rows = [
        // An answer that may take longer than the time to the next question.
        (
            "liveness = { tcp = \"http\", timeout = \"11s\" }\n".to_owned(),
            "from one question",
            (10, 38),
        ),
        (
            "liveness = { tcp = \"http\", interval = \"2s\", timeout = \"3s\" }\n".to_owned(),
            "from one question",
            (10, 39),
        ),
        // A startup that outlasts the bootstrap: by its delay, by its interval, by how often it is to pass.
        (
            format!("startup = {{ tcp = \"http\", initial_delay = \"50s\" }}\n{}", timeouts("1m")),
            late,
            (10, 43),
        ),
        ("startup = { tcp = \"http\", interval = \"1h\" }\n".to_owned(), late, (10, 38)),
        (
            format!("startup = {{ tcp = \"http\", successes = 8 }}\n{}", timeouts("70s")),
            late,
            (10, 11),
        ),
        // Probes that cannot pass while an update still waits for them.
        (
            format!("readiness = {{ tcp = \"http\", interval = \"1m\" }}\n{}", update("1m")),
            slow,
            (10, 40),
        ),
        ("liveness = { tcp = \"http\", initial_delay = \"5m\" }\n".to_owned(), slow, (10, 44)),
        // A budget that forgets between two questions.
        (
            "liveness = { tcp = \"http\" }\nliveness_window = \"9s\"\n".to_owned(),
            "forgotten before the next question",
            (11, 19),
        ),
    ];
    for (lines, message, place) in rows {
        refused(&lines, message, place);
    }
    let sound = [
        "liveness = { tcp = \"http\", timeout = \"10s\" }\nliveness_window = \"10s\"\n".to_owned(),
        // The time of an answer that the file does not speak of is cut short by nobody.
        "readiness = { tcp = \"http\", interval = \"100ms\" }\n".to_owned(),
        format!("startup = {{ tcp = \"http\", successes = 8 }}\n{}", timeouts("71s")),
        format!("readiness = {{ tcp = \"http\", interval = \"1m\" }}\n{}", update("61s")),
        // Without a replacement there is nothing to forget.
        "liveness = { tcp = \"http\" }\nliveness_restarts = 0\nliveness_window = \"9s\"\n"
            .to_owned(),
    ];
    for lines in sound {
        let _probes = read(&lines);
    }
}

#[test]
fn a_probe_that_cannot_be_asked_is_refused_at_its_place() {
    let rows = [
        ("alive = { tcp = \"http\" }\n", "alive", 10, 1),
        ("startup = {}\n", "it is not said what is asked", 10, 11),
        ("startup = { tcp = \"http\", http = \"/\" }\n", "a probe asks one thing", 10, 11),
        ("startup = { tcp = \"sql\" }\n", "the node has no port `sql`", 10, 19),
        ("startup = { http = \"/\", port = \"sql\" }\n", "the node has no port `sql`", 10, 32),
        ("startup = { http = \"ready\" }\n", "no path of a request", 10, 20),
        ("startup = { http = \"/a b\" }\n", "no path of a request", 10, 20),
        ("startup = { exec = [] }\n", "the command is empty", 10, 20),
        ("startup = { exec = [\"a\", \"{solt}\"] }\n", "not a placeholder", 10, 26),
        (
            "startup = { exec = [\"a\"], port = \"http\" }\n",
            "a command is asked at no port",
            10,
            34,
        ),
        ("startup = { tcp = \"http\", port = \"http\" }\n", "stands behind `tcp`", 10, 34),
        ("startup = { tcp = \"http\", timeout = \"0s\" }\n", "answer in time", 10, 37),
        (
            "startup = { tcp = \"http\", interval = \"40s\", timeout = \"31s\" }\n",
            "30s at most",
            10,
            55,
        ),
        ("startup = { tcp = \"http\", interval = \"99ms\" }\n", "every 100ms at most", 10, 38),
        ("startup = { tcp = \"http\", failures = 0 }\n", "failures", 10, 38),
        ("startup = { tcp = \"http\", successes = 101 }\n", "successes", 10, 39),
        ("startup = { tcp = \"http\", shell = true }\n", "shell", 10, 27),
        ("liveness_restarts = 1\n", "no liveness probe", 10, 21),
        ("liveness = { tcp = \"http\" }\nliveness_window = \"0s\"\n", "would ever count", 11, 19),
    ];
    for (lines, message, line, column) in rows {
        refused(lines, message, (line, column));
    }
    let timely = "[group.web.policy.update]\nprogress_deadline = \"30h\"\n";
    for key in ["interval", "initial_delay"] {
        let lines = format!("readiness = {{ tcp = \"http\", {key} = \"25h\" }}\n{timely}");
        refused(&lines, "1d at most", (10, 32 + key.len()));
    }
    let long = format!("startup = {{ exec = [{}] }}\n", "\"a\", ".repeat(129));
    assert!(problems(&text(&long))[0].message.contains("128 texts"));
    let long = format!("startup = {{ http = \"/{}\" }}\n", "a".repeat(2_048));
    assert!(problems(&text(&long))[0].message.contains("2048 bytes"));
}

/// A node with several ports is asked at the one that is named, one without any at none.
#[test]
fn the_port_is_named_where_there_is_not_one() {
    let probe = "[group.a.policy.probes]\nreadiness = { http = \"/\" }\n";
    let group = |boot: &str| format!("{HEAD}[group.a]\ncount = 1\n[group.a.boot]\n{boot}{probe}");
    let implicit =
        checked(&group("command = [\"true\", \"{port}\"]\n")).expect("it has one of its own");
    let check = &implicit.shape.groups().next().expect("a group").policy.probes.readiness;
    let check = check.as_ref().map(|probe| probe.check.clone());
    assert_eq!(check, Some(ProbeCheck::Http { port: "main".to_owned(), path: "/".to_owned() }));
    let rows = [
        ("command = [\"true\"]\n", "the node has no port to ask"),
        ("command = [\"true\"]\nports = [\"a\", \"b\"]\n", "it is not said which port is asked"),
    ];
    for (boot, message) in rows {
        let found = problems(&group(boot));
        assert!(found.len() == 1 && found[0].message == message, "{found:?}");
    }
}

/// D16: a provider that asks by no command is a capability gap; it is asked over the network all the same, and its agents
/// ask by commands.
#[test]
fn a_provider_that_asks_by_no_command_is_a_gap() {
    let exec = |probe: &str| {
        format!(
            "{HEAD}[provider.mine]\nkind = \"exec\"\nprogram = \"./p\"\n[group.a]\ncount = 1\nprovider = \"mine\"\n\
             [group.a.boot]\ncommand = [\"true\"]\nports = [\"p\"]\n[group.a.policy.probes]\nliveness = {probe}\n"
        )
    };
    let found = problems(&exec("{ exec = [\"x\"] }"));
    assert!(found.len() == 1, "{found:?}");
    assert!(found[0].message.contains("capability gap: a `exec` provider"), "{found:?}");
    assert!(checked(&exec("{ tcp = \"p\" }")).is_ok());
    let by_agent =
        exec("{ exec = [\"x\"] }").replace("count = 1", "count = 1\njoin = { mode = \"agent\" }");
    assert!(checked(&by_agent).is_ok(), "{:?}", problems(&by_agent));
}

/// Who joins by its probes must have one that says when.
#[test]
fn joining_by_probe_needs_a_probe() {
    let join = "[group.web.join]\nmode = \"probe\"\n";
    let with = |probes: &str| format!("{HEAD}{WEB}{join}[group.web.policy.probes]\n{probes}");
    for probe in ["startup", "readiness"] {
        let loaded =
            checked(&with(&format!("{probe} = {{ tcp = \"http\" }}\n"))).expect("a sound file");
        let join = loaded.shape.groups().next().expect("a group").spec.join;
        assert_eq!(join, JoinMode::Probe);
    }
    for lines in ["", "liveness = { tcp = \"http\" }\n"] {
        let found = problems(&with(lines));
        assert!(found.len() == 1, "{found:?}");
        assert!(found[0].message.contains("needs a startup or a readiness probe"), "{found:?}");
        assert_eq!((found[0].line, found[0].column), (10, 8));
    }
}
