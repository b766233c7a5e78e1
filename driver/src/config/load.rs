//! Turns a desired-state file into a shape, its providers and the run's own settings, or names all that is
//! wrong with it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use reconciler_core::{
    desired::ClusterShape,
    id::{Generation, ProviderName, RunName, Uuid},
    limits,
};
use serde::{Deserialize, Serialize};

use crate::agents::AgentPlace;

use super::{
    agent, capacity,
    catalogue::Catalogue,
    diagnostic::{Diagnostic, Report},
    group, guardrail,
    provider::{self, ProviderDecl},
    reader::Section,
    render::{ConfigError, Problems},
    source::{self, Source},
    syntax,
};

/// The version of the file format that this program reads.
pub const FORMAT_VERSION: u32 = 1;

/// Who confirms a plan (D3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confirm {
    /// The driver confirms its own plans.
    #[default]
    Auto,
    /// An operator confirms each plan.
    Manual,
}

/// What a valid file declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The file.
    pub path: PathBuf,
    /// The SHA-256 of its bytes, in hexadecimal.
    pub digest: String,
    /// The shape, as generation 1; the driver numbers it.
    pub shape: ClusterShape,
    /// Every provider that a group may name.
    pub providers: BTreeMap<ProviderName, ProviderDecl>,
    /// Where the driver listens to agents.
    pub agents: AgentPlace,
    /// Who confirms a plan.
    pub confirm: Confirm,
    /// Effects in flight at once.
    pub parallelism: u32,
}

/// Reads and checks a desired-state file.
///
/// # Errors
/// Says why the file cannot be read, or everything that is wrong with its content at once.
pub fn load(path: &Path, catalogue: &Catalogue) -> Result<Loaded, ConfigError> {
    check(&source::read(path)?, catalogue)
}

/// Checks a text that is already at hand.
///
/// # Errors
/// Names everything that is wrong with it at once.
pub fn check(source: &Source, catalogue: &Catalogue) -> Result<Loaded, ConfigError> {
    let (tree, syntax) = syntax::parse(&source.text);
    let mut out = Report::default();
    let root = Section::root(tree.get_ref(), &mut out);
    let loaded = root_settings(&root, source, catalogue, &mut out);
    match loaded {
        Some(loaded) if out.is_empty() && syntax.is_empty() => Ok(loaded),
        Some(_) | None => {
            let problems = Problems::new(source, out, syntax);
            Err(ConfigError::Invalid(Box::new(problems)))
        }
    }
}

/// The run that a file is about, also where the rest of it is not valid: enough to look at the run.
pub fn identify(source: &Source) -> Option<(RunName, Uuid)> {
    let (tree, _syntax) = syntax::parse(&source.text);
    let mut unheard = Report::default();
    let root = Section::root(tree.get_ref(), &mut unheard);
    Some((run(&root, &mut unheard)?, uuid(&root, &mut unheard)?))
}

fn root_settings(
    root: &Section<'_>,
    source: &Source,
    catalogue: &Catalogue,
    out: &mut Report,
) -> Option<Loaded> {
    version(root, out);
    let run = run(root, out);
    let uuid = uuid(root, out);
    let confirm = confirm(root, out);
    let parallelism = root.whole("parallelism", 1..=limits::PARALLELISM_MAX, out);
    let agents = agent::read(root, out);
    let providers = provider::read(root, catalogue, out);
    let groups = group::read(root, &providers, out);
    let declared = providers.sound.iter();
    let declared = declared.filter_map(|(name, decl)| Some((name.clone(), decl.capacity?)));
    capacity::check(root, declared, &groups, out);
    let guardrails = guardrail::read(root, &groups, out);
    let shape = ClusterShape::new(run?, uuid?, Generation::new(1), groups);
    match shape.map(|shape| shape.guarded(guardrails)) {
        Ok(shape) => Some(Loaded {
            path: source.path.clone(),
            digest: source.digest.clone(),
            shape,
            providers: providers.sound,
            agents,
            confirm,
            parallelism: parallelism.map_or(limits::PARALLELISM_DEFAULT, |given| given.value),
        }),
        Err(error) => {
            // Each of its reasons was reported at its own place; this keeps a new reason from being lost.
            if out.is_empty() {
                let hint = "declare fewer nodes or groups";
                out.push(Diagnostic::new(root.span.clone(), error.to_string()).hint(hint));
            }
            None
        }
    }
}

fn version(root: &Section<'_>, out: &mut Report) {
    let hint = format!("write version = {FORMAT_VERSION}");
    root.require("version", &format!("{hint} at the top"), out);
    let Some(found) = root.whole("version", 0..=u32::MAX, out) else { return };
    if found.value != FORMAT_VERSION {
        let message = format!("format version {} is not supported", found.value);
        out.push(Diagnostic::new(found.span, message).hint(hint));
    }
}

fn run(root: &Section<'_>, out: &mut Report) -> Option<RunName> {
    root.require("run", "name the run: run = \"local\"", out);
    let text = root.text("run", out)?;
    match text.value.parse() {
        Ok(run) => Some(run),
        Err(error) => {
            let error: reconciler_core::id::IdError = error;
            let hint = "use a-z, 0-9 and inner hyphens, a letter first, at most 63 characters";
            out.push(Diagnostic::new(text.span, error.to_string()).hint(hint));
            None
        }
    }
}

fn uuid(root: &Section<'_>, out: &mut Report) -> Option<Uuid> {
    let hint = "`levelhead init --uuid` prints a fresh one";
    root.require("uuid", &format!("it is the identity of the run; {hint}"), out);
    let text = root.text("uuid", out)?;
    match text.value.parse::<Uuid>() {
        Ok(uuid) if uuid.as_bytes().iter().any(|byte| *byte != 0) => Some(uuid),
        Ok(_) => {
            let message = "the UUID is all zeros, which identifies nothing";
            out.push(Diagnostic::new(text.span, message).hint(hint));
            None
        }
        Err(error) => {
            out.push(Diagnostic::new(text.span, error.to_string()).hint(hint));
            None
        }
    }
}

fn confirm(root: &Section<'_>, out: &mut Report) -> Confirm {
    let Some(text) = root.text("confirm", out) else { return Confirm::default() };
    match text.value {
        "auto" => Confirm::Auto,
        "manual" => Confirm::Manual,
        other => {
            let message = format!("unknown way to confirm `{other}`");
            let hint = "use \"auto\" (the driver confirms its own plans) or \"manual\" (you do)";
            out.push(Diagnostic::new(text.span, message).hint(hint));
            Confirm::default()
        }
    }
}
