//! Reads the declared providers: their kinds here, their options through the factory of the kind.

use std::{collections::BTreeMap, ops::Range};

use executor::seam::{Capabilities, OptionProblem, ProviderOptions};
use reconciler_core::{id::ProviderName, ownership::Capacity};
use serde_json::Value;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    capacity,
    catalogue::Catalogue,
    diagnostic::{Diagnostic, Report},
    reader::{self, At, Section},
    suggest::{listed, nearest},
};

/// The provider that exists without being declared, and its kind.
pub(super) const BUILT_IN: &str = "process";

/// The keys of a provider that are not options of its kind.
const OWN_KEYS: [&str; 2] = ["kind", "capacity"];

/// Most providers that one file may declare: each is listed and paced on its own.
const PROVIDERS_MAX: usize = 64;

/// A declared provider: what it takes to build it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderDecl {
    /// Which factory makes it.
    pub kind: String,
    /// Its own settings.
    pub options: ProviderOptions,
    /// What it has, where that is declared: then nothing beyond it is asked for.
    pub capacity: Option<Capacity>,
}

/// The providers of a file.
#[derive(Debug, Default)]
pub(super) struct Providers {
    /// Those that can be built.
    pub(super) sound: BTreeMap<ProviderName, ProviderDecl>,
    capabilities: BTreeMap<ProviderName, Capabilities>,
    /// Every name that may be referred to, also of those that are not sound.
    pub(super) names: Vec<String>,
}

impl Providers {
    /// What the provider `name` can do, if it is sound.
    pub(super) fn capabilities(&self, name: &ProviderName) -> Option<&Capabilities> {
        self.capabilities.get(name)
    }

    fn add(&mut self, name: ProviderName, decl: ProviderDecl, catalogue: &Catalogue) {
        if let Some(factory) = catalogue.get(&decl.kind) {
            self.capabilities.insert(name.clone(), factory.capabilities(&decl.options));
            self.sound.insert(name, decl);
        }
    }
}

/// Reads `provider`.
pub(super) fn read(root: &Section<'_>, catalogue: &Catalogue, out: &mut Report) -> Providers {
    let mut providers = Providers::default();
    let declared = root.sub_free("provider", "providers by name", out);
    let count = declared.entries().count();
    if count > PROVIDERS_MAX {
        let message = format!("{count} providers are declared");
        let hint = format!("at most {PROVIDERS_MAX} are allowed");
        out.push(Diagnostic::new(declared.span.clone(), message).hint(hint));
    }
    for (name, value) in declared.entries().take(PROVIDERS_MAX) {
        providers.names.push(name.value.to_owned());
        let parsed = name.value.parse::<ProviderName>();
        if let Err(error) = &parsed {
            out.push(Diagnostic::new(name.span.clone(), error.to_string()).hint(error.rule));
        }
        let decl = declaration(&name, value, catalogue, out);
        if let (Ok(name), Some(decl)) = (parsed, decl) {
            providers.add(name, decl, catalogue);
        }
    }
    let built_in = BUILT_IN.parse::<ProviderName>();
    if let (Ok(name), Some(_), None) = (built_in, catalogue.get(BUILT_IN), declared.raw(BUILT_IN)) {
        let decl = ProviderDecl {
            kind: BUILT_IN.to_owned(),
            options: ProviderOptions::new(),
            capacity: None,
        };
        providers.names.push(BUILT_IN.to_owned());
        providers.add(name, decl, catalogue);
    }
    providers
}

/// Reads one declaration; nothing if it is not sound.
fn declaration(
    name: &At<&str>,
    value: &Spanned<DeValue<'_>>,
    catalogue: &Catalogue,
    out: &mut Report,
) -> Option<ProviderDecl> {
    let before = out.len();
    let section = Section::free(value, "a provider", out);
    let kind = kind(name, &section, catalogue, out)?;
    let factory = catalogue.get(kind)?;
    let mut options = ProviderOptions::new();
    let mut spans = BTreeMap::new();
    for (key, value) in section.entries().filter(|(key, _)| !OWN_KEYS.contains(&key.value)) {
        flatten(key.value, &key.span, value, &mut options, &mut spans);
    }
    for problem in factory.validate(&options) {
        out.push(located(problem, &spans, &section.span));
    }
    let capacity = capacity::read(&section, out);
    (out.len() == before).then(|| ProviderDecl { kind: kind.to_owned(), options, capacity })
}

