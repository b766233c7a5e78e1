//! The fold of the console: a message changes the model and yields commands. Pure, and total.

mod browse;
mod click;
mod command;
mod copy;
mod entry;
mod fold;
mod gate;
mod key;
mod link;
mod plan;
mod popup;
mod recover;
mod release;
mod save;
mod scroll;
mod sight;
mod told;
mod travel;
mod write_back;

pub(crate) use command::candidates;
pub use fold::update;
