//! Where log lines go: rolling files in the state directory, and stderr for the headless driver.

use std::{
    fs::{self, Permissions},
    io::{self, Write},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use checkpoint::{paths::StatePaths, store::make_dir};
use driver::StartError;
use tracing_appender::{
    non_blocking::{NonBlockingBuilder, WorkerGuard},
    rolling::{Builder, RollingFileAppender, Rotation},
};
use tracing_subscriber::{
    EnvFilter, Layer as _, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

use super::{
    exit::{Exit, Failure},
    values::LogFormat,
};

/// Log files that are kept, one a day.
const FILES_KEPT: usize = 7;
/// How the name of each begins.
const PREFIX: &str = "levelhead";
const DAY_SECS: u64 = 86_400;
/// Lines that may wait for the file; the room for them is taken at once, whether or not any ever wait.
const LINES_WAITING: usize = 8_192;

/// Keeps the file writer alive; dropping it writes what is left.
pub(crate) struct Guard {
    _files: WorkerGuard,
}

/// Begins to log into `paths`, and to stderr in `stderr`'s format if that is given. `RUST_LOG` is honoured.
pub(crate) fn start(paths: &StatePaths, stderr: Option<LogFormat>) -> Result<Guard, Failure> {
    let dir = paths.logs();
    let fail = |error: &dyn std::error::Error| {
        let text = format!("cannot log into {}: {error}", dir.display());
        Failure::new(Exit::Journal, text)
            .hint("make the state directory writable, or give --state-dir DIR")
    };
    make_dir(paths.dir()).map_err(StartError::Journal)?;
    make_dir(&dir).map_err(StartError::Journal)?;
    let files = Builder::new()
        .rotation(Rotation::DAILY)
        .filename_prefix(PREFIX)
        .filename_suffix("log")
        .max_log_files(FILES_KEPT)
        .build(&dir)
        .map_err(|error| fail(&error))?;
    let files = Private::new(files, dir.clone()).map_err(|error| fail(&error))?;
    let (writer, guard) =
        NonBlockingBuilder::default().buffered_lines_limit(LINES_WAITING).finish(files);
    let to_files = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(writer);
    let to_stderr = stderr.map(|format| match format {
        LogFormat::Text => {
            let styled = super::style::stderr_is_styled();
            tracing_subscriber::fmt::layer().with_ansi(styled).with_writer(std::io::stderr).boxed()
        }
        LogFormat::Json => {
            tracing_subscriber::fmt::layer().json().with_writer(std::io::stderr).boxed()
        }
    });
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_unset| EnvFilter::new("info"));
    let subscriber = tracing_subscriber::registry().with(filter).with(to_files).with(to_stderr);
    subscriber.try_init().map_err(|error| fail(&error))?;
    Ok(Guard { _files: guard })
}

/// Log files that only their user may read: the appender makes one a day, with the mode of the umask.
struct Private {
    files: RollingFileAppender,
    dir: PathBuf,
    day: u64,
}

impl Private {
    fn new(files: RollingFileAppender, dir: PathBuf) -> io::Result<Self> {
        restrict(&dir)?;
        Ok(Self { files, dir, day: today() })
    }
}

impl Write for Private {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.files.write(bytes)?;
        let today = today();
        if today != self.day {
            restrict(&self.dir)?;
            self.day = today;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.files.flush()
    }
}

/// Takes everybody else's rights on the log files in `dir`.
fn restrict(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        let wide = |found: fs::Metadata| found.permissions().mode() & 0o077 != 0;
        // One that is gone was pruned by another process.
        if ours && entry.metadata().is_ok_and(wide) {
            match fs::set_permissions(entry.path(), Permissions::from_mode(0o600)) {
                // Another process may have pruned it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                result => result?,
            }
        }
    }
    Ok(())
}

/// The day in UTC, as the appender counts them.
fn today() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs() / DAY_SECS
}
