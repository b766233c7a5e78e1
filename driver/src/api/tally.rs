//! The API's own counters, for its metrics: what was asked, what was refused, and who fell behind.

use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::StatusCode;

/// A number that many count.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    /// Counts one more.
    pub(super) fn up(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one less.
    pub(super) fn down(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// The number.
    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What was counted.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Answers with a status of 2xx.
    pub(super) done: Counter,
    /// Answers with a status of 4xx.
    pub(super) refused: Counter,
    /// Answers with a status of 5xx.
    pub(super) failed: Counter,
    /// Connections that are open.
    pub(super) connections: Counter,
    /// Connections that found no place.
    pub(super) turned_away: Counter,
    /// Watches that are under way.
    pub(super) watchers: Counter,
    /// Gaps that watchers were told of.
    pub(super) gaps: Counter,
}

impl Tally {
    /// Counts an answer.
    pub(super) fn answered(&self, status: StatusCode) {
        if status.is_server_error() {
            self.failed.up();
        } else if status.is_client_error() {
            self.refused.up();
        } else {
            self.done.up();
        }
    }
}
