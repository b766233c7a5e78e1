//! The real program on a real Docker Engine.

mod agent;
mod by_hand;
#[path = "../../../../executor/tests/it/docker/engine.rs"]
mod engine;
mod fleet;
mod guide;
mod life;
mod restart;
mod update;
