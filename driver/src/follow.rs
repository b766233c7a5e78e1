//! Following the desired-state file: applied when its content changed, never merely because it is there (D14).

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use reconciler_core::{
    desired::ClusterShape,
    id::{GroupId, ProviderName},
};

use crate::{
    config::{self, ProviderDecl},
    view::FileView,
};

/// The content of a desired-state file, as far as a running driver can take it over.
#[derive(Clone, Debug)]
pub struct Content {
    /// The shape that it declares.
    pub shape: ClusterShape,
    /// The providers that it declares.
    pub providers: BTreeMap<ProviderName, ProviderDecl>,
    /// The digest of its bytes.
    pub digest: String,
    /// True if it says of itself that it is applied without an operator.
    pub auto: bool,
}

/// What is said of a valid content that nobody confirmed yet.
const WAITS: &str =
    "its content is new and waits: `levelhead plan` shows it, and how to confirm it";

/// Reads the file anew; the error is one line for people.
pub type Load = Arc<dyn Fn() -> Result<Content, String> + Send + Sync>;

/// A followed file and what was last seen of it.
pub(crate) struct Follow {
    pub(crate) path: PathBuf,
    pub(crate) load: Load,
    /// The providers that the driver was started with.
    pub(crate) providers: BTreeMap<ProviderName, ProviderDecl>,
    /// The counts of its last valid content.
    counts: BTreeMap<GroupId, u32>,
    /// How many nodes it declares as switched off.
    offs: BTreeMap<GroupId, u32>,
    /// What its nodes are.
    revisions: BTreeMap<GroupId, String>,
    /// What is wrong with its present content; told once per content (R188).
    problem: Option<String>,
    /// True if its valid content waits for an operator.
    waits: bool,
    /// The digest of its present content, if that is valid.
    digest: Option<String>,
}

impl Follow {
    /// Follows `path`.
    pub(crate) fn new(
        path: PathBuf,
        load: Load,
        providers: BTreeMap<ProviderName, ProviderDecl>,
    ) -> Self {
        Self {
            path,
            load,
            providers,
            counts: BTreeMap::new(),
            offs: BTreeMap::new(),
            revisions: BTreeMap::new(),
            problem: None,
            waits: false,
            digest: None,
        }
    }

    /// Notes a valid content; true if it is new and may be applied without an operator.
    pub(crate) fn note(&mut self, content: &Content, applied: Option<&str>) -> bool {
        let news = applied != Some(content.digest.as_str());
        self.counts = content.shape.counts();
        self.offs = content.shape.offs();
        self.revisions = config::revisions(&content.shape);
        self.digest = Some(content.digest.clone());
        self.waits = news && !content.auto;
        news && content.auto
    }

    /// Notes that the present content cannot be taken as it is.
    pub(crate) fn note_invalid(&mut self) {
        self.digest = None;
    }

    /// Notes what is wrong with the present content; true if that is to be told.
    pub(crate) fn note_problem(&mut self, problem: Option<&str>) -> bool {
        let news = problem.is_some() && self.problem.as_deref() != problem;
        self.problem = problem.map(ToOwned::to_owned);
        news
    }

    /// The file as it is shown beside the live counts (D14).
    pub(crate) fn view(&self, live: &ClusterShape, applied: Option<&str>) -> FileView {
        // A problem of it is over once it is applied, by whomever.
        let is_applied = self.digest.is_some() && self.digest.as_deref() == applied;
        let waits = (self.waits && !is_applied).then(|| WAITS.to_owned());
        let (differs, off_differs) = if self.counts.is_empty() {
            (Vec::new(), Vec::new())
        } else {
            let counts = config::differs(&self.counts, &live.counts());
            (counts, config::differs(&self.offs, &live.offs()))
        };
        FileView {
            path: self.path.display().to_string(),
            problem: self.problem.clone().filter(|_| !is_applied).or(waits),
            differs,
            off_differs,
            revised: config::revised(&self.revisions, &config::revisions(live)),
        }
    }
}
