//! Secrets of the file: references are taken, and whatever else stands there is refused without being shown (P8).

use super::support::{HEAD, checked, problems};

fn web(boot: &str) -> String {
    format!("{HEAD}[group.web]\ncount = 1\n[group.web.boot]\ncommand = [\"x\"]\n{boot}\n")
}

#[test]
fn a_secret_is_taken_as_a_reference() {
    let text = web(r#"secret_env = { API_TOKEN = "env:API_TOKEN", DB = "file:keys/db" }"#);
    let loaded = checked(&text).expect("it is sound");
    let spec = &loaded.shape.groups().next().expect("a group").spec;
    let found: Vec<_> = spec.boot.secret_env.iter().map(|(k, v)| format!("{k} {v}")).collect();
    assert_eq!(found, ["API_TOKEN env:API_TOKEN", "DB file:keys/db"]);
}

/// R89: each with its place, and none with the value.
#[test]
fn what_is_no_reference_is_refused_at_its_place_and_never_shown() {
    let rows = [
        (r#"secret_env = { DB = "hunter2-hunter2" }"#, "it is no reference to a secret", 20),
        (r#"secret_env = { DB = "env:hunter2 x" }"#, "what follows `env:` is not a name", 20),
        (r#"secret_env = { DB = "file:" }"#, "what follows `file:` is not a path", 20),
        (r#"secret_env = { 2DB = "env:DB" }"#, "`2DB` is not a name", 15),
        (r#"secret_env = { LEVELHEAD_X = "env:DB" }"#, "`LEVELHEAD_X` is reserved", 15),
    ];
    for (boot, message, column) in rows {
        let text = web(boot);
        let found = problems(&text);
        let [problem] = found.as_slice() else { panic!("{boot}: {found:#?}") };
        assert!(problem.message.contains(message), "{boot}: {}", problem.message);
        assert_eq!(problem.column, column + 1, "{boot}: {problem:?}");
        assert!(problem.hint.is_some(), "{boot}");
        let shown = checked(&text).expect_err("it is refused").render(false);
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}

#[test]
fn a_variable_is_secret_or_it_is_not() {
    let found = problems(&web("env = { DB = \"a\" }\nsecret_env = { DB = \"env:DB\" }"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].message.contains("`DB` stands in `env` as well"), "{found:?}");
}

/// D16: a provider that hands no secrets on is a gap, found before anything else.
#[test]
fn a_provider_that_hands_no_secrets_on_is_a_gap() {
    let text = web(r#"secret_env = { DB = "env:DB" }"#)
        .replace("count = 1", "count = 1\nprovider = \"mine\"");
    let text = format!("{text}[provider.mine]\nkind = \"exec\"\nprogram = \"p\"\n");
    let found = problems(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].message.contains("capability gap"), "{found:?}");
    assert!(found[0].hint.as_deref().is_some_and(|hint| hint.contains("`secrets` to true")));
}
