//! What the dispatcher promises, on virtual time.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use executor::{
    dispatch::Report,
    seam::{Provider, Rate},
};
use reconciler_core::{
    durable::Durable,
    effect::{
        Certainty, CommandKind, EffectFailure, EffectOutcome, EffectReport, FailureClass, Look,
    },
    id::{Fence, OperationId, StepId},
    observed::{Handle, SessionStage},
    redact::Redacted,
    time::Millis,
};
use tokio::time::Instant;

use crate::fake::{
    Behaviour, FENCE, Fake, Rig, attempt, create, destroy, durable, lease, name, slot, start,
};

fn failure(report: &EffectReport) -> (Certainty, FailureClass) {
    let failure = report.result.as_ref().expect_err("it failed");
    (failure.certainty, failure.class)
}

fn failing(certainty: Certainty, class: FailureClass) -> Behaviour {
    Behaviour::Fail(EffectFailure { certainty, class, message: Redacted::new("so it goes") })
}

/// R67: expiry is ambiguous, a look follows, and the late result is dropped though the work goes on.
#[tokio::test(start_paused = true)]
async fn an_expired_deadline_is_ambiguous_and_its_late_result_is_dropped() {
    let fake = Fake::new(Behaviour::Take(Duration::from_mins(1)), None);
    let mut rig = Rig::over(&fake, 4);
    let begun = Instant::now();
    rig.dispatcher.dispatch(durable(1, &slot(0), create(&slot(0))));
    let report = rig.effect().await;
    assert_eq!(begun.elapsed().as_secs(), 10);
    assert_eq!(failure(&report), (Certainty::Ambiguous, FailureClass::TimedOut));
    assert_eq!(report.look, Some(Look::Absent));
    assert!(rig.is_silent().await);
    assert_eq!(fake.finished.load(Ordering::SeqCst), 1, "the work went on to its end");
}

/// R67: one tick before the deadline is in time.
#[tokio::test(start_paused = true)]
async fn a_result_one_tick_before_the_deadline_counts() {
    let fake = Fake::new(Behaviour::Take(Duration::from_millis(9_998)), None);
    let mut rig = Rig::over(&fake, 4);
    rig.dispatcher.dispatch(durable(1, &slot(0), create(&slot(0))));
    assert!(rig.effect().await.result.is_ok());
}

/// R71: the longest timeout there is overflows nothing.
#[tokio::test(start_paused = true)]
async fn an_endless_timeout_is_no_panic() {
    let fake = Fake::new(Behaviour::Succeed, None);
    let mut rig = Rig::over(&fake, 4);
    let mut intent = durable(1, &slot(0), create(&slot(0))).redeem();
    intent.timeout = Millis::new(u64::MAX);
    rig.dispatcher.dispatch(Durable::seal(intent, OperationId::new(1), StepId::new(1), FENCE));
    assert!(rig.effect().await.result.is_ok());
}

/// D13: a panic in a provider is a definite error of that effect, and of no other.
#[tokio::test(start_paused = true)]
async fn a_panic_fails_one_effect_definitely() {
    let fake = Fake::new(Behaviour::Panic, None);
    let mut rig = Rig::over(&fake, 1);
    rig.dispatcher.dispatch(durable(1, &slot(0), create(&slot(0))));
    let report = rig.effect().await;
    assert_eq!(failure(&report), (Certainty::Definite, FailureClass::Crashed));
    assert!(report.result.unwrap_err().message.as_str().contains("the script says so"));
    fake.behave(Behaviour::Succeed);
    rig.dispatcher.dispatch(durable(2, &slot(1), create(&slot(1))));
    assert!(rig.effect().await.result.is_ok());
}

/// R66: one step has one effect; its repeat replays the result, and its number serves nothing else.
#[tokio::test(start_paused = true)]
async fn a_step_dispatched_twice_has_one_effect() {
    let fake = Fake::new(Behaviour::Take(Duration::from_secs(1)), None);
    let mut rig = Rig::over(&fake, 4);
    rig.dispatcher.dispatch(durable(1, &slot(0), create(&slot(0))));
    rig.dispatcher.dispatch(durable(1, &slot(0), create(&slot(0))));
    let first = rig.effect().await;
    rig.dispatcher.dispatch(durable(1, &slot(0), create(&slot(0))));
    assert_eq!(rig.effect().await, first);
    rig.dispatcher.dispatch(durable(1, &slot(0), destroy()));
    let reused = rig.effect().await;
    assert_eq!(reused.command, CommandKind::DestroyLease);
    assert_eq!(failure(&reused), (Certainty::Definite, FailureClass::Invalid));
    assert!(rig.is_silent().await);
    assert_eq!(fake.count(), 1);
}

