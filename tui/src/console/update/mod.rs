//! The fold of the console: a message changes the model and yields commands. Pure, and total.

mod browse;
mod entry;
mod fold;
mod gate;
mod key;
mod link;
mod plan;
mod popup;
mod scroll;

pub use fold::update;
