//! The way of every change: plan, confirm, apply, follow to the end, sum up.

use std::{
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    time::Duration,
};

use driver::{
    Begin, Face, Offline, Source, StopReason,
    api::CallError,
    view::{Edit, OutstandingView, PlanView, RecoveryVerb, RunState, RunView, WaitsForView},
};
use reconciler_core::id::{Generation, PlanHash};
use tokio::time::Instant;

use super::{
    attach::{self, Session},
    context::{Context, who},
    exit::{Exit, Failure, Outcome},
    flags::Going,
    logging, out, plan, plan_text,
    progress::Progress,
    signals::{Stops, exit_of},
    style,
};

/// Between two looks at a run that is followed lies ten times what a view of each node costs its driver, within these
/// bounds: the end of a small change is told at once, and a large fleet is not looked at all the time.
const LOOK_PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(100));
const LOOK_PAUSE_PER_NODE: Duration = Duration::from_micros(10);

/// Times that a change which needs no asking is planned anew because the run moved meanwhile.
const REPLANS: usize = 5;

/// Plans `edit`, has it confirmed by the person, and carries it out. `words` are the verb and what it names.
///
/// The plan is made before the run is taken: a change that is not confirmed leaves no trace, and the hash that was
/// shown stays good.
pub(crate) async fn change(context: &Context, edit: Edit, words: &str, going: &Going) -> Outcome {
    let (mut tries, mut log) = (0, None);
    loop {
        let plan = plan::dry_run(context, &edit).await?;
        for line in plan_text::lines(&plan) {
            out::note(line);
        }
        let mut said = going.said();
        if !going.yes && !plan.empty {
            said = ask(&plan).await?;
            if said.is_none() {
                let failure = Failure::new(Exit::Refused, "not confirmed; nothing was changed");
                let again = format!("levelhead {words} {}", plan_text::confirmation(&plan));
                return Err(failure.hint(again));
            }
        }
        let going = &Going { typed: said, ..going.clone() };
        tries += 1;
        match carry_out(context, edit.clone(), plan.hash, going, &mut log).await {
            Err(failure) if failure.exit == Exit::Stale && going.yes && tries < REPLANS => {
                out::note("the run moved meanwhile; planning anew");
            }
            outcome => return outcome,
        }
    }
}

/// Carries out `edit` under a plan that was shown before.
pub(crate) async fn confirmed(
    context: &Context,
    edit: Edit,
    hash: PlanHash,
    going: &Going,
) -> Outcome {
    carry_out(context, edit, hash, going, &mut None).await
}

/// The same, with the log that was begun by an earlier try: a process has one.
async fn carry_out(
    context: &Context,
    edit: Edit,
    hash: PlanHash,
    going: &Going,
    log: &mut Option<logging::Guard>,
) -> Outcome {
    if plan::is_done(context, &edit, hash).await? {
        out::note("already succeeded: this plan was carried out before; nothing was changed");
        return Ok(Exit::Done);
    }
    if !context.is_driven()? {
        // Asked without the lock, so that a wrong hash leaves no trace, nor one for which too little was said: taking
        // the run raises the fence, and that makes the hash stale.
        let present = plan::still_holds(context, &edit, hash).await?;
        if let Some(demand) = &present.demand {
            demand.check(going.said().as_deref())?;
        }
    }
    if log.is_none() {
        *log = context.log()?;
    }
    let mut session = Session::open(context, Begin::Waiting, going.pace).await?;
    let mut stops = Stops::listen()?;
    let outcome = go(context, &mut session, edit, hash, going, &mut stops).await;
    finish(session, outcome).await
}

async fn go(
    context: &Context,
    session: &mut Session,
    edit: Edit,
    hash: PlanHash,
    going: &Going,
    stops: &mut Stops,
) -> Outcome {
    if going.detach && session.is_own() {
        let failure = Failure::new(Exit::Usage, "--detach needs a driver that goes on");
        return Err(failure.hint("levelhead driver"));
    }
    let source = Source { face: Face::Cli, who: who(), typed: going.said() };
    let pauses = matches!(edit, Edit::Pause { .. });
    let resumes = matches!(edit, Edit::Resume { .. });
    let closes = matches!(edit, Edit::Recover { verb: RecoveryVerb::Release, .. });
    let generation = apply(context, session, edit, hash, source, going).await?;
    if closes {
        out::note("closed where it stands; what is missing is planned anew by the driver");
        return Ok(Exit::Done);
    }
    if going.detach {
        out::note(if resumes {
            format!("accepted; the update goes on, at generation {generation} as before")
        } else {
            format!("accepted as generation {generation}")
        });
        return Ok(Exit::Done);
    }
    if pauses {
        out::note("paused; an update that is under way goes on when it is resumed");
        return Ok(Exit::Done);
    }
    follow(context, session, generation, going, stops).await
}

