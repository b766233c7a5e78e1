//! Tests of the driver through its public face; one binary, so that it links once.

#![expect(clippy::unwrap_used, reason = "what cannot fail in a test fails the test")]

mod api_limits;
mod api_records;
mod api_schema;
mod api_tls;
mod api_watch;
mod config;
mod fake;
mod http;
mod loop_agents;
mod loop_answers;
mod loop_doubt;
mod loop_drift;
mod loop_failure;
mod loop_file;
mod loop_guardrails;
mod loop_handoff;
mod loop_kill;
mod loop_pass;
mod loop_power;
mod loop_recovery;
mod loop_socket;
mod loop_stop;
mod loop_update;
mod slow;
mod stand;
mod updating;
mod world;
