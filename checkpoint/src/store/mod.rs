//! Where commits go: the seam, and its two stores.

mod apply;
mod memory;
mod open;
mod prune;
mod rights;
mod seal;
mod seam;
mod sqlite;
mod writer;

pub use memory::MemoryStore;
pub use open::OpenError;
pub use rights::make_dir;
pub use seam::{Commit, Committed, Store, StoreError, Ticket};
pub use sqlite::{Journal, JournalLimits, JournalStats};

pub(crate) use open::{Beside, SHM, WAL, beside, open_file, open_reading, open_writing};
pub(crate) use prune::prune;
pub(crate) use rights::check_own;
pub(crate) use sqlite::lock;
