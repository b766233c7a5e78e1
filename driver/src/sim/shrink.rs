//! Making a story that breaks a law short: inputs are taken out while the same law still breaks.

use super::{run::run, story::Story};

/// Plays at most so many stories; a few hundred halve every story that a seed tells.
const RUNS_MAX: usize = 400;

/// The shortest story found that breaks the same law as `story`; `story` itself if it breaks none.
pub fn shrink(story: &Story) -> Story {
    let Some(law) = run(story).broken.map(|broken| broken.law) else { return story.clone() };
    let mut shrinking = Shrinking { law, best: story.clone(), left: RUNS_MAX };
    shrinking.inputs();
    shrinking.groups();
    shrinking.counts();
    shrinking.inputs();
    shrinking.best
}

struct Shrinking {
    law: &'static str,
    best: Story,
    left: usize,
}

impl Shrinking {
    /// Takes `smaller` if it breaks the same law.
    fn offer(&mut self, smaller: Story) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        let breaks = run(&smaller).broken.is_some_and(|broken| broken.law == self.law);
        if breaks {
            self.best = smaller;
        }
        breaks
    }

    /// Takes out runs of inputs, the long ones first.
    fn inputs(&mut self) {
        let mut width = self.best.inputs.len().div_ceil(2);
        while width > 0 {
            let mut at = 0;
            while at < self.best.inputs.len() {
                let mut smaller = self.best.clone();
                let end = (at + width).min(smaller.inputs.len());
                smaller.inputs.drain(at..end);
                if !self.offer(smaller) {
                    at += width;
                }
            }
            width /= 2;
        }
    }

    fn groups(&mut self) {
        let mut at = 0;
        while at < self.best.groups.len() {
            let mut smaller = self.best.clone();
            let gone = smaller.groups.remove(at);
            for group in &mut smaller.groups {
                group.after = group.after.take().filter(|(on, _)| *on != gone.name);
            }
            if !self.offer(smaller) {
                at += 1;
            }
        }
    }

    fn counts(&mut self) {
        for at in 0..self.best.groups.len() {
            while self.best.groups[at].count > 1 {
                let mut smaller = self.best.clone();
                smaller.groups[at].count -= 1;
                if !self.offer(smaller) {
                    break;
                }
            }
        }
    }
}
