//! The pure part of Levelhead: every decision, no clock, no I/O, no waiting.
//!
//! Desired state ([`desired`]) and observed state ([`observed`]) go in, a [`reconcile::ReconcilePlan`] comes
//! out; what happened comes back as a [`fold::Fact`] and [`fold`] is the only writer of observed state.
//! Time is always an argument called `now`.
//!
//! Not here: the journal (`checkpoint`), the providers (`executor`), the loop (`driver`).
#![no_std]
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod action;
pub mod canonical;
pub mod checkpoint;
mod command;
pub mod desired;
pub mod drift;
pub mod durable;
pub mod effect;
#[cfg(feature = "fixture")]
pub mod fixture;
pub mod fold;
mod hex;
pub mod hold;
mod hook;
pub mod id;
mod key;
mod kind;
mod lease;
pub mod limits;
pub mod observed;
pub mod ownership;
pub mod plan;
pub mod reconcile;
pub mod redact;
mod request;
pub mod saga;
mod slot;
pub mod time;
mod workload;
