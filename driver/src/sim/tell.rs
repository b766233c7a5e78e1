//! Telling a story from a seed: a fleet, a mix of faults of which some are off, and what happens when.

use reconciler_core::{
    desired::{GateCondition, GroupKind},
    effect::{CommandKind, FailureClass},
    time::Millis,
};

use super::{
    dice::Dice,
    fleet::NAMES,
    story::{Fate, Group, Input, Moment, Sight, Story, Timed},
};

/// How long things happen, in milliseconds; the tail comes after that.
pub(crate) const LENGTH_MS: u64 = 300_000;

/// The kinds of things that happen; each story leaves some of them out, so that the others come together more often.
#[derive(Clone, Copy)]
enum Kind {
    Counts,
    Revisions,
    Power,
    Updates,
    Files,
    Releases,
    Effects,
    Listings,
    Looks,
    Nodes,
    Strangers,
    Crashes,
    Drivers,
    Clocks,
    Disks,
}

const KINDS: [Kind; 15] = [
    Kind::Counts,
    Kind::Revisions,
    Kind::Power,
    Kind::Updates,
    Kind::Files,
    Kind::Releases,
    Kind::Effects,
    Kind::Listings,
    Kind::Looks,
    Kind::Nodes,
    Kind::Strangers,
    Kind::Crashes,
    Kind::Drivers,
    Kind::Clocks,
    Kind::Disks,
];

/// The story of a seed.
pub fn tell(seed: u64) -> Story {
    let mut dice = Dice::new(seed, "story");
    let groups = fleet(&mut dice);
    let mut kinds: Vec<Kind> = KINDS.into_iter().filter(|_| !dice.one_in(2)).collect();
    kinds.extend([Kind::Effects, Kind::Counts, Kind::Nodes, Kind::Crashes]);
    let n = dice.between(6, 36);
    let mut last = 0;
    let mut inputs: Vec<Timed> = (0..n)
        .map(|_| {
            // What happens early meets a fleet that comes up, and what follows soon meets what the last thing left.
            let at = match dice.below(4) {
                0 => dice.below(LENGTH_MS / 10),
                1 => dice.below(LENGTH_MS),
                _ => last + dice.below(4_000),
            };
            last = at;
            let kind = *dice.pick(&kinds);
            Timed { at, input: happening(kind, &groups, &mut dice) }
        })
        .collect();
    let groups = asked(groups, &mut inputs, seed);
    inputs.sort_by_key(|timed| timed.at);
    Story { seed, bug: None, groups, inputs }
}

fn fleet(dice: &mut Dice) -> Vec<Group> {
    let n = dice.between(1, 3);
    let names = ["db", "web", "zip"];
    let mut groups: Vec<Group> = Vec::new();
    for name in names.into_iter().take(usize::try_from(n).unwrap_or(1)) {
        let kind = if dice.one_in(6) { GroupKind::Job } else { GroupKind::Service };
        let on = groups.last().filter(|_| dice.one_in(3));
        let after = on.map(|on| {
            let condition = match on.kind {
                GroupKind::Job => GateCondition::Completed,
                GroupKind::Service => *dice.pick(&[GateCondition::Started, GateCondition::Ready]),
            };
            (on.name.clone(), condition)
        });
        groups.push(Group {
            name: name.to_owned(),
            count: small(dice.between(1, 4)),
            provider: (*dice.pick(&NAMES)).to_owned(),
            kind,
            surge: small(dice.below(2)),
            after,
            probed: false,
        });
    }
    groups
}

/// Some groups are asked by probes, and their nodes ail at times.
///
/// The dice are of its own, so that everything else in the story of a seed is as if there were no probes.
fn asked(groups: Vec<Group>, inputs: &mut Vec<Timed>, seed: u64) -> Vec<Group> {
    let mut dice = Dice::new(seed, "probes");
    let groups: Vec<Group> =
        groups.into_iter().map(|group| Group { probed: dice.one_in(3), ..group }).collect();
    for group in groups.iter().filter(|group| group.probed) {
        for _ in 0..dice.below(5) {
            let slot = format!("{}-{}", group.name, dice.below(4));
            let length = dice.between(1_000, 90_000);
            let mute = dice.one_in(3);
            let input = if mute { Input::Mute(slot, length) } else { Input::Ill(slot, length) };
            inputs.push(Timed { at: dice.below(LENGTH_MS), input });
        }
    }
    groups
}

