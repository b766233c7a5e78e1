//! What happens to providers, workloads, clocks and disks as a story has it.

use reconciler_core::id::{Fence, Uuid};

use super::{
    dice::Dice,
    fleet::NAMES,
    land::{Ailment, Origin, Thing},
    scene::Scene,
    story::Input,
};

/// Lets an input happen.
pub(crate) fn happens(scene: &mut Scene, input: &Input) {
    match input {
        Input::Fault(kind, fate) => scene.land.fates.push((*kind, *fate)),
        Input::Listing(provider, sight) => {
            scene.land.sights.push_back((provider.clone(), *sight));
        }
        Input::BlindLook => scene.land.blind_looks += 1,
        Input::Exit(slot, code) => {
            for id in scene.land.of_slot(slot) {
                scene.exit(&id, *code);
            }
        }
        Input::Ill(slot, length) | Input::Mute(slot, length) => {
            let until = scene.now().saturating_add(*length);
            let ails = Ailment { until, mute: matches!(input, Input::Mute(..)) };
            scene.land.ailing.insert(slot.clone(), ails);
        }
        Input::Vanish(slot) => {
            for id in scene.land.of_slot(slot) {
                if let Some(thing) = scene.land.things.remove(&id) {
                    scene.book.causes.insert(thing.attempt);
                }
            }
        }
        Input::Foreign(group, index) => foreign(scene, group, *index),
        Input::Clock(length) => {
            scene.skew = scene.skew.saturating_add(*length);
            scene.book.jumped = true;
        }
        Input::SlowDisk(length) => scene.slow_write = Some(*length),
        Input::FullDisk => scene.full = true,
        Input::Scale(..)
        | Input::Revise(..)
        | Input::Restart(..)
        | Input::Stop(..)
        | Input::Start(..)
        | Input::Pause(..)
        | Input::Resume(..)
        | Input::Rollback(..)
        | Input::Release(..)
        | Input::Crash(..)
        | Input::Stall(..)
        | Input::Takeover(..)
        | Input::Quit(..)
        | Input::File(..)
        | Input::BadFile => {}
    }
    scene.stir();
}

fn foreign(scene: &mut Scene, group: &str, index: u32) {
    let Ok(slot) = format!("{group}-{index}").parse() else { return };
    let mut dice = Dice::new(scene.seed, ("foreign", group, index));
    let bytes: Vec<u8> = (0..16).map(|_| u8::try_from(dice.below(256)).unwrap_or(0)).collect();
    let bytes = <[u8; 16]>::try_from(bytes).unwrap_or_default();
    let thing = Thing {
        provider: (*dice.pick(&NAMES)).to_owned(),
        slot,
        attempt: Uuid::from_bytes(bytes),
        fence: Fence::new(0),
        session: None,
        exit: None,
        visible_at: 0,
        origin: Origin::Foreign,
    };
    scene.land.things.insert(format!("foreign-{group}-{index}"), thing);
}
