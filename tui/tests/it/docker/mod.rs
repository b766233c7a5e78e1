//! The real program on a real Docker Engine.

mod agent;
mod agent_joins;
mod agent_static;
mod back;
mod by_hand;
#[path = "../../../../executor/tests/it/docker/engine.rs"]
mod engine;
mod engines;
mod fleet;
mod guide;
mod interval;
mod left;
mod life;
mod own;
mod restart;
mod rivals;
mod tls_door;
mod update;
mod update_probes;
