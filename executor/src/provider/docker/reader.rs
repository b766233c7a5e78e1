//! Reads neutral values of options, and collects every problem with its key.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::seam::{OptionProblem, ProviderOptions};

/// Reads one set of options.
pub(super) struct Reader<'a> {
    pub(super) options: &'a ProviderOptions,
    pub(super) problems: Vec<OptionProblem>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(options: &'a ProviderOptions) -> Self {
        Self { options, problems: Vec::new() }
    }

    /// Tells what is wrong with `key`.
    pub(super) fn wrong(&mut self, key: &str, message: impl Into<String>, hint: &str) {
        let hint = Some(hint.to_owned());
        self.problems.push(OptionProblem { key: key.to_owned(), message: message.into(), hint });
    }

    /// A text that is not empty and has no control characters.
    pub(super) fn text(&mut self, key: &str, hint: &str) -> Option<String> {
        let text = self.options.get(key)?.as_str().filter(|text| is_plain(text));
        if text.is_none() {
            self.wrong(key, "it must be a text on one line", hint);
        }
        text.map(ToOwned::to_owned)
    }

    pub(super) fn flag(&mut self, key: &str) -> bool {
        match self.options.get(key) {
            None => false,
            Some(Value::Bool(flag)) => *flag,
            Some(_) => {
                self.wrong(key, "it must be true or false", "write true or false without quotes");
                false
            }
        }
    }

    /// A list of texts.
    pub(super) fn texts(&mut self, key: &str, hint: &str) -> Vec<String> {
        let Some(value) = self.options.get(key) else { return Vec::new() };
        let texts = value.as_array().map(|items| {
            let text = |item: &Value| item.as_str().filter(|text| is_plain(text)).map(String::from);
            items.iter().map(text).collect::<Option<Vec<_>>>()
        });
        texts.flatten().unwrap_or_else(|| {
            self.wrong(key, "it must be a list of texts", hint);
            Vec::new()
        })
    }

    /// A list of tables.
    pub(super) fn tables(
        &mut self,
        key: &str,
        hint: &str,
    ) -> Vec<&'a serde_json::Map<String, Value>> {
        let Some(value) = self.options.get(key) else { return Vec::new() };
        let tables = value
            .as_array()
            .and_then(|items| items.iter().map(Value::as_object).collect::<Option<Vec<_>>>());
        tables.unwrap_or_else(|| {
            self.wrong(key, "it must be a list of tables", hint);
            Vec::new()
        })
    }

    /// The members of the table `name`, whose keys are dotted in the options.
    pub(super) fn members(&self, name: &str) -> BTreeMap<&'a str, (&'a str, &'a Value)> {
        let inner = |(key, value): (&'a String, &'a Value)| {
            let member = key.strip_prefix(name)?.strip_prefix('.')?;
            Some((member, (key.as_str(), value)))
        };
        self.options.iter().filter_map(inner).collect()
    }
}

/// True for a text that can stand in one line.
pub(super) fn is_plain(text: &str) -> bool {
    !text.is_empty() && !text.chars().any(char::is_control)
}
