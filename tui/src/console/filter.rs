//! Which nodes are shown: words, `stage:`, `group:`, `hold:yes|no`, and problems only.

use driver::view::NodeView;
use reconciler_core::observed::StageName;

use super::stage;

/// A filter as typed, and what it means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    raw: String,
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    Text(String),
    Stage(String),
    Group(String),
    Hold(bool),
}

impl Filter {
    /// Reads a filter; every text is one. All of its words must match.
    pub fn new(raw: &str) -> Self {
        let terms = raw.split_whitespace().filter_map(term).collect();
        Self { raw: raw.trim().to_owned(), terms }
    }

    /// The text as typed.
    pub fn as_str(&self) -> &str {
        &self.raw
    }

    /// True if it lets everything through.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// True if `node` is to be shown.
    pub fn lets(&self, node: &NodeView) -> bool {
        self.terms.iter().all(|term| match term {
            Term::Text(text) => has_text(node, text),
            Term::Stage(text) => has_stage(node, text),
            Term::Group(text) => node.slot.group.as_str().contains(text.as_str()),
            Term::Hold(held) => node.hold.is_some() == *held,
        })
    }
}

/// A half-typed key (`stage:`) filters nothing, so that the list does not flicker while typing.
fn term(word: &str) -> Option<Term> {
    let lower = word.to_lowercase();
    let Some((key, value)) = lower.split_once(':') else { return Some(Term::Text(lower)) };
    match (key, value) {
        ("stage" | "group" | "hold", "") => None,
        ("stage", _) => Some(Term::Stage(value.to_owned())),
        ("group", _) => Some(Term::Group(value.to_owned())),
        ("hold", "y" | "ye" | "yes") => Some(Term::Hold(true)),
        ("hold", "n" | "no") => Some(Term::Hold(false)),
        _ => Some(Term::Text(lower)),
    }
}

fn has_text(node: &NodeView, text: &str) -> bool {
    node.slot.group.as_str().contains(text)
        || node.slot.to_string().contains(text)
        || stage::word_of(node).to_lowercase().contains(text)
        || node.hold.is_some_and(|code| code.as_str().contains(text))
        || node.reason.to_lowercase().contains(text)
        || node.last_error.as_ref().is_some_and(|error| error.to_lowercase().contains(text))
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
