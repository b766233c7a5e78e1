//! Canonical JSON: one text per value, as RFC 8785 says (R82).

use proptest::prelude::*;
use reconciler_core::canonical::{Canon, push_num, read, write_object};
use serde_json::Value;

/// The vector of RFC 8785, section 3.2.3: members in the order of their UTF-16 code units.
#[test]
fn members_are_in_utf_16_order() {
    let names = ["\u{20ac}", "\r", "\u{fb33}", "1", "\u{1f600}", "\u{80}", "\u{f6}"];
    let canon = Canon::object(names.map(|name| (name, Canon::Null)));
    let want = "{\"\\r\":null,\"1\":null,\"\u{80}\":null,\"\u{f6}\":null,\"\u{20ac}\":null,\
                \"\u{1f600}\":null,\"\u{fb33}\":null}";
    assert_eq!(canon.write(), want);
}

/// R82: names compare as they are written, by the UTF-16 code units: the pair of a high character comes first.
#[test]
fn names_compare_as_they_are_written() {
    let Canon::Object(members) =
        Canon::object(["\u{fb33}", "\u{1f600}", "a"].map(|name| (name, Canon::Null)))
    else {
        panic!("an object")
    };
    let names: Vec<_> = members.keys().collect();
    assert!(
        names.windows(2).all(|pair| pair[0].partial_cmp(pair[1]) == Some(std::cmp::Ordering::Less)),
        "{names:?}"
    );
    assert_eq!(format!("{:?}", names[1]), "Key(\"\u{1f600}\")");
}