/// Applies the plan with `hash`; where the driver that was asked ends meanwhile, asks whoever has the run then.
///
/// Whether the change was taken up is not guessed: the journal knows the plans that were used, and where it does not
/// know this one, nothing was changed.
async fn apply(
    context: &Context,
    session: &mut Session,
    edit: Edit,
    hash: PlanHash,
    source: Source,
    going: &Going,
) -> Result<Generation, Failure> {
    for _ in 1..attach::DRIVERS_TRIED {
        let answer = tokio::select! {
            answer = session.link.apply(edit.clone(), hash, source.clone()) => answer,
            failure = session.own.failed() => return Err(failure),
        };
        match answer {
            Ok(generation) => return Ok(generation),
            Err(error)
                if session.is_own() || context.named.is_some() || !attach::is_gone(&error) =>
            {
                return Err(error.into());
            }
            Err(_gone) => {}
        }
        // Only once the lock has passed on nothing more comes from who had it.
        drop(context.attached().await?);
        if Offline::was_used(&context.paths, hash)? {
            *session = Session::open(context, Begin::Driving, going.pace).await?;
            return Ok(session.link.view(None).await?.generation);
        }
        *session = Session::open(context, Begin::Waiting, going.pace).await?;
    }
    Ok(session.link.apply(edit, hash, source).await?)
}

/// Follows the run until it converged, cannot go on, or time is up.
async fn follow(
    context: &Context,
    session: &mut Session,
    mut generation: Generation,
    going: &Going,
    stops: &mut Stops,
) -> Outcome {
    let mut taken_back = false;
    let deadline = Instant::now() + going.timeout;
    let mut progress = Progress::new();
    let mut seen = None;
    let mut lacks: Vec<String> = Vec::new();
    loop {
        let view = tokio::select! {
            view = session.link.view(seen) => view,
            failure = session.own.failed() => return Err(failure),
            reason = stops.requested() => {
                out::note("stopping at a safe point; the next start goes on from here");
                return Ok(exit_of(reason));
            }
            () = tokio::time::sleep_until(deadline) => {
                let text = format!("not converged within --timeout {}", style::length(ms(going.timeout)));
                let failure = Failure { details: lacks, ..Failure::new(Exit::TimedOut, text) };
                return Err(failure.hint("levelhead status"));
            }
        };
        let view = match view {
            Ok(view) => view,
            Err(error) => {
                go_on_without(context, session, going, error).await?;
                continue;
            }
        };
        progress.show(&view);
        let doubted = view.drift.iter().filter(|drift| drift.needs_a_person());
        let doubts = doubted.map(|drift| format!("drift: {}", drift.line()));
        lacks = not_there(context, &view).into_iter().chain(doubts).collect();
        if view.generation > generation && is_taken_back(&view) {
            out::note("the update has failed; the driver goes back to what served before");
            (generation, taken_back) = (view.generation, true);
        }
        if view.generation > generation {
            let text = format!("generation {generation} was superseded by {}", view.generation);
            return Err(Failure::new(Exit::NotConverged, text).hint("levelhead status"));
        }
        match view.state {
            RunState::Converged | RunState::Held => {
                let done = summary(context, session, &view)?;
                return Ok(if taken_back { Exit::Partial } else { done });
            }
            // What only a look under way keeps from being held may be so without another pass.
            RunState::Converging if nobody_moves(&view) => seen = None,
            RunState::Converging | RunState::Unattended => seen = Some(view.pass),
        }
        tokio::time::sleep(look_pause(view.nodes.len())).await;
    }
}

fn look_pause(nodes: usize) -> Duration {
    let nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
    LOOK_PAUSE_PER_NODE.saturating_mul(nodes).clamp(LOOK_PAUSES.0, LOOK_PAUSES.1)
}

/// Goes on with another driver where the one that was used has ended: what was confirmed stands in the journal.
///
/// Who drives is not decided here: the lock of the run does, which is asked again. This verb drives only because it
/// is to wait, nobody else has the lock, and without a driver nothing that it waits for would come.
async fn go_on_without(
    context: &Context,
    session: &mut Session,
    going: &Going,
    error: CallError,
) -> Result<(), Failure> {
    if session.is_own() || !attach::is_gone(&error) {
        return Err(error.into());
    }
    *session = Session::open(context, Begin::Driving, going.pace).await?;
    if session.is_own() {
        out::note("the driver has ended; going on with one of our own");
    }
    Ok(())
}

