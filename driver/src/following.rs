//! Reading the followed file, and applying it when its content is new (D14).

use checkpoint::{event::Subject, store::Commit};

use crate::{
    follow::Content,
    looping::Loop,
    source::{Face, Source},
    view::Edit,
};

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
        self.note_problem(problem.as_deref());
        self.publish();
    }

    /// Takes over a valid content; the problem, if there is one.
    fn take_content(&mut self, content: Content) -> Option<String> {
        let applied = self.state.file_digest.as_deref();
        if !self.follow.as_mut()?.note(&content, applied) {
            return None;
        }
        let Content { shape, digest, .. } = content;
        self.apply_file(&Edit::File { shape: Box::new(shape), digest }).err()
    }

    /// Plans the file's content, and confirms that plan.
    fn apply_file(&mut self, edit: &Edit) -> Result<(), String> {
        let source = Source { face: Face::File, who: "the desired-state file".to_owned() };
        let now = self.now();
        let confirmed = self.state.confirm_own(edit, &source, now);
        let confirmed = confirmed.map_err(|refusal| refusal.message)?;
        if !confirmed.commit.is_empty() {
            self.submit(confirmed.commit);
        }
        self.trigger = "file";
        Ok(())
    }

    /// Keeps what is wrong with the file, and tells it once.
    fn note_problem(&mut self, problem: Option<&str>) {
        let Some(follow) = &mut self.follow else { return };
        let path = follow.path.display().to_string();
        if !follow.note_problem(problem) {
            return;
        }
        let now = self.now();
        let mut commit = Commit { at: now, ..Commit::default() };
        let problem = problem.unwrap_or_default();
        let text = format!("{path} is not applied; the last good shape stays: {problem}");
        self.state.tell(Subject::Run, "file", &text, now, &mut commit);
        self.submit(commit);
    }
}
