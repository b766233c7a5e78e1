//! Reads a workload's environment: names that a process can have, and no credentials written out (P8).

use std::collections::BTreeMap;

use reconciler_core::redact::is_secret_key;

use super::{
    diagnostic::{Diagnostic, Report},
    placeholder,
    reader::{At, Section},
};

/// Names with this prefix carry a node's identity and are set by Levelhead itself.
const RESERVED: &str = "LEVELHEAD_";

/// The environment under `env`, and each value with its place for the check of placeholders.
pub(super) fn read<'d>(
    boot: &Section<'d>,
    out: &mut Report,
) -> (BTreeMap<String, String>, Vec<At<&'d str>>) {
    let mut env = BTreeMap::new();
    let mut values = Vec::new();
    for (name, value) in boot.text_map("env", out) {
        check_name(&name, out);
        check_value(&name, &value, out);
        env.insert(name.value.to_owned(), value.value.to_owned());
        values.push(value);
    }
    (env, values)
}

fn check_name(name: &At<&str>, out: &mut Report) {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    if !name.value.starts_with(first) || !name.value.chars().all(legal) {
        let message = format!("`{}` is not a name of an environment variable", name.value);
        let hint = "use letters, digits and underscores, and no digit first";
        out.push(Diagnostic::new(name.span.clone(), message).hint(hint));
    } else if name.value.starts_with(RESERVED) {
        let message = format!("`{}` is reserved", name.value);
        let hint =
            format!("names that start with {RESERVED} carry a node's identity; choose another");
        out.push(Diagnostic::new(name.span.clone(), message).hint(hint));
    }
}

fn check_value(name: &At<&str>, value: &At<&str>, out: &mut Report) {
    if !is_secret_key(name.value) || placeholder::is_all_placeholders(value.value) {
        return;
    }
    let message = format!("`{}` looks like a credential written into the file", name.value);
    let hint = "keep it out of this file: let the workload's own start script read it from a private \
                file or from its environment";
    out.push(Diagnostic::new(value.span.clone(), message).label("not shown").hint(hint).secret());
}
