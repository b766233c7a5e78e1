//! Nodes as processes of this machine.
//!
//! A lease is a directory with an owner file (`lease`, `files`; all of them: `owners`) and ports (`ports`). A
//! workload is a process in a session of its own (`spawn`, `spawners`, `prepare`, `session`), which survives the driver, is
//! recognised by more than its id (`identity`), watched without polling (`watch`), and ended politely (`stop`,
//! `ending`, `census`). Verify commands and hooks run to their end first or beside (`command`, `hook`). Its output stays in files (`logs`); `look` says what is there, and `fence` refuses a stale
//! controller.

mod census;
mod command;
mod ending;
mod errands;
mod factory;
mod fence;
mod files;
mod ground;
mod hook;
mod identity;
mod kept;
mod lease;
mod lock;
mod logs;
mod look;
mod owners;
mod ports;
mod prepare;
mod probe;
mod problem;
mod provider;
mod rests;
mod rotation;
mod session;
mod spawn;
mod spawners;
mod stop;
mod sweep;
mod watch;

pub use factory::ProcessFactory;
pub use provider::ProcessProvider;
