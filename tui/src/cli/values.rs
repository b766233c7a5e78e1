//! What stands behind flags: groups of them that several verbs share, and the values that are read from their words.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};
use reconciler_core::id::{Generation, GroupId, IdError};

use super::config::SettingsFile;

/// Which driver, if not the one that has the run's state directory on this machine.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Another driver")]
#[expect(clippy::struct_field_names, reason = "a field is called as its flag")]
pub(crate) struct Attach {
    /// Ask this driver: the path of its socket, or `https://HOST:PORT`.
    #[arg(long, global = true, value_name = "SOCKET|URL", env = "LEVELHEAD_ATTACH")]
    pub(crate) attach: Option<String>,
    /// Whose certificate the driver shows (PEM); for https.
    #[arg(long, global = true, value_name = "FILE", env = "LEVELHEAD_CA")]
    pub(crate) ca: Option<PathBuf>,
    /// The file with the token to show; without it `LEVELHEAD_TOKEN` counts.
    #[arg(long, global = true, value_name = "FILE", env = "LEVELHEAD_TOKEN_FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// The certificate to show instead of a token (PEM).
    #[arg(long, global = true, value_name = "FILE", requires = "client_key")]
    pub(crate) client_cert: Option<PathBuf>,
    /// Its key (PEM).
    #[arg(long, global = true, value_name = "FILE", requires = "client_cert")]
    pub(crate) client_key: Option<PathBuf>,
}

impl Attach {
    /// The flags that lead there again, with their values; none where no driver was named.
    pub(crate) fn flags(&self) -> Vec<(&'static str, String)> {
        let Some(attach) = &self.attach else { return Vec::new() };
        let files = [
            ("--ca", &self.ca),
            ("--token-file", &self.token_file),
            ("--client-cert", &self.client_cert),
            ("--client-key", &self.client_key),
        ];
        let named = files
            .into_iter()
            .filter_map(|(flag, file)| Some((flag, file.as_ref()?.display().to_string())));
        std::iter::once(("--attach", attach.clone())).chain(named).collect()
    }
}

/// Where a driver serves its API beside its socket.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Over the network")]
pub(crate) struct Listening {
    /// Serve the API on this address as well, over TLS, for those who show a token or a certificate.
    #[arg(long, value_name = "ADDR:PORT", requires = "tls_cert", requires = "tls_key")]
    pub(crate) listen: Option<SocketAddr>,
    /// The certificate chain to show (PEM).
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Its key (PEM); nobody else may be able to read it.
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Let in whoever shows a certificate of these authorities (PEM).
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub(crate) client_ca: Option<PathBuf>,
}

/// How the console is opened.
#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Screen {
    /// Least time between two passes, to watch the steps.
    #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = duration)]
    pub(crate) pace: Duration,
    /// Draw with ASCII alone.
    #[arg(long)]
    pub(crate) ascii: bool,
    /// Draw with lines and circles, whatever the locale says.
    #[arg(long, conflicts_with = "ascii")]
    pub(crate) unicode: bool,
    /// Do not wrap frames in synchronized updates, for terminals that do not know them.
    #[arg(long)]
    pub(crate) no_sync: bool,
    /// Print a line for each change instead of drawing a screen; so it is as well where `ACCESSIBLE` is set.
    #[arg(long)]
    pub(crate) accessible: bool,
    #[command(flatten)]
    pub(crate) settings: SettingsFile,
    /// Refuse every edit.
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Allow edits of a driver that `--attach` names; without this it is only looked at.
    #[arg(long, conflicts_with = "read_only")]
    pub(crate) write: bool,
    /// Which colours; `blind` goes without red and green.
    #[arg(long, value_name = "PALETTE", default_value = "ansi", env = "LEVELHEAD_PALETTE")]
    pub(crate) palette: Palette,
    /// Write everything that reaches the console into this new file.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Show such a file again instead of a run.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["record", "write", "accessible"])]
    pub(crate) replay: Option<PathBuf>,
}

/// The colours of the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Palette {
    /// None: bold and reverse alone.
    Mono,
    /// The sixteen of the terminal.
    Ansi,
    /// Blue and yellow instead of green and red.
    Blind,
}

/// What is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Named {
    /// Groups.
    Groups,
    /// Nodes.
    Nodes,
    /// Both.
    Subjects,
    /// What is held.
    Holds,
}

/// What is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// Everything is as declared.
    Converged,
    /// Everything is as this generation declares.
    Generation(Generation),
    /// Every node of the group that is to run is ready.
    Ready(GroupId),
    /// A driver has the run, and has looked at every provider.
    Driver,
}

/// Reads what is waited for.
pub(super) fn awaited(text: &str) -> Result<Awaited, String> {
    match text.split_once('=') {
        None if text == "converged" => Ok(Awaited::Converged),
        None if text == "driver" => Ok(Awaited::Driver),
        Some(("generation", n)) => {
            let n: u64 = n.parse().map_err(|_bad| format!("`{n}` is no generation"))?;
            Ok(Awaited::Generation(Generation::new(n)))
        }
        Some(("ready", group)) => {
            group.parse().map(Awaited::Ready).map_err(|error: IdError| error.to_string())
        }
        _ => Err("it is one of: converged, generation=N, ready=GROUP, driver".to_owned()),
    }
}

/// What happens to an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct UpdateWhat {
    /// Let no further node that serves give way.
    #[arg(long)]
    pub(crate) pause: bool,
    /// Let it go on.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Go back to what served before it.
    #[arg(long)]
    pub(crate) rollback: bool,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// For programs, one object a line.
    Json,
}

/// Reads a length of time such as `500ms` or `1m 30s`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let span: jiff::SignedDuration =
        text.parse().map_err(|error: jiff::Error| error.to_string())?;
    span.try_into().map_err(|_negative| "it must not be negative".to_owned())
}

/// Reads `GROUP=N`.
pub(super) fn count(text: &str) -> Result<(GroupId, u32), String> {
    let (group, count) = text.split_once('=').ok_or("write it as GROUP=N, such as web=5")?;
    let group = group.parse().map_err(|error: IdError| error.to_string())?;
    let count = count.parse().map_err(|_bad| format!("`{count}` is not a count"))?;
    Ok((group, count))
}
