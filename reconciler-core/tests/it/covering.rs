//! When a confirmed plan opens an operation, and when what it leads to can be taken back (D3, R95, R130, C10).

use reconciler_core::{
    checkpoint::Direction,
    hold::HoldCode,
    observed::{NoWayBack, Prior, Rollout},
    saga::{Cover, Touched},
    time::Millis,
};

use crate::fleet::{T0, node_spec};

/// D3, R95, R130: every group that a plan may touch, row by row: what is open, which way, and what holds it.
#[test]
fn a_plan_opens_an_operation_unless_one_covers_it_or_cannot_be_read() {
    let ways = [None, Some(Direction::Forward), Some(Direction::Rollback)];
    let holds = HoldCode::ALL.map(Some).into_iter().chain([None]);
    for hold in holds {
        for open in ways {
            for bits in 0_u8..8 {
                let [taken_back, anew, goes] = [1, 2, 4].map(|bit| bits & bit != 0);
                let touched = Touched { open, taken_back, anew, hold, goes };
                let unreadable = hold == Some(HoldCode::PlanningIncomplete) && !goes;
                let wanted = match (open, anew, taken_back) {
                    (Some(_), false, _) | (Some(Direction::Rollback), true, true) => Cover::GoesOn,
                    (None, ..) | (Some(_), true, _) if unreadable => Cover::Withheld,
                    (None, ..) | (Some(_), true, _) => Cover::Opens,
                };
                assert_eq!(touched.cover(), wanted, "{touched:?}");
            }
        }
    }
}

/// C10: a way back is never taken back, neither while it is under way nor between its declaration and its beginning.
#[test]
fn there_is_no_way_back_from_a_way_back() {
    let [old, new] = ["v1", "v2"].map(|image| node_spec(image).revision());
    let update = |reverts, prior: Option<&str>| Rollout {
        target: new,
        prior: prior.map(|image| {
            let spec = node_spec(image);
            Prior { revision: spec.revision(), spec: spec.into() }
        }),
        reverts,
        since: T0,
        done: 0,
        patience: Millis::from_secs(60),
        deadline: None,
        paused: false,
        hooked: None,
        failing: None,
    };
    let cases = [
        (update(false, Some("v1")), new, Ok(old)),
        (update(false, Some("v1")), old, Err(NoWayBack::GoesBack)),
        (update(true, Some("v1")), new, Err(NoWayBack::GoesBack)),
        (update(true, None), new, Err(NoWayBack::GoesBack)),
        (update(false, None), new, Err(NoWayBack::NothingServed)),
    ];
    for (rollout, declared, wanted) in cases {
        let back = rollout.way_back(declared).map(|prior| prior.revision);
        assert_eq!(back, wanted, "{rollout:?}");
        assert_eq!(rollout.goes_back(declared), wanted == Err(NoWayBack::GoesBack));
    }
}
