//! The bootstrap session: verify commands first, then the workload.
//!
//! A mark stands in the lease from before the first verify command until the workload is recorded, so that a
//! driver that dies in between leaves the question open instead of a wrong answer. Who comes later looks for the
//! attempt's UUID among all processes, once, and adopts or clears away what it finds.

use std::{
    fs::File,
    io,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use reconciler_core::{
    effect::{EffectFailure, ExitStatus},
    id::Uuid,
    observed::{Handle, SessionStage},
    redact::Redacted,
    time::Timestamp,
};
use rustix::process::Pid;

use super::{
    ending::{peek, reap, wait},
    files::{LeaseDir, Owner, Process, Started, exists},
    ground::{Ground, Lane, kill_group},
    identity::{Standing, boot_id, open, scan, standing, stat},
    logs,
    prepare::Preparation,
    problem::Problem,
    spawn::Launch,
    spawners::Spawners,
    stop::end_verifying,
};
use crate::seam::{EffectContext, SessionObservation, SessionSink, StartRequest};

/// How long a killed verify command may take to be gone.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a session did not come up, and how far it came.
struct Failed {
    stage: SessionStage,
    problem: Problem,
}

impl From<Problem> for Failed {
    fn from(problem: Problem) -> Self {
        Self { stage: SessionStage::StartFailed, problem }
    }
}

/// Gives each report of a session its number.
struct Reports<'a> {
    sink: &'a SessionSink,
    seq: u64,
}

impl Reports<'_> {
    fn say(&mut self, stage: SessionStage, line: Option<Redacted>) {
        self.seq = self.seq.saturating_add(1);
        (self.sink)(SessionObservation { seq: self.seq, stage, line });
    }
}

/// One session under way.
struct Session<'a> {
    ground: &'a Ground,
    ctx: &'a EffectContext,
    start: &'a StartRequest,
    dir: &'a LeaseDir,
    owner: &'a Owner,
    lane: &'a Lane,
    reports: Reports<'a>,
}

/// Starts the workload of `ctx`, or adopts the one that runs already.
pub(super) fn start(
    ground: &Ground,
    ctx: &EffectContext,
    start: &StartRequest,
    sink: &SessionSink,
) -> Result<Handle, EffectFailure> {
    let definite = |problem: Problem| problem.definite();
    ground.fence.admit(ctx.fence, false).map_err(definite)?;
    let lane = ground.lane(ctx.attempt.uuid);
    let _busy = lane.enter();
    let (dir, owner) = ground.owned(ctx).map_err(definite)?;
    let Some(owner) = owner else {
        return Err(Problem::NoLease(dir.path().to_owned()).definite());
    };
    let reports = Reports { sink, seq: 0 };
    let (dir, owner, lane) = (&dir, &owner, &*lane);
    let mut session = Session { ground, ctx, start, dir, owner, lane, reports };
    session.reports.say(SessionStage::Created, None);
    match session.adopt_or_bring_up() {
        Ok(started) => {
            session.reports.say(SessionStage::WaitingForSwactorJoin, None);
            Ok(started.handle())
        }
        Err(Failed { stage, problem }) => {
            session.reports.say(stage, Some(problem.told()));
            Err(problem.definite())
        }
    }
}

/// Checks that the workload of a session that is to be closed still runs.
pub(super) fn complete(ground: &Ground, ctx: &EffectContext) -> Result<(), EffectFailure> {
    let definite = |problem: Problem| problem.definite();
    ground.fence.admit(ctx.fence, false).map_err(definite)?;
    let (dir, owner) = ground.owned(ctx).map_err(definite)?;
    let Some(owner) = owner else { return Ok(()) };
    let gone = || Problem::Workload("the workload ended before its session was closed".to_owned());
    let process = if dir.is_starting().map_err(definite)? {
        // The driver that started it died before it wrote so down; a look found it, and it was believed.
        find_unrecorded(&dir, owner.attempt).map_err(definite)?
    } else {
        dir.started().map_err(definite)?.map(|started| started.process)
    };
    let process = process.ok_or_else(|| gone().definite())?;
    match standing(&process, owner.attempt).map_err(definite)? {
        Standing::Running(_) => Ok(()),
        Standing::Zombie(_) | Standing::Gone => Err(gone().definite()),
    }
}

