//! What stands in journals and on the wire by name reads back, and what an action is about is told by its kind.

use reconciler_core::{
    checkpoint::{CheckpointClass, Direction, OperationCheckpoint, RecoveryLane, StepCheckpoint},
    desired::{Hook, HookPoint, Policy, ProbeKind},
    effect::{
        Action, Certainty, CommandKind, FailureClass, FailureKind, HookRun, NodeManagerCommand,
    },
    fold::{NoteKind, StepEnd},
    hold::HoldCode,
    id::{AttemptOrdinal, SessionId},
    observed::{AgentNews, Endpoint, Handle, ProbeVerdict, StageName},
    redact::Redacted,
    time::Millis,
};

use crate::fleet::{RUN, in_stage, lease, provider, shape, stage};

/// R112: classes rank in the order of their precedence, and each has its own name.
#[test]
fn classes_rank_in_their_order() {
    for (rank, class) in CheckpointClass::ALL.into_iter().enumerate() {
        assert_eq!(usize::from(class.rank()), rank, "{}", class.as_str());
    }
}

/// R123: two classes are of the way back, and no other.
#[test]
fn the_way_back_has_two_classes() {
    let back: Vec<_> =
        CheckpointClass::ALL.into_iter().filter(|class| class.is_of_the_way_back()).collect();
    assert_eq!(back, [CheckpointClass::Compensation, CheckpointClass::RestoredHealth]);
}

/// Lanes and directions are written in words that stay.
#[test]
fn lanes_and_directions_have_their_words() {
    use RecoveryLane as L;
    let lanes = [L::Resume, L::Reobserve, L::Complete, L::SafeHold].map(L::as_str);
    assert_eq!(lanes, ["resume", "reobserve", "complete", "safe-hold"]);
    assert_eq!(Direction::ALL.map(Direction::as_str), ["forward", "rollback"]);
    for direction in Direction::ALL {
        assert_eq!(Direction::from_name(direction.as_str()), Some(direction));
    }
    assert_eq!(Direction::from_name("sideways"), None);
}

/// A kind of failure reads back from its words, and what is no kind in either of its halves is none.
#[test]
fn a_kind_of_failure_reads_back() {
    for class in FailureClass::ALL {
        for certainty in [Certainty::Definite, Certainty::Ambiguous] {
            let kind = FailureKind { class, certainty };
            assert_eq!(kind.to_string().parse(), Ok(kind), "{kind}");
        }
    }
    for text in
        ["", "auth", "auth/", "/definite", "auth/perhaps", "luck/definite", "auth/definite/"]
    {
        assert!(text.parse::<FailureKind>().is_err(), "{text}");
    }
}

/// A checkpoint of the longest length is read and not known; one byte more is too long.
#[test]
fn a_checkpoint_has_a_longest_length() {
    for (length, too_long) in [(255, false), (256, true)] {
        let text = "x".repeat(length);
        let step = text.parse::<StepCheckpoint>().expect_err("no checkpoint").to_string();
        let own = text.parse::<OperationCheckpoint>().expect_err("no checkpoint").to_string();
        for said in [step, own] {
            assert_eq!(said.contains("at most 255"), too_long, "{said}");
        }
    }
}

/// Three codes are of an update that failed, and no other: what ends them is another update.
#[test]
fn three_holds_are_of_an_update() {
    use HoldCode as H;
    let of_update: Vec<_> = H::ALL.into_iter().filter(|code| code.is_of_update()).collect();
    assert_eq!(of_update, [H::UpdateStalled, H::IrreversibleHook, H::RestoredHealthFailed]);
}

/// Whatever is about a lease or a session says which.
#[test]
fn an_action_says_what_it_is_about() {
    let request = in_stage(&shape(&[("web", 1)]), "web-0", stage(StageName::New)).request(RUN);
    let (lease, session) = (lease("l-1"), SessionId::new(4));
    let (workload, endpoint) = (Handle::default(), Endpoint::default());
    let (of_lease, of_session) = (Some(lease.clone()), Some(session));
    let hook = Hook { argv: vec!["true".to_owned()], timeout: Millis::from_secs(1) };
    let (timeout, grace) = (Millis::from_secs(9), Millis::from_secs(2));
    let point = HookPoint::PreStop;
    let run = HookRun {
        request: request.clone(),
        lease: lease.clone(),
        endpoint: endpoint.clone(),
        point,
        session,
        hook,
    };
    let rows: [(Action, _, _); 7] = [
        (NodeManagerCommand::CreateLease(request.clone()).into(), None, None),
        (NodeManagerCommand::LookupEndpoint(lease.clone()).into(), of_lease.clone(), None),
        (
            NodeManagerCommand::StartBootstrap {
                request,
                lease: lease.clone(),
                endpoint,
                session,
                timeout,
            }
            .into(),
            of_lease.clone(),
            of_session,
        ),
        (
            NodeManagerCommand::BootstrapConvergenceObserved {
                lease: lease.clone(),
                session,
                workload: workload.clone(),
            }
            .into(),
            of_lease.clone(),
            of_session,
        ),
        (
            NodeManagerCommand::CancelBootstrap { lease: lease.clone(), session, workload, grace }
                .into(),
            of_lease.clone(),
            of_session,
        ),
        (NodeManagerCommand::DestroyLease(lease).into(), of_lease.clone(), None),
        (Action::Hook(Box::new(run)), of_lease, of_session),
    ];
    for (action, lease, session) in rows {
        assert_eq!((action.lease(), action.session()), (lease.as_ref(), session), "{action:?}");
        assert!(action.timeout(&Policy::default()) > Millis::ZERO);
    }
}

