//! Following the desired-state file: applied when its content changed, never merely because it is there (D14).

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use checkpoint::{event::Subject, store::Commit};
use reconciler_core::{
    desired::ClusterShape,
    id::{GroupId, ProviderName},
};

use crate::{
    config::{self, ProviderDecl},
    handle::{Face, Source},
    run::Loop,
    view::{Edit, FileView},
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
    /// False where a changed file waits for an operator.
    pub(crate) auto: bool,
    /// The providers that the driver was started with.
    pub(crate) providers: BTreeMap<ProviderName, ProviderDecl>,
    /// The counts of its last valid content.
    counts: BTreeMap<GroupId, u32>,
    /// What is wrong with its present content; told once per content (R188).
    problem: Option<String>,
    /// True if its valid content waits for an operator.
    waits: bool,
    /// The digest of its last valid content.
    digest: Option<String>,
}

impl Follow {
    /// Follows `path`.
    pub(crate) fn new(
        path: PathBuf,
        load: Load,
        auto: bool,
        providers: BTreeMap<ProviderName, ProviderDecl>,
    ) -> Self {
        Self {
            path,
            load,
            auto,
            providers,
            counts: BTreeMap::new(),
            problem: None,
            waits: false,
            digest: None,
        }
    }

    /// The file as it is shown beside the live counts (D14).
    pub(crate) fn view(&self, live: &ClusterShape, applied: Option<&str>) -> FileView {
        let waits = (self.waits && self.digest.as_deref() != applied).then(|| WAITS.to_owned());
        let differs = if self.counts.is_empty() {
            Vec::new()
        } else {
            config::differs(&self.counts, &live.counts())
        };
        FileView {
            path: self.path.display().to_string(),
            problem: self.problem.clone().or(waits),
            differs,
        }
    }
}

impl Loop {
    /// Reads the followed file, and applies it if its content is new.
    pub(crate) fn read_file(&mut self) {
        let Some(follow) = &self.follow else { return };
        let problem = match (follow.load)() {
            Err(problem) => Some(problem),
            Ok(content) if content.providers != follow.providers => Some(
                "its providers changed; a driver takes over providers only when it starts"
                    .to_owned(),
            ),
            Ok(content) => self.take_content(content),
        };
        self.note_problem(problem);
        self.publish();
    }

    /// Takes over a valid content; the problem, if there is one.
    fn take_content(&mut self, content: Content) -> Option<String> {
        let Content { shape, digest, .. } = content;
        let news = self.state.file_digest.as_ref() != Some(&digest);
        let follow = self.follow.as_mut()?;
        follow.counts = shape.counts();
        follow.digest = Some(digest.clone());
        follow.waits = news && !follow.auto;
        if !news || follow.waits {
            return None;
        }
        self.apply_file(&Edit::File { shape: Box::new(shape), digest }).err()
    }

    /// Plans the file's content, and confirms the plan by its own hash.
    fn apply_file(&mut self, edit: &Edit) -> Result<(), String> {
        let source = Source { face: Face::File, who: "the desired-state file".to_owned() };
        let now = self.now();
        let plan = self.state.plan(edit, now).map_err(|refusal| refusal.message)?;
        let confirmed = self.state.confirm(edit, plan.hash, &source, false, now);
        let confirmed = confirmed.map_err(|refusal| refusal.message)?;
        if !confirmed.commit.is_empty() {
            self.submit(confirmed.commit);
        }
        self.trigger = "file";
        Ok(())
    }

    /// Keeps what is wrong with the file, and tells it once.
    fn note_problem(&mut self, problem: Option<String>) {
        let Some(follow) = &mut self.follow else { return };
        let path = follow.path.display().to_string();
        let before = std::mem::replace(&mut follow.problem, problem.clone());
        let Some(problem) = problem.filter(|problem| before.as_ref() != Some(problem)) else {
            return;
        };
        let now = self.now();
        let mut commit = Commit { at: now, ..Commit::default() };
        let text = format!("{path} is not applied; the last good shape stays: {problem}");
        self.state.tell(Subject::Run, "file", &text, now, &mut commit);
        self.submit(commit);
    }
}
