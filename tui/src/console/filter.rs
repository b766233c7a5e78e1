//! Which nodes are shown: words, `re:`, `stage:`, `group:`, `hold:`, `age>`, each turned round by `!`; problems only.
//!
//! All words of a filter must hold. A word that makes no sense hides nothing and is told; one that is only half typed
//! hides nothing either, so that the list does not flicker while it is typed.

use driver::view::NodeView;
use reconciler_core::{
    observed::StageName,
    time::{Millis, Timestamp},
};
use regex::{Regex, RegexBuilder};

use super::{clock, stage};

/// Most memory of a compiled pattern: any that a person types fits, and none that multiplies itself does.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// A filter as typed, and what it means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    raw: String,
    terms: Vec<Term>,
    problem: Option<String>,
    unfinished: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    /// True if it lets through what its test does not hold for.
    turned: bool,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Text(String),
    Pattern(Pattern),
    Stage(String),
    Group(String),
    Hold(bool),
    Older(Millis),
    Younger(Millis),
}

#[derive(Clone, Debug)]
struct Pattern(Regex);

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for Pattern {}

impl Filter {
    /// Reads a filter; every text is one. All of its words must match.
    pub fn new(raw: &str) -> Self {
        let mut filter = Self { raw: raw.trim().to_owned(), ..Self::default() };
        for word in raw.split_whitespace() {
            match term(word) {
                Ok(Some(term)) => filter.terms.push(term),
                Ok(None) => {
                    filter.unfinished.get_or_insert_with(|| format!("{word} is only half a word"));
                }
                Err(problem) => drop(filter.problem.get_or_insert(problem)),
            }
        }
        filter
    }

    /// The text as typed.
    pub fn as_str(&self) -> &str {
        &self.raw
    }

    /// What is wrong with the first word that makes no sense.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// What to say to who calls it finished: a word makes no sense, or the rest of one is still to come.
    pub fn complaint(&self) -> Option<&str> {
        self.problem().or(self.unfinished.as_deref())
    }

    /// True if it lets everything through.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// True if `node` is to be shown at that time.
    pub fn lets(&self, node: &NodeView, now: Timestamp) -> bool {
        self.terms.iter().all(|term| term.test.holds(node, now) != term.turned)
    }

    /// How long until another answer of [`Filter::lets`] follows from nothing but time.
    pub(crate) fn until_changes(&self, node: &NodeView, now: Timestamp) -> Option<Millis> {
        let age = now.since(node.since);
        let turns = self.terms.iter().filter_map(|term| match &term.test {
            // An age of exactly this length is neither.
            Test::Older(than) | Test::Younger(than) => {
                let at = if age < *than { than.get() } else { than.get().saturating_add(1) };
                at.checked_sub(age.get()).filter(|left| *left > 0)
            }
            Test::Text(_) | Test::Pattern(_) | Test::Stage(_) | Test::Group(_) | Test::Hold(_) => {
                None
            }
        });
        turns.min().map(Millis::new)
    }

    /// True if time alone can change what it lets through.
    pub(crate) fn counts_ages(&self) -> bool {
        self.terms.iter().any(|term| matches!(term.test, Test::Older(_) | Test::Younger(_)))
    }
}

impl Test {
    fn holds(&self, node: &NodeView, now: Timestamp) -> bool {
        match self {
            Self::Text(text) => texts(node, |own| own.to_lowercase().contains(text.as_str())),
            Self::Pattern(pattern) => texts(node, |own| pattern.0.is_match(own)),
            Self::Stage(text) => has_stage(node, text),
            Self::Group(text) => node.slot.group.as_str().contains(text.as_str()),
            Self::Hold(held) => node.hold.is_some() == *held,
            Self::Older(than) => now.since(node.since) > *than,
            Self::Younger(than) => now.since(node.since) < *than,
        }
    }
}

/// What one word means; nothing if it is only half typed.
fn term(word: &str) -> Result<Option<Term>, String> {
    let (turned, word) = word.strip_prefix('!').map_or((false, word), |rest| (true, rest));
    if word.is_empty() {
        return Ok(None);
    }
    Ok(test(word)?.map(|test| Term { turned, test }))
}

fn test(word: &str) -> Result<Option<Test>, String> {
    if let Some(pattern) = word.strip_prefix("re:") {
        return if pattern.is_empty() { Ok(None) } else { pattern_of(pattern).map(Some) };
    }
    let lower = word.to_lowercase();
    if let Some(rest) =
        lower.strip_prefix("age").filter(|rest| !rest.starts_with(char::is_alphanumeric))
        && !rest.is_empty()
    {
        return age(rest);
    }
    let Some((key, value)) = lower.split_once(':') else { return Ok(Some(Test::Text(lower))) };
    match (key, value) {
        ("stage" | "group" | "hold", "") => Ok(None),
        ("stage", _) => Ok(Some(Test::Stage(value.to_owned()))),
        ("group", _) => Ok(Some(Test::Group(value.to_owned()))),
        ("hold", "y" | "ye" | "yes") => Ok(Some(Test::Hold(true))),
        ("hold", "n" | "no") => Ok(Some(Test::Hold(false))),
        ("hold", _) => Err("hold: is yes or no".to_owned()),
        (key, _) if !key.is_empty() && key.chars().all(char::is_alphabetic) => {
            Err(format!("there is no {key}: here; known are re: stage: group: hold: age>"))
        }
        _ => Ok(Some(Test::Text(lower))),
    }
}

fn pattern_of(pattern: &str) -> Result<Test, String> {
    let built = RegexBuilder::new(pattern)
        .case_insensitive(true)
        .size_limit(PATTERN_BYTES_MAX)
        .dfa_size_limit(PATTERN_BYTES_MAX)
        .build();
    built.map(|regex| Test::Pattern(Pattern(regex))).map_err(|error| {
        let text = error.to_string();
        let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim();
        format!("re:{pattern} is no pattern: {}", last.trim_start_matches("error: "))
    })
}

fn age(rest: &str) -> Result<Option<Test>, String> {
    let (older, length) = match (rest.strip_prefix('>'), rest.strip_prefix('<')) {
        (Some(length), _) => (true, length),
        (None, Some(length)) => (false, length),
        (None, None) => return Err("an age is compared: age>5m or age<30s".to_owned()),
    };
    if length.bytes().all(|byte| byte.is_ascii_digit()) {
        // Its unit is still to come.
        return Ok(None);
    }
    let length = clock::read_length(length)
        .ok_or_else(|| format!("{length} is no length of time: write 30s, 5m, 2h or 1d"))?;
    Ok(Some(if older { Test::Older(length) } else { Test::Younger(length) }))
}

/// True if one of the texts that are told of the node is as asked.
fn texts(node: &NodeView, asked: impl Fn(&str) -> bool) -> bool {
    asked(&node.slot.to_string())
        || asked(stage::word_of(node))
        || node.hold.is_some_and(|code| asked(code.as_str()))
        || asked(&node.reason)
        || node.last_error.as_ref().is_some_and(|error| asked(error))
}

/// One letter is a stage letter, more are part of the stage's name.
fn has_stage(node: &NodeView, text: &str) -> bool {
    let mut letters = text.chars();
    if let (Some(letter), None) = (letters.next(), letters.next()) {
        return stage::letter_of(node).to_lowercase().eq(letter.to_lowercase());
    }
    node.stage.as_str().contains(text) || stage::word_of(node).to_lowercase().contains(text)
}

/// True if something is wrong with the node.
pub fn is_problem(node: &NodeView) -> bool {
    node.hold.is_some() || node.stage == StageName::Failed || node.failures > 0
}
