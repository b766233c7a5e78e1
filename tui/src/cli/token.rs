//! `levelhead token`: who may call the driver over the network.

use std::path::Path;

use clap::Subcommand;
use driver::{
    api::{TokenError, Tokens},
    system_clock,
};

use super::{
    context::Context,
    exit::{Exit, Failure, Outcome, chain},
    flags::FileFlag,
    out, style,
};

/// What happens to tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenVerb {
    /// Make a token, and print it once.
    Add {
        /// What it is called; stands in the journal beside what it changed.
        name: String,
        /// It may look and plan, and change nothing.
        #[arg(long)]
        read_only: bool,
        #[command(flatten)]
        file: FileFlag,
    },
    /// List the tokens, without themselves.
    List {
        #[command(flatten)]
        file: FileFlag,
    },
    /// Take a token back at once.
    Revoke {
        /// What it is called.
        name: String,
        #[command(flatten)]
        file: FileFlag,
    },
}

impl TokenVerb {
    /// The desired-state file.
    pub(crate) fn file(&self) -> &Path {
        match self {
            Self::Add { file, .. } | Self::List { file } | Self::Revoke { file, .. } => &file.file,
        }
    }
}

/// Makes, lists or takes back tokens of the run.
pub(crate) fn run(context: &Context, verb: &TokenVerb) -> Outcome {
    let tokens = Tokens::of(&context.paths);
    match verb {
        TokenVerb::Add { name, read_only, .. } => {
            let secret = secret();
            tokens
                .add(name, &secret, *read_only, system_clock()())
                .map_err(|error| failure(&error))?;
            if context.global.json {
                let token =
                    serde_json::json!({"name": name, "token": secret, "read_only": read_only});
                out::json(&token)?;
            } else {
                out::line(secret);
                out::note("this is shown once; only its hash is kept");
            }
        }
        TokenVerb::List { .. } => {
            let all = tokens.all().map_err(|error| failure(&error))?;
            if context.global.json {
                out::json(&all)?;
                return Ok(Exit::Done);
            }
            for token in all {
                let may = if token.read_only { "read-only" } else { "full" };
                let since = style::time(token.created_at);
                out::line(format!("{:<24} {may:<10} since {since}", token.name));
            }
        }
        TokenVerb::Revoke { name, .. } => {
            tokens.revoke(name).map_err(|error| failure(&error))?;
            out::note(format!("`{name}` is of no use from now on"));
        }
    }
    Ok(Exit::Done)
}

/// A token that nobody can guess: 244 random bits.
fn secret() -> String {
    format!("lh_{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple())
}

fn failure(error: &TokenError) -> Failure {
    let exit = match error {
        TokenError::File { .. } => Exit::Journal,
        TokenError::Refused(_) => Exit::Invalid,
    };
    Failure::new(exit, format!("{}; nothing was changed", chain(error)))
}
