//! `levelhead status --all`: every run whose state stands in the usual place, a line each.

use std::{fs, time::Duration};

use checkpoint::paths::StatePaths;
use driver::{Offline, api::Client, system_clock, view::RunState};
use reconciler_core::id::{RunName, Uuid};
use serde_json::{Value, json};

use super::{
    exit::{Exit, Failure, Outcome, chain},
    global::Global,
    greet::is_stopped,
    out,
};

/// How long a driver may take to say how it stands; all are asked at once.
const PATIENCE: Duration = Duration::from_secs(2);

/// One run, as far as it can be seen.
struct Line {
    run: String,
    uuid: String,
    driver: Option<u32>,
    state: String,
    counts: Option<(u32, u32, usize)>,
    dir: String,
}

/// Shows all runs; one that cannot be read is a line like the others, and hides none of them.
pub(crate) async fn run(global: &Global) -> Outcome {
    let home = StatePaths::home().map_err(|error| Failure::new(Exit::Journal, chain(&error)))?;
    let mut dirs = match fs::read_dir(&home) {
        Ok(dirs) => dirs.filter_map(Result::ok).map(|dir| dir.path()).collect::<Vec<_>>(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => {
            let message = format!("cannot read {}: {error}", home.display());
            return Err(Failure::new(Exit::Journal, message));
        }
    };
    dirs.retain(|dir| dir.is_dir());
    dirs.sort();
    let mut asked = tokio::task::JoinSet::new();
    for (place, dir) in dirs.into_iter().enumerate() {
        asked.spawn(async move { (place, line(&StatePaths::new(dir)).await) });
    }
    let mut lines = asked.join_all().await;
    lines.sort_by_key(|(place, _)| *place);
    let lines: Vec<Line> = lines.into_iter().map(|(_, line)| line).collect();
    if global.json {
        let runs: Vec<Value> = lines.iter().map(Line::json).collect();
        out::json(&json!({ "schema": 1, "runs": runs }))?;
        return Ok(Exit::Done);
    }
    out::line(format!(
        "{:<20} {:<10} {:>8} {:<12} {:>11} {:>6}  STATE DIRECTORY",
        "RUN", "UUID", "DRIVER", "STATE", "READY", "HELD"
    ));
    for line in &lines {
        out::line(line.text());
    }
    Ok(Exit::Done)
}

async fn line(paths: &StatePaths) -> Line {
    let dir = paths.dir().display().to_string();
    let unread = |why: String| {
        let (run, uuid) = ("?".to_owned(), String::new());
        Line { run, uuid, driver: None, state: why, counts: None, dir: dir.clone() }
    };
    let offline = match Offline::open(paths) {
        Ok(offline) => offline,
        Err(error) => return unread(chain(&error)),
    };
    let Some((run, uuid)) = offline.identity() else { return unread("no shape yet".to_owned()) };
    let driven = Offline::is_driven(paths).unwrap_or(false);
    let owner = offline.recovery(driven).owner.filter(|owner| owner.drives).map(|owner| owner.pid);
    let stopped = owner.is_some_and(is_stopped);
    let live = if driven && !stopped { asked(paths).await } else { None };
    let view = live.unwrap_or_else(|| seen(&offline, &run, uuid));
    let state = match view.state {
        RunState::Converged => "converged",
        RunState::Converging => "converging",
        RunState::Held => "held",
        // Its lock is held, and nobody lets its process run.
        RunState::Unattended if stopped => "stopped",
        // Its lock is held, and its socket does not answer.
        RunState::Unattended if driven => "silent",
        RunState::Unattended => "unattended",
    };
    Line {
        run: run.to_string(),
        uuid: uuid.to_string(),
        driver: view.driver.as_ref().map(|driver| driver.pid).or(owner),
        state: state.to_owned(),
        counts: Some((view.ready, view.want, view.holds.len())),
        dir,
    }
}

/// What the driver says of itself, if it says it soon.
async fn asked(paths: &StatePaths) -> Option<driver::view::RunView> {
    let client = Client::new(paths.socket());
    tokio::time::timeout(PATIENCE, client.snapshot(None)).await.ok()?.ok()
}

fn seen(offline: &Offline, run: &RunName, uuid: Uuid) -> driver::view::RunView {
    offline.published(run, uuid, system_clock()()).view()
}

impl Line {
    fn text(&self) -> String {
        let uuid: String = self.uuid.chars().take(8).collect();
        let driver = self.driver.map_or_else(|| "-".to_owned(), |pid| pid.to_string());
        let (ready, held) = self.counts.map_or_else(
            || ("-".to_owned(), "-".to_owned()),
            |(ready, want, held)| (format!("{ready}/{want}"), held.to_string()),
        );
        let Self { run, state, dir, .. } = self;
        format!("{run:<20} {uuid:<10} {driver:>8} {state:<12} {ready:>11} {held:>6}  {dir}")
    }

    fn json(&self) -> Value {
        let (ready, want, held) = self.counts.map_or((None, None, None), |(ready, want, held)| {
            (Some(ready), Some(want), Some(held))
        });
        json!({
            "run": self.run, "uuid": self.uuid, "driver": self.driver, "state": self.state,
            "ready": ready, "want": want, "held": held, "dir": self.dir,
        })
    }
}
