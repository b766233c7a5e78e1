//! A fleet that is updated: two nodes of one group, and the same with another command.

use driver::view::Edit;
use reconciler_core::desired::{Amount, NodeSpec, UpdatePolicy};

use crate::stand::Stand;

/// Two nodes that may have one beside them.
pub(crate) fn stand() -> Stand {
    let mut stand = Stand::new(3);
    stand.policy.update = UpdatePolicy {
        max_surge: Amount::Nodes(1),
        max_unavailable: Amount::Nodes(0),
        ..UpdatePolicy::default()
    };
    stand.world.with(|land| land.beside = 1);
    stand
}

/// The same nodes with another command.
pub(crate) fn other(stand: &Stand, command: &str) -> Edit {
    let web = "web".parse().unwrap();
    let shape = stand.shape(&[("web", 2)]);
    let mut spec = NodeSpec::clone(&shape.group(&web).unwrap().spec);
    spec.boot.command = vec![command.to_owned()];
    let shape = shape.with_specs([(web, spec.into())]);
    Edit::File { shape: Box::new(shape), digest: command.to_owned() }
}
