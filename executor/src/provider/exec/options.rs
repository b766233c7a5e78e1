//! The options of an exec provider: read once, every problem told at once.

use std::{collections::BTreeSet, ffi::OsString, path::Path, time::Duration};

use reconciler_core::redact::is_secret_key;
use serde_json::Value;

use crate::seam::{OptionProblem, ProviderOptions, Rate};

const KEYS: [&str; 10] = [
    "program",
    "timeout_ms",
    "env",
    "visibility_ms",
    "listing_period_ms",
    "rate_per_second",
    "rate_burst",
    "hooks",
    "secrets",
    "agent",
];

/// Longest time that an option may name: an hour; more is a typing error.
const TIME_MS_MAX: u64 = 3_600_000;

/// What the operator wrote, with defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Options {
    /// The program and its first arguments.
    pub(super) program: Argv,
    /// How long one call may take.
    pub(super) timeout: Duration,
    /// Names of our variables that it gets.
    pub(super) env: Vec<String>,
    /// How long a creation may stay unseen.
    pub(super) visibility: Duration,
    /// How often it is listed.
    pub(super) listing_period: Duration,
    /// How often it is called.
    pub(super) rate: Rate,
    /// Whether it knows the call `run-hook`.
    pub(super) hooks: bool,
    pub(super) secrets: bool,
    /// Where its nodes have the agent.
    pub(super) agent: Option<String>,
}

/// A program as it is named in the options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Argv {
    /// One path.
    Path(String),
    /// Program and arguments; a program without a slash is searched in `PATH`.
    List(Vec<String>),
}

impl Default for Options {
    fn default() -> Self {
        Self {
            program: Argv::Path(String::new()),
            timeout: Duration::from_secs(30),
            env: Vec::new(),
            visibility: Duration::from_mins(1),
            listing_period: Duration::from_secs(15),
            rate: Rate { per_second: 20, burst: 40 },
            hooks: false,
            secrets: false,
            agent: None,
        }
    }
}

impl Argv {
    /// The words to run, a relative path starting at `base`.
    pub(super) fn resolved(&self, base: &Path) -> Vec<OsString> {
        match self {
            Self::Path(path) => vec![base.join(path).into_os_string()],
            Self::List(words) => words
                .iter()
                .enumerate()
                .map(|(at, word)| match at {
                    0 if word.contains('/') => base.join(word).into_os_string(),
                    _ => OsString::from(word),
                })
                .collect(),
        }
    }
}

/// Reads `options`; what is wrong is left at its default and told.
pub(super) fn read(options: &ProviderOptions) -> (Options, Vec<OptionProblem>) {
    let mut reader = Reader { options, problems: Vec::new() };
    let defaults = Options::default();
    let found = Options {
        program: reader.program(),
        timeout: reader.time("timeout_ms", 1, defaults.timeout),
        env: reader.env(),
        visibility: reader.time("visibility_ms", 0, defaults.visibility),
        listing_period: reader.time("listing_period_ms", 100, defaults.listing_period),
        rate: Rate {
            per_second: reader.count("rate_per_second", 10_000, defaults.rate.per_second),
            burst: reader.count("rate_burst", 100_000, defaults.rate.burst),
        },
        hooks: reader.flag("hooks", defaults.hooks),
        secrets: reader.flag("secrets", defaults.secrets),
        agent: reader.agent(),
    };
    if found.agent.is_some() && !found.secrets {
        let hint = "its token is handed to the program with the secrets: add secrets = true";
        reader.wrong("agent", "an agent needs a program that hands secrets to nodes", hint);
    }
    for key in options.keys().filter(|key| !KEYS.contains(&key.as_str())) {
        let hint = format!("known options are {}", KEYS.join(", "));
        reader.problems.push(OptionProblem {
            key: key.clone(),
            message: "there is no such option".to_owned(),
            hint: Some(hint),
        });
    }
    (found, reader.problems)
}

struct Reader<'a> {
    options: &'a ProviderOptions,
    problems: Vec<OptionProblem>,
}

