//! The file of a person's own settings: where it stands, and the keys that it binds.
//!
//! It says how this person works and nothing about a run, so that no run depends on it.

use std::{
    fs::File,
    io::{ErrorKind, Read as _},
    ops::Range,
    path::{Path, PathBuf},
    string::FromUtf8Error,
};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::exit::{Exit, Failure};
use crate::console::{
    key::{Key, UnknownKey},
    keymap::{Keymap, Remap},
};

/// Largest file that is read.
const BYTES_MAX: u64 = 64 << 10;

/// Where settings come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The file that was named.
    Named(PathBuf),
    /// The usual place, where none need be.
    Usual(PathBuf),
    /// There is no usual place: neither `XDG_CONFIG_HOME` nor `HOME` is set.
    Nowhere,
}

impl Origin {
    /// The file that counts if `named` was given.
    pub(crate) fn of(named: Option<&Path>) -> Self {
        if let Some(path) = named {
            return Self::Named(path.to_owned());
        }
        let dir =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
        let home = dir("XDG_CONFIG_HOME").or_else(|| dir("HOME").map(|home| home.join(".config")));
        home.map_or(Self::Nowhere, |home| Self::Usual(home.join("levelhead").join("config.toml")))
    }

    /// The file.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Named(path) | Self::Usual(path) => Some(path),
            Self::Nowhere => None,
        }
    }
}

/// What a person set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// Which key means what in the console.
    pub(crate) keys: Keymap,
    /// The line of the file that each change of them stands in, in the order of the changes.
    pub(crate) lines: Vec<usize>,
}

/// Reads the settings; those that nobody made are the usual ones.
pub(crate) fn read(origin: &Origin) -> Result<Settings, Failure> {
    let Some(path) = origin.path() else { return Ok(Settings::default()) };
    let mut bytes = Vec::new();
    let opened = File::open(path).and_then(|file| file.take(BYTES_MAX).read_to_end(&mut bytes));
    match (opened, origin) {
        (Err(error), Origin::Usual(_)) if error.kind() == ErrorKind::NotFound => {
            return Ok(Settings::default());
        }
        (Err(error), _) => {
            let failure =
                Failure::new(Exit::Invalid, format!("cannot read {}: {error}", path.display()));
            return Err(failure.hint("`levelhead config path` says which file counts"));
        }
        (Ok(read), _) if u64::try_from(read).is_ok_and(|read| read >= BYTES_MAX) => {
            let text = format!("{} is larger than {BYTES_MAX} bytes", path.display());
            return Err(Failure::new(Exit::Invalid, text).hint("bind only the keys that differ"));
        }
        (Ok(_), _) => {}
    }
    let text = String::from_utf8(bytes).map_err(|bad| not_utf8(path, &bad))?;
    parse(&text).map_err(|problems| {
        let place = |(span, what): (Range<usize>, String)| {
            let (line, column) = place_of(&text, span.start);
            format!("{}:{line}:{column}: {what}", path.display())
        };
        let details = problems.into_iter().map(place).collect();
        let failure = Failure::new(Exit::Invalid, "the settings are not valid");
        Failure {
            details,
            ..failure.hint(
                "mend the places above; then `levelhead config show` lists every key and its name",
            )
        }
    })
}

fn not_utf8(path: &Path, bad: &FromUtf8Error) -> Failure {
    let good = bad.as_bytes().get(..bad.utf8_error().valid_up_to()).unwrap_or_default();
    let good = String::from_utf8_lossy(good);
    let (line, column) = place_of(&good, good.len());
    let text = format!("{}:{line}:{column}: this is not UTF-8", path.display());
    Failure::new(Exit::Invalid, text).hint("save the file as UTF-8")
}

