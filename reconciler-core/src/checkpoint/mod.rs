//! The closed vocabulary of checkpoints: what each means (class) and what recovery does with it (lane).
//!
//! `class` has the classes with their precedence and the lanes, `mark` where a step stands, `operation` where an
//! operation stands and how that is derived, `text` the one strict text form.
//!
//! Not here: writing checkpoints (`checkpoint`), and acting on a lane (`driver`).

mod class;
mod mark;
mod operation;
mod text;

pub use class::{CheckpointClass, CheckpointRow, RecoveryLane};
pub use mark::{Direction, StepCheckpoint, StepMark};
pub use operation::{FinalizerMark, OperationCheckpoint, OperationMarks, derive_operation};
pub use text::{CHECKPOINT_LEN_MAX, CheckpointError};
