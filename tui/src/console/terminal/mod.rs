//! The terminal itself: who owns its modes, who reads its keys. The only place that knows the library for it.

mod clipboard;
mod guard;
mod input;
mod signals;

pub(crate) use clipboard::COPY_MAX;
pub(crate) use guard::{Screen, guarded};
pub(crate) use input::{Input, KeyEvent};
pub(crate) use signals::{Caught, Signals};