/// The vector of RFC 8785, section 3.2.2.2: only what must be escaped is, in the shortest way.
#[test]
fn strings_escape_what_they_must() {
    let text = "\u{20ac}$\u{f}\nA'B\"\\\\\"/";
    assert_eq!(Canon::text(text).write(), "\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"");
    let controls = "\u{0}\u{8}\t\n\u{b}\u{c}\r\u{1f}\u{7f}";
    let want = "\"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f\u{7f}\"";
    assert_eq!(Canon::text(controls).write(), want);
    for (one, escaped) in [("\"", "\\\""), ("\\", "\\\\"), ("\u{1f}", "\\u001f"), (" ", " ")] {
        assert_eq!(Canon::text(one).write(), format!("\"{escaped}\""), "alone");
    }
}

/// A refusal names the first byte that does not fit.
#[test]
fn a_refusal_has_its_place() {
    let at = |text: &str| read(text).map_err(|error| (error.at, error.what)).expect_err(text);
    assert_eq!(at("null null"), (4, "something follows the value"));
    let other = "it is written in another than the canonical way";
    assert_eq!(at("{\"b\":null,\"a\":null}"), (2, other));
    assert_eq!(at("\"\\u0041\""), (1, other));
}

/// The value behind an option that names a secret goes; behind a plain word of that name it stays.
#[test]
fn only_an_option_announces_its_value() {
    let list = |items: [&str; 2]| Canon::list(items.map(Canon::text)).redacted().write();
    assert_eq!(list(["--token", "x"]), r#"["--token","[redacted]"]"#);
    assert_eq!(list(["token", "x"]), r#"["token","x"]"#);
    assert_eq!(list(["--verbose", "x"]), r#"["--verbose","x"]"#);
}

/// Numbers are texts: no counter can lose its last digits.
#[test]
fn numbers_are_texts() {
    assert_eq!(Canon::num(u64::MAX).write(), "\"18446744073709551615\"");
    assert_eq!(Canon::list([Canon::Bool(true), Canon::Null]).write(), "[true,null]");
    assert_eq!(Canon::list([]).write() + &Canon::object([]).write(), "[]{}");
}

/// An object of texts is a map of them; what holds anything else is none.
#[test]
fn an_object_of_texts_is_a_map() {
    let members = [("a", Canon::text("1")), ("b", Canon::text(""))];
    let map = Canon::object(members.clone()).to_text_map().expect("texts alone");
    let pairs: Vec<_> = map.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    assert_eq!(pairs, [("a", "1"), ("b", "")]);
    let mixed = members.into_iter().chain([("c", Canon::Null)]);
    assert_eq!(Canon::object(mixed).to_text_map(), None);
    assert_eq!(Canon::text("a").to_text_map(), None);
}

/// Depth has a bound, so that no text can use up a stack.
#[test]
fn what_stands_too_deep_is_refused() {
    let deep = |n: usize| "[".repeat(n) + &"]".repeat(n);
    assert!(read(&deep(32)).is_ok());
    let refused = read(&deep(100_000)).expect_err("too deep");
    assert_eq!((refused.at, refused.what), (33, "values stand too deep within each other"));
}

/// A value twice over: for our writer and for the reader of another hand.
fn value() -> impl Strategy<Value = (Canon, Value)> {
    let leaf = prop_oneof![
        Just((Canon::Null, Value::Null)),
        any::<bool>().prop_map(|b| (Canon::Bool(b), Value::Bool(b))),
        any::<String>().prop_map(|s| (Canon::text(&s), Value::String(s))),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| {
                let (canons, values): (Vec<_>, Vec<_>) = items.into_iter().unzip();
                (Canon::list(canons), Value::Array(values))
            }),
            prop::collection::btree_map(any::<String>(), inner, 0..4).prop_map(|members| {
                let canon = members.iter().map(|(name, (canon, _))| (name.as_str(), canon.clone()));
                let canon = Canon::object(canon);
                let value = members.into_iter().map(|(name, (_, value))| (name, value)).collect();
                (canon, Value::Object(value))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]

    /// Another hand's implementation of RFC 8785 writes the same bytes.
    #[test]
    fn another_implementation_agrees((canon, value) in value()) {
        let theirs = serde_json_canonicalizer::to_string(&value).expect("a value of plain kinds");
        prop_assert_eq!(canon.write(), theirs);
    }

    /// Our own reader takes canonical text, and takes nothing else: not the same value in other words.
    #[test]
    fn only_canonical_text_reads((canon, value) in value()) {
        let text = canon.write();
        prop_assert_eq!(read(&text).expect("our own text"), canon);
        let other = serde_json::to_string_pretty(&value).expect("JSON");
        prop_assert_eq!(read(&other).is_ok(), other == text);
    }

    /// A spoilt byte is refused, or the text is another value's own.
    #[test]
    fn a_spoilt_byte_is_seen((canon, _) in value(), at in any::<prop::sample::Index>(), byte: u8) {
        let mut bytes = canon.write().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(text) = String::from_utf8(bytes) && let Ok(read) = read(&text) {
            prop_assert_eq!(read.write(), text);
        }
    }

    /// What is redacted once stays as it is.
    #[test]
    fn redacting_twice_is_redacting_once((canon, _) in value()) {
        let once = canon.redacted();
        prop_assert_eq!(once.redacted(), once);
    }

    /// The writer without a tree writes what the tree writes.
    #[test]
    fn both_writers_agree(number: u64, text: String, flag: bool) {
        let mut streamed = String::new();
        write_object(&mut streamed, |members| {
            members.canon("a", &Canon::Bool(flag));
            members.list("b", [number, 0], push_num);
            members.num("c", number);
            members.plain("d", |out| out.push_str("plain"));
            members.text("e", &text);
            members.text_if_any("f", flag.then_some(text.as_str()));
            members.flag("g", flag);
            members.num_if_any("h", flag.then_some(number));
        });
        let tree = Canon::object([
            ("a", Canon::Bool(flag)),
            ("b", Canon::list([Canon::num(number), Canon::num(0)])),
            ("c", Canon::num(number)),
            ("d", Canon::text("plain")),
            ("e", Canon::text(&text)),
            ("f", if flag { Canon::text(&text) } else { Canon::Null }),
            ("g", Canon::Bool(flag)),
            ("h", if flag { Canon::num(number) } else { Canon::Null }),
        ]);
        prop_assert_eq!(streamed, tree.write());
    }

    /// What is written reads back as the same value, and has no blank that it need not have.
    #[test]
    fn what_is_written_reads_back((canon, value) in value()) {
        let written = canon.write();
        prop_assert_eq!(serde_json::from_str::<Value>(&written).expect("it is JSON"), value);
        prop_assert_eq!(canon.write(), written);
    }
}
