//! Every member's manifest: what the workspace decides is inherited, not repeated.

use crate::finding::Finding;
use crate::law::CRATES;
use anyhow::{Context, Result};
use std::path::Path;
use toml::{Table, Value};

const RULE: &str = "manifests";

/// Package keys that only the workspace sets.
const INHERITED: [&str; 5] = ["edition", "license", "publish", "rust-version", "version"];

/// Reads the manifests and checks each member's against the workspace's.
pub(crate) fn check_workspace(root: &Path) -> Result<Vec<Finding>> {
    let workspace = load(&root.join("Cargo.toml"))?;
    let mut findings = Vec::new();
    for law in &CRATES {
        let path = format!("{}/Cargo.toml", law.name);
        findings.extend(check(&path, &load(&root.join(&path))?, &workspace));
    }
    Ok(findings)
}

fn load(path: &Path) -> Result<Table> {
    let text = std::fs::read_to_string(path);
    let text = text.with_context(|| format!("could not read {}", path.display()))?;
    text.parse().with_context(|| format!("could not parse {}", path.display()))
}

fn check(path: &str, manifest: &Table, workspace: &Table) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !manifest.get("lints").is_some_and(inherits) {
        findings.push(Finding::whole(RULE, path, "must say `lints.workspace = true`"));
    }
    let package = manifest.get("package").and_then(Value::as_table);
    for key in INHERITED {
        if !package.and_then(|package| package.get(key)).is_some_and(inherits) {
            let message = format!("must say `{key}.workspace = true`");
            findings.push(Finding::whole(RULE, path, message));
        }
    }
    let shared = workspace.get("workspace").and_then(|table| table.get("dependencies"));
    for (name, dependency) in dependencies(manifest) {
        let decided = shared.is_some_and(|shared| shared.get(name).is_some());
        if decided && !inherits(dependency) {
            let message = format!("must take `{name}` from the workspace");
            findings.push(Finding::whole(RULE, path, message));
        }
    }
    findings
}

fn inherits(value: &Value) -> bool {
    value.get("workspace").and_then(Value::as_bool) == Some(true)
}

/// Every declared dependency: normal, dev, build, and those of one target.
fn dependencies(manifest: &Table) -> Vec<(&String, &Value)> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let targets = targets.into_iter().flat_map(|table| table.values().filter_map(Value::as_table));
    let places = std::iter::once(manifest).chain(targets);
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    let tables = places.flat_map(|place| kinds.iter().filter_map(|kind| place.get(*kind)));
    tables.filter_map(Value::as_table).flat_map(Table::iter).collect()
}

#[cfg(test)]
mod tests {
    use super::check;

    const WORKSPACE: &str = "[workspace.dependencies]\nserde = \"1\"\n";
    const HEAD: &str = "[package]\nname = \"a\"\nversion.workspace = true\n\
        edition.workspace = true\nrust-version.workspace = true\nlicense.workspace = true\n\
        publish.workspace = true\n";

    fn found(manifest: &str) -> Vec<String> {
        let manifest = manifest.parse().expect("the fixture parses");
        let workspace = WORKSPACE.parse().expect("the fixture parses");
        check("a/Cargo.toml", &manifest, &workspace).iter().map(|f| f.message.clone()).collect()
    }

    #[test]
    fn a_manifest_that_inherits_everything_passes() {
        let tail = "[lints]\nworkspace = true\n[dependencies]\nserde.workspace = true\n\
            libc = \"0.2\"\n";
        assert_eq!(found(&format!("{HEAD}{tail}")), Vec::<String>::new());
    }

    #[test]
    fn own_lints_are_found() {
        let tail = "[lints.clippy]\nall = \"allow\"\n";
        assert_eq!(found(&format!("{HEAD}{tail}")), ["must say `lints.workspace = true`"]);
    }

    #[test]
    fn an_own_edition_is_found() {
        let manifest = HEAD.replace("edition.workspace = true", "edition = \"2021\"");
        let manifest = format!("{manifest}[lints]\nworkspace = true\n");
        assert_eq!(found(&manifest), ["must say `edition.workspace = true`"]);
    }

    #[test]
    fn an_own_version_of_a_shared_dependency_is_found_in_every_table() {
        for table in ["dependencies", "dev-dependencies", "target.'cfg(unix)'.dependencies"] {
            let tail = format!("[lints]\nworkspace = true\n[{table}]\nserde = \"1\"\n");
            let want = ["must take `serde` from the workspace"];
            assert_eq!(found(&format!("{HEAD}{tail}")), want, "{table}");
        }
    }
}
