//! Ids: parsed at the edge, displayed the same, ordered as numbers, refused with the rule that they break.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use proptest::prelude::*;
use reconciler_core::{
    effect::{CommandKind, idempotency_key},
    id::{
        AttemptId, AttemptOrdinal, Generation, GroupId, IdError, IdempotencyKey, LogicalNodeId,
        PlanHash, RunName, Uuid,
    },
};
use serde::{Serialize, de::DeserializeOwned};

use crate::fleet::{RUN, slot};

fn comes_back<T>(value: &T)
where
    T: Display + FromStr<Err = IdError> + Serialize + DeserializeOwned + PartialEq + Debug,
{
    assert_eq!(value.to_string().parse::<T>().as_ref(), Ok(value));
    let json = serde_json::to_string(value).expect("an id is written");
    assert_eq!(serde_json::from_str::<T>(&json).expect("an id is read"), *value);
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]

    /// What is displayed parses to the same.
    #[test]
    fn ids_come_back(
        name in "[a-z][a-z0-9]{0,9}(-[a-z0-9]{1,9}){0,3}",
        index in any::<u32>(),
        bytes in any::<[u8; 32]>(),
        uuid in any::<[u8; 16]>(),
    ) {
        let group: GroupId = name.parse().expect("a group name");
        comes_back(&group);
        comes_back(&name.parse::<RunName>().expect("a run name"));
        comes_back(&LogicalNodeId::new(group, index));
        comes_back(&Uuid::from_bytes(uuid));
        comes_back(&PlanHash::from_bytes(bytes));
        comes_back(&IdempotencyKey::from_bytes(bytes));
    }

    /// Any text is an id or a refusal, never a panic.
    #[test]
    fn any_text_is_parsed_or_refused(text in ".{0,80}") {
        for error in [
            text.parse::<GroupId>().err(),
            text.parse::<LogicalNodeId>().err(),
            text.parse::<Uuid>().err(),
            text.parse::<PlanHash>().err(),
        ].into_iter().flatten() {
            prop_assert!(!error.rule.is_empty() && !error.to_string().ends_with('.'));
        }
    }
}

/// Slots order by group, then by index as a number.
#[test]
fn slots_order_as_numbers() {
    let mut slots: Vec<_> = ["g-10", "g-9", "g-1", "a-2", "g-0"].map(slot).to_vec();
    slots.sort();
    let shown: Vec<_> = slots.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["a-2", "g-0", "g-1", "g-9", "g-10"]);
}

/// A bad name says which rule it breaks.
#[test]
fn bad_names_say_their_rule() {
    let long = "a".repeat(64);
    let rows = [
        ("", "it must not be empty"),
        (long.as_str(), "it is longer than 63 characters"),
        ("1web", "it must start with a lower-case letter"),
        ("Web", "it must start with a lower-case letter"),
        ("web-", "only a-z, 0-9 and single inner hyphens are allowed"),
        ("we--b", "only a-z, 0-9 and single inner hyphens are allowed"),
        ("we_b", "only a-z, 0-9 and single inner hyphens are allowed"),
        ("w\u{fc}b", "only a-z, 0-9 and single inner hyphens are allowed"),
    ];
    for (text, rule) in rows {
        let error = text.parse::<GroupId>().expect_err(text);
        assert_eq!((error.what, error.rule), ("group name", rule), "{text}");
        assert_eq!(error.to_string(), format!("`{text}` is not a valid group name: {rule}"));
    }
    assert!("a".repeat(63).parse::<GroupId>().is_ok());
}

/// A bad slot, UUID or digest is refused.
#[test]
fn bad_slots_and_digests_are_refused() {
    for text in ["web", "web-", "web-01", "web-x", "-1", "web--1", "web-4294967296", "web-+1"] {
        assert!(text.parse::<LogicalNodeId>().is_err(), "{text}");
    }
    assert_eq!(slot("web-1-0").group.as_str(), "web-1");
    let uuid = "07070707-0707-0707-0707-070707070707";
    assert_eq!(uuid.parse(), Ok(RUN));
    let moved = "0707070-70707-0707-0707-070707070707".to_owned();
    let cases = [uuid.replace('-', ""), uuid.replace('7', "g"), uuid.replace('-', "+"), moved];
    assert!(cases.iter().all(|text| text.parse::<Uuid>().is_err()));
    let digest = "ab".repeat(32);
    assert!(digest.parse::<PlanHash>().is_ok_and(|hash| hash.short() == "abababababab"));
    let bad = ["ab".repeat(31), "ag".repeat(32), "+1".repeat(32), "ab".repeat(33)];
    assert!(bad.iter().all(|text| text.parse::<PlanHash>().is_err()));
}

/// D2: an attempt's UUID is derived: fixed, valid, and another for each slot, birth, ordinal and run; one of a
/// record that was written without a birth stays as it was.
#[test]
fn attempts_are_derived() {
    let of = |run, text, born, n| {
        let (born, ordinal) = (Generation::new(born), AttemptOrdinal::new(n));
        AttemptId::derive(run, &slot(text), born, ordinal).uuid
    };
    assert_eq!(of(RUN, "big-0", 0, 1).to_string(), "8287217e-bf94-88bd-9d9c-67d0a00d9f96");
    assert_eq!(of(RUN, "big-0", 1, 1).to_string(), "1dcbf90d-efec-8054-b9a3-db1e9e17d681");
    let other = Uuid::from_bytes([8; 16]);
    let mut uuids = vec![
        of(RUN, "a-1", 1, 1),
        of(RUN, "a-1", 1, 2),
        of(RUN, "a-1", 2, 1),
        of(RUN, "a-1", 0, 1),
        of(RUN, "a-2", 1, 1),
        of(other, "a-1", 1, 1),
    ];
    assert!(uuids.iter().all(|uuid| uuid.as_bytes()[6] >> 4 == 8 && uuid.as_bytes()[8] >> 6 == 2));
    uuids.sort_unstable();
    uuids.dedup();
    assert_eq!(uuids.len(), 6);
}

/// D7: a repeat of the same request has the same key; another request has another.
#[test]
fn a_request_has_one_key() {
    let key = |kind, detail| idempotency_key(RUN, kind, detail);
    assert_eq!(key(CommandKind::CreateLease, ""), key(CommandKind::CreateLease, ""));
    assert_ne!(key(CommandKind::CreateLease, ""), key(CommandKind::DestroyLease, ""));
    assert_ne!(key(CommandKind::StartBootstrap, "1"), key(CommandKind::StartBootstrap, "2"));
}
