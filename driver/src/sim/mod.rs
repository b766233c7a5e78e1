//! The deterministic simulator: the driver's own loop, dispatcher and fold on virtual time, in a world that fails,
//! lies and dies by a story that one seed tells.
//!
//! [`Story`] says what happens, [`run`] plays it and holds every law of [`LAWS`] against every event, [`shrink`] makes
//! a story that breaks a law short, and [`Bug`] lists the faults that it must find.
//!
//! Not here: anything that the product runs. Only this module swaps the journal, the providers and the clock.

mod act;
mod ailing;
mod book;
mod bug;
mod bug_ground;
mod bug_journal;
mod cast;
mod dice;
mod disk;
mod event;
mod fleet;
mod ground;
mod land;
mod law_effect;
mod law_end;
mod law_journal;
mod laws;
mod life;
mod operator;
mod run;
mod scene;
mod shrink;
mod story;
mod tail;
mod tell;
mod world;

pub use bug::Bug;
pub use event::Broken;
pub use laws::{LAWS, Law};
pub use run::{Outcome, run};
pub use shrink::shrink;
pub use story::{Group, Input, Story, StoryError, Timed};
pub use tell::tell;
