//! Reads a workload's environment: names that a process can have, secrets by reference, and no credentials written
//! out (P8).

use std::collections::BTreeMap;

use executor::seam::Capabilities;
use reconciler_core::{
    desired::{SecretRef, is_variable_name},
    redact::is_secret_key,
};

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

/// Where the variables under `secret_env` come from; none of them stands in `env` as well.
pub(super) fn read_secrets(
    boot: &Section<'_>,
    env: &BTreeMap<String, String>,
    capabilities: Option<&Capabilities>,
    out: &mut Report,
) -> BTreeMap<String, SecretRef> {
    if let (Some(value), Some(gap)) =
        (boot.raw("secret_env"), capabilities.filter(|capabilities| !capabilities.secrets))
    {
        let message = format!("capability gap: a `{}` provider hands no secrets on", gap.kind);
        let hint = match gap.kind {
            "exec" => {
                "if its program reads `secrets` of a request, set its option `secrets` to true"
            }
            _ => "remove `secret_env`, or choose a provider that hands secrets on",
        };
        out.push(Diagnostic::new(value.span(), message).hint(hint));
    }
    let mut secrets = BTreeMap::new();
    for (name, value) in boot.text_map("secret_env", out) {
        check_name(&name, out);
        if env.contains_key(name.value) {
            let message = format!("`{}` stands in `env` as well", name.value);
            out.push(Diagnostic::new(name.span.clone(), message).hint("keep one of them"));
        }
        match value.value.parse::<SecretRef>() {
            Ok(reference) => drop(secrets.insert(name.value.to_owned(), reference)),
            Err(error) => {
                // It may be the secret itself, so it is not shown.
                let hint =
                    "write \"env:NAME\" or \"file:PATH\"; the value itself stays out of this file";
                let wrong = Diagnostic::new(value.span.clone(), error.to_string());
                out.push(wrong.label("not shown").hint(hint).secret());
            }
        }
    }
    secrets
}

fn check_name(name: &At<&str>, out: &mut Report) {
    if !is_variable_name(name.value) {
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
    let hint = format!(
        "keep it out of this file: move it to `secret_env`, and refer there to \"env:{}\" or \"file:PATH\"",
        name.value
    );
    out.push(Diagnostic::new(value.span.clone(), message).label("not shown").hint(hint).secret());
}
