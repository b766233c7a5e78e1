//! One step of a plan: what it does, what must hold first, what holds afterwards, and what undoes it (R81).

use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use core::{fmt, ops::Range, str::FromStr};

use super::{
    after::After,
    key::{KeyRef, StepKey, push_key},
};
use crate::{
    canonical::{push_list, write_object},
    desired::HookPoint,
    effect::{ActionKind, CommandKind},
    id::{AttemptId, IdError, IdempotencyKey, LogicalNodeId, RevisionDigest, SessionId},
    key::session_key,
    observed::{NodeRecord, StageName},
    time::Millis,
};

/// What comes before the name of the hook in a condition.
const HOOK_DONE: &str = ", done ";

/// How an attempt stands, as far as a step depends on it or brings it about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Condition {
    /// Its stage.
    pub stage: StageName,
    /// True if a provider holds a lease for it.
    pub lease: bool,
    /// True if its workload may run.
    pub workload: bool,
    /// The hook that was the last to run on it, if one has.
    pub hook: Option<HookPoint>,
}

impl Condition {
    /// How the attempt of `record` stands.
    pub fn of(record: &NodeRecord) -> Self {
        let stage = &record.stage;
        Self {
            stage: stage.name().as_planned(),
            lease: stage.lease().is_some(),
            workload: stage.has_workload(),
            hook: record.hooks.passed.map(|mark| mark.point),
        }
    }

    fn push(self, out: &mut String) {
        out.push_str(self.stage.as_str());
        out.push_str(match (self.lease, self.workload) {
            (true, true) => ", lease, workload",
            (true, false) => ", lease, no workload",
            (false, true) => ", no lease, workload",
            (false, false) => ", no lease, no workload",
        });
        if let Some(hook) = self.hook {
            out.push_str(HOOK_DONE);
            out.push_str(hook.as_str());
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.push(&mut text);
        f.pad(&text)
    }
}

impl FromStr for Condition {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let rule = "it must be a stage, lease or no lease, workload or no workload, and a hook if one is done";
        let bad = || IdError { what: "condition", text: text.to_string(), rule };
        let (text, hook) = match text.split_once(HOOK_DONE) {
            Some((rest, name)) => {
                let hook = HookPoint::ALL.into_iter().find(|known| known.as_str() == name);
                (rest, Some(hook.ok_or_else(bad)?))
            }
            None => (text, None),
        };
        let (stage, rest) = text.split_once(", ").ok_or_else(bad)?;
        let (lease, workload) = match rest {
            "lease, workload" => (true, true),
            "lease, no workload" => (true, false),
            "no lease, workload" => (false, true),
            "no lease, no workload" => (false, false),
            _ => return Err(bad()),
        };
        let stage = StageName::ALL.into_iter().find(|known| known.as_str() == stage);
        Ok(Self { stage: stage.ok_or_else(bad)?, lease, workload, hook })
    }
}

/// One step of a plan's DAG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanStep {
    /// The slot.
    pub slot: LogicalNodeId,
    /// The attempt that it is for.
    pub attempt: AttemptId,
    /// What it does.
    pub action: ActionKind,
    /// Keys of the steps that must have succeeded first, sorted.
    pub after: After,
    /// How the attempt must stand before it, with nothing under way.
    pub requires: Condition,
    /// How the attempt stands after it.
    pub brings: Condition,
    /// How long it may take.
    pub timeout: Millis,
    /// What undoes it; `None` says that nothing does.
    pub inverse: Option<CommandKind>,
    /// The revision that the attempt implements; what that is stands in the plan once.
    pub revision: RevisionDigest,
    /// The bootstrap session that it is about, if it is about one.
    pub session: Option<SessionId>,
}

impl PlanStep {
    /// Its name, unique within the plan.
    pub fn key(&self) -> StepKey {
        StepKey { slot: self.slot.clone(), ordinal: self.attempt.ordinal, action: self.action }
    }

