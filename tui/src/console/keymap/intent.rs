//! What keys can mean, and in which contexts.

use crate::console::{
    layout::Pane,
    model::Model,
    popup::{PlanStage, Popup},
    release::ReleaseStage,
};

/// What a key means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    /// Move in a list or a text.
    Move(Move),
    /// Look at something else, or otherwise.
    Look(Look),
    /// Edit the draft.
    Edit(Verb),
    /// Answer what is asked.
    Say(Say),
    /// Type.
    Text(Typing),
    /// What works always.
    App(App),
}

/// A movement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// One up.
    Up,
    /// One down.
    Down,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// Half a page up.
    HalfUp,
    /// Half a page down.
    HalfDown,
    /// To the first.
    First,
    /// To the last.
    Last,
}

/// What changes the view and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// To this pane.
    Pane(Pane),
    /// To the next pane.
    NextPane,
    /// To the pane before.
    PriorPane,
    /// Into what is selected.
    Open,
    /// Type a filter.
    Filter,
    /// Only what is wrong.
    Problems,
    /// Freeze the view, or let it go on.
    Pause,
    /// The pass before.
    Backward,
    /// The pass after.
    Forward,
    /// The next order of the fleet.
    Sort,
    /// The order the other way round.
    Reverse,
    /// Groups with the stages of their nodes, instead of the nodes.
    Overview,
    /// Type a command.
    Command,
    /// Put what is selected on the clipboard.
    Copy,
    /// Come to the driver anew, now.
    Reconnect,
    /// Write what is shown into files.
    Save,
    /// Stay with the newest, or with what is selected.
    Follow,
    /// To the next node that the filter lets through.
    NextMatch,
    /// To the one before.
    PriorMatch,
    /// The whole text of the selected event, or one line of it.
    Wrap,
    /// Times of day as they are here, or in UTC.
    Zone,
    /// Take clicks and the wheel, or leave them to the terminal.
    Mouse,
    /// A node in words, or as its lines of the fleet text.
    Raw,
    /// What a frame costs, and what comes in.
    Perf,
    /// The keys.
    Help,
    /// End.
    Quit,
}

/// What changes the draft, or shows its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    /// So many more.
    Nudge(i32),
    /// Type a count.
    Count,
    /// Take the last edit back.
    Undo,
    /// Drop the draft.
    Discard,
    /// Show the plan of the draft.
    Preview,
    /// Look anew at what is held, to release it.
    Release,
    /// What is open and could be recovered.
    Recover,
    /// Write live counts into the file.
    WriteBack,
    /// Show the plan that takes everything down.
    Down,
}

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Say {
    /// Apply.
    Apply,
    /// Yes.
    Yes,
    /// Enter.
    Accept,
    /// The other button.
    Switch,
    /// Plan again.
    Replan,
    /// Back, and nothing happens.
    Back,
}

/// A key of a text field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Typing {
    /// A character.
    Char(char),
    /// Take the last character back.
    Erase,
    /// Take all of them back.
    Clear,
    /// Write what can only follow.
    Complete,
}

/// What works always.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum App {
    /// Paint anew.
    Redraw,
    /// Stop the process for now.
    Suspend,
    /// Twice: end.
    Interrupt,
}

/// Where a binding holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Where a group is selected.
    Counts,
    /// Where a hold is selected.
    Holds,
    /// Over the panes.
    Browse,
    /// A plan that one key confirms.
    Prompt,
    /// A plan that a typed name confirms.
    Typed,
    /// What became of a plan.
    Answer,
    /// A view to read.
    Reading,
    /// A list to choose from.
    Choice,
    /// A question to be answered with yes.
    Asked,
    /// The question whether to end.
    Leaving,
    /// A text in the footer.
    Entry,
    /// Letters that scroll.
    Letters,
    /// Keys that scroll.
    Scroll,
    /// Always.
    Always,
}

impl Scope {
    /// Every scope.
    pub(crate) const ALL: [Self; 14] = [
        Self::Counts,
        Self::Holds,
        Self::Browse,
        Self::Letters,
        Self::Scroll,
        Self::Prompt,
        Self::Typed,
        Self::Answer,
        Self::Entry,
        Self::Reading,
        Self::Choice,
        Self::Asked,
        Self::Leaving,
        Self::Always,
    ];

