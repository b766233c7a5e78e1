//! The tables, and how a file comes to have them.

mod migrate;

pub(crate) use migrate::{
    APPLICATION_ID, BACKUP_ID, SchemaError, bring_up, check, check_backup, known, objects,
    objects_expected,
};
