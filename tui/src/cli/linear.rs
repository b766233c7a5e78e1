//! The console without a screen: numbered questions beside the lines that `watch` prints. Nothing is ever drawn over,
//! so that a screen reader and a log read it as it is; whatever changes something is planned, shown and confirmed as on
//! the screen.

use driver::{
    Face, Link, Source,
    api::CallError,
    view::{Edit, RunView},
};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines, Stdin};

use super::{
    context::{Context, who},
    exit::{Exit, Failure, Outcome},
    out, plan_text,
};
use crate::console::Ladder;

/// What can be asked for, by its number.
const MENU: [&str; 7] = [
    "how the run stands",
    "what is not as it should be",
    "change how many nodes a group has",
    "stop, start or restart a group or a node",
    "release what is held",
    "explain a node",
    "quit",
];
/// What can be done to workloads, by its number.
const POWERS: [&str; 3] = ["stop", "start", "restart"];
/// Names that a question lists; more are typed by who knows them.
const LISTED_MAX: usize = 40;

/// Asks on standard input until its reader quits; where nobody types, forever.
pub(crate) async fn talk(context: &Context, link: &Link, read_only: bool) -> Outcome {
    out::note("Enter asks what to do; Ctrl-C ends it");
    let lines = BufReader::new(tokio::io::stdin()).lines();
    let mut talk = Talk { context, link, read_only, lines };
    loop {
        talk.line().await;
        match talk.choice("what to do?", &MENU).await {
            Some(6) => return Ok(Exit::Done),
            Some(at) => {
                if let Err(error) = talk.act(at).await {
                    told(context, error);
                }
            }
            None => {}
        }
    }
}

struct Talk<'c> {
    context: &'c Context,
    link: &'c Link,
    read_only: bool,
    lines: Lines<BufReader<Stdin>>,
}

