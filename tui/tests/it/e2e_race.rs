//! Two real drivers race for one run: one has it, the other is refused, and no effect of the two ever interleaves.

use std::collections::BTreeSet;

use checkpoint::reader::Reader;
use rustix::process::Signal;

use crate::world::{World, code, ended, send, servers, until, until_true};

/// How many rounds; a few unless more are asked for.
fn rounds() -> u32 {
    std::env::var("LEVELHEAD_RACE_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(3)
}

/// R142, R144, R189: every round has one winner; each effect stands under the fence of one of them, in whole blocks.
#[test]
fn two_drivers_race_and_one_wins_every_round() {
    let world = World::new(&servers("web", 2));
    for round in 1..=rounds() {
        // Another count each round, so that whoever wins has effects to send.
        world.write(&servers("web", 1 + round % 2));
        let mut rivals = [1, 2].map(|n| world.spawn(&format!("rival-{n}"), &["driver", "FILE"]));
        let loser = until("one of the two is refused", || {
            rivals.iter_mut().position(|rival| rival.try_wait().unwrap().is_some())
        });
        let refused = code(ended(&mut rivals[loser]));
        assert_eq!(refused, 71, "round {round}: the loser is refused by policy, not by accident");
        let said = std::fs::read_to_string(world.dir().join(format!("rival-{}.err", loser + 1)));
        let said = said.unwrap();
        assert!(said.contains("another process"), "round {round}");
        let winner = &mut rivals[1 - loser];
        // Whoever is named has the run: the owner of the round before has ended.
        let named = said.split("(pid ").nth(1).and_then(|rest| rest.split(' ').next());
        assert!(named.is_none_or(|pid| pid == winner.id().to_string()), "round {round}: {said}");
        let wanted = u64::from(1 + round % 2);
        until_true("the winner brings the run to the file", || {
            let view = world.status();
            view["state"] == "converged" && view["want"] == wanted
        });
        let view = world.status();
        assert_eq!(view["driver"]["pid"].as_u64(), Some(u64::from(winner.id())), "round {round}");
        // Of two reigns one comes after the other: the fence never goes back from step to step.
        let mut steps = Reader::open(world.state()).unwrap().steps(10_000).unwrap();
        steps.reverse();
        let fences: Vec<u64> = steps.iter().map(|step| step.fence.get()).collect();
        assert!(fences.is_sorted(), "round {round}: {fences:?}");
        let reigns: BTreeSet<u64> = fences.into_iter().collect();
        assert!(reigns.len() <= usize::try_from(round).unwrap(), "round {round}: {reigns:?}");
        send(winner, Signal::TERM);
        assert_eq!(code(ended(winner)), 143);
    }
}
