//! The people of a story: they ask a driver for changes as a face does, and ask again while what they saw is stale.

use std::collections::BTreeMap;

use reconciler_core::id::{Generation, PlanHash};
use tokio::sync::{mpsc::UnboundedSender, oneshot};

use super::{
    fleet,
    scene::Stage,
    story::{Group, Input},
};
use crate::{
    Face, Source,
    inbox::{Ask, Wake},
    looping::Loop,
    state::State,
    view::{Edit, Refusal, RefusalKind, ReleaseView},
};

/// How often somebody asks again when what they saw was stale.
const TRIES: u32 = 5;

type Reply<T> = oneshot::Receiver<Result<T, Refusal>>;

/// What was asked and is not answered.
enum Open {
    Change(Reply<Generation>),
    Look(Reply<ReleaseView>),
    Release(Reply<ReleaseView>),
}

/// Who asks one driver.
pub(crate) struct Operator {
    stage: Stage,
    inbox: UnboundedSender<Wake>,
    open: Option<Open>,
    tries: u32,
}

impl Operator {
    /// Nobody has asked yet.
    pub(crate) fn new(stage: Stage, inbox: UnboundedSender<Wake>) -> Self {
        Self { stage, inbox, open: None, tries: 0 }
    }

    /// Hears answers, and asks for the next thing.
    pub(crate) fn turn(&mut self, life: usize, driver: &Loop) {
        if self.stage.with(|scene| life + 1 < scene.lives.len()) {
            return;
        }
        if let Some(open) = self.open.take() {
            self.open = self.hear(open);
        }
        if self.open.is_some() || !driver.listings.first_round_over() {
            return;
        }
        let Some(input) = self.stage.with(|scene| scene.asks.front().cloned()) else { return };
        self.open = if let Input::Release(subject) = &input {
            Some(Open::Look(self.release(subject, None)))
        } else {
            self.change(&input, driver)
        };
    }

    fn hear(&mut self, open: Open) -> Option<Open> {
        match open {
            Open::Change(mut reply) => match reply.try_recv() {
                Err(oneshot::error::TryRecvError::Empty) => return Some(Open::Change(reply)),
                Err(oneshot::error::TryRecvError::Closed) => {}
                Ok(Ok(generation)) => {
                    self.stage.with(|scene| {
                        scene.book.promised = scene.book.promised.max(generation);
                    });
                    self.done("confirmed");
                }
                Ok(Err(refusal)) => self.refused(&refusal),
            },
            Open::Look(mut reply) => match reply.try_recv() {
                Err(oneshot::error::TryRecvError::Empty) => return Some(Open::Look(reply)),
                Err(oneshot::error::TryRecvError::Closed) => {}
                Ok(Ok(view)) => {
                    return Some(Open::Release(self.release(&view.subject, Some(view.hash))));
                }
                Ok(Err(refusal)) => self.refused(&refusal),
            },
            Open::Release(mut reply) => match reply.try_recv() {
                Err(oneshot::error::TryRecvError::Empty) => return Some(Open::Release(reply)),
                Err(oneshot::error::TryRecvError::Closed) => {}
                Ok(Ok(_)) => self.done("released"),
                Ok(Err(refusal)) => self.refused(&refusal),
            },
        }
        None
    }

    fn done(&mut self, what: &str) {
        self.tries = 0;
        self.stage.with(|scene| {
            let input = scene.asks.pop_front();
            scene.tell(&format!("{what}: {}", said(input.as_ref())));
        });
    }

    fn refused(&mut self, refusal: &Refusal) {
        self.tries += 1;
        if refusal.kind == RefusalKind::Stale && self.tries < TRIES {
            return;
        }
        self.done(&format!("refused ({})", refusal.message));
    }

    fn release(&self, subject: &str, confirm: Option<PlanHash>) -> Reply<ReleaseView> {
        let (answer, reply) = oneshot::channel();
        let subject = subject.to_owned();
        drop(self.inbox.send(Wake::Ask(Ask::Release { subject, confirm, answer })));
        reply
    }

    /// Plans a change, and asks for what the plan showed.
    fn change(&mut self, input: &Input, driver: &Loop) -> Option<Open> {
        let Some(edit) = edit(input, &driver.state) else {
            self.done("makes no sense");
            return None;
        };
        let planner = driver.state.planner(&edit, driver.now());
        match planner.and_then(|planner| planner.plan()) {
            Err(refusal) => {
                self.refused(&refusal);
                None
            }
            Ok(plan) => {
                let (answer, reply) = oneshot::channel();
                let source = Source { face: Face::Cli, who: "somebody".to_owned(), typed: None };
                let ask = Ask::Apply { edit, hash: plan.hash, source, answer };
                drop(self.inbox.send(Wake::Ask(ask)));
                Some(Open::Change(reply))
            }
        }
    }
}

fn said(input: Option<&Input>) -> String {
    input.map_or_else(String::new, |input| format!("{input:?}"))
}

/// What an input asks for, on the live shape; nothing if it is not for an operator.
fn edit(input: &Input, state: &State) -> Option<Edit> {
    let groups = |name: &str| Some(vec![name.parse().ok()?]);
    let subjects = |name: &str| vec![name.to_owned()];
    Some(match input {
        Input::Scale(group, count) => {
            Edit::Counts { counts: BTreeMap::from([(group.parse().ok()?, *count)]) }
        }
        Input::Revise(name, revision) => {
            let live = state.shape.group(&name.parse().ok()?)?;
            let group = Group {
                name: name.clone(),
                count: 0,
                provider: live.spec.provider.to_string(),
                kind: live.policy.kind,
                surge: 0,
                after: None,
                probed: false,
            };
            let spec = std::sync::Arc::new(fleet::spec(&group, *revision));
            let shape = state.shape.with_specs([(name.parse().ok()?, spec)]);
            Edit::File { shape: Box::new(shape), digest: format!("{name} at {revision}") }
        }
        Input::Restart(subject) => Edit::Restart { subjects: subjects(subject) },
        Input::Stop(subject) => Edit::Stop { subjects: subjects(subject) },
        Input::Start(subject) => Edit::Start { subjects: subjects(subject) },
        Input::Pause(group) => Edit::Pause { groups: groups(group)? },
        Input::Resume(group) => Edit::Resume { groups: groups(group)? },
        Input::Rollback(group) => Edit::Rollback { groups: groups(group)? },
        Input::File(..)
        | Input::BadFile
        | Input::Release(..)
        | Input::Fault(..)
        | Input::Listing(..)
        | Input::BlindLook
        | Input::Exit(..)
        | Input::Ill(..)
        | Input::Mute(..)
        | Input::Vanish(..)
        | Input::Foreign(..)
        | Input::Crash(..)
        | Input::Stall(..)
        | Input::Takeover(..)
        | Input::Quit(..)
        | Input::Clock(..)
        | Input::SlowDisk(..)
        | Input::FullDisk => return None,
    })
}
