//! Guardrails at the driver: every face meets them, because the driver itself judges (P3, P6).

use std::collections::{BTreeMap, BTreeSet};

use driver::{
    Begin, Source,
    view::{Edit, RefusalKind},
};
use reconciler_core::desired::{Deed, Demand, Guardrail};

use crate::stand::{Run, Stand, counts, source};

fn rail(group: &str) -> Guardrail {
    Guardrail {
        group: Some(group.parse().unwrap()),
        deny: BTreeSet::new(),
        confirm: None,
        max_destroy: None,
        reason: "it holds the accounts".to_owned(),
    }
}

/// A driver with two groups under these guardrails.
fn guarded(rails: &[Guardrail]) -> (Stand, Run) {
    let stand = Stand::new(8);
    let run = stand.drive(Begin::Driving);
    let Edit::File { shape, digest } = stand.declare(&[("db", 2), ("web", 3)]) else {
        panic!("a declaration is a file");
    };
    run.edit(&Edit::File { shape: Box::new(shape.guarded(rails.to_vec())), digest });
    run.converged();
    (stand, run)
}

#[test]
fn what_is_denied_is_refused_by_plan_and_apply() {
    let deny = Guardrail { deny: BTreeSet::from([Deed::Destroy]), ..rail("db") };
    let few = Guardrail { max_destroy: Some(1), ..rail("web") };
    let (stand, run) = guarded(&[deny, few]);
    for (edit, word) in [
        (counts(&[("db", 1)]), "denies to destroy"),
        (counts(&[("web", 1)]), "destroy 1 nodes at most"),
        (Edit::Down, "denies to destroy"),
        (Edit::Remove { groups: vec!["db".parse().unwrap()] }, "denies to destroy"),
    ] {
        let refusal = run.plan(&edit).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Forbidden);
        assert!(refusal.message.contains(word), "{refusal:?}");
        assert!(refusal.message.ends_with("it holds the accounts"), "its reason, verbatim");
        assert!(refusal.hint.is_some());
    }
    // What no guardrail is about goes its way, and a live edit keeps them.
    run.edit(&counts(&[("web", 2)]));
    run.converged();
    assert!(run.plan(&counts(&[("db", 0)])).is_err());
    run.stop();
    // They are journaled with the shape.
    let run = stand.drive(Begin::Driving);
    run.converged();
    assert!(run.plan(&Edit::Down).is_err());
    run.stop();
    stand.world.lawful();
}

#[test]
fn a_name_that_is_wanted_must_be_typed_whoever_applies() {
    let name = Guardrail { confirm: Some(Demand::Name), ..rail("db") };
    let (stand, run) = guarded(&[name]);
    let edit = counts(&[("db", 1)]);
    let plan = run.plan(&edit).unwrap();
    let demand = plan.demand.clone().expect("the plan tells what is wanted");
    assert_eq!((demand.confirm.as_str(), demand.name.as_str()), ("name", "db"));
    assert_eq!(demand.reasons, ["it holds the accounts"]);
    let client = run.client();
    for typed in [None, Some("yes"), Some("web"), Some("")] {
        let source = Source { typed: typed.map(str::to_owned), ..source() };
        let refusal =
            run.block(run.handle.apply(edit.clone(), plan.hash, source.clone())).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Forbidden, "{typed:?}");
        assert!(refusal.message.contains("it holds the accounts"), "{refusal:?}");
        assert!(refusal.hint.unwrap().contains("--typed db"));
        assert!(run.block(client.apply(edit.clone(), plan.hash, source)).is_err());
    }
    let typed = Source { typed: Some("db".to_owned()), ..source() };
    run.block(client.apply(edit, plan.hash, typed)).unwrap();
    run.converged();
    assert_eq!(run.view().want, 4);
    run.stop();
    stand.world.lawful();
}

/// A lost node comes back, and what a person confirmed goes on, whatever the guardrails say of new wishes.
#[test]
fn what_was_confirmed_is_kept_without_asking() {
    let deny = Guardrail {
        deny: Deed::ALL.into_iter().filter(|deed| deed.takes()).collect(),
        ..rail("web")
    };
    let (stand, run) = guarded(&[deny]);
    let before: BTreeMap<_, _> =
        run.view().nodes.into_iter().map(|node| (node.slot.to_string(), node.attempt)).collect();
    stand.world.exit("web-1", 1);
    run.until("the lost node is replaced", |view| {
        let node = view.nodes.iter().find(|node| node.slot.to_string() == "web-1");
        node.is_some_and(|node| node.attempt > before["web-1"] && node.ready)
    });
    run.stop();
    stand.world.lawful();
}