/// Line and column of a byte, both from one; columns are characters.
fn place_of(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

type Problem = (Range<usize>, String);

fn parse(text: &str) -> Result<Settings, Vec<Problem>> {
    let root = DeTable::parse(text)
        .map_err(|error| vec![(error.span().unwrap_or_default(), error.message().to_owned())])?;
    let (mut bound, mut problems) = (Vec::new(), Vec::new());
    for (name, value) in root.get_ref() {
        match (name.get_ref().as_ref(), value.get_ref().as_table()) {
            ("keys", Some(scopes)) => keys(scopes, &mut bound, &mut problems),
            ("keys", None) => {
                problems.push((value.span(), "`keys` is a table: [keys.panes]".to_owned()));
            }
            (other, _) => {
                problems.push((name.span(), format!("unknown setting `{other}`; known is: keys")));
            }
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    // In the order of the file, so that the later of two that clash is the one that is told.
    bound.sort_by_key(|(span, _): &(Range<usize>, Remap)| span.start);
    let lines = bound.iter().map(|(span, _)| place_of(text, span.start).0).collect();
    let (spans, remaps): (Vec<_>, Vec<_>) = bound.into_iter().unzip();
    let made = Keymap::with(&remaps).map_err(|errors| {
        let place = |at: usize| spans.get(at).cloned().unwrap_or_default();
        errors.into_iter().map(|(at, error)| (place(at), error.to_string())).collect::<Vec<_>>()
    })?;
    Ok(Settings { keys: made, lines })
}

fn keys(scopes: &DeTable<'_>, bound: &mut Vec<(Range<usize>, Remap)>, problems: &mut Vec<Problem>) {
    for (scope, actions) in scopes {
        let Some(actions) = actions.get_ref().as_table() else {
            let name = scope.get_ref();
            problems.push((scope.span(), format!("`{name}` is a table: [keys.{name}]")));
            continue;
        };
        for (action, value) in actions {
            let mut keys: Vec<Key> = Vec::new();
            for (span, word) in words(value, problems) {
                match word.parse() {
                    Ok(key) => keys.push(key),
                    Err(error) => {
                        let error: UnknownKey = error;
                        problems.push((span, format!("`{word}`: {error}")));
                    }
                }
            }
            let (scope, name) = (scope.get_ref().to_string(), action.get_ref().to_string());
            bound.push((action.span(), Remap { scope, action: name, keys }));
        }
    }
}

/// One text, or a list of them.
fn words<'d>(
    value: &'d Spanned<DeValue<'_>>,
    problems: &mut Vec<Problem>,
) -> Vec<(Range<usize>, &'d str)> {
    let items = match value.get_ref() {
        DeValue::Array(items) => items.iter().collect(),
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Table(_) => vec![value],
    };
    let mut words = Vec::new();
    for item in items {
        match item.get_ref().as_str() {
            Some(word) => words.push((item.span(), word)),
            None => problems.push((
                item.span(),
                "a key is written in quotes: \"z\", \"Ctrl-R\", or a list of them".to_owned(),
            )),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Vec<(usize, usize, String)> {
        let problems = parse(text).unwrap_err();
        let place = |(span, what): Problem| {
            let (line, column) = place_of(text, span.start);
            (line, column, what)
        };
        problems.into_iter().map(place).collect()
    }

    #[test]
    fn keys_are_read_with_their_lines() {
        let text = "# mine\n[keys.panes]\nproblems = \"z\"\nplan = [\"p\", \"Ctrl-P\"]\n";
        let read = parse(text).unwrap();
        assert_eq!(read.keys.remaps().len(), 2);
        assert_eq!(read.lines, [3, 4]);
        assert_eq!(read.keys.remaps()[1].keys, [Key::Char('p'), Key::Ctrl('p')]);
    }

    #[test]
    fn what_is_wrong_is_told_with_line_and_column() {
        for (text, line, column, word) in [
            ("[keys.panes]\nproblems = \"p\"\n", 2, 1, "`plan`"),
            ("[keys.panes]\nproblms = \"z\"\n", 2, 1, "known are"),
            ("\n[keys.pains]\nx = \"z\"\n", 3, 1, "there are no keys called `pains`"),
            ("[keys.panes]\nplan = \"alt-p\"\n", 2, 8, "no key is called so"),
            ("[keys.panes]\nplan = [\"p\", 3]\n", 2, 14, "quotes"),
            ("[keys.panes]\nplan = \"Ctrl-B\"\n", 2, 1, "belongs to the terminal"),
            ("colour = true\n", 1, 1, "unknown setting"),
            ("[keys.panes\n", 1, 12, ""),
        ] {
            let problems = refused(text);
            let found = problems
                .iter()
                .any(|(l, c, what)| (*l, *c) == (line, column) && what.contains(word));
            assert!(found, "{text:?}: {problems:?}");
        }
    }
}
