//! Exit codes, and failures that carry them to the end of the program.

use std::error::Error;

use checkpoint::store::StoreError;
use driver::{
    DriveError, OfflineError, StartError,
    api::CallError,
    config::ConfigError,
    view::{Refusal, RefusalKind},
};

use crate::place::Place;

/// The documented exit codes. The final outcome counts, never the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// A fault of the program itself.
    Internal = 1,
    /// Changes are present (`plan --detailed-exitcode` alone).
    Changes = 2,
    /// The command line makes no sense.
    Usage = 64,
    /// The input is not valid; nothing was changed.
    Invalid = 65,
    /// The journal or the state directory cannot be used.
    Journal = 66,
    /// A provider or the driver is not to be had.
    Unavailable = 69,
    /// The confirmation is stale; nothing was changed.
    Stale = 70,
    /// Refused by policy, fence or mode; nothing was changed.
    Refused = 71,
    /// Partly done: something is held.
    Partial = 72,
    /// Not as it should be.
    NotConverged = 73,
    /// Out of time.
    TimedOut = 75,
    /// Interrupted.
    Interrupted = 130,
    /// Terminated.
    Terminated = 143,
}

impl Exit {
    /// What helps where nothing more is known than the code.
    const fn help(self) -> Option<&'static str> {
        match self {
            Self::Done | Self::Changes | Self::Interrupted | Self::Terminated => None,
            Self::Usage | Self::Invalid => Some("`levelhead --help` lists what can be given"),
            Self::Internal => Some("`levelhead doctor` checks the surroundings"),
            Self::Journal => Some("`levelhead journal verify` checks the journal"),
            Self::Unavailable => Some("`levelhead doctor` shows what is to be had here"),
            Self::Stale | Self::Refused | Self::Partial | Self::NotConverged | Self::TimedOut => {
                Some("`levelhead status` shows how it stands")
            }
        }
    }
}

/// What helps a journal that cannot be written.
const ROOM_HINT: &str =
    "free space on the disk or make the state directory writable, then start again";

/// Why a verb failed: the code, the message, and what to do.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// A lower-case fragment with its causes.
    pub(crate) message: String,
    /// More lines, such as what moved; printed as they are.
    pub(crate) details: Vec<String>,
    /// The command or deed that helps.
    pub(crate) hint: Option<String>,
    /// The same for programs, where there is more to say.
    pub(crate) json: Option<serde_json::Value>,
}

/// What a verb comes to.
pub(crate) type Outcome = Result<Exit, Failure>;

impl Failure {
    /// A failure without more to say.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), details: Vec::new(), hint: None, json: None }
    }

    /// Adds what helps.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same, and in any case with something that helps.
    #[must_use]
    pub(crate) fn helped(self) -> Self {
        let hint = self.hint.or_else(|| self.exit.help().map(str::to_owned));
        Self { hint, ..self }
    }

    /// The same with the commands in it as they are run from `place`.
    #[must_use]
    pub(crate) fn placed(self, place: &Place) -> Self {
        let this = self.helped();
        let hint = this.hint.map(|hint| place.text(&hint));
        let details = this.details.iter().map(|detail| place.text(detail)).collect();
        Self { details, hint, ..this }
    }

    /// A failure of the program's own doing or of its surroundings.
    pub(crate) fn internal(doing: &str, error: &dyn Error) -> Self {
        Self::new(Exit::Internal, format!("{doing}: {}", chain(error)))
    }
}

