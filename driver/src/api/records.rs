//! What the API shows of the journal: events by cursor, operations and their steps.
//!
//! It is read beside the driver, with a connection of its own: what is shown is durable, and nobody waits for it.

use axum::{
    Json,
    extract::{Path, Query, State, rejection::PathRejection, rejection::QueryRejection},
    response::{IntoResponse as _, Response},
};
use checkpoint::{
    operation::{OpenOperation, OperationRow},
    reader::Reader,
    step::StepRow,
    store::OpenError,
};
use reconciler_core::id::{OperationId, Uuid};
use tokio::time::{Instant, timeout_at};

use super::{
    answer::Refused,
    limits::{NEWS_WAIT, PAGE},
    shared::Api,
    wire::{EventsQuery, OperationsQuery},
};
use crate::{
    refusing::refuse,
    resume::event_view,
    view::{EventsView, OperationStepView, OperationView, Refusal, RefusalKind},
};

/// Events and operations in an answer where no limit is given.
const LIMIT_DEFAULT: u32 = 100;
/// An event is shown before it is durable; how long its row is waited for before it is looked for again.
const SYNC_WAIT: std::time::Duration = std::time::Duration::from_millis(250);

/// `GET /v1/events`.
pub(super) async fn events(
    State(api): State<Api>,
    query: Result<Query<EventsQuery>, QueryRejection>,
) -> Result<Response, Refused> {
    let Query(query) = query.map_err(|bad| refuse(RefusalKind::Invalid, bad.body_text()))?;
    let run = api.handle.published().borrow().shape().uuid;
    let after = query.after.as_deref().map(|cursor| place(cursor, run)).transpose()?;
    let limit = bound(query.limit)?;
    let deadline = Instant::now() + if query.wait { NEWS_WAIT } else { std::time::Duration::ZERO };
    let mut published = api.handle.published();
    loop {
        published.borrow_and_update();
        let page = read(&api, move |reader| page(reader, after, limit, run)).await?;
        let gone = published.has_changed().is_err();
        if !page.events.is_empty() || page.gap.is_some() || gone || Instant::now() >= deadline {
            return Ok(Json(page).into_response());
        }
        let again = deadline.min(Instant::now() + SYNC_WAIT);
        drop(timeout_at(again, published.changed()).await);
    }
}

/// `GET /v1/operations`.
pub(super) async fn operations(
    State(api): State<Api>,
    query: Result<Query<OperationsQuery>, QueryRejection>,
) -> Result<Response, Refused> {
    let Query(query) = query.map_err(|bad| refuse(RefusalKind::Invalid, bad.body_text()))?;
    let limit = bound(query.limit)?;
    let rows = read(&api, move |reader| reader.operations(limit)).await?;
    let views: Vec<OperationView> = rows.iter().map(operation_view).collect();
    Ok(Json(views).into_response())
}

/// `GET /v1/operations/N`.
pub(super) async fn operation(
    State(api): State<Api>,
    id: Result<Path<u64>, PathRejection>,
) -> Result<Response, Refused> {
    let Path(id) = id.map_err(|bad| refuse(RefusalKind::Invalid, bad.body_text()))?;
    let id = OperationId::new(id);
    let found = read(&api, move |reader| reader.operation(id));
    let Some(OpenOperation { row, steps }) = found.await? else {
        return Err(refuse(RefusalKind::Invalid, format!("there is no operation {id}")).into());
    };
    let newest = steps.iter().rev().take(PAGE as usize);
    let steps = newest.map(step_view).collect();
    Ok(Json(OperationView { steps: Some(steps), ..operation_view(&row) }).into_response())
}

/// How many are asked for.
fn bound(limit: Option<u32>) -> Result<u32, Refusal> {
    match limit.unwrap_or(LIMIT_DEFAULT) {
        limit @ 1..=PAGE => Ok(limit),
        limit => Err(refuse(RefusalKind::Invalid, format!("`limit` is 1 to {PAGE}, not {limit}"))),
    }
}

