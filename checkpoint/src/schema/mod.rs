//! The tables, and how a file comes to have them.

mod migrate;

pub(crate) use migrate::{SchemaError, bring_up, check};
