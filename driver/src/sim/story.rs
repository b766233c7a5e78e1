//! A story: the fleet that it begins with, and what happens when. It is all that a run depends on.
//!
//! On disk a story is one JSON value per line: the opening, then each input, so that a story of ten inputs is read at
//! a glance and edited by deleting lines.

use reconciler_core::{
    desired::{GateCondition, GroupKind},
    effect::{CommandKind, FailureClass},
};
use serde::{Deserialize, Serialize};

use super::bug::Bug;

/// The form of stories that this version reads.
const FORM: u32 = 1;

/// What happens in one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    /// Where latencies come from; also names the story.
    pub seed: u64,
    /// The fault that the program under test is given, if any.
    pub bug: Option<Bug>,
    /// The groups that are declared at the beginning.
    pub groups: Vec<Group>,
    /// What happens, in the order of time.
    pub inputs: Vec<Timed>,
}

/// A group that is declared at the beginning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// How many nodes.
    pub count: u32,
    /// At which provider: `strict` or `lax`.
    pub provider: String,
    /// Services or jobs.
    pub kind: GroupKind,
    /// How many may exist beyond the count while it is updated.
    pub surge: u32,
    /// The group that it waits for, and until when.
    pub after: Option<(String, GateCondition)>,
    /// True if its nodes are asked by probes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub probed: bool,
}

/// An input and its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timed {
    /// Milliseconds since the beginning.
    pub at: u64,
    /// What happens.
    pub input: Input,
}

/// Something that happens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Input {
    /// An operator confirms another count.
    Scale(String, u32),
    /// An operator confirms another revision of a group.
    Revise(String, u32),
    /// The followed file changes: another count.
    File(String, u32),
    /// The followed file changes to something that cannot be read.
    BadFile,
    /// An operator asks a group or slot to begin anew.
    Restart(String),
    /// An operator asks a group or slot to rest.
    Stop(String),
    /// An operator asks a group or slot to run.
    Start(String),
    /// An operator pauses a group's update.
    Pause(String),
    /// An operator lets a group's update go on.
    Resume(String),
    /// An operator takes a group's update back.
    Rollback(String),
    /// An operator ends the holds of a slot or group.
    Release(String),
    /// The next effect of this kind ends so.
    Fault(CommandKind, Fate),
    /// The next listing of a provider shows this.
    Listing(String, Sight),
    /// The next look by id shows nothing.
    BlindLook,
    /// The workload of a slot ends with this status.
    Exit(String, i32),
    /// For so many milliseconds the workloads of a slot fail every probe.
    Ill(String, u64),
    /// For so many milliseconds the workloads of a slot cannot be asked.
    Mute(String, u64),
    /// What a provider holds for a slot is gone.
    Vanish(String),
    /// A provider holds something with the run's mark that nobody here made.
    Foreign(String, u32),
    /// The driver dies there, and another starts so many milliseconds later.
    Crash(Moment, u64),
    /// The driver does nothing for so many milliseconds.
    Stall(u64),
    /// As soon as the driver has written its next intents it does nothing for so many milliseconds, and another one
    /// takes the run meanwhile.
    Takeover(u64),
    /// The driver is told to stop, and another starts so many milliseconds later.
    Quit(u64),
    /// The wall clock jumps by so many milliseconds.
    Clock(i64),
    /// The next write of the journal takes so many milliseconds.
    SlowDisk(u64),
    /// The next write of the journal fails.
    FullDisk,
}

/// How an effect ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// It surely fails.
    Refused(FailureClass),
    /// Its answer is lost, and it was not done.
    LostUndone,
    /// Its answer is lost, and it was done.
    LostDone,
    /// It is done, and said to have surely failed.
    DeniedDone,
    /// It is not done, and said to be.
    ClaimedUndone,
    /// It is done long after its time is up.
    Late,
    /// The provider's code crashes; whether it was done before.
    Crashed(bool),
}

/// What a listing shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sight {
    /// Nothing, as if that were all.
    Empty,
    /// All but the first thing, as if that were all.
    Short,
    /// A half, and says so.
    Partial,
    /// An error.
    Failed,
    /// Every workload as ended.
    Ended,
    /// What there is, after this many seconds.
    Slow(u64),
}

/// Where a driver dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Moment {
    /// Between two steps.
    Now,
    /// When it hands over the next commit: nothing of it is kept.
    BeforeCommit,
    /// When the next commit was synced: it never hears of that.
    AfterCommit,
    /// When it is about to ask a provider for the next effect.
    BeforeEffect,
    /// While its next effect is on its way, which goes on.
    DuringEffect,
    /// When its next effect was done, before it hears of that.
    AfterEffect,
}

/// Why a story cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StoryError {
    /// There is nothing.
    #[error("the story is empty; its first line must be an opening")]
    Empty,
    /// It has another form.
    #[error("the story has form {0}, this version reads form {FORM}")]
    Form(u32),
    /// A line makes no sense.
    #[error("line {line} makes no sense")]
    Line {
        /// Which, from 1.
        line: usize,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Opening {
    story: u32,
    seed: u64,
    bug: Option<Bug>,
    groups: Vec<Group>,
}

impl Story {
    /// Reads a story.
    ///
    /// # Errors
    /// Names the first line that makes no sense.
    pub fn read(text: &str) -> Result<Self, StoryError> {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let mut lines = lines.map(|(at, line)| (at + 1, line));
        let (line, first) = lines.next().ok_or(StoryError::Empty)?;
        let wrong = |line| move |source| StoryError::Line { line, source };
        let opening: Opening = serde_json::from_str(first).map_err(wrong(line))?;
        if opening.story != FORM {
            return Err(StoryError::Form(opening.story));
        }
        let inputs = lines.map(|(line, text)| serde_json::from_str(text).map_err(wrong(line)));
        let inputs = inputs.collect::<Result<_, _>>()?;
        let Opening { seed, bug, groups, .. } = opening;
        Ok(Self { seed, bug, groups, inputs })
    }

    /// The story as text that [`Story::read`] reads.
    pub fn write(&self) -> String {
        let Self { seed, bug, groups, inputs } = self.clone();
        let opening = Opening { story: FORM, seed, bug, groups };
        let mut text = line(&opening);
        for input in &inputs {
            text.push_str(&line(input));
        }
        text
    }
}

fn line(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).expect("a story holds nothing that JSON does not");
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::{Story, StoryError};
    use crate::sim::tell;

    /// R74: a story that was written is the story that is read.
    #[test]
    fn a_story_survives_being_written() {
        for seed in 0..20 {
            let story = tell(seed);
            assert_eq!(Story::read(&story.write()).unwrap(), story);
        }
    }

    #[test]
    fn a_line_that_makes_no_sense_is_named() {
        let text = tell(1).write() + "{\"at\":1,\"input\":\"sleep\"}\n";
        let last = text.lines().count();
        let error = Story::read(&text).unwrap_err();
        assert!(matches!(error, StoryError::Line { line, .. } if line == last), "{error}");
        assert!(matches!(Story::read(" \n"), Err(StoryError::Empty)));
    }
}
