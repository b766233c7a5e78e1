//! How much an operator must say before a plan is applied, and the only maker of a confirmation (P3).

use driver::view::{ChangeKind, Edit, PlanGroupView, PlanView};
use reconciler_core::{
    id::{Generation, PlanHash, RunName},
    time::Millis,
};

use super::{
    link::{Ask, Request},
    moment::Moment,
};

/// A key that was typed before the plan could be read must not confirm it.
pub(super) const ARM: Millis = Millis::new(150);

/// What must be said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ladder {
    /// There is nothing to apply.
    Nothing,
    /// Only makes nodes: `a`, or Enter on the button.
    Press,
    /// Destroys nodes that do not serve: `y`.
    Yes,
    /// Destroys or replaces nodes that serve, or empties a group: this name, typed.
    Name(String),
}

impl Ladder {
    /// What `plan` asks for. One group is named itself; several are confirmed by the name of the run.
    pub(crate) fn of(plan: &PlanView, run: &RunName) -> Self {
        if plan.empty {
            return Self::Nothing;
        }
        // A guardrail raises what is asked for, and never lowers it.
        if let Some(demand) = plan.demand.as_ref().filter(|demand| demand.confirm == "name") {
            return Self::Name(demand.name.clone());
        }
        let mut grave = plan.groups.iter().filter(|group| is_grave(group));
        match (grave.next(), grave.next()) {
            (Some(only), None) => Self::Name(only.group.as_str().to_owned()),
            (Some(_), Some(_)) => Self::Name(run.as_str().to_owned()),
            (None, _) if plan.replace > 0 => Self::Name(run.as_str().to_owned()),
            (None, _) if plan.destroy > 0 || plan.demand.is_some() => Self::Yes,
            (None, _) => Self::Press,
        }
    }
}

fn is_grave(group: &PlanGroupView) -> bool {
    let empties = group.to == 0 && group.from > 0;
    empties
        || group.changes.iter().any(|change| match change.kind {
            ChangeKind::Replace | ChangeKind::Stop | ChangeKind::Restart => true,
            ChangeKind::Destroy => change.ready,
            ChangeKind::Create | ChangeKind::Repair | ChangeKind::Start | ChangeKind::Blocked => {
                false
            }
        })
}

/// Which button Enter presses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Button {
    /// Back, and nothing happens.
    Cancel,
    /// Apply.
    Apply,
}

impl Button {
    /// The one beside it.
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Cancel => Self::Apply,
            Self::Apply => Self::Cancel,
        }
    }
}

/// What was pressed to confirm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Press {
    /// `a`.
    Apply,
    /// `y`.
    Yes,
    /// Enter.
    Enter,
}

/// Why a press did not confirm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Barrier {
    /// It came before the plan could be read.
    Early,
    /// The shape moved on since the plan was made.
    Moved,
    /// It says too little.
    TooLittle,
}

/// A plan on screen that waits for its confirmation.
#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    /// The plan.
    pub(crate) plan: Box<PlanView>,
    /// What must be said.
    pub(crate) ladder: Ladder,
    /// The button that Enter presses.
    pub(crate) button: Button,
    /// What was typed so far.
    pub(crate) typed: String,
    edit: Edit,
    painted: Option<Millis>,
}

impl Prompt {
    /// Shows `plan`, which answers `edit`.
    pub(crate) fn new(plan: Box<PlanView>, edit: Edit, run: &RunName) -> Self {
        let ladder = Ladder::of(&plan, run);
        Self { plan, ladder, button: Button::Cancel, typed: String::new(), edit, painted: None }
    }

    /// What was planned.
    pub(crate) const fn edit(&self) -> &Edit {
        &self.edit
    }

    /// True if a typed name is what confirms it.
    pub(crate) const fn wants_name(&self) -> bool {
        matches!(self.ladder, Ladder::Name(_))
    }

    /// The first frame that shows it is on the screen.
    pub(crate) fn painted(&mut self, at: Millis) {
        self.painted.get_or_insert(at);
    }

    /// True if a key of this moment was typed at what is on the screen.
    pub(crate) fn saw(&self, at: Moment) -> bool {
        self.painted.is_some_and(|painted| at.mono >= painted)
    }

    /// What the driver is told of what was said, where guardrails ask for it.
    fn typed_for_guardrails(&self) -> Option<String> {
        let demand = self.plan.demand.as_ref()?;
        let named = demand.confirm == "name";
        Some(if named { self.typed.clone() } else { "yes".to_owned() })
    }

    /// Confirms, if `press` says enough at `at` while the live shape is `live`.
    pub(crate) fn confirm(
        &self,
        press: Press,
        id: u64,
        at: Moment,
        live: Option<Generation>,
    ) -> Result<Confirmed, Barrier> {
        if !self.painted.is_some_and(|painted| self.saw(at) && at.since(painted) >= ARM) {
            return Err(Barrier::Early);
        }
        if live != Some(self.plan.base) {
            return Err(Barrier::Moved);
        }
        let on_button = press == Press::Enter && self.button == Button::Apply;
        let enough = match &self.ladder {
            Ladder::Nothing => false,
            Ladder::Press => press == Press::Apply || on_button,
            Ladder::Yes => press == Press::Yes,
            Ladder::Name(name) => press == Press::Enter && self.typed == *name,
        };
        if !enough {
            return Err(Barrier::TooLittle);
        }
        let typed = self.typed_for_guardrails();
        Ok(Confirmed { id, edit: self.edit.clone(), hash: self.plan.hash, typed })
    }
}

/// A confirmed plan: the one way to ask for a change. Only made from a plan that was on the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirmed {
    id: u64,
    edit: Edit,
    hash: PlanHash,
    typed: Option<String>,
}

impl Confirmed {
    /// The request's number.
    pub const fn id(&self) -> u64 {
        self.id
    }

    /// The edit that was planned.
    pub const fn edit(&self) -> &Edit {
        &self.edit
    }

    /// The hash that was on the screen.
    pub const fn hash(&self) -> PlanHash {
        self.hash
    }

    /// What goes to the driver.
    pub fn into_request(self) -> Request {
        let Self { id, edit, hash, typed } = self;
        Request { id, ask: Ask::Apply { edit, hash, typed } }
    }
}
