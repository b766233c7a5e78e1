//! Reading the followed file, and applying it when its content is new (D14).

use checkpoint::{event::Subject, store::Commit};

use crate::{
    follow::{Content, Follow},
    inbox::Then,
    looping::Loop,
    planning::{Confirming, SecretsAre},
    source::{Face, Source},
    view::{Edit, Refusal},
};

impl Loop {
    /// Reads the followed file, and applies it if its content is new.
    pub(crate) fn read_file(&mut self) {
        let Some(follow) = &self.follow else { return };
        let content = match (follow.load)() {
            Ok(content) if content.providers != follow.providers => {
                Err("its providers changed; a driver takes over providers only when it starts"
                    .to_owned())
            }
            loaded => loaded,
        };
        let problem = match content {
            Ok(content) => self.take_content(content),
            Err(problem) => {
                self.follow.iter_mut().for_each(Follow::note_invalid);
                Some(problem)
            }
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
        self.apply_file(&Edit::File { shape: Box::new(shape), digest }, SecretsAre::Unknown).err()
    }

    /// Goes on with a content that waited for its secrets.
    pub(crate) fn take_file_checked(&mut self, edit: &Edit, result: Result<(), Refusal>) {
        let applied = match result {
            Ok(()) => self.apply_file(edit, SecretsAre::AtHand),
            Err(refusal) => Err(refusal.message),
        };
        self.note_problem(applied.err().as_deref());
        self.publish();
    }

    /// Plans the file's content, and confirms that plan.
    fn apply_file(&mut self, edit: &Edit, secrets: SecretsAre) -> Result<(), String> {
        let source =
            Source { face: Face::File, who: "the desired-state file".to_owned(), typed: None };
        let now = self.now();
        let confirming = self.state.confirm_file(edit, &source, secrets, now);
        let confirmed = match confirming.map_err(|refusal| refusal.message)? {
            Confirming::Done(confirmed) => confirmed,
            Confirming::Needs(needs) => {
                self.ask_for(needs, Then::File(edit.clone()));
                return Ok(());
            }
        };
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
