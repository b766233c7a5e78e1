//! The end of a loop: what may still come in, and that nobody who asked is left without an answer.

use crate::{
    answers::journal_refusal,
    inbox::{Ask, Then, Wake},
    looping::Loop,
    refusing::refuse,
    run::DriveError,
    view::RefusalKind,
};

impl Loop {
    /// True while something that was begun may still change what is known, without anybody acting.
    pub(crate) fn is_under_way(&self) -> bool {
        !self.listings.first_round_over()
            || !self.facts.is_empty()
            || !self.looking.is_empty()
            || self.barrier.is_some()
            || self.news.next_step
            || self.state.cluster.has_dirty()
    }

    /// Answers whoever still waits: with what the journal said if it failed.
    pub(crate) fn refuse_all(&mut self, error: Option<&DriveError>) {
        let refusal = match error {
            Some(DriveError::Journal(error)) => journal_refusal(error),
            None => refuse(RefusalKind::Unavailable, "the driver has stopped"),
        };
        self.answers.refuse_all(&refusal);
        self.inbox.close();
        let mut asks = std::mem::take(&mut self.early);
        while let Ok(wake) = self.inbox.try_recv() {
            if let Wake::Ask(ask) = wake {
                asks.push(ask);
            }
        }
        for ask in asks {
            ask.refuse(&refusal);
        }
    }

    /// Takes what comes in while the driver stops: reports still count, and who asks is told.
    pub(crate) fn take_last(&mut self, wake: Wake) {
        match wake {
            Wake::Report(report) => self.take_report(report),
            Wake::Ask(ask) => self.early.push(ask),
            // Whoever waits for an answer is told with the others.
            Wake::Checked(checked) => {
                if let Then::Apply { edit, hash, source, answer } = checked.then {
                    self.early.push(Ask::Apply { edit, hash, source, answer });
                }
            }
            // An agent says anew to the next driver what this one has no time to write down.
            Wake::Agent(_) | Wake::Committed | Wake::FileChanged | Wake::Stop(_) => {}
        }
    }
}