impl Reader<'_> {
    fn wrong(&mut self, key: &str, message: impl Into<String>, hint: &str) {
        let hint = Some(hint.to_owned());
        self.problems.push(OptionProblem { key: key.to_owned(), message: message.into(), hint });
    }

    fn program(&mut self) -> Argv {
        let hint = "such as program = \"./provider.py\" or [\"python3\", \"provider.py\"]";
        let found = match self.options.get("program") {
            None => {
                self.wrong("", "`program` is missing", hint);
                return Argv::Path(String::new());
            }
            Some(Value::String(path)) => Some(Argv::Path(path.clone())),
            Some(value) => texts(value).map(Argv::List),
        };
        let first = match &found {
            Some(Argv::Path(path)) => Some(path),
            Some(Argv::List(words)) => words.first(),
            None => None,
        };
        if first.is_none_or(String::is_empty) {
            self.wrong("program", "it must be a path, or a list of program and arguments", hint);
        } else if matches!(&found, Some(Argv::List(words)) if words.iter().any(has_nul))
            || first.is_some_and(has_nul)
        {
            self.wrong("program", "it must not contain a null character", hint);
        }
        found.unwrap_or_else(|| Argv::Path(String::new()))
    }

    fn env(&mut self) -> Vec<String> {
        let Some(value) = self.options.get("env") else { return Vec::new() };
        let hint = "a list of names such as [\"CLOUD_TOKEN\"]; values stay in your environment";
        let Some(names) = texts(value) else {
            self.wrong("env", "it must be a list of names", hint);
            return Vec::new();
        };
        let mut seen = BTreeSet::new();
        for name in &names {
            if let Some((left, _)) = name.split_once('=') {
                // The value may be a secret, so only the name is repeated.
                let shown = if is_secret_key(left) { "a name" } else { left };
                self.wrong("env", format!("{shown} must stand without a value"), hint);
            } else if name.is_empty() || has_nul(name) {
                self.wrong("env", "a name must not be empty", hint);
            } else if !seen.insert(name) {
                self.wrong("env", format!("{name} is listed twice"), hint);
            }
        }
        names
    }

    fn agent(&mut self) -> Option<String> {
        let value = self.options.get("agent")?;
        let path = value.as_str().filter(|path| !path.is_empty() && !has_nul(path));
        if path.is_none() {
            let hint = "the program on the nodes, such as agent = \"/usr/local/bin/levelhead\"";
            self.wrong("agent", "it must be a path", hint);
        }
        path.map(ToOwned::to_owned)
    }

    fn time(&mut self, key: &str, least: u64, default: Duration) -> Duration {
        let Some(value) = self.options.get(key) else { return default };
        if let Some(ms) = value.as_u64().filter(|ms| (least..=TIME_MS_MAX).contains(ms)) {
            return Duration::from_millis(ms);
        }
        let message = format!("it must be a whole number from {least} to {TIME_MS_MAX}");
        self.wrong(key, message, &format!("milliseconds, such as {}", default.as_millis()));
        default
    }

    fn flag(&mut self, key: &str, default: bool) -> bool {
        let Some(value) = self.options.get(key) else { return default };
        if let Some(flag) = value.as_bool() {
            return flag;
        }
        self.wrong(key, "it must be true or false", "without quotes, such as true");
        default
    }

    fn count(&mut self, key: &str, most: u32, default: u32) -> u32 {
        let Some(value) = self.options.get(key) else { return default };
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        if let Some(number) = number.filter(|number| (1..=most).contains(number)) {
            return number;
        }
        let message = format!("it must be a whole number from 1 to {most}");
        self.wrong(key, message, &format!("calls, such as {default}"));
        default
    }
}

fn texts(value: &Value) -> Option<Vec<String>> {
    let words = value.as_array()?;
    words.iter().map(|word| word.as_str().map(ToOwned::to_owned)).collect()
}

fn has_nul(text: impl AsRef<str>) -> bool {
    text.as_ref().contains('\0')
}
