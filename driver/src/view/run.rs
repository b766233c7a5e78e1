//! The state of a run as one value.

use reconciler_core::{
    desired::Gates,
    effect::ActionKind,
    hold::HoldCode,
    id::{Fence, Generation, GroupId, LogicalNodeId, PassNumber, ProviderName, RunName, Uuid},
    observed::StageName,
    time::Timestamp,
};
use serde::{Deserialize, Serialize};

use super::drift::DriftView;

/// The version of the JSON form; additive changes do not raise it.
pub const VIEW_SCHEMA: u32 = 1;

/// How the run stands as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// Every wanted node is ready, and nothing else is there.
    Converged,
    /// Steps are being taken or awaited.
    Converging,
    /// Something is not as wanted, and nothing of it moves before a person acts: because of a hold, a paused update, a
    /// gate that stays closed, or what no record accounts for.
    Held,
    /// Nothing is driving the run: what is shown is what the journal says.
    Unattended,
}

/// The driver that is looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverView {
    /// Its process id.
    pub pid: u32,
    /// Since when it drives.
    pub since: Timestamp,
    /// Its fence.
    pub fence: Fence,
    /// Its version.
    pub version: String,
}

/// The desired-state file beside the live shape (D14).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileView {
    /// Its path.
    pub path: String,
    /// What is wrong with its present content, if anything.
    pub problem: Option<String>,
    /// Groups whose count differs: (group, count in the file, live count).
    pub differs: Vec<(GroupId, u32, u32)>,
    /// Groups of which another number is switched off: (group, in the file, live).
    #[serde(default)]
    pub off_differs: Vec<(GroupId, u32, u32)>,
    /// Groups whose nodes are something else than the file says, as after a rollback: (group, the first digits of the
    /// file's revision, of the live one).
    #[serde(default)]
    pub revised: Vec<(GroupId, String, String)>,
}

/// One group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupView {
    /// Its name.
    pub group: GroupId,
    /// What part its nodes play.
    pub role: String,
    /// Who gives the leases.
    pub provider: ProviderName,
    /// How many nodes there should be.
    pub want: u32,
    /// How many of those that are not switched off are ready.
    pub ready: u32,
    /// How many slots are held.
    pub held: u32,
    /// How many are being deleted.
    pub deleting: u32,
    /// How many have failed since they were last dormant.
    pub failing: u32,
    /// Owned resources that no record accounts for.
    pub orphans: u32,
    /// How many slots are switched off.
    #[serde(default)]
    pub off: u32,
    /// Of a job, how many nodes are completed.
    #[serde(default)]
    pub completed: Option<u32>,
    /// The groups that it waits for, each with what it waits for of it.
    #[serde(default)]
    pub after: Gates,
    /// What those groups lack, while nodes of this one wait for it.
    #[serde(default)]
    pub waits_for: Vec<String>,
    /// The first digits of its revision.
    pub revision: String,
    /// The workload's command, as declared.
    pub command: Vec<String>,
    /// Counts per stage, only those that are not zero, in the order of a life.
    pub stages: Vec<(StageName, u32)>,
    /// Its update, if one is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<UpdateView>,
}

/// An update under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateView {
    /// The first digits of the revision that it leads to.
    pub target: String,
    /// Those of the revision that served when it began, if one did: the way back.
    pub prior: Option<String>,
    /// True if it goes back after an update that failed.
    pub reverts: bool,
    /// True while it is paused.
    pub paused: bool,
    /// How many nodes of the new revision are ready.
    pub ready: u32,
    /// When it has failed, unless a further node becomes ready.
    pub deadline: Option<Timestamp>,
}

/// The attempt beside the present one of a slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecondView {
    /// Which incarnation of the slot.
    pub attempt: u64,
    /// Its stage.
    pub stage: StageName,
    /// True while it is being deleted: it gave way. Otherwise it is a candidate.
    pub deleting: bool,
    /// Why it is where it is and what it waits for, in one line.
    pub reason: String,
    /// The last failure, cleaned.
    pub last_error: Option<String>,
    /// The lease, as its provider names it.
    pub lease: Option<String>,
}

/// One slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, by its name in JSON")]
pub struct NodeView {
    /// Which.
    pub slot: LogicalNodeId,
    /// Its stage.
    pub stage: StageName,
    /// How far it had come, for the track: the furthest stage of this attempt.
    pub reached: StageName,
    /// True if it serves.
    pub ready: bool,
    /// True while it is being deleted.
    pub deleting: bool,
    /// True if it is switched off.
    #[serde(default)]
    pub off: bool,
    /// True if it is of a job, and its workload ended well.
    #[serde(default)]
    pub completed: bool,
    /// The code of its hold, if any.
    pub hold: Option<HoldCode>,
    /// Which incarnation of the slot.
    pub attempt: u64,
    /// When it entered the stage.
    pub since: Timestamp,
    /// The effect on its way, if any.
    pub pending: Option<ActionKind>,
    /// Consecutive failures.
    pub failures: u32,
    /// When it next falls due, if it waits for a time.
    pub due: Option<Timestamp>,
    /// Why it is where it is and what it waits for, in one line.
    pub reason: String,
    /// The last failure, cleaned.
    pub last_error: Option<String>,
    /// Where it is reached: `host:port` with the ports by name.
    pub endpoint: Option<String>,
    /// The lease, as its provider names it.
    pub lease: Option<String>,
    /// The slot's other attempt, while one revision gives way to another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<SecondView>,
    /// One letter per pass, oldest first, for the last passes (see `ribbon_len` of the run).
    pub ribbon: String,
}

