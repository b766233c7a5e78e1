//! `levelhead journal`: one file per verb, and where they find their journal.

mod args;
mod backup;
mod compact;
mod inspect;
mod place;
mod replace;
mod run;
mod verify;

pub(crate) use args::JournalVerb;
pub(crate) use place::ways_on;
pub(crate) use run::run;