impl Talk<'_> {
    /// The next line; where there is none, nobody types any more, and nothing is asked.
    async fn line(&mut self) -> String {
        match self.lines.next_line().await {
            Ok(Some(line)) => line.trim().to_owned(),
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }

    async fn answer(&mut self, question: &str) -> String {
        out::note(question);
        self.line().await
    }

    /// Which of `all` is meant, by its number or its words; nothing for 0 or anything else.
    async fn choice(&mut self, question: &str, all: &[impl AsRef<str>]) -> Option<usize> {
        for (at, one) in all.iter().enumerate().take(LISTED_MAX) {
            out::note(format!("{}  {}", at.saturating_add(1), one.as_ref()));
        }
        if let Some(more) = all.len().checked_sub(LISTED_MAX).filter(|more| *more > 0) {
            out::note(format!("and {more} more, by name"));
        }
        let answer = self.answer(&format!("{question} A number, or 0 for nothing:")).await;
        let chosen = chosen(&answer, all);
        if chosen.is_none() && !answer.is_empty() && answer != "0" {
            out::note(format!("{answer} is none of these"));
        }
        chosen
    }

    async fn act(&mut self, at: usize) -> Result<(), CallError> {
        let view = self.link.view(None).await?;
        match at {
            0 => out::note(stands(&view)),
            1 => self.wrong(&view),
            2 => return self.count(&view).await,
            3 => return self.power(&view).await,
            4 => return self.release(&view).await,
            _ => return self.explain(&view).await,
        }
        Ok(())
    }

    fn wrong(&self, view: &RunView) {
        let place = &self.context.place;
        for hold in &view.holds {
            out::note(format!(
                "hold {}: {}: {}",
                hold.subject,
                hold.code.as_str(),
                place.text(&hold.text)
            ));
        }
        for one in &view.outstanding {
            out::note(format!("not there: {}", place.text(&one.line())));
        }
        if view.holds.is_empty() && view.outstanding.is_empty() {
            out::note("nothing: everything is as it should be");
        }
    }

    async fn count(&mut self, view: &RunView) -> Result<(), CallError> {
        let names: Vec<String> =
            view.groups.iter().map(|it| format!("{} (wants {})", it.group, it.want)).collect();
        let Some(group) = self.choice("which group?", &names).await else { return Ok(()) };
        let Some(group) = view.groups.get(group) else { return Ok(()) };
        let answer = self.answer(&format!("how many nodes of {}?", group.group)).await;
        let Ok(count) = answer.parse() else {
            out::note(format!("{answer} is no count; nothing was changed"));
            return Ok(());
        };
        self.change(view, Edit::Counts { counts: [(group.group.clone(), count)].into() }).await
    }

    async fn power(&mut self, view: &RunView) -> Result<(), CallError> {
        let Some(verb) = self.choice("which?", &POWERS).await else { return Ok(()) };
        let groups = view.groups.iter().map(|it| it.group.to_string());
        let names: Vec<String> = groups.chain(slots(view)).collect();
        let Some(name) = self.choice("of which?", &names).await.and_then(|at| names.get(at)) else {
            return Ok(());
        };
        let subjects = vec![name.clone()];
        let edit = match verb {
            0 => Edit::Stop { subjects },
            1 => Edit::Start { subjects },
            _ => Edit::Restart { subjects },
        };
        self.change(view, edit).await
    }

    /// Shows the plan of an edit, and applies it once as much was said as it asks for.
    async fn change(&mut self, view: &RunView, edit: Edit) -> Result<(), CallError> {
        if self.read_only {
            out::note("read-only: nothing changes from here");
            return Ok(());
        }
        let plan = self.context.place.plan(self.link.plan(edit.clone()).await?);
        plan_text::lines(&plan).into_iter().for_each(out::note);
        let ladder = Ladder::of(&plan, &view.run);
        let said = match &ladder {
            Ladder::Nothing => return Ok(()),
            Ladder::Press => (self.choice("apply it?", &["apply", "leave it"]).await == Some(0))
                .then(|| "yes".to_owned()),
            Ladder::Yes => self.typed("yes").await,
            Ladder::Name(name) => self.typed(name).await,
        };
        let Some(said) = said else {
            out::note("nothing was changed");
            return Ok(());
        };
        let named = plan.demand.as_ref().is_some_and(|demand| demand.confirm == "name");
        let typed = if named { said } else { "yes".to_owned() };
        let source = Source { face: Face::Console, who: who(), typed: Some(typed) };
        let generation = self.link.apply(edit, plan.hash, source).await?;
        out::note(format!("accepted as generation {generation}"));
        Ok(())
    }

    async fn typed(&mut self, word: &str) -> Option<String> {
        let answer =
            self.answer(&format!("this takes away what may serve; type {word} to apply:")).await;
        (answer == word).then_some(answer)
    }

    async fn release(&mut self, view: &RunView) -> Result<(), CallError> {
        if view.holds.is_empty() {
            out::note("nothing is held");
            return Ok(());
        }
        let names: Vec<&str> = view.holds.iter().map(|hold| hold.subject.as_str()).collect();
        let Some(at) = self.choice("which hold?", &names).await else { return Ok(()) };
        let Some(subject) = names.get(at).map(ToString::to_string) else { return Ok(()) };
        let shown = self.link.release(subject.clone(), None).await?;
        shown.holds.iter().for_each(|hold| out::note(format!("hold {hold}")));
        shown.seen.iter().for_each(|seen| out::note(format!("seen {seen}")));
        if self.read_only {
            out::note("read-only: nothing changes from here");
            return Ok(());
        }
        if self.answer(&format!("type {subject} to release it:")).await != subject {
            out::note("nothing was changed");
            return Ok(());
        }
        self.link.release(subject.clone(), Some(shown.hash)).await?;
        out::note(format!("released {subject}"));
        Ok(())
    }

    async fn explain(&mut self, view: &RunView) -> Result<(), CallError> {
        let names: Vec<String> = slots(view).collect();
        let Some(name) = self.choice("which node?", &names).await.and_then(|at| names.get(at))
        else {
            return Ok(());
        };
        for one in self.link.explain(name).await? {
            let one = self.context.place.explained(one);
            out::note(format!(
                "{}: {}: {}",
                one.node.slot,
                one.node.stage.as_str(),
                one.node.reason
            ));
            for blocker in &one.blockers {
                let out = blocker.way_out.as_ref().map(|out| format!(" next: {out}"));
                out::note(format!("in the way: {}{}", blocker.what, out.unwrap_or_default()));
            }
        }
        Ok(())
    }
}

fn slots(view: &RunView) -> impl Iterator<Item = String> {
    view.nodes.iter().map(|node| node.slot.to_string())
}

fn stands(view: &RunView) -> String {
    let held =
        if view.holds.is_empty() { String::new() } else { format!(", {} held", view.holds.len()) };
    format!(
        "{} of {} nodes ready{held}, generation {}, pass {}",
        view.ready, view.want, view.generation, view.pass
    )
}

/// What was refused, with what helps; the talk goes on.
fn told(context: &Context, error: CallError) {
    out::failure(&Failure::from(error).placed(&context.place), false);
}

/// The place of what an answer means.
fn chosen(answer: &str, all: &[impl AsRef<str>]) -> Option<usize> {
    let named = || {
        let mut found = all.iter().enumerate().filter(|(_, one)| {
            let words = one.as_ref();
            words == answer || words.split(' ').next() == Some(answer)
        });
        found.next().map(|(at, _)| at)
    };
    match answer.parse::<usize>() {
        Ok(number) => number.checked_sub(1).filter(|at| *at < all.len().min(LISTED_MAX)),
        Err(_) if answer.is_empty() => None,
        Err(_) => named(),
    }
}

#[cfg(test)]
mod tests {
    use super::chosen;

    #[test]
    fn an_answer_is_a_number_or_a_name_of_the_list() {
        let all = ["web (wants 3)", "db (wants 1)"];
        assert_eq!(chosen("1", &all), Some(0));
        assert_eq!(chosen("db", &all), Some(1));
        for nothing in ["", "0", "3", "-1", "d", "18446744073709551616"] {
            assert_eq!(chosen(nothing, &all), None, "{nothing:?}");
        }
    }
}
