//! The picture of a model. Pure: it reads the model and paints a frame of any size.

mod content;
mod detail;
mod events;
mod fleet;
mod footer;
mod groups;
mod header;
mod help;
mod holds;
mod outcome;
mod paint;
mod passes;
mod plan;
mod popup;
mod screen;

pub(crate) use header::due as header_due;
pub(crate) use popup::size as popup_size;
pub use screen::draw;
