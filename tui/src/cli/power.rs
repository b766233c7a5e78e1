//! `levelhead stop`, `start`, `restart`, `run` and `rm`: what operators ask of workloads and groups.

use driver::view::Edit;
use reconciler_core::id::GroupId;

use super::{change, context::Context, exit::Outcome, flags::Powering};

/// What is asked for.
pub(crate) enum Ask {
    /// Workloads end, leases stay.
    Stop(Vec<String>),
    /// They run again.
    Start(Vec<String>),
    /// They begin anew, in turn.
    Restart(Vec<String>),
    /// Jobs run again.
    Run(Vec<GroupId>),
    /// Groups go.
    Remove(Vec<GroupId>),
}

/// Shows it, or carries it out.
pub(crate) async fn run(context: &Context, ask: Ask, rest: &Powering) -> Outcome {
    let (words, edit) = match ask {
        Ask::Stop(subjects) => (words("stop", &subjects), Edit::Stop { subjects }),
        Ask::Start(subjects) => (words("start", &subjects), Edit::Start { subjects }),
        Ask::Restart(subjects) => (words("restart", &subjects), Edit::Restart { subjects }),
        Ask::Run(groups) => (words("run", &groups), Edit::Run { groups }),
        Ask::Remove(groups) => (words("rm", &groups), Edit::Remove { groups }),
    };
    change::run(context, edit, &words, &rest.how, &rest.going).await
}

fn words(verb: &str, names: &[impl ToString]) -> String {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    format!("{verb} {}", names.join(" "))
}
