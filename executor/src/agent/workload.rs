//! The workload of an agent: started, told to end, and asked by its probes.

use std::{
    ffi::OsString,
    io,
    os::fd::OwnedFd,
    process::{Command, Stdio},
    time::Duration,
};

use reconciler_core::{desired::ProbeCheck, effect::ExitStatus, observed::ProbeAnswer};
use rustix::process::{Signal, set_parent_process_death_signal};
use tokio::{sync::oneshot, task::JoinSet, time::timeout};

use super::{
    children::{Children, Group},
    output::{Tail, pass_on},
    protocol::{Answer, CERT_VAR, DRIVER_VAR, FENCE_VAR, PORTS_VAR, TOKEN_VAR},
    settings::Place,
};
use crate::probe::over_network;

/// How long the rest of the output of a workload that ended is waited for: what it left behind may hold its pipes open.
const DRAIN_TIME: Duration = Duration::from_millis(500);

/// A workload that was started.
#[derive(Debug)]
pub(super) struct Workload {
    pub(super) group: Group,
    pub(super) end: oneshot::Receiver<ExitStatus>,
    pumps: JoinSet<io::Result<()>>,
    out: Tail,
    err: Tail,
}

impl Workload {
    /// Starts `argv` with the agent's environment, without what is the agent's own in it.
    pub(super) fn start(children: &mut Children, argv: &[OsString]) -> io::Result<Self> {
        // Started through this program, which sees to it that the workload ends with its agent.
        let below = ["/proc/self/exe", "agent", "--below", &std::process::id().to_string(), "--"];
        let argv: Vec<OsString> =
            below.into_iter().map(OsString::from).chain(argv.iter().cloned()).collect();
        let mut command = command(&argv)?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut started = children.start(&mut command)?;
        let (mut pumps, out, err) = (JoinSet::new(), Tail::default(), Tail::default());
        if let Some(pipe) = started.child.stdout.take() {
            pumps.spawn(pass_on(OwnedFd::from(pipe), tokio::io::stdout(), out.clone()));
        }
        if let Some(pipe) = started.child.stderr.take() {
            pumps.spawn(pass_on(OwnedFd::from(pipe), tokio::io::stderr(), err.clone()));
        }
        Ok(Self { group: started.group, end: started.end, pumps, out, err })
    }

    /// What it wrote last if that is other than it was told.
    pub(super) fn news(&self) -> Option<String> {
        let (out, err) = (self.out.news(), self.err.news());
        err.filter(|text| !text.is_empty()).or(out)
    }

    /// The last that it wrote once it ended: of its errors if it wrote any, else of its output.
    pub(super) async fn last_words(&mut self) -> String {
        let drained = async { while self.pumps.join_next().await.is_some() {} };
        if timeout(DRAIN_TIME, drained).await.is_err() {
            tracing::debug!("something that the workload left behind holds its output open");
        }
        let err = self.err.text();
        if err.is_empty() { self.out.text() } else { err }
    }
}

/// Becomes `argv`, as the child of the agent with the process id `agent`: when that ends, however it does, so does this.
///
/// A program that takes on other rights than its caller's loses this bond.
///
/// # Errors
/// Comes back only if it fails.
pub fn become_below(agent: u32, argv: &[OsString]) -> io::Error {
    use std::os::unix::process::{CommandExt as _, parent_id};
    let become_it = || -> io::Result<io::Error> {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if parent_id() != agent {
            return Err(io::Error::other("its agent is gone"));
        }
        Ok(command(argv)?.exec())
    };
    become_it().unwrap_or_else(|error| error)
}

/// The questions to a workload that are under way.
#[derive(Debug, Default)]
pub(super) struct Questions(JoinSet<(u64, Answer)>);

impl Questions {
    /// Asks `check` of the workload at `place`.
    pub(super) fn ask(
        &mut self,
        children: &mut Children,
        place: &Place,
        (id, check, time): (u64, ProbeCheck, Duration),
    ) {
        let ProbeCheck::Exec { argv } = &check else {
            let endpoint = place.endpoint.clone();
            self.0.spawn(async move {
                let answer = match timeout(time, over_network(&check, &endpoint)).await {
                    Ok(Some(answer)) => told(answer),
                    Ok(None) => Answer::Unknown("there is nothing to ask".to_owned()),
                    Err(_late) => late(time),
                };
                (id, answer)
            });
            return;
        };
        let filled = place.filled(argv).map_err(io::Error::other);
        let started = filled.and_then(|argv| command(&argv)).and_then(|mut command| {
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            children.start(&mut command)
        });
        self.0.spawn(async move {
            let started = match started {
                Ok(started) => started,
                Err(error) => return (id, Answer::Failed(format!("cannot start it: {error}"))),
            };
            let ended = timeout(time, started.end).await;
            // Also what it left in the background.
            started.group.signal(Signal::KILL);
            let answer = match ended {
                Ok(Ok(ExitStatus::Code(0))) => Answer::Passed,
                Ok(Ok(ExitStatus::Code(code))) => {
                    Answer::Failed(format!("the command exited with {code}"))
                }
                Ok(Ok(ExitStatus::Signal(signal))) => {
                    Answer::Failed(format!("the command was ended by signal {signal}"))
                }
                Ok(Ok(ExitStatus::Unknown) | Err(_)) => {
                    Answer::Unknown("how the command ended was not seen".to_owned())
                }
                Err(_late) => late(time),
            };
            (id, answer)
        });
    }

    /// The next answer; never comes while nothing is asked.
    ///
    /// # Cancel safety
    /// Dropping the future loses no answer.
    pub(super) async fn next(&mut self) -> (u64, Answer) {
        loop {
            match self.0.join_next().await {
                Some(Ok(answer)) => return answer,
                Some(Err(error)) => tracing::warn!(%error, "a question broke off"),
                None => std::future::pending().await,
            }
        }
    }
}

fn late(time: Duration) -> Answer {
    Answer::Failed(format!("no answer within {} ms", time.as_millis()))
}

fn told(answer: ProbeAnswer) -> Answer {
    match answer {
        ProbeAnswer::Passed => Answer::Passed,
        ProbeAnswer::Failed(said) => Answer::Failed(said.to_string()),
        ProbeAnswer::Unknown(why) => Answer::Unknown(why.to_string()),
    }
}

/// A command that gets none of what is the agent's own.
fn command(argv: &[OsString]) -> io::Result<Command> {
    let Some((program, rest)) = argv.split_first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the command is empty"));
    };
    let mut command = Command::new(program);
    command.args(rest);
    for own in [DRIVER_VAR, CERT_VAR, TOKEN_VAR, FENCE_VAR, PORTS_VAR] {
        command.env_remove(own);
    }
    Ok(command)
}
