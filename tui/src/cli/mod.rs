//! The command line: one file per verb, and what they share.
//!
//! Data goes to stdout, everything else to stderr; the exit codes are those of `exit`.

mod apply;
mod args;
mod attach;
mod change;
mod completions;
mod console;
mod context;
mod converge;
mod doctor;
mod down;
mod drive;
mod events;
mod exit;
mod explain;
mod export;
mod global;
mod greet;
mod ground;
mod init;
mod journal;
mod logging;
mod logs;
mod logs_elsewhere;
mod main;
mod man;
mod names;
mod next;
mod node;
mod notify;
mod out;
mod ownership;
mod plan;
mod plan_text;
mod power;
mod progress;
mod recovery;
mod recovery_args;
mod release;
mod remote;
mod runs;
mod scale;
mod signals;
mod status;
mod style;
mod token;
mod up;
mod update;
mod validate;
mod values;
mod wait;
mod watch;

pub use main::main;
