//! What can be typed behind a colon: every verb and every view by its name, also those that are done in a shell.

use super::{
    Intent,
    Intent::{Edit, Look as See},
    Look, Verb,
};
use crate::console::layout::Pane;

/// One command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Command {
    /// Its name.
    pub(crate) name: &'static str,
    /// What may follow the name; empty where nothing may.
    pub(crate) takes: &'static str,
    /// What it means where nothing follows; nothing where something must.
    pub(crate) bare: Option<Intent>,
    /// True for what is done in a shell: its command line is given out.
    pub(crate) in_shell: bool,
}

const fn plain(name: &'static str, intent: Intent) -> Command {
    with(name, "", Some(intent))
}

const fn with(name: &'static str, takes: &'static str, bare: Option<Intent>) -> Command {
    Command { name, takes, bare, in_shell: false }
}

const fn shell(name: &'static str) -> Command {
    Command { name, takes: "", bare: None, in_shell: true }
}

/// What follows a verb about workloads.
pub(crate) const SUBJECT: &str = "GROUP|NODE";
/// What follows a verb about groups.
pub(crate) const GROUP: &str = "GROUP";
/// What follows a count.
pub(crate) const COUNT: &str = "GROUP N";
/// What follows an update.
pub(crate) const UPDATE: &str = "GROUP pause|resume|rollback";

/// Every command, in the order of their names.
pub(crate) static COMMANDS: &[Command] = &[
    shell("agent"),
    shell("apply"),
    plain("back", See(Look::Backward)),
    shell("completions"),
    shell("config"),
    shell("console"),
    plain("copy", See(Look::Copy)),
    plain("discard", Edit(Verb::Discard)),
    shell("doctor"),
    plain("down", Edit(Verb::Down)),
    shell("driver"),
    plain("events", See(Look::Pane(Pane::Events))),
    with("explain", SUBJECT, Some(See(Look::Open))),
    plain("export", Edit(Verb::WriteBack)),
    with("filter", "WORDS", Some(See(Look::Filter))),
    plain("fleet", See(Look::Pane(Pane::Fleet))),
    plain("follow", See(Look::Follow)),
    plain("forward", See(Look::Forward)),
    with("go", SUBJECT, None),
    plain("groups", See(Look::Pane(Pane::Groups))),
    plain("help", See(Look::Help)),
    plain("holds", See(Look::Pane(Pane::Holds))),
    shell("init"),
    shell("journal"),
    shell("logs"),
    shell("man"),
    plain("match", See(Look::NextMatch)),
    plain("mouse", See(Look::Mouse)),
    plain("overview", See(Look::Overview)),
    shell("ownership"),
    with("pass", "N", Some(See(Look::Pane(Pane::Passes)))),
    plain("passes", See(Look::Pane(Pane::Passes))),
    plain("pause", See(Look::Pause)),
    plain("perf", See(Look::Perf)),
    plain("plan", Edit(Verb::Preview)),
    plain("present", Intent::Say(super::Say::Back)),
    plain("prior", See(Look::PriorMatch)),
    plain("problems", See(Look::Problems)),
    plain("quit", See(Look::Quit)),
    plain("reconnect", See(Look::Reconnect)),
    plain("recovery", Edit(Verb::Recover)),
    with("release", SUBJECT, Some(Edit(Verb::Release))),
    with("restart", SUBJECT, None),
    plain("reverse", See(Look::Reverse)),
    with("rm", GROUP, None),
    with("run", GROUP, None),
    plain("save", See(Look::Save)),
    with("scale", COUNT, None),
    with("sort", "slot|stage|age|trouble", Some(See(Look::Sort))),
    with("start", SUBJECT, None),
    plain("status", See(Look::Overview)),
    with("stop", SUBJECT, None),
    shell("token"),
    plain("undo", Edit(Verb::Undo)),
    shell("up"),
    with("update", UPDATE, None),
    shell("validate"),
    shell("wait"),
    shell("watch"),
    plain("wrap", See(Look::Wrap)),
    plain("write", Edit(Verb::WriteBack)),
    plain("zone", See(Look::Zone)),
];

/// The command that `word` names: in full, or as the beginning of one alone.
pub(crate) fn named(word: &str) -> Option<&'static Command> {
    let begins = || COMMANDS.iter().filter(|command| command.name.starts_with(word));
    let whole = begins().find(|command| command.name == word);
    whole.or_else(|| {
        let mut all = begins();
        all.next().filter(|_| all.next().is_none())
    })
}

#[cfg(test)]
mod tests {
    use super::{COMMANDS, named};
    use crate::console::keymap::{Context, Intent, Keymap, Look};
    use crate::console::layout::Pane;

    /// Whatever a key does over the panes has a name, so that nothing must be known by heart.
    #[test]
    fn every_key_over_the_panes_has_a_command() {
        let by_other_means = |intent: Intent| {
            matches!(
                intent,
                Intent::Move(_)
                    | Intent::App(_)
                    | Intent::Edit(super::Verb::Nudge(_) | super::Verb::Count)
                    | Intent::Look(Look::Command | Look::Open | Look::NextPane | Look::PriorPane)
            )
        };
        for pane in Pane::ALL {
            for scope in Context::Browse(pane).scopes() {
                let map = Keymap::default();
                let bound = map.bindings(*scope, false).map(|it| it.of);
                for binding in bound.filter(|it| !by_other_means(it.intent)) {
                    let known = COMMANDS.iter().any(|it| it.bare == Some(binding.intent));
                    assert!(known, "{binding:?}");
                }
            }
        }
    }

    #[test]
    fn a_name_may_be_cut_as_long_as_it_is_one_alone() {
        assert_eq!(named("und").map(|it| it.name), Some("undo"));
        assert_eq!(named("pass").map(|it| it.name), Some("pass"));
        assert!(named("p").is_none() && named("x").is_none());
    }
}