impl Session<'_> {
    fn adopt_or_bring_up(&mut self) -> Result<Started, Failed> {
        if let Some(started) = self.adopt()? {
            return Ok(started);
        }
        self.reports.say(SessionStage::StdoutStreaming, None);
        let boot = &self.start.request.spec.boot;
        let (inherited, base) = (&self.ground.inherited, &self.ground.place.base_dir);
        let preparation = Preparation::new(inherited, base, self.dir, self.owner, boot)?;
        // Prepared before anything runs, so that a missing program costs no verify command.
        let launch = preparation.workload(&boot.command)?;
        let mark = self.dir.mark_starting()?;
        self.dir.forget_ended()?;
        let result = self.verify(&preparation).and_then(|()| {
            self.reports.say(SessionStage::SwactorStarting, None);
            self.launch(launch, mark)
        });
        if result.is_err() {
            self.dir.unmark_starting()?;
        }
        result
    }

    /// What an earlier request for this attempt started, if it did.
    fn adopt(&self) -> Result<Option<Started>, Problem> {
        if self.dir.is_starting()? {
            return self.adopt_from_gap();
        }
        let Some(started) = self.dir.started()? else { return Ok(None) };
        let runs = matches!(standing(&started.process, self.owner.attempt)?, Standing::Running(_));
        // A repeat of the request whose workload ended already gets that end, never a second workload.
        Ok((runs || started.key == self.ctx.key).then_some(started))
    }

    fn adopt_from_gap(&self) -> Result<Option<Started>, Problem> {
        end_verifying(self.dir, self.owner.attempt)?;
        if let Some(process) = find_unrecorded(self.dir, self.owner.attempt)? {
            let started = self.started(process);
            self.dir.record_started(self.dir.mark_starting()?, &started)?;
            return Ok(Some(started));
        }
        if was_spawned(self.dir)? {
            let text = "an earlier start was broken off, and how its workload ended was not seen";
            return Err(Problem::Workload(text.to_owned()));
        }
        Ok(None)
    }

    fn verify(&mut self, preparation: &Preparation<'_>) -> Result<(), Failed> {
        let commands = &self.start.request.spec.boot.verify;
        let end = self.ctx.deadline.min(deadline_in(self.start.timeout));
        for (index, command) in commands.iter().enumerate() {
            let n = index.saturating_add(1);
            let what = format!("verify command {n} of {}", commands.len());
            self.reports.say(SessionStage::BootChecking, Some(Redacted::from(what.as_str())));
            let failed = |problem| Failed { stage: SessionStage::BootCheckFailed, problem };
            let launch = preparation.verify(&command.argv).map_err(failed)?;
            let own = deadline_in(Duration::from_millis(command.timeout.get()));
            let ended = self.run(launch, own.min(end)).map_err(failed)?;
            if self.lane.is_cancelled() {
                let problem = Problem::Workload("the session was cancelled".to_owned());
                return Err(Failed { stage: SessionStage::Cancelled, problem });
            }
            let how = match ended {
                Some(ExitStatus::Code(0)) => continue,
                Some(ExitStatus::Code(code)) => format!("exited with {code}"),
                Some(ExitStatus::Signal(signal)) => format!("was ended by signal {signal}"),
                Some(ExitStatus::Unknown) => "ended in an unknown way".to_owned(),
                None => "took too long".to_owned(),
            };
            let tail = logs::tail_of(&self.dir.file("verify.log"));
            let text = format!("{what} {how}: {tail}");
            return Err(failed(Problem::Workload(text.trim_end_matches([':', ' ']).to_owned())));
        }
        Ok(())
    }

    /// Runs one verify command to its end; `None` if it was killed because its time was over.
    fn run(&self, launch: Launch, deadline: Instant) -> Result<Option<ExitStatus>, Problem> {
        let pid = spawned(&self.ground.spawners, launch)?;
        self.ground.restore_open_files(pid);
        let Some(fd) = open(pid)? else { return Ok(Some(ExitStatus::Unknown)) };
        self.lane.note_verifying(Some(pid));
        let in_time = wait(&fd, deadline);
        // Also what it left in the background; its id is its own until it is reaped.
        kill_group(pid);
        let ended = wait(&fd, deadline_in(KILL_TIMEOUT));
        self.lane.note_verifying(None);
        let status = peek(&fd).unwrap_or(ExitStatus::Unknown);
        reap(&fd);
        if !ended? {
            return Err(Problem::Unkillable { pid: pid.as_raw_nonzero().get() });
        }
        Ok(in_time?.then_some(status))
    }

    fn launch(&self, launch: Launch, mark: File) -> Result<Started, Failed> {
        let pid = spawned(&self.ground.spawners, launch)?;
        self.ground.restore_open_files(pid);
        let recorded = identify(pid).and_then(|process| {
            let started = self.started(process);
            self.dir.record_started(mark, &started).map(|()| started)
        });
        recorded.map_err(|problem| {
            // A workload that cannot be recorded could not be found again.
            kill_group(pid);
            match open(pid) {
                Ok(Some(fd)) => match wait(&fd, deadline_in(KILL_TIMEOUT)) {
                    Ok(_) => reap(&fd),
                    Err(problem) => return problem.into(),
                },
                Ok(None) => {}
                Err(problem) => return problem.into(),
            }
            problem.into()
        })
    }

    fn started(&self, process: Process) -> Started {
        Started {
            process,
            at: now(),
            session: self.start.session,
            fence: self.ctx.fence,
            key: self.ctx.key,
        }
    }
}

