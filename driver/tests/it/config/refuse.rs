//! What is refused, where, and in which words.

use super::support::{HEAD, WEB, problems};

/// A bad text, a part of the message that it must give, and the line and column of it.
type Bad<T> = (T, &'static str, usize, usize);

/// Each text, once it is made whole, must give exactly the one problem of its row.
fn each<T: AsRef<str>>(rows: &[Bad<T>], whole: impl Fn(&str) -> String) {
    for (text, message, line, column) in rows {
        let text = text.as_ref();
        let found = problems(&whole(text));
        let [problem] = found.as_slice() else {
            panic!("{} problems instead of one for {text}: {found:#?}", found.len());
        };
        assert!(problem.message.contains(message), "{text}: {}", problem.message);
        assert_eq!((problem.line, problem.column), (*line, *column), "{text}: {problem:?}");
        assert!(problem.hint.is_some(), "{text} gives no hint");
        assert_eq!(problem.file, "cluster.toml");
    }
}

/// Every row is put behind the head, so its first line is line 4.
fn each_alone<T: AsRef<str>>(rows: &[Bad<T>]) {
    each(rows, |text| format!("{HEAD}{text}"));
}

/// Every row is put behind the head and a sound group, so its first line is line 9.
fn each_behind_web<T: AsRef<str>>(rows: &[Bad<T>]) {
    each(rows, |text| format!("{HEAD}{WEB}{text}"));
}

/// Every row is the whole head; a sound group follows it.
fn each_head<T: AsRef<str>>(rows: &[Bad<T>]) {
    each(rows, |text| format!("{text}{WEB}"));
}

const UUID: &str = "0b6f4e1c-0f0e-4a51-9d58-6f1c2f3a4b5c";

#[test]
fn the_head_names_a_known_version_a_run_and_its_identity() {
    each_head(&[
        (
            "run = \"a\"\nuuid = \"0b6f4e1c-0f0e-4a51-9d58-6f1c2f3a4b5c\"\n",
            "`version` is missing",
            1,
            1,
        ),
        (
            "version = 2\nrun = \"a\"\nuuid = \"0b6f4e1c-0f0e-4a51-9d58-6f1c2f3a4b5c\"\n",
            "version 2 is not supported",
            1,
            11,
        ),
        (
            "version = \"1\"\nrun = \"a\"\nuuid = \"0b6f4e1c-0f0e-4a51-9d58-6f1c2f3a4b5c\"\n",
            "expected a whole number, found a string",
            1,
            11,
        ),
        (
            "version = 1\nrun = \"Bad Run\"\nuuid = \"0b6f4e1c-0f0e-4a51-9d58-6f1c2f3a4b5c\"\n",
            "`Bad Run` is not a valid run name",
            2,
            7,
        ),
        ("version = 1\nrun = \"a\"\n", "`uuid` is missing", 1, 1),
        ("version = 1\nrun = \"a\"\nuuid = \"0b6f\"\n", "is not a valid UUID", 3, 8),
        (
            "version = 1\nrun = \"a\"\nuuid = \"00000000-0000-0000-0000-000000000000\"\n",
            "all zeros",
            3,
            8,
        ),
    ]);
    let missing = problems(&format!("version = 1\nrun = \"a\"\n{WEB}"));
    assert!(missing[0].hint.as_ref().is_some_and(|hint| hint.contains("levelhead init --uuid")));
}

#[test]
fn the_run_has_its_own_few_settings() {
    each_head(
        &[
            ("confirm = \"perhaps\"\n", "unknown way to confirm `perhaps`", 1, 11),
            ("parallelism = 0\n", "`parallelism` is too small: 0", 1, 15),
            ("parallelism = 33\n", "`parallelism` is too large: 33", 1, 15),
            ("paralelism = 3\n", "unknown key `paralelism`", 1, 1),
            ("confirm = true\n", "expected a string, found a boolean", 1, 11),
        ]
        .map(|(text, message, line, column)| {
            let whole = format!("{text}version = 1\nrun = \"a\"\nuuid = \"{UUID}\"\n");
            (whole, message, line, column)
        }),
    );
}

#[test]
fn counts_are_whole_numbers_within_the_limit() {
    let group = |count: &str| {
        let text = format!("[group.a]\ncount = {count}\nboot = {{ command = [\"true\"] }}\n");
        text
    };
    each_alone(&[
        (group("-1"), "`count` is too small: -1", 5, 9),
        (group("100001"), "`count` is too large: 100001", 5, 9),
        (group("99999999999999999999999999999999999999999999"), "`count` is too large", 5, 9),
        (group("3.0"), "expected a whole number, found a float", 5, 9),
        (group("\"3\""), "expected a whole number, found a string", 5, 9),
        (group("[3]"), "expected a whole number, found an array", 5, 9),
        ("[group.a]\nboot = { command = [\"true\"] }\n".to_owned(), "`count` is missing", 4, 1),
    ]);
}

#[test]
fn names_follow_their_rule_and_are_unique() {
    let body = "count = 1\nboot = { command = [\"true\"] }\n";
    let group = |name: &str| format!("[group.{name}]\n{body}");
    each_behind_web(&[
        (group("Web"), "`Web` is not a valid group name", 9, 8),
        (group("\"a b\""), "`a b` is not a valid group name", 9, 8),
        (group("\"\""), "is not a valid group name: it must not be empty", 9, 8),
        (group("web"), "group `web` is declared twice", 9, 8),
        (group("web-0"), "group `web-0` has the name of a slot of group `web`", 9, 8),
        ("[group.web.boot]\nsettle = \"1s\"\n".to_owned(), "`boot` is given twice", 9, 12),
    ]);
    // Two names that only look alike are two groups.
    assert_eq!(problems(&format!("{HEAD}{WEB}{}", group("web-00"))), []);
}

#[test]
fn keys_and_types_are_strict_everywhere() {
    each_behind_web(&[
        ("prots = []\n", "unknown key `prots`", 9, 1),
        ("[group.web.policy]\nstabel = \"1s\"\n", "unknown key `stabel`", 10, 1),
        ("[group.web.policy]\nattempts = 1\n", "unknown key `attempts`", 10, 1),
        ("[agent]\nlisten = \"0.0.0.0:7443\"\n", "agents are not told where to come", 10, 10),
        ("[agent]\nlisten = \"here\"\n", "`here` is no place", 10, 10),
        ("[agent]\naddress = \"here\"\n", "`here` is no place", 10, 11),
        ("[group.web.join]\nmode = \"magic\"\n", "unknown join mode `magic`", 10, 8),
        ("[group.web.shape]\nlabels = [\"a\"]\n", "expected a table", 10, 10),
        ("[group.web.shape]\nlabels = { levelhead-run = \"x\" }\n", "is reserved", 10, 12),
        ("workdir = \"\"\n", "the directory is empty", 9, 11),
        ("workdir = \"/srv/{port}\"\n", "placeholders are not filled in here", 9, 11),
        ("workdir = \"a\\u0000b\"\n", "NUL", 9, 11),
        ("settle = 10\n", "expected a duration such as \"10s\", found a whole number", 9, 10),
        ("settle = \"10 parsecs\"\n", "`10 parsecs` is not a duration", 9, 10),
    ]);
    let misplaced = problems(&format!("{HEAD}{WEB}[group.web.policy]\nattempts = 1\n"));
    let hint = misplaced[0].hint.as_deref();
    assert_eq!(hint, Some("`attempts` belongs to [group.NAME.policy.restart]"));
    let integer = problems(&format!("{HEAD}{WEB}settle = 10\n"));
    assert_eq!(integer[0].hint.as_deref(), Some("write the unit: \"10s\" or \"10ms\""));
}

#[test]
fn commands_are_lists_and_their_placeholders_are_known() {
    let boot = |boot: &str| format!("[group.a]\ncount = 1\n[group.a.boot]\n{boot}\n");
    each_alone(&[
        (boot("command = []"), "the command is empty", 7, 11),
        (boot("command = [\"\"]"), "the program is empty", 7, 12),
        (boot("command = \"sleep 1\""), "expected an array of strings, found a string", 7, 11),
        (boot("command = [\"a\", 1]"), "expected a string, found a whole number", 7, 17),
        (boot("command = [\"a\\u0000\"]"), "NUL", 7, 12),
        (boot("ports = [\"http\"]"), "`command` is missing", 6, 1),
        (boot("command = [\"a\", \"{solt}\"]"), "`{solt}` is not a placeholder", 7, 17),
        (
            boot("ports = [\"http\"]\ncommand = [\"a\", \"{port:htpp}\"]"),
            "`{port:htpp}` names a port",
            8,
            17,
        ),
        (boot("command = [\"a\"]\nports = [\"x\", \"x\"]"), "port `x` is declared twice", 8, 15),
        (boot("command = [\"a\"]\nports = [\"X\"]"), "`X` is not a valid port name", 8, 10),
        (boot("command = [\"a\"]\nverify = [{ timeout = \"1s\" }]"), "`command` is missing", 8, 11),
        (boot("command = [\"a\"]\nverify = [[\"true\"]]"), "expected a table", 8, 11),
        (
            boot("command = [\"a\"]\nverify = [{ command = [\"b\"], timeout = \"0s\" }]"),
            "zero",
            8,
            40,
        ),
        (
            boot("command = [\"a\"]\nenv = { \"1A\" = \"x\" }"),
            "not a name of an environment variable",
            8,
            9,
        ),
        (
            boot("command = [\"a\"]\nenv = { LEVELHEAD_SLOT = \"x\" }"),
            "`LEVELHEAD_SLOT` is reserved",
            8,
            9,
        ),
        (
            boot("command = [\"a\"]\nenv = { A = 1 }"),
            "expected a string, found a whole number",
            8,
            13,
        ),
        ("[group.a]\ncount = 1\n".to_owned(), "`boot` is missing", 4, 1),
    ]);
}

/// P8: a credential in the file is refused, and neither shown nor repeated.
#[test]
fn a_credential_in_the_environment_is_refused_and_never_shown() {
    let text = format!("{HEAD}{WEB}env = {{ API_TOKEN = \"hunter2\", N = 1 }}\n");
    let error = super::support::checked(&text).expect_err("a credential is refused");
    assert_eq!(error.diagnostics().len(), 2);
    for shown in
        [error.render(false), error.render(true), error.to_json().to_string(), error.to_string()]
    {
        assert!(!shown.contains("hunter2"), "{shown}");
    }
    let harmless = format!("{HEAD}{WEB}env = {{ API_TOKEN = \"\", AUTH_PORT = \"{{port}}\" }}\n");
    assert_eq!(problems(&harmless), []);
}

#[test]
fn contradictions_are_refused_at_the_setting_that_makes_them() {
    each_behind_web(&[
        ("[group.web.policy.restart]\ncap = \"500ms\"\n", "shorter than the first", 10, 7),
        ("[group.web.policy.restart]\ninitial = \"2m\"\n", "shorter than the first", 10, 11),
        (
            "[group.web.policy.restart]\ninitial = \"5s\"\ncap = \"2s\"\n",
            "shorter than the first",
            11,
            7,
        ),
        ("[group.web.policy.restart]\ninitial = \"0s\"\n", "`initial` is zero", 10, 11),
        ("[group.web.policy.restart]\nattempts = 0\n", "`attempts` is too small", 10, 12),
        ("[group.web.policy.restart]\njitter = 51\n", "`jitter` is too large", 10, 10),
        ("[group.web.policy]\nmax_lost_per_pass = 0\n", "`max_lost_per_pass` is too small", 10, 21),
        ("[group.web.policy.timeouts]\ncreate = \"0s\"\n", "`create` is zero", 10, 10),
        (
            "[group.web.policy.timeouts]\ncancel = \"10s\"\n",
            "before the stop grace is over",
            10,
            10,
        ),
        ("stop_grace = \"2m\"\n", "before the stop grace is over", 9, 14),
        ("settle = \"5m\"\n", "before the workload has settled", 9, 10),
        ("settle = \"0s\"\n[group.web.policy]\nstable = \"0s\"\n", "both zero", 11, 10),
        (
            "verify = [{ command = [\"a\"], timeout = \"6m\" }]\n",
            "longer than the whole bootstrap",
            9,
            40,
        ),
    ]);
}

#[test]
fn providers_are_known_sound_and_able() {
    let group = "[group.a]\ncount = 1\nboot = { command = [\"true\"] }\n";
    let with = |rest: &str| format!("{group}{rest}\n");
    each_alone(&[
        (
            with("provider = \"clod\"\n[provider.cloud]\nkind = \"exec\"\nprogram = [\"./p\"]"),
            "unknown provider `clod`",
            7,
            12,
        ),
        (with("provider = \"elsewhere\""), "unknown provider `elsewhere`", 7, 12),
        (with("provider = 1"), "expected the name of a provider, found a whole number", 7, 12),
        (with("[provider.cloud]\nprogram = [\"./p\"]"), "`kind` is missing", 7, 1),
        (with("[provider.cloud]\nkind = \"exce\""), "unknown kind of provider `exce`", 8, 8),
        (with("[provider.cloud]\nkind = \"exec\""), "`program` is missing", 7, 1),
        (
            with(
                "[provider.cloud]\nkind = \"exec\"\nprogram = [\"./p\"]\n[provider.cloud.limits]\nper_minute = 5",
            ),
            "option `limits.per_minute`: is not an option",
            11,
            1,
        ),
        (
            with("[provider.Cloud]\nkind = \"exec\"\nprogram = [\"./p\"]"),
            "not a valid provider name",
            7,
            11,
        ),
        (
            with("[provider.process]\nkind = \"exec\"\nprogram = [\"./p\"]"),
            "always of kind `process`",
            8,
            8,
        ),
        (
            with("[group.a.shape]\nimage = \"x:1\""),
            "capability gap: a `process` provider cannot run images",
            8,
            9,
        ),
        (
            with("[group.a.shape]\nmemory = \"1 GiB\""),
            "capability gap: a `process` provider cannot promise `memory`",
            8,
            10,
        ),
    ]);
    let known = problems(&format!("{HEAD}{}", with("provider = \"elsewhere\"")));
    assert_eq!(
        known[0].hint.as_deref(),
        Some("known: `process`; declare others as [provider.NAME]")
    );
}

#[test]
fn shapes_are_written_with_units() {
    let shape = |shape: &str| {
        let text = format!(
            "[provider.c]\nkind = \"exec\"\nprogram = [\"p\"]\n[group.a]\ncount = 1\nprovider = \"c\"\n\
             boot = {{ command = [\"true\"] }}\n[group.a.shape]\n{shape}\n"
        );
        text
    };
    each_alone(&[
        (shape("cpus = 0.5"), "found a float", 12, 8),
        (shape("cpus = 0"), "out of range", 12, 8),
        (shape("cpus = \"a\""), "not a number of processors", 12, 8),
        (shape("memory = 512"), "found a whole number", 12, 10),
        (shape("memory = \"4 GB\""), "`GB` is not a known unit", 12, 10),
        (shape("disk = \"512 MiB\""), "`disk` cannot be 512 MiB", 12, 8),
        (shape("gpus = 0"), "`gpus` is too small", 12, 8),
        (shape("image = \"a b\""), "an image name", 12, 9),
    ]);
}

/// Every error of a file is named in one pass, in order of position, syntax and meaning together.
#[test]
fn all_errors_of_a_file_are_reported_together() {
    let text = "version = 1\nrun = \"Local\"\nuuid = \"x\"\nparallelism = 99\n\
                [group.web]\ncount = -1\nprovider = \"nowhere\"\n\
                [group.web.boot]\ncommand = []\nsettle = 5\n\
                [group.db]\ncuont = 2\nboot = { command = [\"{who}\"] }\n";
    let places: Vec<_> = problems(text).iter().map(|p| (p.line, p.column)).collect();
    let expected =
        [(2, 7), (3, 8), (4, 15), (6, 9), (7, 12), (9, 11), (10, 10), (11, 1), (12, 1), (13, 21)];
    assert_eq!(places, expected);

    let broken =
        format!("{HEAD}parallelism = 99\nconfirm = maybe\n{WEB}settle = \"1s\nworkdir = \"\"\n");
    let found = problems(&broken);
    let places: Vec<_> = found.iter().map(|p| (p.line, p.column)).collect();
    assert_eq!(places, [(4, 15), (5, 11), (11, 13), (12, 11)], "{found:#?}");
}

/// A broken header does not make the rest of the file look wrong.
#[test]
fn what_only_follows_from_broken_syntax_goes_unsaid() {
    let found =
        problems(&format!("{HEAD}{WEB}[group.db\ncount = 1\n[group.db.boot]\ncommand = [\"a\"]\n"));
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].message.starts_with("invalid TOML: unclosed table"));
}