fn small(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn happening(kind: Kind, groups: &[Group], dice: &mut Dice) -> Input {
    let group = dice.pick(groups).name.clone();
    let slot = format!("{group}-{}", dice.below(4));
    match kind {
        Kind::Counts => Input::Scale(group, small(dice.below(6))),
        Kind::Revisions => Input::Revise(group, small(dice.below(4))),
        Kind::Power => {
            let subject = if dice.one_in(2) { group } else { slot };
            match dice.below(3) {
                0 => Input::Restart(subject),
                1 => Input::Stop(subject),
                _ => Input::Start(subject),
            }
        }
        Kind::Updates => match dice.below(4) {
            0 => Input::Pause(group),
            1 => Input::Resume(group),
            2 => Input::Rollback(group),
            _ => Input::Revise(group, small(dice.below(4))),
        },
        Kind::Files if dice.one_in(4) => Input::BadFile,
        Kind::Files => Input::File(group, small(dice.below(6))),
        Kind::Releases => Input::Release(if dice.one_in(2) { group } else { slot }),
        Kind::Effects => Input::Fault(*dice.pick(&CommandKind::ALL), fate(dice)),
        Kind::Listings => Input::Listing((*dice.pick(&NAMES)).to_owned(), sight(dice)),
        Kind::Looks => Input::BlindLook,
        Kind::Nodes if dice.one_in(3) => Input::Vanish(slot),
        Kind::Nodes => Input::Exit(slot, i32::from(dice.one_in(2))),
        Kind::Strangers => Input::Foreign(group, small(dice.below(6))),
        Kind::Crashes => Input::Crash(moment(dice), dice.between(1, 5_000)),
        Kind::Drivers => match dice.below(3) {
            0 => Input::Stall(dice.between(100, 30_000)),
            1 => Input::Takeover(dice.between(1, 20_000)),
            _ => Input::Quit(dice.between(1, 5_000)),
        },
        Kind::Clocks => {
            let length = i64::try_from(dice.between(1, 200_000)).unwrap_or(0);
            Input::Clock(if dice.one_in(2) { length } else { -length })
        }
        Kind::Disks if dice.one_in(3) => Input::FullDisk,
        // Not longer than a driver leaves between an intent and its effect.
        Kind::Disks => Input::SlowDisk(dice.between(50, 4_000)),
    }
}

fn fate(dice: &mut Dice) -> Fate {
    let class = *dice.pick(&[
        FailureClass::Unavailable,
        FailureClass::Capacity,
        FailureClass::Quota,
        FailureClass::Workload,
        FailureClass::Invalid,
        FailureClass::RateLimited { retry_after: Millis::from_secs(20) },
    ]);
    match dice.below(9) {
        0..=2 => Fate::Refused(class),
        3 => Fate::LostUndone,
        4 => Fate::LostDone,
        5 => Fate::DeniedDone,
        6 => Fate::ClaimedUndone,
        7 => Fate::Late,
        _ => Fate::Crashed(dice.one_in(2)),
    }
}

fn sight(dice: &mut Dice) -> Sight {
    match dice.below(6) {
        0 => Sight::Empty,
        1 => Sight::Short,
        2 => Sight::Partial,
        3 => Sight::Failed,
        4 => Sight::Ended,
        _ => Sight::Slow(dice.between(1, 90)),
    }
}

fn moment(dice: &mut Dice) -> Moment {
    *dice.pick(&[
        Moment::Now,
        Moment::BeforeCommit,
        Moment::AfterCommit,
        Moment::BeforeEffect,
        Moment::DuringEffect,
        Moment::AfterEffect,
    ])
}
