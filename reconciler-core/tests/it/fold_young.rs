//! What was made a moment ago may not be visible yet: C3.

use reconciler_core::{
    effect::{CommandKind, FailureClass, Look, WorkloadState},
    fold::{Fact, Transition, Verdict},
    observed::{DeleteReason, StageName},
    redact::Redacted,
};

use crate::fleet::{
    ambiguous, at, dispatch, in_stage, looked, of, present, report, reported, shape, slot, stage,
    state,
};

const SLOT: &str = "web-0";

/// C3: a young lease is not gone at the first look that lacks it, whatever was asked of it since.
#[test]
fn a_young_lease_is_not_gone_at_the_first_look() {
    for kind in [CommandKind::LookupEndpoint, CommandKind::DestroyLease] {
        let young = in_stage(&shape(&[("web", 1)]), SLOT, stage(StageName::LeaseCreated));
        let mut state = state([young]);
        if kind == CommandKind::DestroyLease {
            let transition = Transition::BeginDelete(DeleteReason::Undesired);
            let _going = state.fold(Fact::Decided { slot: slot(SLOT), transition }, at(0));
        }
        let _sent = dispatch(&mut state, SLOT, kind, 1, at(0));
        let _open = reported(&mut state, SLOT, 1, Err(ambiguous(FailureClass::TimedOut)), at(1));
        let _early = looked(&mut state, SLOT, Look::Absent, at(2));
        assert!(of(&state, SLOT).stage.lease().is_some(), "{kind:?}");
        let again = of(&state, SLOT).ambiguity.as_ref().map(|open| open.look_at);
        assert_eq!(again, Some(at(5_002)), "{kind:?}");
        let _late = looked(&mut state, SLOT, Look::Absent, at(5_002));
        assert!(of(&state, SLOT).stage.lease().is_none(), "{kind:?}");
    }
}

/// C3, D7: right after an effect of unknown outcome a look is believed in what it shows, and not in what it lacks.
#[test]
fn a_look_right_after_a_doubt_is_believed_in_what_it_shows() {
    let unseen = Look::Unknown { why: Redacted::new("no answer") };
    let there = present("l-1", WorkloadState::Absent);
    for (look, found) in [(Look::Absent, false), (unseen, false), (there, true)] {
        let mut state = state([in_stage(&shape(&[("web", 1)]), SLOT, stage(StageName::New))]);
        let _sent = dispatch(&mut state, SLOT, CommandKind::CreateLease, 1, at(0));
        let mut report = report(&state, SLOT, 1, Err(ambiguous(FailureClass::TimedOut)));
        report.look = Some(look.clone());
        assert_eq!(state.fold(Fact::Reported(report), at(1)), Verdict::Applied);
        let record = of(&state, SLOT);
        assert_eq!(record.stage.name() == StageName::LeaseCreated, found, "{look:?}");
        let open = record.ambiguity.as_ref().map(|open| open.first_miss);
        assert_eq!(open, (!found).then_some(None), "{look:?}");
    }
}
