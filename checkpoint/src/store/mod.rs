//! Where commits go: the seam, and its two stores.

mod apply;
mod apply_operation;
mod book;
mod break_off;
mod current;
mod error;
mod memory;
mod memory_operation;
mod names;
mod open;
mod prune;
mod rights;
mod seal;
mod seam;
mod sqlite;
mod writer;

pub use error::OpenError;
pub use memory::MemoryStore;

pub use rights::make_dir;
pub use seam::{Commit, Committed, Shortfall, Store, StoreError, StoreStats, Ticket};
pub use sqlite::{Journal, JournalLimits};

pub(crate) use names::{SHM, WAL, beside};
pub(crate) use open::{Beside, open_file, open_reading, open_writing};
pub(crate) use prune::prune;
pub(crate) use rights::check_own;
pub(crate) use sqlite::lock;
