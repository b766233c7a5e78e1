//! The journal: what Levelhead knows, made durable before anything is done about it.
//!
//! The driver collects everything that one pass wants written into one [`Commit`](store::Commit) and submits it
//! to a [`Store`](store::Store). The answer to a commit that was synced carries the
//! [`Durable`](reconciler_core::durable::Durable) intents, without which nothing can be dispatched (P2).
//!
//! ```text
//! driver ── submit(Commit) ──▶ queue ──▶ writer thread: fence check, one transaction, one sync
//!        ◀── poll() ────────── answers in submit order, sealed intents inside
//! ```
//!
//! [`Journal`](store::Journal) owns the run while it lives: an OS lock on an open file, and a fence that rises
//! with each owner (P5). [`Reader`](reader::Reader) looks without owning.
//!
//! Not here: decisions (`reconciler-core`), providers (`executor`), the loop (`driver`).
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

pub mod care;
mod codec;
pub mod event;
pub mod handoff;
pub mod lease;
pub mod operation;
mod operation_scan;
mod oplock;
pub mod owner;
pub mod ownership;
pub mod paths;
pub mod reader;
pub mod record;
pub mod retention;
pub mod scan;
mod schema;
pub mod step;
pub mod store;
mod sum;
pub mod unreadable;