/// One hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldView {
    /// The slot or group.
    pub subject: String,
    /// Why.
    pub code: HoldCode,
    /// What happened.
    pub text: String,
    /// Since when.
    pub since: Timestamp,
    /// The command that leaves it.
    pub way_out: String,
}

/// Whom something that is not as it should be waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitsForView {
    /// Nobody: it moves by itself.
    Itself,
    /// Other nodes.
    Others,
    /// A person.
    Person,
}

/// Slots of one group that are not as they should be for one reason, or the group itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutstandingView {
    /// The first of the slots, or the group.
    pub subject: String,
    /// How many slots, or things.
    pub count: u32,
    /// Why, in one line.
    pub why: String,
    /// Whom it waits for.
    pub waits_for: WaitsForView,
    /// The command that leads on, where there is one.
    pub way_out: Option<String>,
}

impl OutstandingView {
    /// What is not as it should be, in one line.
    pub fn line(&self) -> String {
        let Self { subject, count, why, .. } = self;
        match count.saturating_sub(1) {
            0 => format!("{subject}: {why}"),
            more => format!("{subject} and {more} more: {why}"),
        }
    }
}

/// One pass that did something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassView {
    /// Its number.
    pub pass: PassNumber,
    /// When it ran.
    pub at: Timestamp,
    /// What woke it.
    pub trigger: String,
    /// How many facts it folded.
    pub facts: u32,
    /// How many transitions it made.
    pub transitions: u32,
    /// How many effects it sent.
    pub effects: u32,
    /// How many of the folded facts were failures.
    pub failures: u32,
    /// How long it took, in microseconds.
    pub micros: u64,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventView {
    /// Its place in the journal; rises.
    pub seq: u64,
    /// When it happened, or happened last.
    pub at: Timestamp,
    /// During which pass.
    pub pass: PassNumber,
    /// The slot or group, empty for the run.
    pub subject: String,
    /// A stable word for what kind it is, such as `stage`, `effect`, `failure`, `hold`, `shape`.
    pub kind: String,
    /// What happened.
    pub text: String,
    /// How often, if it repeats.
    pub count: u64,
}

/// An owned resource that no record accounts for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrphanView {
    /// Who holds it.
    pub provider: ProviderName,
    /// The slot that it names.
    pub slot: LogicalNodeId,
    /// The lease.
    pub lease: String,
}

/// One provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderView {
    /// Its name.
    pub name: ProviderName,
    /// When it was last listed in full.
    pub listed_at: Option<Timestamp>,
    /// Why the last listing was not to be had.
    pub trouble: Option<String>,
    /// Until when it is left alone.
    pub paused_until: Option<Timestamp>,
}

/// A run, as one snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunView {
    /// The version of this form.
    pub schema: u32,
    /// The run's name.
    pub run: RunName,
    /// Its identity.
    pub uuid: Uuid,
    /// Who drives it, if anyone does.
    pub driver: Option<DriverView>,
    /// The generation of the live shape.
    pub generation: Generation,
    /// Where that came from: `file`, `console`, `cli`, or the `driver` itself, as when an update failed.
    #[serde(default)]
    pub changed_by: Option<String>,
    /// The last pass that did something.
    pub pass: PassNumber,
    /// When this snapshot was made.
    pub at: Timestamp,
    /// How the run stands.
    pub state: RunState,
    /// How many nodes are wanted, without those that are switched off.
    pub want: u32,
    /// How many of them are ready.
    pub ready: u32,
    /// When the next thing falls due.
    pub due: Option<Timestamp>,
    /// How many letters each ribbon has.
    pub ribbon_len: u32,
    /// The desired-state file, if one is followed.
    pub file: Option<FileView>,
    /// The groups in order.
    pub groups: Vec<GroupView>,
    /// Every slot, in order.
    pub nodes: Vec<NodeView>,
    /// Open holds.
    pub holds: Vec<HoldView>,
    /// What is not as it should be, and why; nothing once the run has converged.
    #[serde(default)]
    pub outstanding: Vec<OutstandingView>,
    /// The last passes that did something, newest first.
    pub passes: Vec<PassView>,
    /// The last events, newest first.
    pub events: Vec<EventView>,
    /// Owned resources without a record.
    pub orphans: Vec<OrphanView>,
    /// The providers.
    pub providers: Vec<ProviderView>,
    /// Where what is observed is not what is desired, in a stable order.
    #[serde(default)]
    pub drift: Vec<DriftView>,
}
