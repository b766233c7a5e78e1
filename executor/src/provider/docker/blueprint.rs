//! What the containers of one attempt are made from.

use std::collections::BTreeMap;

use reconciler_core::{effect::NodeRequest, id::Fence};

use super::{ground::Ground, ports::PortPair};

/// Everything that the containers of one attempt are made from.
pub(super) struct Blueprint<'a> {
    pub(super) ground: &'a Ground,
    pub(super) request: &'a NodeRequest,
    pub(super) fence: Fence,
    pub(super) ports: &'a BTreeMap<String, PortPair>,
    /// The id of the image.
    pub(super) image: &'a str,
}
