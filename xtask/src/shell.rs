//! Runs plain commands at the workspace root and says them first.
//!
//! The only file that spawns a process or writes to the terminal.
//! Progress goes to standard error, results to standard output.

use anyhow::{Context, Result, bail};
use std::fmt;
use std::io::{Write, stderr, stdout};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A command as a person would type it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plain {
    env: Vec<(String, String)>,
    words: Vec<String>,
}

impl Plain {
    /// A command of these words; the first is the program.
    pub(crate) fn new(words: &[&str]) -> Self {
        Self { env: Vec::new(), words: words.iter().map(ToString::to_string).collect() }
    }

    /// The same command with more words behind it.
    pub(crate) fn and(mut self, more: &[String]) -> Self {
        self.words.extend_from_slice(more);
        self
    }

    /// The same command with one more environment variable.
    pub(crate) fn env(mut self, key: &str, value: &str) -> Self {
        self.env.push((key.to_owned(), value.to_owned()));
        self
    }
}

impl fmt::Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { env, words } = self;
        let assigned = env.iter().map(|(key, value)| format!("{key}={}", quoted(value)));
        let spoken: Vec<String> = assigned.chain(words.iter().map(|word| quoted(word))).collect();
        f.write_str(&spoken.join(" "))
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The workspace root, and the right to run commands there.
#[derive(Debug)]
pub(crate) struct Shell {
    root: PathBuf,
}

impl Shell {
    /// Finds the root: cargo names the manifest it runs, the compiler remembers the one it built.
    pub(crate) fn at_root() -> Result<Self> {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest.parent().context("the manifest's folder has no parent")?;
        Ok(Self { root: root.to_owned() })
    }

    /// The workspace root.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Writes one line of progress.
    pub(crate) fn say(line: &str) -> Result<()> {
        writeln!(stderr(), "{line}").context("could not write to standard error")
    }

    /// Writes one line of result.
    pub(crate) fn print(line: &str) -> Result<()> {
        writeln!(stdout(), "{line}").context("could not write to standard output")
    }

    /// Says the command, runs it, and fails unless it succeeds.
    pub(crate) fn run(&self, plain: &Plain) -> Result<()> {
        Self::say(&format!("$ {plain}"))?;
        let status = self.command(plain)?.status();
        let status = status.with_context(|| format!("could not start `{plain}`"))?;
        if !status.success() {
            bail!("`{plain}` failed: {status}");
        }
        Ok(())
    }

    /// Says the command, runs it, and returns what it printed.
    pub(crate) fn read(&self, plain: &Plain) -> Result<String> {
        let (ended_well, told) = self.told(plain)?;
        if !ended_well {
            bail!("`{plain}` failed");
        }
        Ok(told)
    }

    /// Says the command, runs it, and returns whether it succeeded, and what it printed.
    pub(crate) fn told(&self, plain: &Plain) -> Result<(bool, String)> {
        Self::say(&format!("$ {plain}"))?;
        let mut command = self.command(plain)?;
        let output = command.stderr(Stdio::inherit()).output();
        let output = output.with_context(|| format!("could not start `{plain}`"))?;
        let told = String::from_utf8(output.stdout);
        let told = told.with_context(|| format!("`{plain}` printed no UTF-8"))?;
        Ok((output.status.success(), told))
    }

    /// Whether the command can be run here at all; silent, for probing tools.
    pub(crate) fn works(&self, plain: &Plain) -> Result<bool> {
        let mut command = self.command(plain)?;
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        // A program that cannot be started is a tool that is not there: the answer, not an error.
        Ok(status.is_ok_and(|status| status.success()))
    }

    fn command(&self, plain: &Plain) -> Result<Command> {
        let (program, args) = plain.words.split_first().context("an empty command")?;
        let mut command = Command::new(program);
        command.args(args).envs(plain.env.iter().cloned()).current_dir(&self.root);
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use super::Plain;

    #[test]
    fn a_command_is_shown_as_it_would_be_typed() {
        let plain = Plain::new(&["cargo", "nextest", "run", "-E", "test(sweep)"]);
        let plain = plain.env("RUSTDOCFLAGS", "-D warnings").and(&["it's".to_owned()]);
        let want = r"RUSTDOCFLAGS='-D warnings' cargo nextest run -E 'test(sweep)' 'it'\''s'";
        assert_eq!(plain.to_string(), want);
    }
}
