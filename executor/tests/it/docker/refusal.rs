//! What must not be touched, and what cannot be made: refused in words that help, with nothing half done.

use std::collections::HashMap;

use bollard::{
    models::ContainerCreateBody,
    query_parameters::{CreateContainerOptions, TagImageOptions},
};
use reconciler_core::{
    effect::{Certainty, CommandKind, EffectFailure, FailureClass, Listing, Look, WorkloadState},
    id::{AttemptId, AttemptOrdinal, Fence, Generation},
};
use serde_json::json;

use super::{
    engine::{IMAGE, containers, load, remove},
    rig::{Rig, fresh_run},
};

async fn plant(rig: &Rig, name: &str, labels: &[(&str, String)]) -> String {
    let labels: HashMap<String, String> =
        labels.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    let body = ContainerCreateBody {
        image: Some(IMAGE.to_owned()),
        cmd: Some(vec!["sleep".to_owned(), "60".to_owned()]),
        labels: Some(labels),
        ..ContainerCreateBody::default()
    };
    let options = CreateContainerOptions { name: Some(name.to_owned()), ..Default::default() };
    rig.docker.create_container(Some(options), body).await.unwrap().id
}

fn refused(failure: &EffectFailure, class: FailureClass, words: &str) {
    assert_eq!((failure.certainty, failure.class), (Certainty::Definite, class), "{failure:?}");
    assert!(failure.message.as_str().contains(words), "{failure:?}");
}

/// C12, R150: a container of somebody else that has our name is told of, and left alone.
#[tokio::test]
async fn a_foreign_container_with_our_name_is_not_touched() {
    let Some(rig) = Rig::new("a_foreign_container_with_our_name_is_not_touched", &[]).await else {
        return;
    };
    let id = plant(&rig, &rig.name(), &[]).await;
    refused(&rig.create().await.unwrap_err(), FailureClass::Invalid, "belongs to somebody else");
    rig.docker.inspect_container(&id, None).await.unwrap();
    remove(&rig.docker, &id).await;
    rig.create().await.unwrap();
    rig.clean().await;
}

/// D7: the name of an attempt is taken by one request; another one for it does not get what that made.
#[tokio::test]
async fn another_request_does_not_adopt() {
    let Some(rig) = Rig::new("another_request_does_not_adopt", &[]).await else { return };
    rig.create().await.unwrap();
    let ctx = rig.context(CommandKind::CreateLease, "another");
    let failure = rig.provider.create_lease(&ctx, &rig.request()).await.unwrap_err();
    refused(&failure, FailureClass::Invalid, "another request made it");
    rig.clean().await;
}

/// D11, C16: advisory as it is, a fence that stands on a container still stops an older controller.
#[tokio::test]
async fn an_older_controller_is_refused_where_its_successor_made_the_container() {
    let test = "an_older_controller_is_refused_where_its_successor_made_the_container";
    let Some(rig) = Rig::new(test, &[]).await else { return };
    let leased = rig.create().await.unwrap();
    let mut ctx = rig.context(CommandKind::DestroyLease, "");
    ctx.fence = Fence::new(4);
    let failure = rig.provider.destroy_lease(&ctx, &leased.lease).await.unwrap_err();
    refused(&failure, FailureClass::Fenced, "newer controller");
    assert_eq!(containers(&rig.docker, &rig.run.to_string()).await.len(), 1);
    ctx.fence = Fence::new(6);
    rig.provider.destroy_lease(&ctx, &leased.lease).await.unwrap();
    rig.clean().await;
}

/// C17: one container whose labels make no sense takes nothing from what the others say, and is no absence either.
#[tokio::test]
async fn a_garbled_container_makes_a_listing_partial() {
    let Some(rig) = Rig::new("a_garbled_container_makes_a_listing_partial", &[]).await else {
        return;
    };
    let leased = rig.create().await.unwrap();
    let labels = [
        ("levelhead.run", rig.run.to_string()),
        ("levelhead.provider", "box".to_owned()),
        ("levelhead.slot", "?".to_owned()),
    ];
    let odd = plant(&rig, &format!("odd-{}", rig.run), &labels).await;
    let Listing::Partial(owned, why) = rig.provider.list_owned(rig.run).await else {
        panic!("a listing with a garbled container is not complete");
    };
    assert_eq!(owned.iter().map(|one| &one.lease).collect::<Vec<_>>(), [&leased.lease]);
    assert!(why.as_str().contains("levelhead."), "{why}");
    remove(&rig.docker, &odd).await;
    assert!(
        matches!(rig.provider.list_owned(rig.run).await, Listing::Complete(owned) if owned.len() == 1)
    );
    rig.clean().await;
}

