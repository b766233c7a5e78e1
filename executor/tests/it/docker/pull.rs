//! Images that an engine lacks and may fetch: from a registry that has them, lacks them, is away, or never answers.

use std::time::{Duration, Instant};

use bollard::query_parameters::RemoveImageOptions;
use reconciler_core::{
    effect::{Certainty, CommandKind, EffectFailure, FailureClass},
    id::{AttemptId, AttemptOrdinal, Generation},
};
use serde_json::json;

use super::{
    engine::{IMAGE, containers},
    registry::Registry,
    rig::Rig,
};

/// A rig whose engine may pull, and a registry that this engine reaches.
async fn pulling(test: &str) -> Option<(Rig, Registry)> {
    if std::env::var_os("DOCKER_HOST").is_some() {
        eprintln!("skipped: {test}, the engine may be elsewhere, and the registry is here");
        return None;
    }
    let rig = Rig::new(test, &[("pull", json!("missing"))]).await?;
    Some((rig, Registry::open().await))
}

fn told(failure: &EffectFailure, classes: &[FailureClass], words: &str) {
    assert_eq!(failure.certainty, Certainty::Definite, "{failure:?}");
    assert!(classes.contains(&failure.class), "{failure:?}");
    for words in ["cannot be pulled", words] {
        assert!(failure.message.as_str().contains(words), "{failure:?}");
    }
}

/// D16: an image that the engine lacks is pulled where that is allowed, once, and its content is what the revision runs,
/// also after its tag is gone.
#[tokio::test]
async fn a_missing_image_is_pulled_once() {
    let Some((mut rig, registry)) = pulling("a_missing_image_is_pulled_once").await else { return };
    rig.spec.shape.image = Some(registry.image());
    let first = rig.create().await.unwrap();
    rig.start(&first, 1).await.unwrap();
    let seen = rig.docker.inspect_container(first.lease.id.as_str(), None).await.unwrap();
    let id = seen.image.unwrap();
    assert_eq!(rig.docker.inspect_image(&registry.image()).await.unwrap().id.as_ref(), Some(&id));
    let asked = registry.asked();
    assert!(asked > 0);
    rig.destroy(&first.lease).await.unwrap();
    let second = rig.create().await.unwrap();
    let seen = rig.docker.inspect_container(second.lease.id.as_str(), None).await.unwrap();
    assert_eq!((seen.image, registry.asked()), (Some(id), asked));
    rig.destroy(&second.lease).await.unwrap();
    let gone = rig.docker.remove_image(&registry.image(), None::<RemoveImageOptions>, None).await;
    gone.unwrap();
    rig.clean().await;
}

/// D16: an image that its registry lacks, and one whose registry is away, are told as what they are, and nothing is made.
#[tokio::test]
async fn an_image_that_cannot_be_pulled_is_told_and_nothing_is_made() {
    let test = "an_image_that_cannot_be_pulled_is_told_and_nothing_is_made";
    let Some((mut rig, registry)) = pulling(test).await else { return };
    rig.spec.shape.image = Some(registry.missing());
    // Engines differ in what they call this: a refusal, or a failure of their own.
    let missing = rig.create().await.unwrap_err();
    told(&missing, &[FailureClass::Invalid, FailureClass::Unavailable], "manifest unknown");
    rig.spec.shape.image = Some(registry.image());
    drop(registry);
    told(&rig.create().await.unwrap_err(), &[FailureClass::Unavailable], "connection refused");
    assert!(containers(&rig.docker, &rig.run.to_string()).await.is_empty());
    rig.clean().await;
}

/// P4: a registry that never answers keeps the nodes of its own revision waiting, and no other one's.
#[tokio::test]
async fn a_registry_that_never_answers_delays_its_own_revision_alone() {
    let test = "a_registry_that_never_answers_delays_its_own_revision_alone";
    let Some((mut rig, registry)) = pulling(test).await else { return };
    let mut stuck = rig.request();
    let mut spec = rig.spec.clone();
    spec.shape.image = Some(registry.slow());
    stuck.slot = "slow-0".parse().unwrap();
    stuck.attempt =
        AttemptId::derive(rig.run, &stuck.slot, Generation::new(1), AttemptOrdinal::new(1));
    (stuck.revision, stuck.spec) = (spec.revision(), spec.into());
    let mut ctx = rig.context(CommandKind::CreateLease, "slow");
    (ctx.slot, ctx.attempt) = (stuck.slot.clone(), stuck.attempt);
    rig.spec.shape.image = Some(IMAGE.to_owned());
    let made = tokio::select! {
        biased;
        stuck = rig.provider.create_lease(&ctx, &stuck) => panic!("{stuck:?}"),
        made = rig.create() => made.unwrap(),
    };
    // Others of the stuck revision give up at their own time.
    ctx.deadline = Instant::now() + Duration::from_millis(300);
    let late = rig.provider.create_lease(&ctx, &stuck).await.unwrap_err();
    assert_eq!(late.class, FailureClass::TimedOut, "{late:?}");
    rig.destroy(&made.lease).await.unwrap();
    rig.clean().await;
}
