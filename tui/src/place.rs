//! Commands as they work when they are pasted where the caller stands: the one place that gives a command its file
//! and its state directory.

use std::path::{Path, PathBuf};

use driver::view::{DriftView, ExplainView, FactValue, PlanView, RunView};

/// The program's name, with which every command begins.
const PROGRAM: &str = "levelhead ";
/// Verbs that take the file as a word of their own; the others take it as `--file`.
const WITH_FILE: [&str; 12] = [
    "apply", "console", "down", "driver", "events", "export", "plan", "status", "up", "validate",
    "wait", "watch",
];
/// Verbs that work on what is on the machine of the driver alone, and so are run there, without the way to it.
const THERE: [&str; 5] = ["driver", "doctor", "logs", "token", "ownership"];
/// Verbs that are about no run.
const ALONE: [&str; 5] = ["init", "completions", "config", "man", "--help"];

/// Where the caller said that the run is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    file: PathBuf,
    state_dir: Option<PathBuf>,
    driver: Vec<(&'static str, String)>,
}

impl Place {
    /// The run of `file`, with its state in `state_dir` where the caller named one.
    pub fn new(file: &Path, state_dir: Option<&Path>) -> Self {
        let state_dir = state_dir.map(Path::to_owned);
        Self { file: file.to_owned(), state_dir, driver: Vec::new() }
    }

    /// The same, where the caller named a driver with these flags and their values.
    #[must_use]
    pub fn attached(self, driver: Vec<(&'static str, String)>) -> Self {
        Self { driver, ..self }
    }

    /// The command line that does `words`, a verb and what it names.
    pub fn command(&self, words: &str) -> String {
        let words = words.trim_start_matches(PROGRAM);
        let verb = words.split(' ').next().unwrap_or_default();
        let there =
            THERE.contains(&verb) || words == "recovery" || words.starts_with("recovery show");
        if ALONE.contains(&verb) || (there && !self.driver.is_empty()) {
            return format!("{PROGRAM}{words}");
        }
        let flag = if WITH_FILE.contains(&verb) { "" } else { "--file " };
        let state = self.state_dir.as_deref().map(|dir| format!(" --state-dir {}", quoted(dir)));
        let driver = self.driver.iter().map(|(flag, value)| {
            let value = quoted(Path::new(value));
            format!(" {flag} {value}")
        });
        let (state, driver) = (state.unwrap_or_default(), driver.collect::<String>());
        format!("{PROGRAM}{words} {flag}{}{state}{driver}", quoted(&self.file))
    }

    /// A text with the commands in it as they are run from here: the whole of it, or what stands in backticks.
    pub fn text(&self, text: &str) -> String {
        if text.starts_with(PROGRAM) {
            return self.command(text);
        }
        let parts = text.split('`').enumerate().map(|(nth, part)| {
            let command = nth % 2 == 1 && part.starts_with(PROGRAM);
            if command { self.command(part) } else { part.to_owned() }
        });
        parts.collect::<Vec<_>>().join("`")
    }

    /// A run whose commands are run from here.
    #[must_use]
    pub fn run(&self, mut view: RunView) -> RunView {
        for hold in &mut view.holds {
            hold.way_out = self.command(&hold.way_out);
            self.rewrite(&mut hold.text);
        }
        for one in &mut view.outstanding {
            one.way_out = one.way_out.as_deref().map(|command| self.command(command));
            self.rewrite(&mut one.why);
        }
        view.nodes.iter_mut().for_each(|node| self.rewrite(&mut node.reason));
        view.events.iter_mut().for_each(|event| self.rewrite(&mut event.text));
        if let Some(problem) = view.file.as_mut().and_then(|file| file.problem.as_mut()) {
            *problem = self.text(problem);
        }
        self.drifts(&mut view.drift);
        view
    }

    /// A plan whose commands are run from here.
    #[must_use]
    pub fn plan(&self, mut view: PlanView) -> PlanView {
        self.drifts(&mut view.drift);
        view
    }

    /// An explanation whose commands are run from here.
    #[must_use]
    pub fn explained(&self, mut view: ExplainView) -> ExplainView {
        for blocker in &mut view.blockers {
            blocker.way_out = blocker.way_out.as_deref().map(|command| self.command(command));
            self.rewrite(&mut blocker.what);
        }
        for fact in &mut view.facts {
            if let FactValue::Text(text) = &mut fact.value {
                self.rewrite(text);
            }
        }
        self.rewrite(&mut view.node.reason);
        self.drifts(&mut view.drift);
        view
    }

    /// The same in place; most texts name no command.
    fn rewrite(&self, text: &mut String) {
        if text.contains(PROGRAM) {
            *text = self.text(text);
        }
    }

    fn drifts(&self, drifts: &mut [DriftView]) {
        for drift in drifts {
            drift.way_out = drift.way_out.as_deref().map(|command| self.command(command));
        }
    }
}

/// A path as one word of a POSIX shell.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P6: a command that is printed works when it is pasted, whatever its verb and wherever the run is.
    #[test]
    fn a_command_names_its_file_and_its_state() {
        let plain = Place::new(Path::new("cluster.toml"), None);
        assert_eq!(plain.command("status"), "levelhead status cluster.toml");
        assert_eq!(
            plain.command("levelhead release web-0 --confirm 5f"),
            "levelhead release web-0 --confirm 5f --file cluster.toml"
        );
        let far = Place::new(Path::new("my run.toml"), Some(Path::new("/var/it's")));
        assert_eq!(far.command("up"), "levelhead up 'my run.toml' --state-dir '/var/it'\\''s'");
        assert_eq!(far.command("levelhead init --uuid"), "levelhead init --uuid");
    }

    /// A command that is printed to someone who named a driver finds it again, with all that it takes to be let in; one
    /// that is run where the driver is names nothing that is only here.
    #[test]
    fn a_command_names_the_driver_that_was_named() {
        let driver = vec![
            ("--attach", "https://far:7700".to_owned()),
            ("--ca", "my ca.pem".to_owned()),
            ("--token-file", "token".to_owned()),
        ];
        let place = Place::new(Path::new("a.toml"), None).attached(driver);
        assert_eq!(
            place.command("release web-0"),
            "levelhead release web-0 --file a.toml --attach https://far:7700 --ca 'my ca.pem' \
             --token-file token"
        );
        assert_eq!(
            place.text("`levelhead token add` makes a token"),
            "`levelhead token add` makes a token"
        );
        assert_eq!(place.command("recovery show 7"), "levelhead recovery show 7");
        assert!(place.command("recovery resume 7").contains("--attach"));
    }

    /// P6: what a hold tells in its text is run from here as well as its way out is.
    #[test]
    fn a_hold_names_the_file_in_every_command_of_its_text() {
        let place = Place::new(Path::new("a.toml"), None);
        let mut text = "handed over; see `levelhead recovery show 2`".to_owned();
        place.rewrite(&mut text);
        assert_eq!(text, "handed over; see `levelhead recovery show 2 --file a.toml`");
    }

    #[test]
    fn commands_within_a_text_are_placed_as_well() {
        let place = Place::new(Path::new("a.toml"), None);
        assert_eq!(place.text("levelhead explain web-0"), "levelhead explain web-0 --file a.toml");
        assert_eq!(
            place.text("`levelhead status` lists them; `web` does not"),
            "`levelhead status a.toml` lists them; `web` does not"
        );
    }
}