/// The workload of a start that was broken off before it was recorded.
pub(super) fn find_unrecorded(dir: &LeaseDir, attempt: Uuid) -> Result<Option<Process>, Problem> {
    let leads = |pid: Pid, session: i32| pid.as_raw_nonzero().get() == session;
    let found = scan(&dir.mark(), attempt)?;
    let leader = found.iter().find(|c| !c.verify && leads(c.pid, c.stat.session));
    leader.map(|carrier| identify(carrier.pid)).transpose()
}

/// Whether a start that was broken off came as far as its workload: that is what makes its output files.
pub(super) fn was_spawned(dir: &LeaseDir) -> Result<bool, Problem> {
    exists(&dir.file("stdout.log"))
}

fn identify(pid: Pid) -> Result<Process, Problem> {
    let raw = pid.as_raw_nonzero().get();
    let gone = || Problem::Workload("the workload vanished as it was started".to_owned());
    let stat = stat(pid)?.ok_or_else(gone)?;
    Ok(Process { pid: raw, start: stat.start, boot: boot_id()?.to_owned() })
}

/// Spawns, and says what is wrong with the program where it is the program's fault.
fn spawned(spawners: &Spawners, launch: Launch) -> Result<Pid, Problem> {
    let program = launch.program.clone();
    spawners.spawn(launch).map_err(|source: io::Error| {
        let program = program.to_string_lossy();
        let why = match source.raw_os_error() {
            Some(libc::ENOEXEC) => "is neither a program nor a script with a `#!` line",
            Some(libc::ENOENT | libc::ENOTDIR) => {
                "or the interpreter in its first line was not found"
            }
            Some(libc::EACCES | libc::EPERM) => "may not be executed",
            Some(libc::E2BIG) => "gets more arguments and environment than the system allows",
            Some(_) | None => return Problem::io("start", program.as_ref())(source),
        };
        Problem::Workload(format!("program {program} {why}"))
    })
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn deadline_in(length: Duration) -> Instant {
    // A day is longer than any timeout that makes sense, and an instant can always hold it.
    Instant::now() + length.min(Duration::from_hours(24))
}
