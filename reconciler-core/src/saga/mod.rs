//! The saga of an operation: what the end of an effect means for the whole, and what is taken back (D4, spec B).
//!
//! `decide` is the table of answer and sight, and the priority within a wave; `compensation` says what an operation
//! is taken back to, and whether the inverses that were written with its steps can be relied on; `cover` says when a
//! confirmed plan opens one; `counsel` says what follows from the kind of one failure; `handover` says what a driver that
//! takes over leaves to a person.
//!
//! Not here: going back itself, which is the decider's work towards the restored shape (`reconcile`), and writing it
//! down (`checkpoint`, `driver`).

mod compensation;
mod counsel;
mod cover;
mod decide;
mod handover;

pub use compensation::{BrokenRecord, Compensation, WrittenStep, audit};
pub use counsel::{Remedy, Retry};
pub use cover::{Cover, Touched};
pub use decide::{Answer, Decision, HoldMark, Sight, decide, is_retry_safe, of_wave};
pub use handover::{LeftToPerson, doubtful, left_to_person};
