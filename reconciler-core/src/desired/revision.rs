//! The version of the revision digest, and the way over from another one (C13).
//!
//! The digest covers what a node *is* in canonical form, and the version is part of its bytes. A program with
//! another version makes every stored digest anew from the stored spec before it compares anything, so that an
//! upgrade alone never replaces a node. Whoever changes which fields the digest covers, or how they are written,
//! raises the version; nothing else has to be done. A part that is left out where it is empty changes no digest of
//! a spec that does not have it, and needs no new version.

use alloc::sync::Arc;

use super::NodeSpec;
use crate::{id::RevisionDigest, observed::NodeRecord};

/// The version of the digests that this program makes.
pub const VERSION: u32 = 1;

/// The version of records that were written before versions were.
pub(crate) const fn first_version() -> u32 {
    1
}

/// True for the version that goes without saying in a stored record.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
pub(crate) const fn is_first(version: &u32) -> bool {
    *version == 1
}

/// Makes the digests of many records anew; equal specs cost one digest.
#[derive(Debug, Default)]
pub(crate) struct Redigest {
    last: Option<(Arc<NodeSpec>, RevisionDigest)>,
}

impl Redigest {
    /// Brings a record to the present version; false if it is there already.
    pub(crate) fn bring_up(&mut self, record: &mut NodeRecord) -> bool {
        if record.revision_version == VERSION {
            return false;
        }
        let known = self.last.as_ref().filter(|(spec, _)| *spec == record.spec);
        let revision = known.map_or_else(|| record.spec.revision(), |(_, revision)| *revision);
        self.last = Some((Arc::clone(&record.spec), revision));
        record.revision = revision;
        record.revision_version = VERSION;
        true
    }
}
