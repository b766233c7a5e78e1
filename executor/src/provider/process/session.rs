//! The bootstrap session: verify commands first, then the workload.
//!
//! A mark stands in the lease from before the first verify command until the workload is recorded, so that a
//! driver that dies in between leaves the question open instead of a wrong answer. Who comes later looks for the
//! attempt's UUID among all processes, once, and adopts or clears away what it finds.

use std::{
    fs::File,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use reconciler_core::{
    desired::JoinMode,
    effect::EffectFailure,
    id::Uuid,
    observed::{Handle, SessionStage},
    redact::Redacted,
    time::Timestamp,
};
use rustix::process::Pid;

use super::{
    command::{KILL_TIMEOUT, deadline_in, failure, identify, run_to_end, spawned},
    ending::{reap, wait},
    files::{LeaseDir, Owner, Process, Started, exists},
    ground::{Ground, Lane, kill_group},
    identity::{Role, Standing, open, scan, standing},
    kept,
    prepare::Preparation,
    problem::Problem,
    spawn::Launch,
    stop::end_verifying,
};
use crate::seam::{EffectContext, SessionObservation, SessionSink, StartRequest};

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
        Standing::Running(_) => {
            // What an earlier attempt wrote before it failed is not asked for any more.
            if let Err(problem) = kept::forget(ground, &owner.slot) {
                tracing::warn!(problem = %problem.told(), "cannot remove the output of a failed attempt");
            }
            Ok(())
        }
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
        let (inherited, place) = (&self.ground.inherited, &self.ground.place);
        let preparation = Preparation::new(inherited, place, self.dir, self.owner, boot)?;
        // Prepared before anything runs, so that a missing program costs no verify command.
        let launch = preparation.workload(&self.start.request.spec, self.ctx.fence)?;
        let mark = self.dir.mark_starting()?;
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
            let begun = |_pid| Ok(());
            let ended = run_to_end(self.ground, self.lane, launch, own.min(end), begun);
            let ended = ended.map_err(failed)?;
            if self.lane.is_cancelled() {
                let problem = Problem::Workload("the session was cancelled".to_owned());
                return Err(Failed { stage: SessionStage::Cancelled, problem });
            }
            let (log, secrets) = (self.dir.file("verify.log"), &self.ground.place.secrets);
            if let Some(problem) = failure(&what, ended.as_ref(), &log, secrets) {
                return Err(failed(problem));
            }
        }
        Ok(())
    }

    fn launch(&self, launch: Launch, mark: File) -> Result<Started, Failed> {
        let pid = spawned(&self.ground.spawners, launch)?;
        self.ground.restore_open_files(pid);
        let recorded = identify(pid).and_then(|process| {
            let started = self.started(process);
            self.dir.record_started(mark, &started).map(|()| started)
        });
        self.ground.rotation.begin(self.dir);
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
            agent: self.start.request.spec.join == JoinMode::Agent,
        }
    }
}

/// The workload of a start that was broken off before it was recorded.
pub(super) fn find_unrecorded(dir: &LeaseDir, attempt: Uuid) -> Result<Option<Process>, Problem> {
    let leads = |pid: Pid, session: i32| pid.as_raw_nonzero().get() == session;
    let found = scan(&dir.mark(), attempt)?;
    let leader = found.iter().find(|c| c.role == Role::Workload && leads(c.pid, c.stat.session));
    leader.map(|carrier| identify(carrier.pid)).transpose()
}

/// Whether a start that was broken off came as far as its workload: that is what makes its output files.
pub(super) fn was_spawned(dir: &LeaseDir) -> Result<bool, Problem> {
    exists(&dir.file("stdout.log"))
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
