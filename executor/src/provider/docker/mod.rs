//! Nodes as containers of a Docker Engine.
//!
//! A lease is a container (`lease`, from `body`, `mounts`, `ports`, `images`); its workload is what runs in it
//! (`session`). Verify commands and hooks run in containers of their own beside it (`errand`, `hook`). Labels carry
//! identity and fence (`labels`), `look` says what is there, `wake` notices ends, `tail` reads last lines, and `output`
//! whole outputs. `engine`
//! speaks to the engine that `host` names, and `problem` says what a failure means.

mod blueprint;
mod body;
mod engine;
mod errand;
mod factory;
mod gather;
mod ground;
mod hook;
mod host;
mod images;
mod labels;
mod lease;
mod look;
mod mounts;
mod options;
mod output;
mod port_rule;
mod ports;
mod probe;
mod problem;
mod provider;
mod reader;
mod session;
mod state;
mod sweep;
mod tail;
mod volumes;
mod wake;
mod wakes;
mod wrap;

pub use factory::DockerFactory;