    pub(super) const fn key_parts(&self) -> KeyRef<'_> {
        (&self.slot, self.attempt.ordinal, self.action)
    }

    /// The key by which a provider recognises this request; it follows from attempt, action and session.
    pub fn idempotency_key(&self) -> IdempotencyKey {
        session_key(self.attempt.uuid, self.action, self.session)
    }

    /// Writes the step as a canonical value; `spec` is the place of its revision in the plan.
    pub(super) fn write(&self, out: &mut String, spec: usize, frames: &mut Frames) {
        let kind = Kind {
            action: self.action,
            requires: self.requires,
            brings: self.brings,
            timeout: self.timeout,
            inverse: self.inverse,
            session: self.session,
            spec,
        };
        let Some(frame) = frames.0.iter().find(|frame| frame.kind == kind) else {
            let frame = self.write_whole(out, kind);
            if frames.0.len() < FRAMES_MAX {
                frames.0.push(frame);
            }
            return;
        };
        out.push_str("{\"after\":");
        push_list(out, &self.after, |out, key| key.push(out));
        out.push_str(",\"attempt\":\"");
        self.attempt.uuid.push(out);
        out.push_str(&frame.middle);
        push_key(out, &self.slot, self.attempt.ordinal, self.action);
        out.push_str(&frame.end);
    }

    /// Writes every member; gives back what of the text any other step of this kind has as well.
    fn write_whole(&self, out: &mut String, kind: Kind) -> Frame {
        let (mut attempt, mut key) = (0, 0..0);
        write_object(out, |members| {
            members.list("after", &self.after, |out, key| key.push(out));
            members.plain("attempt", |out| {
                self.attempt.uuid.push(out);
                attempt = out.len();
            });
            members.plain("brings", |out| self.brings.push(out));
            members.text_if_any("inverse", self.inverse.map(CommandKind::as_str));
            members.plain("key", |out| {
                let start = out.len();
                push_key(out, &self.slot, self.attempt.ordinal, self.action);
                key = start..out.len();
            });
            members.plain("requires", |out| self.requires.push(out));
            members.num_if_any("session", self.session.map(SessionId::get));
            members.num("spec", u64::try_from(kind.spec).unwrap_or(u64::MAX));
            members.num("timeout-ms", self.timeout.get());
        });
        let part = |range: Range<usize>| out.get(range).unwrap_or_default().to_string();
        Frame { kind, middle: part(attempt..key.start), end: part(key.end..out.len()) }
    }
}

/// How many frames are kept: a plan has few kinds of steps, unless each of its nodes is in a session of its own.
const FRAMES_MAX: usize = 16;

/// What the text of steps has in common: a plan has many, which mostly differ in their names alone.
#[derive(Debug, Default)]
pub(super) struct Frames(Vec<Frame>);

/// The text of one kind of step around its names.
#[derive(Debug)]
struct Frame {
    kind: Kind,
    /// Between the attempt and the key.
    middle: String,
    /// Behind the key.
    end: String,
}

/// All of a step that is in its text beside its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    action: ActionKind,
    requires: Condition,
    brings: Condition,
    timeout: Millis,
    inverse: Option<CommandKind>,
    session: Option<SessionId>,
    spec: usize,
}

/// What undoes a step (clarification of actions and inverses in the design); what a hook did, nothing does.
pub const fn inverse(action: ActionKind) -> Option<CommandKind> {
    let ActionKind::Command(command) = action else { return None };
    match command {
        CommandKind::CreateLease => Some(CommandKind::DestroyLease),
        CommandKind::StartBootstrap => Some(CommandKind::CancelBootstrap),
        CommandKind::CancelBootstrap => Some(CommandKind::StartBootstrap),
        CommandKind::DestroyLease => Some(CommandKind::CreateLease),
        CommandKind::LookupEndpoint | CommandKind::BootstrapConvergenceObserved => None,
    }
}

/// True if a step follows one of its own attempt that waited for the same steps of other groups.
pub(super) const fn leads_to(before: ActionKind, kind: ActionKind) -> bool {
    match kind {
        ActionKind::Command(CommandKind::StartBootstrap)
        | ActionKind::Hook(HookPoint::PreStart) => matches!(
            before,
            ActionKind::Command(CommandKind::CreateLease | CommandKind::LookupEndpoint)
                | ActionKind::Hook(HookPoint::PreStart)
        ),
        ActionKind::Command(CommandKind::CancelBootstrap) => {
            matches!(before, ActionKind::Hook(HookPoint::PreStop))
        }
        ActionKind::Command(
            CommandKind::CreateLease
            | CommandKind::LookupEndpoint
            | CommandKind::BootstrapConvergenceObserved
            | CommandKind::DestroyLease,
        )
        | ActionKind::Hook(HookPoint::PostStart | HookPoint::PreStop | HookPoint::PostStop) => {
            false
        }
    }
}