/// D16, C6: an image that the engine lacks is refused before anything is made, and a retry cannot mend that.
#[tokio::test]
async fn a_missing_image_is_refused_before_anything_is_made() {
    let Some(mut rig) = Rig::new("a_missing_image_is_refused_before_anything_is_made", &[]).await
    else {
        return;
    };
    rig.spec.shape.image = Some("levelhead-test/never:1".to_owned());
    refused(&rig.create().await.unwrap_err(), FailureClass::Invalid, "levelhead-test/never:1");
    assert!(containers(&rig.docker, &rig.run.to_string()).await.is_empty());
    rig.clean().await;
}

/// C2: an engine that failed to make a container and has none by its name made nothing; what it said is told.
#[tokio::test]
async fn an_engine_that_failed_and_made_nothing_is_quoted() {
    let test = "an_engine_that_failed_and_made_nothing_is_quoted";
    // No storage driver of a plain machine limits disks; the engine tells that as a failure of its own.
    let Some(mut rig) = Rig::new(test, &[]).await else { return };
    rig.spec.shape.disk_gib = Some(1);
    match rig.create().await {
        Ok(leased) => {
            eprintln!("skipped: {test}, this engine can limit disks");
            rig.destroy(&leased.lease).await.unwrap();
        }
        Err(failure) => {
            refused(&failure, FailureClass::Unavailable, "storage-opt");
            assert_eq!(rig.look(None).await, Look::Absent);
        }
    }
    rig.clean().await;
}

/// D16: once a revision has run an image, its later nodes run the same content, whatever the tag means by then.
#[tokio::test]
async fn a_moved_tag_does_not_change_what_a_revision_runs() {
    let Some(mut rig) = Rig::new("a_moved_tag_does_not_change_what_a_revision_runs", &[]).await
    else {
        return;
    };
    let (repo, tag) = ("levelhead-test/moving", fresh_run().to_string());
    let image = format!("{repo}:{tag}");
    let point_at = async |source: &str| {
        let to = TagImageOptions { repo: Some(repo.to_owned()), tag: Some(tag.clone()) };
        rig.docker.tag_image(source, Some(to)).await.unwrap();
    };
    let other = "levelhead-test/busybox:2";
    if rig.docker.inspect_image(other).await.is_err() {
        load(&rig.docker, other).await.unwrap();
    }
    point_at(IMAGE).await;
    rig.spec.shape.image = Some(image.clone());
    let first = rig.create().await.unwrap();
    point_at(other).await;
    rig.destroy(&first.lease).await.unwrap();
    rig.provider = rig.another(&[]);
    let second = rig.create().await.unwrap();
    let ran = rig.docker.inspect_container(second.lease.id.as_str(), None).await.unwrap().image;
    assert_eq!(ran, rig.docker.inspect_image(IMAGE).await.unwrap().id);
    // Another revision looks anew.
    rig.destroy(&second.lease).await.unwrap();
    rig.spec.role = "other".to_owned();
    let third = rig.create().await.unwrap();
    let ran = rig.docker.inspect_container(third.lease.id.as_str(), None).await.unwrap().image;
    assert_eq!(ran, rig.docker.inspect_image(other).await.unwrap().id);
    rig.destroy(&third.lease).await.unwrap();
    rig.docker
        .remove_image(&image, None::<bollard::query_parameters::RemoveImageOptions>, None)
        .await
        .unwrap();
    rig.clean().await;
}

