//! `levelhead status`: how the run stands, from the driver or, without one, from the journal.

use std::{collections::BTreeMap, io::IsTerminal as _, sync::Arc, time::Duration};

use driver::{
    Offline,
    api::Seen,
    config, system_clock,
    view::{DriftView, FileView, GroupView, NodeView, RunState, RunView, SecondView, UpdateView},
};

use reconciler_core::{desired::ClusterShape, drift::DriftKind, id::GroupId, observed::StageName};

use super::{
    context::Context,
    exit::{Exit, Failure, Outcome},
    out,
    signals::{Stops, exit_of},
    style,
};

/// Least time between two pictures.
const PERIOD: Duration = Duration::from_millis(250);

/// Shows the run; with `problems`, only what is not as it should be; with `again`, whenever it is new.
pub(crate) async fn run(
    context: &Context,
    as_fixture: bool,
    problems: bool,
    again: bool,
) -> Outcome {
    if as_fixture {
        return fixture(context);
    }
    if again {
        return watch(context, problems).await;
    }
    let view = view(context).await?;
    if context.global.json {
        out::json(view.as_ref())?;
    } else {
        show(context, &view, problems);
    }
    Ok(Exit::Done)
}

/// Shows the run whenever it is new, until interrupted or until the driver is gone.
async fn watch(context: &Context, problems: bool) -> Outcome {
    let Some(link) = context.attached().await? else { return Err(nothing_happens()) };
    let on_screen = std::io::stdout().is_terminal() && !context.global.json;
    let mut stops = Stops::listen()?;
    let mut looker = link.look();
    let mut is_first = true;
    loop {
        let seen = tokio::select! {
            seen = looker.next() => seen?,
            reason = stops.requested() => return Ok(exit_of(reason)),
        };
        // What was missed is of no interest to who looks at the present.
        let Seen::View(view) = seen else { continue };
        let view = completed(context, Arc::unwrap_or_clone(view));
        if context.global.json {
            out::json(&view)?;
        } else {
            match (on_screen, std::mem::take(&mut is_first)) {
                (true, _) => out::raw(b"\x1b[H\x1b[2J"),
                (false, true) => {}
                (false, false) => out::line(""),
            }
            show(context, &view, problems);
        }
        if out::nobody_reads() {
            return Ok(Exit::Done);
        }
        tokio::select! {
            () = tokio::time::sleep(PERIOD) => {}
            reason = stops.requested() => return Ok(exit_of(reason)),
        }
    }
}

/// What is told where no driver runs that could be watched.
pub(crate) fn nothing_happens() -> Failure {
    Failure::new(Exit::Unavailable, "no driver runs, so nothing happens").hint("levelhead driver")
}

/// Shows the records of the journal as text, for whoever looks into the decider.
fn fixture(context: &Context) -> Outcome {
    let shape = &context.loaded.shape;
    let offline = Offline::open(&context.paths)?;
    let text = offline.fleet_text(&shape.run, shape.uuid, system_clock()());
    text.lines().for_each(out::line);
    Ok(Exit::Done)
}

/// The run as it is seen now.
pub(crate) async fn view(context: &Context) -> Result<Arc<RunView>, Failure> {
    let Some(link) = context.attached().await? else { return journaled(context) };
    let view = link.view(None).await?;
    Ok(Arc::new(completed(context, Arc::unwrap_or_clone(view))))
}

/// The run as the journal has it.
pub(crate) fn journaled(context: &Context) -> Result<Arc<RunView>, Failure> {
    let offline = Offline::open(&context.paths)?;
    let shape = &context.loaded.shape;
    let view = offline.published(&shape.run, shape.uuid, system_clock()()).view();
    Ok(Arc::new(completed(context, view)))
}

/// A view with commands as they are run from here, and with what the file says where the driver follows none.
fn completed(context: &Context, view: RunView) -> RunView {
    let mut view = context.place.run(view);
    if view.file.is_some() {
        return view;
    }
    view.file = Some(FileView {
        path: context.file.display().to_string(),
        problem: None,
        differs: differs(context, &view, ClusterShape::counts, |group| group.want),
        off_differs: differs(context, &view, ClusterShape::offs, |group| group.off),
        revised: revised(context, &view),
    });
    view
}

/// Where the file and the live shape differ in a number of each group.
fn differs(
    context: &Context,
    view: &RunView,
    in_file: fn(&ClusterShape) -> BTreeMap<GroupId, u32>,
    live: fn(&GroupView) -> u32,
) -> Vec<(GroupId, u32, u32)> {
    if context.loaded.digest.is_empty() {
        return Vec::new();
    }
    let live = view.groups.iter().map(|group| (group.group.clone(), live(group))).collect();
    config::differs(&in_file(&context.loaded.shape), &live)
}

/// Where the nodes of a group are something else than the file says.
fn revised(context: &Context, view: &RunView) -> Vec<(GroupId, String, String)> {
    if context.loaded.digest.is_empty() {
        return Vec::new();
    }
    let live = view.groups.iter().map(|group| (group.group.clone(), group.revision.clone()));
    config::revised(&config::revisions(&context.loaded.shape), &live.collect())
}

