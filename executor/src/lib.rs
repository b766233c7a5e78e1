//! The seams to the world and what stands behind them.
//!
//! [`seam`] says what a provider must do and how it reports; [`dispatch`] carries durable intents to providers
//! within their deadlines; [`provider`] has one module per provider; [`conformance`] is the battery that each
//! must pass; [`secret`] reads secrets and keeps them out of texts. Nothing here decides what should happen: that
//! is `reconciler-core`.

pub mod agent;
pub mod conformance;
pub mod dispatch;
mod probe;
pub mod provider;
pub mod seam;
pub mod secret;
