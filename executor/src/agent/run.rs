//! The agent's loop: joins, starts its workload, and stands by it to its end.
//!
//! The workload begins once the driver let the agent in, so that none runs under a token that is not good. From then on
//! nothing that happens to the connection or the driver ends it.

use std::{ffi::OsString, io, time::Duration};

use reconciler_core::{effect::ExitStatus, observed::SessionStage};
use rustix::process::{Signal, set_child_subreaper};
use tokio::{
    signal::unix::{Signal as Signals, SignalKind, signal},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinSet,
    time::{Instant, interval, sleep_until},
};

use super::{
    children::Children,
    link::{Link, News},
    protocol::{FromAgent, ToAgent, Welcome},
    settings::{Place, Settings},
    workload::{Questions, Workload},
};

/// How often it is told what the workload wrote, if that is anything new.
const TAIL_PERIOD: Duration = Duration::from_secs(2);
/// Time between the polite and the forced end of the workload where no driver said anything.
const GRACE_DEFAULT: Duration = Duration::from_secs(10);
/// The longest that is taken for one: an instant can always hold it.
const GRACE_MAX: Duration = Duration::from_hours(24);
/// How long the end of a workload waits for a driver that writes it down: over a weekend.
const EXIT_WAIT: Duration = Duration::from_hours(72);
/// The same for an agent that was told to stop: who told it is waiting.
const EXIT_WAIT_STOPPED: Duration = Duration::from_secs(1);

/// How an agent ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// As its workload did.
    Exited(ExitStatus),
    /// It was not let in, for this reason, and started nothing.
    Refused(String),
}

/// Why an agent could not begin; nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Signals cannot be listened for.
    #[error("cannot listen for signals")]
    Signals(#[source] io::Error),
    /// What the workload leaves behind cannot be taken over.
    #[error("cannot take over what the workload leaves behind")]
    Subreaper(#[source] io::Error),
}

/// Joins the driver, then runs `argv` to its end.
///
/// Must be called on a runtime of one thread: children are started and reaped on it.
///
/// # Errors
/// Fails before anything was started.
pub async fn run(settings: Settings, argv: &[OsString]) -> Result<Ended, AgentError> {
    set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| AgentError::Subreaper(error.into()))?;
    let told = Told::listen().map_err(AgentError::Signals)?;
    let (sender, news) = unbounded_channel();
    let place = settings.place.clone();
    let mut link = JoinSet::new();
    link.spawn(Link::new(settings, sender).keep());
    let agent = Agent {
        told,
        news,
        place,
        children: Children::default(),
        questions: Questions::default(),
        driver: None,
        reports: Reports::default(),
        grace: GRACE_DEFAULT,
        stop: None,
    };
    Ok(agent.live(argv).await)
}

/// The signals that it listens to: what ends the workload, and what is passed on to it.
struct Told {
    child: Signals,
    /// TERM, INT and QUIT.
    stop: [Signals; 3],
    /// HUP, USR1 and USR2.
    pass: [Signals; 3],
}

/// A signal that came.
#[derive(Clone, Copy, Debug)]
enum Tell {
    Child,
    Stop(Signal),
    Pass(Signal),
}

impl Told {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            child: signal(SignalKind::child())?,
            stop: [
                signal(SignalKind::terminate())?,
                signal(SignalKind::interrupt())?,
                signal(SignalKind::quit())?,
            ],
            pass: [
                signal(SignalKind::hangup())?,
                signal(SignalKind::user_defined1())?,
                signal(SignalKind::user_defined2())?,
            ],
        })
    }

    async fn next(&mut self) -> Tell {
        let ([s0, s1, s2], [p0, p1, p2]) = (&mut self.stop, &mut self.pass);
        tokio::select! {
            _ = self.child.recv() => Tell::Child,
            _ = s0.recv() => Tell::Stop(Signal::TERM),
            _ = s1.recv() => Tell::Stop(Signal::INT),
            _ = s2.recv() => Tell::Stop(Signal::QUIT),
            _ = p0.recv() => Tell::Pass(Signal::HUP),
            _ = p1.recv() => Tell::Pass(Signal::USR1),
            _ = p2.recv() => Tell::Pass(Signal::USR2),
        }
    }
}

/// What is to be told to the driver, with numbers that rise.
#[derive(Default)]
struct Reports {
    seq: u64,
    stage: Option<FromAgent>,
    exit: Option<FromAgent>,
}

impl Reports {
    fn next(&mut self) -> u64 {
        self.seq = self.seq.saturating_add(1);
        self.seq
    }

    fn stage(&mut self, stage: SessionStage) {
        let seq = self.next();
        self.stage = Some(FromAgent::Stage { seq, stage, line: None });
    }
}

/// An agent at work.
struct Agent {
    told: Told,
    news: UnboundedReceiver<News>,
    place: Place,
    children: Children,
    questions: Questions,
    /// The way to the driver, while there is one.
    driver: Option<UnboundedSender<FromAgent>>,
    reports: Reports,
    grace: Duration,
    /// When it was told to stop.
    stop: Option<Instant>,
}

