//! `levelhead config`: which settings count, and where each comes from.

use std::path::{Path, PathBuf};

use clap::Subcommand;

use super::{
    exit::{Exit, Failure, Outcome},
    out,
    settings::{self, Origin},
};

/// What there is to see of the settings.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigVerb {
    /// Print the path of the file of settings that counts, whether or not it exists.
    Path {
        #[command(flatten)]
        from: SettingsFile,
    },
    /// Print every setting as it counts, and where it comes from.
    Show {
        #[command(flatten)]
        from: SettingsFile,
    },
}

/// The file of settings.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct SettingsFile {
    /// Read settings from this file instead of the usual place.
    #[arg(long, value_name = "FILE", env = "LEVELHEAD_CONFIG")]
    pub(crate) config: Option<PathBuf>,
}

impl SettingsFile {
    /// Where settings come from.
    pub(crate) fn origin(&self) -> Origin {
        Origin::of(self.config.as_deref())
    }
}

/// Shows settings.
pub(crate) fn run(verb: &ConfigVerb, as_json: bool) -> Outcome {
    match verb {
        ConfigVerb::Path { from } => path(from.origin().path(), as_json),
        ConfigVerb::Show { from } => show(&from.origin(), as_json),
    }
}

fn path(path: Option<&Path>, as_json: bool) -> Outcome {
    let Some(path) = path else {
        let failure = Failure::new(Exit::Invalid, "there is no usual place for settings");
        return Err(failure.hint("set XDG_CONFIG_HOME or HOME, or name a file with --config"));
    };
    if as_json {
        out::json(&serde_json::json!({"path": path, "exists": path.exists()}))?;
    } else {
        out::line(path.display().to_string());
    }
    Ok(Exit::Done)
}

fn show(origin: &Origin, as_json: bool) -> Outcome {
    let read = settings::read(origin)?;
    let remaps = read.keys.remaps();
    let place = |scope: &str, action: &str| {
        let at = remaps.iter().position(|it| it.scope == scope && it.action == action)?;
        let (path, line) = origin.path().zip(read.lines.get(at))?;
        Some(format!("{}:{line}", path.display()))
    };
    let mut before = "";
    for (scope, action, keys, _) in read.keys.listed() {
        let from = place(scope, action).unwrap_or_else(|| "default".to_owned());
        let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
        if as_json {
            let line = serde_json::json!({"setting": format!("keys.{scope}.{action}"), "value": keys, "from": from});
            out::json(&line)?;
            continue;
        }
        if scope != before {
            out::line(format!("[keys.{scope}]"));
            before = scope;
        }
        let keys: Vec<String> = keys.iter().map(|key| toml_text(key)).collect();
        let value = match keys.as_slice() {
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        out::line(format!("{:<31} # {from}", format!("{action} = {value}")));
    }
    Ok(Exit::Done)
}

/// A text as TOML quotes it.
fn toml_text(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
