//! What was handed over to be taken back: what is looked at before, and what a driver leaves to a person (R129, R138,
//! R145).

use alloc::{
    format,
    string::{String, ToString},
};

use crate::{
    hold::HoldCode,
    observed::{GroupState, NodeRecord, Rollout},
};

/// Why a driver does not take the operation of a group back by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftToPerson {
    /// The hold under which the group waits for one.
    pub code: HoldCode,
    /// What stands in the way, for people.
    pub text: String,
}

/// The attempts of a group that are looked at before its operation is taken back: of each it is in doubt what is there.
pub fn doubtful(group: Option<&GroupState>) -> impl Iterator<Item = &NodeRecord> {
    let is_doubtful = |one: &&NodeRecord| {
        one.ambiguity.is_some()
            || one.hold.is_some()
            || one.missing_since.or(one.suspect_since).is_some()
    };
    let records = group.into_iter().flat_map(GroupState::records);
    records.flat_map(|record| record.attempts()).filter(is_doubtful)
}

/// What a driver does not decide by itself: a hold that says something else, a slot whose ownership or history is in
/// doubt, a hook that has completed.
pub fn left_to_person(
    group: Option<&GroupState>,
    rollout: Option<&Rollout>,
) -> Option<LeftToPerson> {
    let hold = group.and_then(GroupState::hold);
    if let Some(hold) = hold.filter(|hold| hold.code != HoldCode::HandedOver) {
        return Some(LeftToPerson { code: hold.code, text: hold.text.to_string() });
    }
    let in_doubt = doubtful(group).find_map(|one| {
        let hold = one.hold.as_ref().filter(|hold| hold.code.is_doubt())?;
        Some(format!("{} is held: {}", one.slot, hold.code.as_str()))
    });
    if let Some(text) = in_doubt {
        return Some(LeftToPerson { code: HoldCode::HandedOver, text });
    }
    let hooked = rollout.and_then(|rollout| rollout.hooked.as_ref())?;
    let text = format!(
        "the {} hook of {} completed, and nothing takes back what it did",
        hooked.point.as_str(),
        hooked.slot
    );
    Some(LeftToPerson { code: HoldCode::IrreversibleHook, text })
}
