//! The fold of the console: a message changes the model and yields commands. Pure, and total.

mod browse;
mod entry;
mod fold;
mod key;
mod link;
mod plan;
mod popup;

pub use fold::update;
