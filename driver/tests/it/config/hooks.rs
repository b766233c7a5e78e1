//! The hooks of the file: what they mean, and what is refused where (C13, D16).

use reconciler_core::{
    desired::{HookPoint, Hooks},
    limits,
    time::Millis,
};

use super::support::{HEAD, WEB, checked, problems};

fn text(lines: &str) -> String {
    format!("{HEAD}{WEB}[group.web.policy.hooks]\n{lines}")
}

fn read(lines: &str) -> Hooks {
    let loaded = checked(&text(lines)).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let group = loaded.shape.groups().next().expect("a group").clone();
    group.policy.hooks.clone()
}

#[test]
fn every_hook_is_read_and_none_is_the_default() {
    assert!(read("").is_empty());
    let hooks = read(
        "pre_start = { command = [\"./a\", \"{port:http}\", \"{slot}\"] }\n\
         post_start = { command = [\"b\"], timeout = \"1h\" }\n\
         pre_stop = { command = [\"c\"], timeout = \"250ms\" }\n\
         post_stop = { command = [\"d\"] }\n",
    );
    let points: Vec<_> = hooks.declared().map(|(point, _)| point).collect();
    assert_eq!(points, HookPoint::ALL);
    let pre_start = hooks.pre_start.expect("a hook");
    assert_eq!(pre_start.argv, ["./a", "{port:http}", "{slot}"]);
    assert_eq!(pre_start.timeout, limits::HOOK_TIMEOUT, "what is left out is the default");
    assert_eq!(hooks.post_start.expect("a hook").timeout, limits::HOOK_TIMEOUT_MAX);
    assert_eq!(hooks.pre_stop.expect("a hook").timeout, Millis::new(250));
}

/// Hooks are treatment: neither having one nor another one makes another revision (C13).
#[test]
fn no_hook_replaces_a_node() {
    let revision = |text: &str| {
        let loaded = checked(text).expect("a sound file");
        loaded.shape.groups().next().expect("a group").revision
    };
    let plain = revision(&format!("{HEAD}{WEB}"));
    for hook in ["pre_start", "post_start", "pre_stop", "post_stop"] {
        assert_eq!(revision(&text(&format!("{hook} = {{ command = [\"a\"] }}\n"))), plain);
    }
}

#[test]
fn a_hook_that_cannot_run_is_refused_at_its_place() {
    let rows = [
        ("pre_boot = { command = [\"a\"] }\n", "pre_boot", 10, 1),
        ("pre_stop = {}\n", "`command` is missing", 10, 12),
        ("pre_stop = { command = [] }\n", "the command is empty", 10, 24),
        ("pre_stop = { command = [\"\"] }\n", "the program is empty", 10, 25),
        ("pre_stop = [\"a\"]\n", "expected a table", 10, 12),
        ("pre_stop = { command = [\"a\"], shell = true }\n", "shell", 10, 31),
        ("pre_stop = { command = [\"a\"], timeout = \"0s\" }\n", "lets nothing succeed", 10, 41),
        ("pre_stop = { command = [\"a\"], timeout = \"2h\" }\n", "1h at most", 10, 41),
        ("pre_stop = { command = [\"a\", \"{solt}\"] }\n", "not a placeholder", 10, 30),
        ("pre_stop = { command = [\"a\", \"{port:web}\"] }\n", "not declared", 10, 30),
    ];
    for (lines, message, line, column) in rows {
        let found = problems(&text(lines));
        let [problem] = found.as_slice() else {
            panic!("{} problems instead of one for {lines}: {found:#?}", found.len());
        };
        assert!(problem.message.contains(message), "{lines}: {}", problem.message);
        assert_eq!((problem.line, problem.column), (line, column), "{lines}: {problem:?}");
        assert!(problem.hint.is_some(), "{lines} gives no hint");
    }
}

/// A port that only a hook asks for is none: a node's ports are part of what it is.
#[test]
fn a_hook_gets_the_ports_that_its_node_has() {
    let hook = "[group.a.policy.hooks]\npre_start = { command = [\"x\", \"{port}\"] }\n";
    let group = |boot: &str| format!("{HEAD}[group.a]\ncount = 1\n[group.a.boot]\n{boot}{hook}");
    for sound in ["command = [\"true\", \"{port}\"]\n", "command = [\"true\"]\nports = [\"p\"]\n"] {
        assert!(checked(&group(sound)).is_ok(), "{sound}");
    }
    let found = problems(&group("command = [\"true\"]\n"));
    assert!(found.len() == 1 && found[0].message.contains("has no port"), "{found:?}");
}

/// D16: a provider that runs no hooks is a capability gap, and a program is asked to say that it does.
#[test]
fn a_provider_that_runs_no_hooks_is_a_gap() {
    let exec = "[provider.mine]\nkind = \"exec\"\nprogram = \"./p\"\n[group.a]\ncount = 1\nprovider = \"mine\"\n\
                [group.a.boot]\ncommand = [\"true\"]\n[group.a.policy.hooks]\npre_stop = { command = [\"x\"] }\n";
    let found = problems(&format!("{HEAD}{exec}"));
    assert!(found.len() == 1, "{found:?}");
    assert!(found[0].message.contains("capability gap: a `exec` provider"), "{found:?}");
    assert!(found[0].hint.as_ref().is_some_and(|hint| hint.contains("hooks = true")), "{found:?}");
}
