//! What the front end promises, seen from outside.
//!
//! Marked as tests throughout, so that helpers may unwrap as the tests themselves may.
#![cfg(test)]

mod census;
mod console_far;
mod console_fixture;
mod console_fuzz;
mod console_hold;
mod console_keys;
mod console_legal;
mod console_looks;
mod console_past;
mod console_plan;
mod console_screens;
mod console_select;
mod console_tape;
mod console_term;
mod console_time;
mod console_tmux;
mod console_told;
mod console_tty;
#[cfg(feature = "docker")]
mod docker;
mod e2e_agent;
mod e2e_agent_asks;
mod e2e_beside;
mod e2e_capacity;
mod e2e_curl;
mod e2e_damage;
mod e2e_disk;
mod e2e_drift;
mod e2e_driver;
mod e2e_errors;
mod e2e_exec;
mod e2e_faces;
mod e2e_failure;
mod e2e_gates;
mod e2e_guardrails;
mod e2e_handover;
mod e2e_hooks;
mod e2e_input;
mod e2e_journal;
mod e2e_life;
mod e2e_modes;
mod e2e_next;
mod e2e_ownership;
mod e2e_power;
mod e2e_probes;
mod e2e_race;
mod e2e_recovery;
mod e2e_rollout;
mod e2e_secrets;
mod e2e_secrets_faces;
mod e2e_service;
mod e2e_settings;
mod e2e_sweep;
mod e2e_verbs;
mod e2e_waiting;
mod guides;
mod ward;
mod world;