/// C5: a program that is not there is a definite failure of the workload, and nothing runs.
#[tokio::test]
async fn a_command_that_cannot_be_started_is_told() {
    let Some(mut rig) = Rig::new("a_command_that_cannot_be_started_is_told", &[]).await else {
        return;
    };
    rig.spec.boot.command = vec!["/no/such/program".to_owned()];
    let leased = rig.create().await.unwrap();
    refused(&rig.start(&leased, 1).await.unwrap_err(), FailureClass::Workload, "/no/such/program");
    assert_eq!(rig.workload(&leased.lease).await, WorkloadState::Absent);
    rig.clean().await;
}

/// A verify command that fails keeps the workload from starting; its words are told, and it leaves no container.
#[tokio::test]
async fn a_verify_command_that_fails_keeps_the_workload_from_starting() {
    let test = "a_verify_command_that_fails_keeps_the_workload_from_starting";
    let Some(mut rig) = Rig::new(test, &[]).await else { return };
    rig.verify(&["true"]);
    rig.verify(&["sh", "-c", "echo not on $LEVELHEAD_SLOT; exit 7"]);
    let leased = rig.create().await.unwrap();
    let failure = rig.start(&leased, 1).await.unwrap_err();
    refused(&failure, FailureClass::Workload, "exited with status 7; its last lines: not on web-0");
    assert_eq!(rig.workload(&leased.lease).await, WorkloadState::Absent);
    assert_eq!(containers(&rig.docker, &rig.run.to_string()).await.len(), 1);
    rig.clean().await;
}

/// Two providers of one run on one engine do not take each other's nodes for their own.
#[tokio::test]
async fn a_listing_shows_the_provider_s_own_nodes_alone() {
    let Some(rig) = Rig::new("a_listing_shows_the_provider_s_own_nodes_alone", &[]).await else {
        return;
    };
    let attempt = AttemptId::derive(rig.run, &rig.slot, Generation::new(1), AttemptOrdinal::new(9));
    let labels = [
        ("levelhead.run", rig.run.to_string()),
        ("levelhead.provider", "other".to_owned()),
        ("levelhead.slot", rig.slot.to_string()),
        ("levelhead.attempt", attempt.uuid.to_string()),
        ("levelhead.ordinal", "9".to_owned()),
        ("levelhead.fence", "1".to_owned()),
        ("levelhead.role", "node".to_owned()),
    ];
    let other = plant(&rig, &format!("other-{}", rig.run), &labels).await;
    assert_eq!(rig.provider.list_owned(rig.run).await, Listing::Complete(Vec::new()));
    remove(&rig.docker, &other).await;
    rig.clean().await;
}

/// P8: a secret stands in the environment of its container, and in nothing else that the engine or we tell of it.
#[tokio::test]
async fn a_secret_stands_in_its_own_variable_alone() {
    let Some(mut rig) = Rig::new("a_secret_stands_in_its_own_variable_alone", &[]).await else {
        return;
    };
    let file = rig.place.base_dir.join("key");
    let write = |value: &str| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::write(&file, value).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    };
    write("canary-5f2b91");
    rig.spec.boot.secret_env.insert("API_KEY".to_owned(), "file:key".parse().unwrap());
    rig.spec.boot.command =
        ["sh", "-c", "echo key is $API_KEY; sleep 3600"].map(String::from).to_vec();
    let leased = rig.create().await.unwrap();
    rig.start(&leased, 1).await.unwrap();
    let mut shown = rig.docker.inspect_container(leased.lease.id.as_str(), None).await.unwrap();
    let env = shown.config.as_mut().unwrap().env.take().unwrap();
    assert!(env.contains(&"API_KEY=canary-5f2b91".to_owned()));
    assert!(!serde_json::to_string(&json!(shown)).unwrap().contains("canary-5f2b91"));
    rig.cancel(&leased.lease).await.unwrap();
    let seen = rig.workload(&leased.lease).await;
    let WorkloadState::Exited { tail, .. } = seen else { panic!("{seen:?}") };
    assert!(tail.as_str().contains("key is") && !tail.as_str().contains("canary"), "{tail}");
    // The container keeps what it was made with, so another value is for another container.
    write("canary-other");
    let failure = rig.start(&leased, 2).await.unwrap_err();
    refused(&failure, FailureClass::Workload, "API_KEY has changed");
    assert!(!failure.message.as_str().contains("canary"), "{failure:?}");
    rig.clean().await;
}