/// An error with its causes, in one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut last = text.clone();
    let mut cause = error.source();
    while let Some(error) = cause {
        // Some libraries tell their cause in their own words already, and some causes repeat what they caused.
        let more = error.to_string();
        if !text.ends_with(&more) && !more.ends_with(&last) {
            text.push_str(": ");
            text.push_str(&more);
            last = more;
        }
        cause = error.source();
    }
    text
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let exit = match refusal.kind {
            RefusalKind::Invalid => Exit::Invalid,
            RefusalKind::Stale => Exit::Stale,
            RefusalKind::Forbidden => Exit::Refused,
            RefusalKind::Journal => Exit::Journal,
            RefusalKind::Unavailable | RefusalKind::Busy => Exit::Unavailable,
        };
        let message = match refusal.kind {
            RefusalKind::Unavailable | RefusalKind::Busy => refusal.message,
            RefusalKind::Invalid
            | RefusalKind::Stale
            | RefusalKind::Forbidden
            | RefusalKind::Journal => format!("{}; nothing was changed", refusal.message),
        };
        let room = (exit == Exit::Journal).then(|| ROOM_HINT.to_owned());
        let hint = refusal.hint.or(room);
        Self { details: refusal.moved, hint, ..Self::new(exit, message) }
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Refused(refusal) => refusal.into(),
            CallError::Socket { .. }
            | CallError::Broken(_)
            | CallError::Answer(_)
            | CallError::Call(_) => Self::new(Exit::Unavailable, chain(&error))
                .hint("see that a driver runs there: `levelhead driver` starts one"),
        }
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        use checkpoint::store::OpenError;
        let exit = match &error {
            StartError::Journal(OpenError::Held { .. } | OpenError::Leased { .. }) => Exit::Refused,
            StartError::Journal(_) => Exit::Journal,
            StartError::Provider { .. } | StartError::UnknownKind { .. } => Exit::Unavailable,
        };
        let failure = Self::new(exit, chain(&error));
        match &error {
            StartError::Journal(OpenError::Held { owner, .. }) => {
                let since = owner.as_ref().map(|o| super::style::time(o.started));
                let since = since.map_or_else(String::new, |at| format!(", driving since {at}"));
                let message = format!("{}{since}; nothing was changed", failure.message);
                Self { message, ..failure }.hint("use that driver: `levelhead status` shows it")
            }
            StartError::Journal(OpenError::Leased { lease, .. }) => {
                let until = super::style::time(lease.lease.until);
                let message = format!("{}, at {until}; nothing was changed", failure.message);
                Self { message, ..failure }.hint(
                    "stop that controller in good order, which gives its leases back, or wait",
                )
            }
            StartError::Journal(OpenError::Damaged { path, .. }) => {
                let details = super::journal::ways_on(path);
                let message = format!("{}; nothing was changed", failure.message);
                Self { message, details, ..failure }
            }
            StartError::Journal(OpenError::Io { .. }) => failure.hint(ROOM_HINT),
            StartError::Journal(OpenError::Narrow { path, wanted, .. }) => failure.hint(format!(
                "`chmod {wanted:04o} {}` if it is to be used, or give another --state-dir",
                path.display()
            )),
            StartError::Journal(_)
            | StartError::Provider { .. }
            | StartError::UnknownKind { .. } => failure,
        }
    }
}

impl From<OfflineError> for Failure {
    fn from(error: OfflineError) -> Self {
        match error {
            OfflineError::Journal(error) => StartError::Journal(error).into(),
            OfflineError::Start(error) => error.into(),
            OfflineError::Refused(refusal) => refusal.into(),
        }
    }
}

impl From<DriveError> for Failure {
    fn from(error: DriveError) -> Self {
        let DriveError::Journal(cause) = &error;
        if let StoreError::Fenced { .. } = cause {
            return Self::new(Exit::Refused, chain(&error))
                .hint("a newer driver has the run; `levelhead status` shows it");
        }
        Self::new(Exit::Journal, chain(&error)).hint(ROOM_HINT)
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let styled = super::style::stderr_is_styled();
        let (message, hint) = match &error {
            ConfigError::Read(_) => {
                ("the desired-state file cannot be read", "`levelhead init` writes a starter file")
            }
            ConfigError::Invalid(problems) if problems.has_broken_syntax() => (
                "the desired-state file is not valid",
                "mend the places above, then `levelhead validate`: what stands behind broken syntax may hold more",
            ),
            ConfigError::Invalid(_) => (
                "the desired-state file is not valid",
                "mend the places above, then `levelhead validate`",
            ),
        };
        let details = vec![error.render(styled).trim_end().to_owned()];
        let json = Some(error.to_json());
        Self { details, json, ..Self::new(Exit::Invalid, message) }.hint(hint)
    }
}
