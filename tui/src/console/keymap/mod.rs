//! Which key means what, where: one table that also writes the footer and the help.

mod command;
mod intent;
mod map;
mod names;
mod table;

pub(crate) use command::{COMMANDS, COUNT, GROUP, SUBJECT, UPDATE, named};
pub(crate) use intent::{App, Context, Intent, Look, Move, Say, Scope, Typing, Verb};
pub use map::{Keymap, Remap, RemapError};