fn show(context: &Context, view: &RunView, problems: bool) {
    let driver = view.driver.as_ref().map_or_else(
        || "nobody drives it; this is what the journal says".to_owned(),
        |driver| format!("driver pid {} since {}", driver.pid, style::time(driver.since)),
    );
    out::line(format!(
        "{}  generation {}  pass {}  {driver}",
        view.run, view.generation, view.pass
    ));
    out::line(format!(
        "{:<20} {:>6} {:>6} {:>6} {:>8}  provider",
        "GROUP", "WANT", "READY", "HELD", "DELETING"
    ));
    for group in &view.groups {
        out::line(format!(
            "{:<20} {:>6} {:>6} {:>6} {:>8}  {}{}",
            group.group,
            group.want,
            group.ready,
            group.held,
            group.deleting,
            group.provider,
            asides(group)
        ));
    }
    let shown: Vec<&NodeView> =
        view.nodes.iter().filter(|node| !problems || !as_wanted(node)).collect();
    if !shown.is_empty() {
        out::line(format!("\n{:<20} {:<18} {:>4} {:<24} WHY", "NODE", "STAGE", "TRY", "ENDPOINT"));
    }
    for node in shown {
        out::line(node_line(view, node));
        if let Some(beside) = &node.second {
            out::line(format!("{:<20} {}", "  beside it:", second(beside)));
        }
    }
    for line in remarks(view) {
        out::line(line);
    }
    let word = match view.state {
        RunState::Converged => "converged",
        RunState::Converging => "converging",
        RunState::Held => "held",
        RunState::Unattended => "unattended",
    };
    out::line(format!("{word}: {} of {} nodes ready", view.ready, view.want));
    if view.state == RunState::Unattended {
        out::line(format!("next: {}", context.command("driver")));
    }
}

/// True if a node serves, or rests as it is to.
fn as_wanted(node: &NodeView) -> bool {
    let leased = [StageName::New, StageName::LeaseCreated, StageName::EndpointKnown];
    let rests = leased.contains(&node.stage) && node.hold.is_none();
    if node.off { rests || node.completed } else { node.ready }
}

/// What is to be said of a group beside its counts.
fn asides(group: &GroupView) -> String {
    let off = (group.off > 0).then(|| format!(", {} off", group.off));
    let done = group.completed.map(|n| format!(", job: {n} of {} completed", group.want));
    format!("{}{}", off.unwrap_or_default(), done.unwrap_or_default())
}

fn node_line(view: &RunView, node: &NodeView) -> String {
    let wait = node.due.map(|at| format!(" ({} left)", style::length(at.since(view.at).get())));
    let mark = if node.deleting { "deleting, " } else { "" };
    format!(
        "{:<20} {:<18} {:>4} {:<24} {mark}{}{}",
        node.slot,
        node.stage.as_str(),
        node.attempt,
        node.endpoint.as_deref().unwrap_or("-"),
        node.reason,
        wait.unwrap_or_default()
    )
}

/// A slot's other attempt in one line.
pub(crate) fn second(second: &SecondView) -> String {
    let going = if second.deleting { "gives way, " } else { "" };
    let stage = second.stage.as_str();
    format!("attempt {}, {stage}: {going}{}", second.attempt, second.reason)
}

/// An update in one line.
fn update(view: &RunView, group: &GroupView, update: &UpdateView) -> String {
    let what = match &update.prior {
        _ if update.reverts => format!("goes back to {}", update.target),
        Some(prior) => format!("update from {prior} to {}", update.target),
        None => format!("update to {}", update.target),
    };
    let left = update.deadline.map(|at| style::length(at.since(view.at).get()));
    let left = left.map_or_else(String::new, |left| format!(", {left} left for the next"));
    let paused = if update.paused { ", paused" } else { "" };
    format!("{}: {what}: {} of {} are ready{left}{paused}", group.group, update.ready, group.want)
}

/// Groups with nodes that wait for other groups, a line each.
pub(crate) fn gated(view: &RunView) -> impl Iterator<Item = String> {
    let waiting = view.groups.iter().filter(|group| !group.waits_for.is_empty());
    waiting.map(|group| format!("{} waits for {}", group.group, group.waits_for.join(", ")))
}

/// What is worth a line beside the tables.
fn remarks(view: &RunView) -> Vec<String> {
    let updates = view.groups.iter().filter_map(|group| Some((group, group.update.as_ref()?)));
    let mut lines: Vec<String> = updates.map(|(group, it)| update(view, group, it)).collect();
    // Without a driver nobody looks, which the last line says.
    let looked = view.state != RunState::Unattended;
    let told = |drift: &&DriftView| {
        let held = view.holds.iter().any(|hold| hold.subject == drift.subject);
        drift.needs_a_person() && !held && (looked || drift.kind != DriftKind::Unobserved)
    };
    for drift in view.drift.iter().filter(told) {
        lines.push(format!("drift: {}", drift.line()));
    }
    lines.extend(gated(view));
    for hold in &view.holds {
        lines.push(format!("hold {}: {}: {}", hold.subject, hold.code.as_str(), hold.text));
        lines.push(format!("next: {}", hold.way_out));
    }
    if let Some(file) = &view.file {
        for (group, in_file, live) in &file.differs {
            lines.push(format!("{group}: {} says {in_file}, live is {live}", file.path));
        }
        for (group, in_file, live) in &file.off_differs {
            let path = &file.path;
            lines
                .push(format!("{group}: {path} has {in_file} nodes switched off, live are {live}"));
        }
        for (group, declared, live) in &file.revised {
            let path = &file.path;
            lines.push(format!("{group}: {path} says revision {declared}, live is {live}"));
        }
        if let Some(problem) = &file.problem {
            lines.push(format!("{}: {problem}", file.path));
        }
    }
    lines
}
