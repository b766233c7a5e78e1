//! Reads a JSON object field by field; a wrong type is refused with the field's path, an unknown field is not.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// What is wrong with an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FieldError {
    /// A field must be there.
    #[error("`{0}` is missing")]
    Missing(String),
    /// A field has another type or range.
    #[error("`{path}` must be {wanted}")]
    Wrong {
        /// Which field.
        path: String,
        /// What it must be.
        wanted: &'static str,
    },
}

/// An object and where it stands in the answer.
#[derive(Clone, Debug)]
pub(super) struct Fields<'a> {
    map: &'a Map<String, Value>,
    path: String,
}

impl<'a> Fields<'a> {
    /// `value`, found at `path`, if it is an object.
    pub(super) fn of(value: &'a Value, path: &str) -> Result<Self, FieldError> {
        match value.as_object() {
            Some(map) => Ok(Self { map, path: path.to_owned() }),
            None => Err(FieldError::Wrong { path: path.to_owned(), wanted: "an object" }),
        }
    }

    /// A field that must be there, even if it is null.
    pub(super) fn need(&self, key: &str) -> Result<&'a Value, FieldError> {
        self.map.get(key).ok_or_else(|| FieldError::Missing(self.at(key)))
    }

    /// A field that may be missing or null.
    pub(super) fn find(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    /// An object that may be missing or null.
    pub(super) fn object(&self, key: &str) -> Result<Option<Fields<'a>>, FieldError> {
        self.find(key).map(|value| Fields::of(value, &self.at(key))).transpose()
    }

    /// A string that may be missing or null.
    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, FieldError> {
        self.read(key, "a string", Value::as_str)
    }

    /// A boolean that may be missing or null.
    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, FieldError> {
        self.read(key, "true or false", Value::as_bool)
    }

    /// A number from 0 that may be missing or null.
    pub(super) fn number(&self, key: &str) -> Result<Option<u64>, FieldError> {
        self.read(key, "a whole number from 0", Value::as_u64)
    }

    /// What `key` holds as `as_type` reads it; missing and null are `None`, another type is refused.
    pub(super) fn read<T>(
        &self,
        key: &str,
        wanted: &'static str,
        as_type: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, FieldError> {
        let Some(value) = self.find(key) else { return Ok(None) };
        as_type(value).map(Some).ok_or_else(|| self.wrong(key, wanted))
    }

    /// Every field, each read by `as_type`.
    pub(super) fn all<T>(
        &self,
        wanted: &'static str,
        as_type: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<BTreeMap<String, T>, FieldError> {
        let entry = |(key, value): (&String, &'a Value)| {
            let value = as_type(value).ok_or_else(|| self.wrong(key, wanted))?;
            Ok((key.clone(), value))
        };
        self.map.iter().map(entry).collect()
    }

    /// How many fields there are.
    pub(super) fn len(&self) -> usize {
        self.map.len()
    }

    /// The error of a field that is not what it must be.
    pub(super) fn wrong(&self, key: &str, wanted: &'static str) -> FieldError {
        FieldError::Wrong { path: self.at(key), wanted }
    }

    /// The path of a field.
    pub(super) fn at(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}