/// R98: never more effects at once than the parallelism says, and all of them come to their end.
#[tokio::test(start_paused = true)]
async fn effects_under_way_never_exceed_the_parallelism() {
    let fake = Fake::new(Behaviour::Take(Duration::from_secs(1)), None);
    let mut rig = Rig::over(&fake, 3);
    for n in 0..20 {
        rig.dispatcher.dispatch(durable(u64::from(n) + 1, &slot(n), create(&slot(n))));
    }
    assert_eq!(rig.dispatcher.in_flight(), 20);
    for _ in 0..20 {
        assert!(rig.effect().await.result.is_ok());
    }
    assert_eq!(fake.most_under_way.load(Ordering::SeqCst), 3);
    assert_eq!(rig.dispatcher.in_flight(), 0);
    let order = fake.order.lock().unwrap();
    assert!(order.is_sorted(), "first come, first served");
}

/// P4: a provider that hangs leaves a permit to every other one.
#[tokio::test(start_paused = true)]
async fn a_hanging_provider_does_not_delay_another() {
    let stuck = Fake::new(Behaviour::Take(Duration::from_hours(2)), None);
    let well = Fake::new(Behaviour::Succeed, None);
    let providers: BTreeMap<_, Arc<dyn Provider>> =
        BTreeMap::from([(name("stuck"), stuck as Arc<dyn Provider>), (name("fake"), well as _)]);
    let mut rig = Rig::over_all(providers, 4);
    for n in 0..10 {
        let mut intent = durable(u64::from(n) + 1, &slot(n), create(&slot(n))).redeem();
        intent.provider = name("stuck");
        let step = intent.step;
        rig.dispatcher.dispatch(Durable::seal(intent, OperationId::new(1), step, FENCE));
    }
    rig.dispatcher.dispatch(durable(11, &slot(11), create(&slot(11))));
    let begun = Instant::now();
    let report = rig.effect().await;
    assert_eq!(report.step, StepId::new(11));
    assert!(begun.elapsed() < Duration::from_secs(1));
}

/// D11: the fence is read anew before each effect; a changed one refuses it without any call.
#[tokio::test(start_paused = true)]
async fn a_changed_fence_refuses_the_effect() {
    let fake = Fake::new(Behaviour::Succeed, None);
    let mut rig = Rig::over(&fake, 4);
    rig.fence.store(FENCE.get() + 1, Ordering::SeqCst);
    rig.dispatcher.dispatch(durable(1, &slot(0), create(&slot(0))));
    let report = rig.effect().await;
    assert_eq!(failure(&report), (Certainty::Definite, FailureClass::Fenced));
    assert_eq!(fake.count(), 0);
}

/// P2: a proof for one step starts no other.
#[tokio::test(start_paused = true)]
async fn a_proof_of_another_step_is_refused() {
    let fake = Fake::new(Behaviour::Succeed, None);
    let mut rig = Rig::over(&fake, 4);
    let intent = durable(1, &slot(0), create(&slot(0))).redeem();
    let foreign = Durable::seal(intent, OperationId::new(1), StepId::new(2), Fence::new(9));
    rig.dispatcher.dispatch(foreign);
    let report = rig.effect().await;
    assert_eq!(failure(&report), (Certainty::Definite, FailureClass::Invalid));
    assert_eq!(fake.count(), 0);
}

/// An unknown provider is an answer, not silence.
#[tokio::test(start_paused = true)]
async fn an_unknown_provider_is_a_definite_failure() {
    let mut rig = Rig::over_all(BTreeMap::new(), 4);
    rig.dispatcher.dispatch(durable(1, &slot(0), create(&slot(0))));
    let report = rig.effect().await;
    assert_eq!(failure(&report), (Certainty::Definite, FailureClass::Invalid));
}

