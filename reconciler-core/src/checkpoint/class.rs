//! Classes and lanes: what kind of moment a checkpoint marks, and what recovery does with what it finds.

/// What kind of moment a checkpoint marks; orders by precedence, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckpointClass {
    /// The intent is written, nothing was sent.
    Intent,
    /// The postcondition was seen.
    Verification,
    /// An effect is, or may be, on its way.
    ForwardEffect,
    /// It was broken off without an effect.
    Interruption,
    /// A deletion's last deeds, in their order.
    Finalizer,
    /// What was done is being taken back, or was.
    Compensation,
    /// What served before was looked at after everything was taken back.
    RestoredHealth,
    /// In doubt; nothing may be done until the doubt is gone.
    SafeHold,
    /// The operation is over. Never derived from steps, only written when it is closed.
    Terminal,
}

impl CheckpointClass {
    /// Every class, the weakest first.
    pub const ALL: [Self; 9] = [
        Self::Intent,
        Self::Verification,
        Self::ForwardEffect,
        Self::Interruption,
        Self::Finalizer,
        Self::Compensation,
        Self::RestoredHealth,
        Self::SafeHold,
        Self::Terminal,
    ];

    /// The class's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Intent => "intent",
            Self::Verification => "verification",
            Self::ForwardEffect => "forward-effect",
            Self::Interruption => "interruption",
            Self::Finalizer => "finalizer",
            Self::Compensation => "compensation",
            Self::RestoredHealth => "restored-health",
            Self::SafeHold => "safe-hold",
            Self::Terminal => "terminal",
        }
    }

    /// Its place in the precedence, higher wins; the number that the journal sorts by.
    pub const fn rank(self) -> u8 {
        self as u8
    }

    /// True where what comes next can only be the way back: forward work is never taken up again (R123).
    pub const fn is_of_the_way_back(self) -> bool {
        match self {
            Self::Compensation | Self::RestoredHealth => true,
            Self::Intent
            | Self::Verification
            | Self::ForwardEffect
            | Self::Interruption
            | Self::Finalizer
            | Self::SafeHold
            | Self::Terminal => false,
        }
    }
}

/// What recovery does with what it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecoveryLane {
    /// Go on from here; nothing is in doubt.
    Resume,
    /// Look first: an effect may have happened.
    Reobserve,
    /// Nothing is left to do.
    Complete,
    /// Stay held until an operator or an observation resolves the doubt.
    SafeHold,
}

impl RecoveryLane {
    /// The lane's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Resume => "resume",
            Self::Reobserve => "reobserve",
            Self::Complete => "complete",
            Self::SafeHold => "safe-hold",
        }
    }
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointRow {
    /// The exact name, without the slot.
    pub name: &'static str,
    /// What it means.
    pub class: CheckpointClass,
    /// What recovery does.
    pub lane: RecoveryLane,
}

pub(super) const fn row(
    name: &'static str,
    class: CheckpointClass,
    lane: RecoveryLane,
) -> CheckpointRow {
    CheckpointRow { name, class, lane }
}
