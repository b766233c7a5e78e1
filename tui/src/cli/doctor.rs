//! `levelhead doctor`: checks the surroundings, or puts a provider through the conformance battery.

use driver::Offline;
use executor::{
    conformance::{self, BatteryOptions, Outcome as CheckOutcome, Report},
    seam::ProviderPlace,
    secret::Secrets,
};
use reconciler_core::id::{GroupId, ProviderName, Uuid};

use super::{
    context::Context,
    exit::{Exit, Failure, Outcome},
    out,
};

/// Checks the run's surroundings, or one provider.
pub(crate) async fn run(context: &Context, provider: Option<&str>) -> Outcome {
    match provider {
        Some(name) => battery(context, name).await,
        None => surroundings(context),
    }
}

fn surroundings(context: &Context) -> Outcome {
    let driven = context.is_driven()?;
    if context.global.json {
        let providers: Vec<_> = context
            .loaded
            .providers
            .iter()
            .map(|(name, decl)| serde_json::json!({"name": name, "kind": decl.kind}))
            .collect();
        out::json(&serde_json::json!({
            "file": context.file,
            "state": context.paths.dir(),
            "records": Offline::open(&context.paths)?.records().len(),
            "driven": driven,
            "providers": providers,
        }))?;
        return Ok(Exit::Done);
    }
    let offline = Offline::open(&context.paths)?;
    out::line(format!("file      {} is valid", context.file.display()));
    out::line(format!("state     {}", context.paths.dir().display()));
    out::line(format!(
        "journal   {}",
        if offline.is_blank() {
            "none yet".to_owned()
        } else {
            format!("{} records", offline.records().len())
        }
    ));
    out::line(format!("driver    {}", if driven { "runs" } else { "none runs" }));
    for (name, decl) in &context.loaded.providers {
        out::line(format!("provider  {name} of kind {}", decl.kind));
    }
    out::line("next: levelhead doctor --provider NAME puts a provider through its battery");
    Ok(Exit::Done)
}

async fn battery(context: &Context, name: &str) -> Outcome {
    let name: ProviderName = name.parse().map_err(|error: reconciler_core::id::IdError| {
        Failure::new(Exit::Invalid, error.to_string())
    })?;
    let Some(decl) = context.loaded.providers.get(&name) else {
        let known: Vec<&str> = context.loaded.providers.keys().map(ProviderName::as_str).collect();
        let failure = Failure::new(Exit::Invalid, format!("there is no provider `{name}`"));
        return Err(failure.hint(format!("the providers are: {}", known.join(", "))));
    };
    let factory = context.catalogue.get(&decl.kind).ok_or_else(|| {
        Failure::new(
            Exit::Unavailable,
            format!("this build has no provider of kind `{}`", decl.kind),
        )
    })?;
    // A place of its own: the battery must not meet the run's fence or leases.
    let scratch = context.paths.dir().join("doctor").join(name.as_str());
    let (base_dir, secrets) = (context.base_dir(), Secrets::default());
    let place = ProviderPlace { state_dir: scratch, base_dir, secrets };
    let provider = factory
        .build(&decl.options, &place)
        .map_err(|error| Failure::new(Exit::Unavailable, super::exit::chain(&error)))?;
    let run = Uuid::from_bytes(*uuid::Uuid::new_v4().as_bytes());
    let group: GroupId = "battery".parse().map_err(|error: reconciler_core::id::IdError| {
        Failure::new(Exit::Internal, error.to_string())
    })?;
    let options = BatteryOptions::new(name, group, run);
    let report = conformance::run(provider, options).await;
    show(context, &report)
}

fn show(context: &Context, report: &Report) -> Outcome {
    let mut failed = 0;
    for check in &report.checks {
        let (word, why) = match &check.outcome {
            CheckOutcome::Passed => ("passed", String::new()),
            CheckOutcome::Failed(why) => {
                failed += 1;
                ("FAILED", format!(": {why}"))
            }
            CheckOutcome::Skipped(why) => ("skipped", format!(": {why}")),
        };
        if context.global.json {
            let line = serde_json::json!({"check": check.name, "cites": check.cites, "outcome": word, "why": why.trim_start_matches(": ")});
            out::json(&line)?;
        } else {
            out::line(format!("{word:<8} {} ({}){why}", check.name, check.cites.join(", ")));
        }
    }
    if failed > 0 {
        return Err(Failure::new(Exit::Unavailable, format!("{failed} checks failed")));
    }
    out::note("the provider passes the battery");
    Ok(Exit::Done)
}