impl Agent {
    async fn live(mut self, argv: &[OsString]) -> Ended {
        if let Some(ended) = self.join().await {
            return ended;
        }
        self.report(SessionStage::SwactorStarting);
        let (status, tail) = match Workload::start(&mut self.children, argv) {
            Ok(mut workload) => {
                self.report(SessionStage::Converged);
                let status = self.stand_by(&mut workload).await;
                (status, workload.last_words().await)
            }
            Err(error) => {
                let program = argv.first().map_or_else(String::new, |p| p.display().to_string());
                let text = format!("cannot start {program}: {error}");
                tracing::error!("{text}");
                (ExitStatus::Code(127), text)
            }
        };
        let seq = self.reports.next();
        self.reports.exit = Some(FromAgent::Exit { seq, status: status.clone(), tail });
        self.take_leave().await;
        Ended::Exited(status)
    }

    /// Waits until the driver lets it in; says how it ended if it does not.
    async fn join(&mut self) -> Option<Ended> {
        loop {
            tokio::select! {
                tell = self.told.next() => match tell {
                    Tell::Child => self.children.reap(),
                    Tell::Stop(signal) => {
                        return Some(Ended::Exited(ExitStatus::Signal(signal.as_raw())));
                    }
                    Tell::Pass(_) => {}
                },
                Some(news) = self.news.recv() => match news {
                    News::Up { welcome, to } => {
                        self.up(&welcome, to);
                        return None;
                    }
                    News::Refused(why) => return Some(Ended::Refused(why)),
                    News::Heard(_) | News::Down => {}
                },
            }
        }
    }

    /// Stands by the workload until it ends.
    async fn stand_by(&mut self, workload: &mut Workload) -> ExitStatus {
        let (mut tails, mut is_forced) = (interval(TAIL_PERIOD), false);
        loop {
            let forced = self.stop.map(|at| at + self.grace).filter(|_| !is_forced);
            tokio::select! {
                // Who ended is seen before anything else is begun.
                biased;
                tell = self.told.next() => match tell {
                    Tell::Child => self.children.reap(),
                    Tell::Stop(signal) => {
                        self.stop.get_or_insert_with(Instant::now);
                        workload.group.signal(signal);
                        // One that was stopped would not notice.
                        workload.group.signal(Signal::CONT);
                    }
                    Tell::Pass(signal) => workload.group.signal(signal),
                },
                ended = &mut workload.end => return ended.unwrap_or(ExitStatus::Unknown),
                () = sleep_until(forced.unwrap_or_else(Instant::now)), if forced.is_some() => {
                    workload.group.signal(Signal::KILL);
                    is_forced = true;
                }
                Some(news) = self.news.recv() => self.hear(news),
                (id, answer) = self.questions.next() => self.tell(FromAgent::Answer { id, answer }),
                _ = tails.tick() => if self.driver.is_some() && let Some(text) = workload.news() {
                    let seq = self.reports.next();
                    self.tell(FromAgent::Tail { seq, text });
                },
            }
        }
    }

    /// Reports the end until a driver wrote it down, or it is not worth waiting for.
    async fn take_leave(&mut self) {
        self.repeat();
        let begun = Instant::now();
        loop {
            let wait = if self.stop.is_some() { EXIT_WAIT_STOPPED } else { EXIT_WAIT };
            tokio::select! {
                tell = self.told.next() => match tell {
                    Tell::Child => self.children.reap(),
                    Tell::Stop(_) => self.stop = Some(Instant::now()),
                    Tell::Pass(_) => {}
                },
                () = sleep_until(begun + wait) => return,
                news = self.news.recv() => match news {
                    // An attempt that is over has nobody to take it.
                    Some(News::Heard(ToAgent::Taken) | News::Refused(_)) | None => return,
                    Some(news) => self.hear(news),
                },
            }
        }
    }

    fn hear(&mut self, news: News) {
        match news {
            News::Up { welcome, to } => {
                self.up(&welcome, to);
                self.repeat();
            }
            News::Heard(ToAgent::Ask { id, check, timeout_ms }) => {
                let asked = (id, check, Duration::from_millis(timeout_ms));
                self.questions.ask(&mut self.children, &self.place, asked);
            }
            News::Down => self.driver = None,
            // It runs, and whoever is to end it ends it: an agent that is not wanted any more is no reason.
            News::Refused(why) => tracing::warn!(why, "the workload goes on without the driver"),
            News::Heard(
                ToAgent::Welcome(_) | ToAgent::Refused { .. } | ToAgent::Beat | ToAgent::Taken,
            ) => {}
        }
    }

    fn up(&mut self, welcome: &Welcome, to: UnboundedSender<FromAgent>) {
        self.driver = Some(to);
        self.grace = Duration::from_millis(welcome.grace_ms).min(GRACE_MAX);
    }

    /// Says how far it has come.
    fn report(&mut self, stage: SessionStage) {
        self.reports.stage(stage);
        self.repeat();
    }

    /// Says anew what a driver must know.
    fn repeat(&mut self) {
        let known = [self.reports.stage.clone(), self.reports.exit.clone()];
        known.into_iter().flatten().for_each(|report| self.tell(report));
    }

    /// Says it to the driver that is there; one that comes later hears what it must know.
    fn tell(&self, said: FromAgent) {
        if let Some(driver) = &self.driver {
            drop(driver.send(said));
        }
    }
}