fn kind<'d>(
    name: &At<&str>,
    section: &Section<'d>,
    catalogue: &Catalogue,
    out: &mut Report,
) -> Option<&'d str> {
    let kinds = listed(catalogue.kinds());
    if section.raw("kind").is_none() && name.value == BUILT_IN {
        return Some(BUILT_IN);
    }
    section.require("kind", &format!("add `kind`, one of: {kinds}"), out);
    let kind = section.text("kind", out)?;
    if catalogue.get(kind.value).is_none() {
        let hint = nearest(kind.value, catalogue.kinds())
            .map_or(format!("known kinds: {kinds}"), |near| format!("did you mean `{near}`?"));
        let message = format!("unknown kind of provider `{}`", kind.value);
        out.push(Diagnostic::new(kind.span, message).hint(hint));
        return None;
    }
    if name.value == BUILT_IN && kind.value != BUILT_IN {
        let message = format!("provider `{BUILT_IN}` is always of kind `{BUILT_IN}`");
        out.push(Diagnostic::new(kind.span, message).hint("give this provider another name"));
        return None;
    }
    Some(kind.value)
}

type Spans = BTreeMap<String, Range<usize>>;

/// Collects a value under its dotted key; tables are descended into.
fn flatten(
    path: &str,
    key: &Range<usize>,
    value: &Spanned<DeValue<'_>>,
    options: &mut ProviderOptions,
    spans: &mut Spans,
) {
    // The setting as a whole, unless it runs over several places, as a table with a header does.
    let whole =
        if value.span().start >= key.end { key.start..value.span().end } else { key.clone() };
    spans.insert(path.to_owned(), whole);
    if let DeValue::Table(table) = value.get_ref() {
        for (name, value) in table {
            let path = format!("{path}.{}", name.get_ref());
            flatten(&path, &name.span(), value, options, spans);
        }
    } else {
        options.insert(path.to_owned(), neutral(value.get_ref()));
    }
}

/// A TOML value as the neutral value that factories take.
fn neutral(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_too_large| Value::from(number.to_string()), Value::from),
        DeValue::Float(float) => float
            .as_str()
            .parse::<f64>()
            .map_or_else(|_odd| Value::from(float.as_str()), Value::from),
        DeValue::Boolean(flag) => Value::from(*flag),
        DeValue::Datetime(time) => Value::from(time.to_string()),
        DeValue::Array(items) => items.iter().map(|item| neutral(item.get_ref())).collect(),
        DeValue::Table(table) => Value::Object(object(table)),
    }
}

fn object(table: &DeTable<'_>) -> serde_json::Map<String, Value> {
    let member =
        |(key, value): (&Spanned<_>, &Spanned<_>)| (name_of(key), neutral(value.get_ref()));
    table.iter().map(member).collect()
}

fn name_of(key: &Spanned<std::borrow::Cow<'_, str>>) -> String {
    key.get_ref().to_string()
}

/// A factory's problem at the place of its key, or of the nearest key that leads to it.
fn located(problem: OptionProblem, spans: &Spans, section: &Range<usize>) -> Diagnostic {
    let mut key = problem.key.as_str();
    let span = loop {
        if let Some(span) = spans.get(key) {
            break span.clone();
        }
        match key.rsplit_once('.') {
            Some((parent, _)) => key = parent,
            None => break section.clone(),
        }
    };
    let message = if problem.key.is_empty() {
        problem.message
    } else {
        format!("option `{}`: {}", problem.key, problem.message)
    };
    let diagnostic = Diagnostic::new(span, message);
    diagnostic.hint(problem.hint.as_deref().unwrap_or("see the options of this kind of provider"))
}

/// Reads the name of the provider of a group, the built-in one if none is given.
pub(super) fn chosen(
    group: &Section<'_>,
    providers: &Providers,
    out: &mut Report,
) -> Option<ProviderName> {
    let Some(raw) = group.raw("provider") else { return BUILT_IN.parse().ok() };
    let name = reader::text(raw, "the name of a provider", out)?;
    if !providers.names.iter().any(|known| known == name.value) {
        let known = || providers.names.iter().map(String::as_str);
        let hint = nearest(name.value, known()).map_or_else(
            || format!("known: {}; declare others as [provider.NAME]", listed(known())),
            |near| format!("did you mean `{near}`?"),
        );
        let message = format!("unknown provider `{}`", name.value);
        out.push(Diagnostic::new(name.span, message).hint(hint).doubtful());
        return None;
    }
    name.value.parse().ok()
}