/// C7: the burst goes out at once, the rest at the rate.
#[tokio::test(start_paused = true)]
async fn a_bucket_lets_a_burst_through_and_then_its_rate() {
    let fake = Fake::new(Behaviour::Succeed, Some(Rate { per_second: 5, burst: 10 }));
    let mut rig = Rig::over(&fake, 32);
    let begun = Instant::now();
    for n in 0..30 {
        rig.dispatcher.dispatch(durable(u64::from(n) + 1, &slot(n), create(&slot(n))));
    }
    let mut times = Vec::new();
    for _ in 0..30 {
        rig.effect().await;
        times.push(begun.elapsed());
    }
    let at_once = times.iter().filter(|time| **time < Duration::from_millis(100)).count();
    assert_eq!(at_once, 10);
    let last = times.last().unwrap().as_millis();
    assert!((4_000..4_100).contains(&last), "20 more at 5 per second took {last} ms");
}

/// C7: hundreds of creations leave a destroy its share.
#[tokio::test(start_paused = true)]
async fn a_destroy_does_not_queue_behind_creations() {
    let fake = Fake::new(Behaviour::Succeed, Some(Rate { per_second: 5, burst: 1 }));
    let mut rig = Rig::over(&fake, 32);
    for n in 0..200 {
        rig.dispatcher.dispatch(durable(u64::from(n) + 1, &slot(n), create(&slot(n))));
    }
    let begun = Instant::now();
    rig.dispatcher.dispatch(durable(500, &slot(500), destroy()));
    while rig.effect().await.command != CommandKind::DestroyLease {}
    assert!(begun.elapsed() <= Duration::from_secs(1), "took {:?}", begun.elapsed());
}

/// C7: "not before 30 s" pauses the whole provider.
#[tokio::test(start_paused = true)]
async fn a_rate_limit_pauses_the_provider() {
    let limited = FailureClass::RateLimited { retry_after: Millis::from_secs(30) };
    let fake = Fake::new(failing(Certainty::Definite, limited), None);
    let mut rig = Rig::over(&fake, 4);
    rig.dispatcher.dispatch(durable(1, &slot(0), create(&slot(0))));
    assert_eq!(failure(&rig.effect().await), (Certainty::Definite, limited));
    fake.behave(Behaviour::Succeed);
    let begun = Instant::now();
    rig.dispatcher.dispatch(durable(2, &slot(1), create(&slot(1))));
    assert!(rig.effect().await.result.is_ok());
    assert_eq!(begun.elapsed().as_secs(), 30);
}

/// R65: after the end every intent is answered with a failure, never with silence.
#[tokio::test(start_paused = true)]
async fn a_closed_dispatcher_answers() {
    let fake = Fake::new(Behaviour::Succeed, None);
    let mut rig = Rig::over(&fake, 4);
    assert_eq!(rig.dispatcher.shutdown(Duration::from_secs(1)).await, 0);
    rig.dispatcher.dispatch(durable(1, &slot(0), create(&slot(0))));
    let report = rig.effect().await;
    assert_eq!(failure(&report), (Certainty::Definite, FailureClass::Withdrawn));
    assert_eq!(fake.count(), 0);
}

/// R65: the end lets what runs come to its result, and says of what waits that it was not begun.
#[tokio::test(start_paused = true)]
async fn shutdown_finishes_what_runs_and_refuses_what_waits() {
    let fake = Fake::new(Behaviour::Take(Duration::from_secs(2)), None);
    let mut rig = Rig::over(&fake, 1);
    rig.dispatcher.dispatch(durable(1, &slot(0), create(&slot(0))));
    rig.dispatcher.dispatch(durable(2, &slot(1), create(&slot(1))));
    while fake.count() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(rig.dispatcher.shutdown(Duration::from_secs(5)).await, 0);
    let waiting = rig.effect().await;
    assert_eq!(failure(&waiting), (Certainty::Definite, FailureClass::Withdrawn));
    assert!(rig.effect().await.result.is_ok());
    assert_eq!(fake.count(), 1);
}

