//! The gate for free text: no secret, no sign that turns a terminal, no more than its bound (R91, P8).

use proptest::prelude::*;
use reconciler_core::{
    limits,
    redact::{Redacted, is_secret_key},
};

/// What stands for the secret in every text here.
const CANARY: &str = "hunter2";

/// In each of these the secret goes.
const TEXTS: [&str; 34] = [
    "token=hunter2",
    "TOKEN=hunter2",
    "password: hunter2",
    "password = hunter2",
    "db_password : hunter2",
    "password=\"hunter2\"",
    "password=\"a hunter2 b\" rest",
    "password='x hunter2' rest",
    "password=\"a\\\" hunter2\" rest",
    "{\"token\":\"hunter2\"}",
    "{\"user\":\"me\",\"token\":\"hunter2\",\"n\":1}",
    "{\"a\":{\"secret\":\"my hunter2 phrase\"},\"b\":2}",
    "{\\\"token\\\":\\\"hunter2\\\"}",
    "{\\\"token\\\":\\\"my hunter2\\\"}",
    "\"token\": \"hunter2\"",
    "\"token\" : \"hunter2\"",
    "token => hunter2",
    "Authorization: Bearer hunter2",
    "authorization: basic hunter2",
    "bearer hunter2",
    "Bearer\thunter2",
    "curl --token hunter2 x",
    "curl --token=hunter2 x",
    "AWS_SECRET_ACCESS_KEY=hunter2",
    "api-key=hunter2",
    "apiKey: hunter2",
    "x.private_key=hunter2",
    "https://me:hunter2@host/path",
    "https://hunter2@host",
    "see https://host/?a=1&token=hunter2&b=2 there",
    "to\u{200b}ken=hunter2",
    "tok\u{7}en=hunter2",
    "pass\u{202e}word=hunter2",
    "credential:\nhunter2",
];

/// R91: secrets go, however they are written.
#[test]
fn secrets_go_however_they_are_written() {
    for text in TEXTS {
        let clean = Redacted::new(text);
        assert!(!clean.as_str().contains(CANARY), "{text:?} became {clean}");
        assert!(clean.as_str().contains("[redacted]"), "{text:?} became {clean}");
    }
}

/// What stands around a secret stays readable.
#[test]
fn what_is_no_secret_stays() {
    let rows = [
        ("exit status 3: out of memory", "exit status 3: out of memory"),
        ("listen on 0.0.0.0:80", "listen on 0.0.0.0:80"),
        (
            "{\"user\":\"me\",\"token\":\"x\",\"n\":1}",
            "{\"user\":\"me\",\"token\":[redacted],\"n\":1}",
        ),
        ("https://me:x@host/p?q=1", "https://[redacted]@host/p?q=1"),
        ("a=1 token=x b=2", "a=1 token=[redacted] b=2"),
        ("monkey=1 keyboard:2", "monkey=1 keyboard:2"),
        // What comes first in a word goes first, and what follows it goes as well.
        ("token=https://me:x@host/p", "token=[redacted]"),
        ("https://me:x@host/?token=y", "https://[redacted]@host/?token=[redacted]"),
        ("{\\\"token\\\":\\\"my x\\\",\\\"n\\\":1}", "{\\\"token\\\":[redacted] ,\\\"n\\\":1}"),
        ("a\tb\nc\r\nd", "a b c  d"),
    ];
    for (text, want) in rows {
        assert_eq!(Redacted::new(text).as_str(), want);
    }
}

/// Signs that move a cursor, colour a terminal or turn the reading direction go.
#[test]
fn no_sign_turns_a_terminal() {
    let clean = Redacted::new("a\u{1b}[31mred\u{9b}2J\u{7}\u{202e}b\u{2066}c\u{feff}d\u{0}");
    assert_eq!(clean.as_str(), "a[31mred2Jbcd");
}

/// The bound holds at every length, also in the middle of a letter.
#[test]
fn the_bound_holds() {
    for letter in ["a", "\u{e9}", "\u{20ac}", "\u{1f600}"] {
        for n in 0..1_100 {
            let clean = Redacted::new(&letter.repeat(n));
            assert!(clean.as_str().len() <= limits::TEXT_LEN_MAX);
            assert_eq!(clean.as_str().ends_with('~'), letter.len() * n > limits::TEXT_LEN_MAX);
        }
    }
}

/// What is too long is cut between words; only a long word is cut itself.
#[test]
fn a_cut_leaves_whole_words() {
    let words = "word ".repeat(400);
    let clean = Redacted::new(&words);
    assert!(
        clean.as_str().ends_with("word ~")
            && words.starts_with(clean.as_str().trim_end_matches('~'))
    );
    let clean = Redacted::new(&format!("a {}", "x".repeat(3_000)));
    assert_eq!(clean.as_str().len(), limits::TEXT_LEN_MAX - 1);
    assert!(clean.as_str().starts_with("a x") && clean.as_str().ends_with("x~"));
}

/// Keys that name a secret, and keys that only look like it.
#[test]
fn secret_keys_are_known() {
    for key in ["TOKEN", "DB_PASSWORD", "client-secret", "KEY", "ssh.key", "ACCESS_KEY_ID", "auth"]
    {
        assert!(is_secret_key(key), "{key}");
    }
    for key in ["monkey", "keyboard", "PATH", "user", ""] {
        assert!(!is_secret_key(key), "{key}");
    }
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]

    /// Cleaning twice is cleaning once, so that a stored text reads back as it was.
    #[test]
    fn cleaning_twice_is_cleaning_once(
        parts in prop::collection::vec(
            prop_oneof![
                prop::sample::select(TEXTS.to_vec()).prop_map(str::to_owned),
                ".{0,40}",
                "[ -~]{0,12}",
                prop::sample::select(vec!["\"", "'", "=", ":", " ", "://", "@", "\\", "[redacted]",
                    "token", "bearer", "--key", "a"]).prop_map(str::to_owned),
                (900_usize..1_030).prop_map(|n| "x".repeat(n)),
            ],
            0..8,
        )
    ) {
        let once = Redacted::new(&parts.concat());
        prop_assert!(once.as_str().len() <= limits::TEXT_LEN_MAX);
        prop_assert_eq!(&Redacted::new(once.as_str()), &once);
        let json = serde_json::to_string(&once).expect("a text is written");
        prop_assert_eq!(serde_json::from_str::<Redacted>(&json).expect("a text is read"), once);
    }
}
