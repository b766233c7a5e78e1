//! Who may act on what: the lease of a controller on an operation, and what an attempt owns until its absence is seen.

mod capacity;
mod controller;
mod finalizer;
mod handoff;
mod row;

pub use capacity::{Admission, Capacity, Demand, Ledger, Resource, Shortage, Usage};
pub use controller::{ControllerId, HolderLife, LeaseConflict, LeaseLength, OperationLease};
pub use finalizer::{Finalizer, FinalizerState, Finalizers, Standing, holds, standing};
pub use handoff::{Claimed, HandoffRefusal, HandoffTarget, Mismatch, hand_off, reclaim};
pub use row::{Identity, Ownership, OwnershipError, Tenure, is_unremarkable};
