//! Reads what `cargo metadata` says, for the platform that the product runs on.
//!
//! Only the fields that a check needs; what they must say is decided in `law.rs` and `deps/`.

use crate::shell::{Plain, Shell};
use anyhow::{Context, Result};
use serde::Deserialize;

/// The product is for Linux; without the filter, cargo would fetch crates of other systems.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// The resolved workspace.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) workspace_members: Vec<String>,
    pub(crate) resolve: Resolve,
}

/// One package, ours or not.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) targets: Vec<Target>,
}

/// A dependency as a manifest declares it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `None` is a normal dependency; otherwise `dev` or `build`.
    pub(crate) kind: Option<String>,
    pub(crate) uses_default_features: bool,
    pub(crate) features: Vec<String>,
}

impl Dependency {
    /// Whether the product itself is built with it.
    pub(crate) fn ships(&self) -> bool {
        self.kind.as_deref() != Some("dev")
    }
}

/// One thing that cargo can build of a package.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) kind: Vec<String>,
}

/// The graph that cargo resolved.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Resolve {
    pub(crate) nodes: Vec<Node>,
}

/// One package's resolved edges.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Node {
    pub(crate) id: String,
    pub(crate) deps: Vec<Edge>,
}

/// One resolved edge.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Edge {
    pub(crate) pkg: String,
    pub(crate) dep_kinds: Vec<EdgeKind>,
}

/// What an edge is for.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct EdgeKind {
    pub(crate) kind: Option<String>,
}

impl Metadata {
    /// The packages of this workspace.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }

    /// The package of that id.
    pub(crate) fn package(&self, id: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.id == id)
    }
}

/// Asks cargo.
pub(crate) fn read(shell: &Shell) -> Result<Metadata> {
    let base = ["cargo", "metadata", "--format-version", "1", "--filter-platform", PLATFORM];
    let json = shell.read(&Plain::new(&base))?;
    serde_json::from_str(&json).context("could not understand cargo's metadata")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{Dependency, Edge, EdgeKind, Metadata, Node, Package, Resolve};
    use crate::law;

    /// A small graph: each package with the names of its normal dependencies.
    /// Members are those that the law knows; all the rest is third party.
    pub(crate) fn graph(rows: &[(&str, &[&str])]) -> Metadata {
        let packages: Vec<Package> = rows.iter().map(|(name, deps)| package(name, deps)).collect();
        let members = rows.iter().filter(|(name, _)| law::of(name).is_some());
        let workspace_members = members.map(|(name, _)| (*name).to_owned()).collect();
        let nodes = rows.iter().map(|(name, deps)| Node { id: (*name).into(), deps: edges(deps) });
        Metadata { packages, workspace_members, resolve: Resolve { nodes: nodes.collect() } }
    }

    fn package(name: &str, deps: &[&str]) -> Package {
        let dependencies = deps.iter().map(|dep| Dependency {
            name: (*dep).to_owned(),
            kind: None,
            uses_default_features: false,
            features: Vec::new(),
        });
        Package {
            id: name.to_owned(),
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: Some("MIT OR Apache-2.0".to_owned()),
            dependencies: dependencies.collect(),
            targets: Vec::new(),
        }
    }

    fn edges(deps: &[&str]) -> Vec<Edge> {
        let edge =
            |dep: &&str| Edge { pkg: (*dep).to_owned(), dep_kinds: vec![EdgeKind { kind: None }] };
        deps.iter().map(edge).collect()
    }

    #[test]
    fn a_dev_dependency_does_not_ship() {
        let mut metadata = graph(&[("driver", &["tokio"])]);
        let dependency = &mut metadata.packages[0].dependencies[0];
        assert!(dependency.ships());
        dependency.kind = Some("dev".to_owned());
        assert!(!dependency.ships());
    }
}