/// What a provider needs to find a thing again is kept fact by fact.
#[test]
fn a_handle_is_kept_as_it_is() {
    let facts =
        [("pid", "7"), ("start", "99")].map(|(name, fact)| (name.to_owned(), fact.to_owned()));
    let handle = Handle::new(facts.into_iter().collect());
    let kept = serde_json::to_string(&handle).expect("it can be written");
    assert_eq!(kept, r#"{"pid":"7","start":"99"}"#);
    assert_eq!(serde_json::from_str::<Handle>(&kept).expect("it can be read"), handle);
    assert_eq!((handle.get("start"), handle.get("end")), (Some("99"), None));
}

/// R112, D7: how a step ended is its checkpoint, and while looks are to decide it stays open.
#[test]
fn an_end_is_a_checkpoint_and_open_while_looks_decide() {
    use StepEnd as E;
    let told = E::ALL.map(|end| (end.mark().row().name, end.is_open()));
    let want = [
        ("verified", false),
        ("cancelled-no-effect", false),
        ("cancelled-before-effect", false),
        ("accepted-without-effect", false),
        ("context-stale", false),
        ("ambiguous-effect", true),
        ("ambiguous-after-resume", true),
    ];
    assert_eq!(told, want);
}

/// Every note is of a kind that has a word, by which events are chosen; that of the attempt beside is of its own kind.
#[test]
fn a_note_has_the_word_of_its_kind() {
    use NoteKind as N;
    let text = || Redacted::new("a reason");
    let (create, point) = (CommandKind::CreateLease.into(), HookPoint::PreStop);
    let (kind, verdict) = (ProbeKind::Liveness, ProbeVerdict::Failing);
    let (from, to) = (AttemptOrdinal::new(1), AttemptOrdinal::new(2));
    let rows: [(&str, Vec<NoteKind>); 9] = [
        (
            "stage",
            vec![
                N::Stage { from: None, to: StageName::New },
                N::Completed,
                N::Reaped,
                N::Promoted { from, to },
            ],
        ),
        ("update", vec![N::Update(text())]),
        ("failure", vec![N::Failure { command: None, message: text() }]),
        ("effect", vec![N::Ambiguous(create), N::Adopted(create)]),
        ("hook", vec![N::Hook { point, completed: true }]),
        ("agent", vec![N::Agent(AgentNews::Lost), N::Agent(AgentNews::Back)]),
        ("probe", vec![N::Probe { kind, verdict, said: text() }]),
        ("hold", vec![N::Held(HoldCode::Refused, text()), N::Released(HoldCode::Refused)]),
        ("provider", vec![N::Blind(provider(), text()), N::Paused(provider())]),
    ];
    for (word, notes) in rows {
        for note in notes {
            assert_eq!(note.word(), word, "{note}");
            assert_eq!(N::Beside(to, Box::new(note)).word(), word);
        }
    }
    assert_eq!(N::Orphan(provider(), "l-9".to_owned()).word(), "orphan");
}

/// R102, R103: what follows from a failure is told in words that stay.
#[test]
fn counsel_has_its_words() {
    use FailureClass as F;
    let told = |class, certainty| {
        let kind = FailureKind { class, certainty };
        (kind.retry().as_str(), kind.remedy().as_str())
    };
    let rows = [
        (F::Unavailable, Certainty::Definite, ("safe-after-observation", "none")),
        (F::Unavailable, Certainty::Ambiguous, ("safe-after-observation", "reobserve")),
        (F::Withdrawn, Certainty::Definite, ("resume-from-checkpoint", "resume")),
        (F::Invalid, Certainty::Definite, ("never", "compensate")),
    ];
    for (class, certainty, want) in rows {
        assert_eq!(told(class, certainty), want, "{class:?}");
    }
}
