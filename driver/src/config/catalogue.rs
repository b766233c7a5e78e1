//! The kinds of providers that this binary has, by name.

use std::{collections::BTreeMap, sync::Arc};

use executor::seam::ProviderFactory;

/// The registered provider factories by kind.
#[derive(Clone, Default)]
pub struct Catalogue {
    by_kind: BTreeMap<&'static str, Arc<dyn ProviderFactory>>,
}

impl Catalogue {
    /// A catalogue of `factories`; of two of one kind the later one counts.
    pub fn new(factories: impl IntoIterator<Item = Arc<dyn ProviderFactory>>) -> Self {
        Self { by_kind: factories.into_iter().map(|f| (f.kind(), f)).collect() }
    }

    /// The factory of `kind`.
    pub fn get(&self, kind: &str) -> Option<&Arc<dyn ProviderFactory>> {
        self.by_kind.get(kind)
    }

    /// The kinds in order.
    pub fn kinds(&self) -> impl Iterator<Item = &'static str> {
        self.by_kind.keys().copied()
    }
}