/// The end is bounded: what still runs then is counted.
#[tokio::test(start_paused = true)]
async fn shutdown_does_not_wait_beyond_its_bound() {
    let fake = Fake::new(Behaviour::Take(Duration::from_secs(9)), None);
    let rig = Rig::over(&fake, 1);
    rig.dispatcher.dispatch(durable(1, &slot(0), create(&slot(0))));
    while fake.count() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(rig.dispatcher.shutdown(Duration::from_secs(1)).await, 1);
}

/// D8, R69: destroying what is not there succeeds, and a look proves the absence.
#[tokio::test(start_paused = true)]
async fn destroying_the_absent_succeeds_with_a_look() {
    let fake = Fake::new(failing(Certainty::Definite, FailureClass::NotFound), None);
    let mut rig = Rig::over(&fake, 4);
    rig.dispatcher.dispatch(durable(1, &slot(0), destroy()));
    let report = rig.effect().await;
    assert_eq!(report.result, Ok(EffectOutcome::Released));
    assert_eq!(report.look, Some(Look::Absent));
}

/// D7: doubt is followed by a look, certainty is not.
#[tokio::test(start_paused = true)]
async fn only_doubt_is_looked_after() {
    for (certainty, look) in
        [(Certainty::Ambiguous, Some(Look::Absent)), (Certainty::Definite, None)]
    {
        let fake = Fake::new(failing(certainty, FailureClass::Unavailable), None);
        let mut rig = Rig::over(&fake, 4);
        rig.dispatcher.dispatch(durable(1, &slot(0), create(&slot(0))));
        assert_eq!(rig.effect().await.look, look);
    }
}

/// A session's reports go out with the attempt and session that they belong to.
#[tokio::test(start_paused = true)]
async fn session_reports_carry_their_session() {
    let fake = Fake::new(Behaviour::Succeed, None);
    let mut rig = Rig::over(&fake, 4);
    rig.dispatcher.dispatch(durable(1, &slot(0), start(&slot(0))));
    let Report::Session { session, observation, .. } = rig.next().await else {
        panic!("a session's report comes first");
    };
    assert_eq!((session.get(), observation.stage), (1, SessionStage::SwactorStarting));
    let started = EffectOutcome::Started { workload: Handle::default() };
    assert_eq!(rig.effect().await.result, Ok(started));
}

/// C7: one listing per provider at a time, however often it is asked for.
#[tokio::test(start_paused = true)]
async fn listings_of_one_provider_coalesce() {
    let fake = Fake::new(Behaviour::Succeed, None);
    let mut rig = Rig::over(&fake, 4);
    for _ in 0..5 {
        rig.dispatcher.observe_listing(&name("fake"));
    }
    let Report::Listed { visibility, .. } = rig.next().await else {
        panic!("a listing was asked for");
    };
    assert_eq!(visibility, Duration::from_secs(5));
    assert!(rig.is_silent().await);
    assert_eq!(fake.listings.load(Ordering::SeqCst), 1);
    rig.dispatcher.observe_listing(&name("fake"));
    assert!(matches!(rig.next().await, Report::Listed { .. }));
}

/// A workload is watched once, and may be watched again when its watch is over.
#[tokio::test(start_paused = true)]
async fn a_workload_is_watched_once() {
    let fake = Fake::new(Behaviour::Succeed, None);
    let mut rig = Rig::over(&fake, 4);
    let watch = |rig: &Rig| {
        let (slot, attempt) = (slot(0), attempt(&slot(0)));
        rig.dispatcher.watch(slot, attempt, &name("fake"), lease(), Handle::default());
    };
    watch(&rig);
    watch(&rig);
    assert!(matches!(rig.next().await, Report::Exited { .. }));
    assert!(rig.is_silent().await);
    watch(&rig);
    assert!(matches!(rig.next().await, Report::Exited { .. }));
}

/// A look by id is answered by a look.
#[tokio::test(start_paused = true)]
async fn an_inspection_is_answered() {
    let fake = Fake::new(Behaviour::Succeed, None);
    let mut rig = Rig::over(&fake, 4);
    rig.dispatcher.inspect(slot(0), attempt(&slot(0)), &name("fake"), None);
    let Report::Looked { look, .. } = rig.next().await else { panic!("a look was asked for") };
    assert_eq!(look, Look::Absent);
}