/// True if everything that is not as it should be waits for others or for a person.
fn nobody_moves(view: &RunView) -> bool {
    view.outstanding.iter().all(|one| one.waits_for != WaitsForView::Itself)
}

/// True if the driver itself made the live shape: an update failed, and what served before comes back.
fn is_taken_back(view: &RunView) -> bool {
    view.changed_by.as_deref() == Some("driver")
}

fn summary(context: &Context, session: &Session, view: &RunView) -> Outcome {
    if context.global.json {
        out::json(&context.place.run(view.clone()))?;
    }
    let held = view.state == RunState::Held;
    let word = if held { "held" } else { "converged" };
    out::note(format!(
        "{word}: {} of {} nodes ready, generation {}, pass {}",
        view.ready, view.want, view.generation, view.pass
    ));
    not_there(context, view).iter().for_each(out::note);
    if held {
        return Ok(Exit::Partial);
    }
    if session.is_own() && view.want > 0 {
        out::note("the nodes keep running, and nobody keeps them until a driver runs");
        let drive = context.command("driver");
        out::note(format!("next: {drive}   (or the same with `console`)"));
    }
    Ok(Exit::Done)
}

/// What is not as it should be, with its reason and the command that leads on.
fn not_there(context: &Context, view: &RunView) -> Vec<String> {
    let mut lines = Vec::new();
    for hold in &view.holds {
        lines.push(format!(
            "hold {}: {}: {}",
            hold.subject,
            hold.code.as_str(),
            context.place.text(&hold.text)
        ));
        lines.push(format!("next: {}", context.command(&hold.way_out)));
    }
    let held = |one: &&OutstandingView| view.holds.iter().any(|hold| hold.subject == one.subject);
    for one in view.outstanding.iter().filter(|one| !held(one)) {
        lines.push(format!("not there: {}", context.place.text(&one.line())));
        lines.extend(one.way_out.iter().map(|out| format!("next: {}", context.command(out))));
    }
    lines
}

async fn finish(session: Session, outcome: Outcome) -> Outcome {
    let reason = match &outcome {
        Ok(Exit::Interrupted) => StopReason::Interrupted,
        Ok(Exit::Terminated) => StopReason::Terminated,
        Ok(_) | Err(_) => StopReason::Done,
    };
    match (session.close(reason).await, outcome) {
        // The first failure is the cause; a driver that failed with it says the same again.
        (_, Err(failure)) | (Err(failure), Ok(_)) => Err(failure),
        (Ok(_), Ok(exit)) => Ok(exit),
    }
}

/// Asks the person; gives what was said if it confirms the plan, and anything but a plain yes does not.
async fn ask(plan: &PlanView) -> Result<Option<String>, Failure> {
    if !io::stdin().is_terminal() {
        out::note("nobody can be asked here");
        return Ok(None);
    }
    let named = plan.demand.as_ref().filter(|demand| demand.confirm == "name");
    let risky = plan.destroy.max(plan.replace) > 0 || plan.stop.max(plan.restart) > 0;
    let question = match named {
        Some(demand) => format!("Go on? Type {}: ", demand.name),
        None if risky => "This ends what runs. Go on? Type yes: ".to_owned(),
        None if plan.demand.is_some() => "Go on? Type yes: ".to_owned(),
        None => "Go on? [y/N] ".to_owned(),
    };
    let answer = tokio::task::spawn_blocking(move || {
        let mut err = io::stderr().lock();
        write!(err, "{question}")?;
        err.flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        Ok::<_, io::Error>(answer)
    });
    let answer = answer.await.map_err(|error| Failure::internal("cannot ask", &error))?;
    let answer = answer.map_err(|error| Failure::internal("cannot ask", &error))?;
    let answer = answer.trim();
    if let Some(demand) = named {
        return Ok((answer == demand.name).then(|| answer.to_owned()));
    }
    let letter_is_enough = !risky && plan.demand.is_none();
    let yes = answer.eq_ignore_ascii_case("yes")
        || (letter_is_enough && answer.eq_ignore_ascii_case("y"));
    Ok(yes.then(|| "yes".to_owned()))
}

fn ms(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}