/// Reads the journal on a thread that may wait for the disk.
async fn read<T: Send + 'static>(
    api: &Api,
    look: impl FnOnce(&Reader) -> Result<T, OpenError> + Send + 'static,
) -> Result<T, Refusal> {
    let paths = api.paths.clone();
    let read = tokio::task::spawn_blocking(move || look(&Reader::open(paths.dir())?)).await;
    match read {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(error)) => Err(refuse(RefusalKind::Journal, error.to_string())),
        Err(error) => Err(refuse(RefusalKind::Unavailable, error.to_string())),
    }
}

fn page(
    reader: &Reader,
    after: Option<u64>,
    limit: u32,
    run: Uuid,
) -> Result<EventsView, OpenError> {
    // Read first: what comes between the two reads is on the page, or on the next one, and never counts as missing.
    let present = reader.events(None, 1)?.last().map_or(0, |row| row.seq);
    let mut rows = reader.events(after, limit.saturating_add(1))?;
    let more = after.is_some() && rows.len() > size(limit);
    if after.is_some() {
        rows.truncate(size(limit));
    } else {
        let over = rows.len().saturating_sub(size(limit));
        rows.drain(..over);
    }
    let newest = rows.last().map_or(present, |row| row.seq);
    // Numbers are given without holes: one that is not there was cleared away.
    let missing = match after {
        Some(after) => newest.saturating_sub(after).saturating_sub(count(rows.len())),
        None => 0,
    };
    let gap = match after {
        Some(after) if after > newest => {
            Some("the journal is older than the cursor, as after a restore".to_owned())
        }
        _ if missing > 0 => Some(format!("{missing} older events are not kept any more")),
        _ => None,
    };
    let events = rows.iter().map(event_view).collect();
    Ok(EventsView { events, cursor: cursor(newest, run), more, gap })
}

/// The cursor of a page whose last event is `seq`.
fn cursor(seq: u64, run: Uuid) -> String {
    format!("{seq:x}-{}", mark(run))
}

/// The number that a cursor stands for.
fn place(cursor: &str, run: Uuid) -> Result<u64, Refusal> {
    let place = cursor.split_once('-').filter(|(_, of)| *of == mark(run));
    let place = place.and_then(|(seq, _)| u64::from_str_radix(seq, 16).ok());
    place.ok_or_else(|| Refusal {
        hint: Some("give back `cursor` of an earlier answer as it is".to_owned()),
        ..refuse(RefusalKind::Invalid, "the cursor is none of this run's")
    })
}

/// What tells cursors of one run from those of another.
fn mark(run: Uuid) -> String {
    run.to_string().chars().take(8).collect()
}

fn operation_view(row: &OperationRow) -> OperationView {
    OperationView {
        operation: row.id,
        group: row.group.clone(),
        plan: row.plan,
        fence: row.fence,
        status: row.status.as_str().to_owned(),
        checkpoint: told(&row.checkpoint),
        superseded_by: row.superseded_by,
        opened_at: row.opened_at,
        updated_at: row.updated_at,
        closed_at: row.closed_at,
        steps: None,
    }
}

fn step_view(row: &StepRow) -> OperationStepView {
    OperationStepView {
        step: row.step,
        slot: row.slot.clone(),
        attempt: row.attempt.ordinal.get(),
        provider: row.provider.clone(),
        action: row.command.as_str().to_owned(),
        checkpoint: told(&row.checkpoint),
        failure: row.failure.as_deref().map(str::to_owned),
        retry: row.failed().map(|kind| kind.retry().as_str().to_owned()),
        recovery: row.failed().map(|kind| kind.remedy().as_str().to_owned()),
        result: row.result.to_string(),
        started_at: row.started_at,
        finished_at: row.finished_at,
    }
}

/// A mark that is not known is shown as such: nobody acts on a guess.
fn told<T: ToString, E: ToString>(checkpoint: &Result<T, E>) -> String {
    match checkpoint {
        Ok(mark) => mark.to_string(),
        Err(error) => format!("unknown: {}", error.to_string()),
    }
}

fn size(n: u32) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