    /// Its name in the file that binds other keys.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Counts => "counts",
            Self::Holds => "holds",
            Self::Browse => "panes",
            Self::Prompt => "prompt",
            Self::Typed => "typed",
            Self::Answer => "answer",
            Self::Reading => "reading",
            Self::Choice => "choice",
            Self::Asked => "asked",
            Self::Leaving => "leaving",
            Self::Entry => "entry",
            Self::Letters => "letters",
            Self::Scroll => "scroll",
            Self::Always => "always",
        }
    }

    /// Its heading in the help.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Counts => "Counts (panes 1 and 2)",
            Self::Holds => "Holds (pane 5)",
            Self::Browse => "Panes",
            Self::Prompt => "A plan to confirm",
            Self::Typed => "A plan to confirm by name",
            Self::Answer => "What became of a plan",
            Self::Reading => "Help and details",
            Self::Choice => "Open operations",
            Self::Asked => "Writing the file",
            Self::Leaving => "Quitting",
            Self::Entry => "Typing",
            Self::Letters | Self::Scroll => "Moving",
            Self::Always => "Always",
        }
    }
}

/// What has the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Context {
    /// A pane.
    Browse(Pane),
    /// A text in the footer.
    Entry,
    /// A plan that one key confirms.
    Prompt,
    /// A plan that a typed name confirms.
    Typed,
    /// What became of a plan, or waiting for it.
    Answer,
    /// Help or details.
    Reading,
    /// A list to choose from.
    Choice,
    /// A question to be answered with yes.
    Asked,
    /// The question whether to end.
    Leaving,
}

impl Context {
    /// Every context.
    pub(crate) const ALL: [Self; 13] = [
        Self::Browse(Pane::Groups),
        Self::Browse(Pane::Fleet),
        Self::Browse(Pane::Passes),
        Self::Browse(Pane::Events),
        Self::Browse(Pane::Holds),
        Self::Entry,
        Self::Prompt,
        Self::Typed,
        Self::Answer,
        Self::Reading,
        Self::Choice,
        Self::Asked,
        Self::Leaving,
    ];

    /// What has the keys at present.
    pub(crate) fn of(model: &Model) -> Self {
        match &model.popup {
            Some(Popup::Help { .. } | Popup::Detail { .. } | Popup::Pass { .. }) => Self::Reading,
            Some(Popup::Operations(_)) => Self::Choice,
            Some(Popup::WriteBack) => Self::Asked,
            Some(Popup::Release { stage, .. }) => match stage.as_ref() {
                ReleaseStage::Prompt(_) => Self::Typed,
                ReleaseStage::Looking { .. }
                | ReleaseStage::Waiting { .. }
                | ReleaseStage::Refused(_)
                | ReleaseStage::Unknown(_) => Self::Answer,
            },
            Some(Popup::Quit) => Self::Leaving,
            Some(Popup::Plan { stage, .. }) => match stage.as_ref() {
                PlanStage::Prompt(prompt) if prompt.wants_name() => Self::Typed,
                PlanStage::Prompt(_) => Self::Prompt,
                PlanStage::Asking { .. }
                | PlanStage::Waiting { .. }
                | PlanStage::Stale(_)
                | PlanStage::Refused(_)
                | PlanStage::Failed(_)
                | PlanStage::Unknown { .. } => Self::Answer,
            },
            None if model.entry.is_some() => Self::Entry,
            None => Self::Browse(model.pane),
        }
    }

    /// Where its bindings stand, the nearest first.
    pub(crate) const fn scopes(self) -> &'static [Scope] {
        use Scope::{
            Always, Answer, Asked, Browse, Choice, Counts, Entry, Holds, Leaving, Letters, Prompt,
            Reading, Scroll, Typed,
        };
        match self {
            Self::Browse(Pane::Groups | Pane::Fleet) => &[Counts, Browse, Letters, Scroll, Always],
            Self::Browse(Pane::Passes | Pane::Events) => &[Browse, Letters, Scroll, Always],
            Self::Browse(Pane::Holds) => &[Holds, Browse, Letters, Scroll, Always],
            Self::Entry => &[Entry, Always],
            Self::Prompt => &[Prompt, Letters, Scroll, Always],
            Self::Typed => &[Typed, Scroll, Always],
            Self::Answer => &[Answer, Letters, Scroll, Always],
            Self::Reading => &[Reading, Letters, Scroll, Always],
            Self::Choice => &[Choice, Letters, Scroll, Always],
            Self::Asked => &[Asked, Always],
            Self::Leaving => &[Leaving, Always],
        }
    }

    /// True if characters are text here.
    pub(crate) const fn takes_text(self) -> bool {
        matches!(self, Self::Entry | Self::Typed)
    }
}
