//! Following the desired-state file: applied when its content changed, never merely because it is there (D14).

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use checkpoint::{event::Subject, store::Commit};
use reconciler_core::{desired::ClusterShape, id::ProviderName};

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
    view: Option<Arc<FileView>>,
    /// The last problem that was told, so that one content is one event (R188).
    told: Option<String>,
}

impl Follow {
    /// Follows `path`.
    pub(crate) fn new(
        path: PathBuf,
        load: Load,
        auto: bool,
        providers: BTreeMap<ProviderName, ProviderDecl>,
    ) -> Self {
        Self { path, load, auto, providers, view: None, told: None }
    }

    /// The file as it is shown beside the live shape.
    pub(crate) fn view(&self) -> Option<Arc<FileView>> {
        self.view.clone()
    }
}

impl Loop {
    /// Reads the followed file, and applies it if its content is new.
    pub(crate) fn read_file(&mut self) {
        let Some(follow) = &self.follow else { return };
        let (path, auto) = (follow.path.display().to_string(), follow.auto);
        let problem = match (follow.load)() {
            Err(problem) => Some(problem),
            Ok(content) if content.providers != follow.providers => Some(
                "its providers changed; a driver takes over providers only when it starts"
                    .to_owned(),
            ),
            Ok(content) => self.take_content(content, auto, &path),
        };
        if let Some(problem) = problem {
            self.tell_problem(&path, &problem);
        }
        self.publish();
    }

    /// Takes over a valid content; the problem, if there is one.
    fn take_content(&mut self, content: Content, auto: bool, path: &str) -> Option<String> {
        let Content { shape, digest, .. } = content;
        let news = self.state.file_digest.as_ref() != Some(&digest);
        let mut problem = None;
        if news && auto {
            let edit = Edit::File { shape: Box::new(shape.clone()), digest };
            problem = self.apply_file(&edit).err();
        } else if news {
            problem = Some(format!("its content is new and waits: levelhead apply {path}"));
        }
        let differs = config::differs(&shape, &self.state.shape.counts());
        let view = FileView { path: path.to_owned(), problem: problem.clone(), differs };
        if let Some(follow) = &mut self.follow {
            follow.view = Some(Arc::new(view));
            follow.told = None;
        }
        problem
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

    fn tell_problem(&mut self, path: &str, problem: &str) {
        let Some(follow) = &mut self.follow else { return };
        if follow.told.as_deref() == Some(problem) {
            return;
        }
        let differs = follow.view.as_ref().map(|view| view.differs.clone()).unwrap_or_default();
        let view = FileView { path: path.to_owned(), problem: Some(problem.to_owned()), differs };
        follow.view = Some(Arc::new(view));
        follow.told = Some(problem.to_owned());
        let now = self.now();
        let mut commit = Commit { at: now, ..Commit::default() };
        let text = format!("{path} is not applied; the last good shape stays: {problem}");
        self.state.tell(Subject::Run, "file", &text, now, &mut commit);
        self.submit(commit);
    }
}
