//! How a stage is shown: its letter, its word, its place on the track, and which letters may follow which.

use driver::view::NodeView;
use reconciler_core::{observed::StageName, time::Timestamp};

/// The letter of a stage in ribbons and histograms. A slot whose attempt is destroyed waits for the next one,
/// like one that failed.
pub const fn letter(stage: StageName) -> char {
    match stage {
        StageName::New | StageName::LeaseRequested => 'N',
        StageName::LeaseCreated => 'L',
        StageName::EndpointKnown => 'E',
        StageName::BootstrapRunning | StageName::SwactorJoined => 'B',
        StageName::HandedOff => 'H',
        StageName::Dormant => 'd',
        StageName::Failed | StageName::Destroyed => 'F',
    }
}

/// The word of a stage, at most nine columns wide.
pub const fn word(stage: StageName) -> &'static str {
    match stage {
        StageName::New => "new",
        StageName::LeaseRequested => "leasing",
        StageName::LeaseCreated => "leased",
        StageName::EndpointKnown => "endpoint",
        StageName::BootstrapRunning => "boot",
        StageName::SwactorJoined => "joined",
        StageName::HandedOff => "handedoff",
        StageName::Dormant => "dormant",
        StageName::Failed => "FAILED",
        StageName::Destroyed => "gone",
    }
}

/// What a letter of a ribbon stands for.
pub const fn told(letter: char) -> &'static str {
    match letter {
        '.' => "not there",
        'N' => "new",
        'L' => "leased",
        'E' => "endpoint",
        'B' => "boot",
        'H' => "handed off",
        'd' => "dormant",
        'F' => "failed",
        '?' => "held",
        'X' => "deleting",
        _ => "unknown",
    }
}

/// The word for a node as a whole: a hold outweighs a deletion, which outweighs the stage.
pub const fn word_of(node: &NodeView) -> &'static str {
    if node.hold.is_some() {
        "HOLD"
    } else if node.deleting {
        "DELETING"
    } else {
        word(node.stage)
    }
}

/// The letter for a node as a whole.
pub const fn letter_of(node: &NodeView) -> char {
    if node.hold.is_some() {
        '?'
    } else if node.deleting {
        'X'
    } else {
        letter(node.stage)
    }
}

/// How one of the five places of a track stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It lies behind.
    Done,
    /// The node is here.
    Current,
    /// It lies ahead.
    Ahead,
    /// It failed or is being taken down here.
    Broken,
    /// It is held here.
    Held,
}

/// The five places New, Lease, Endpoint, Bootstrap, Handoff of a node.
pub fn track(node: &NodeView) -> [Place; 5] {
    let far = place(node.stage).or_else(|| place(node.reached)).unwrap_or(0);
    let here = if node.hold.is_some() {
        Place::Held
    } else if node.deleting || node.stage == StageName::Failed {
        Place::Broken
    } else if node.stage == StageName::Destroyed {
        return [Place::Ahead; 5];
    } else if node.stage == StageName::Dormant {
        Place::Done
    } else {
        Place::Current
    };
    std::array::from_fn(|at| match at.cmp(&far) {
        std::cmp::Ordering::Less => Place::Done,
        std::cmp::Ordering::Equal => here,
        std::cmp::Ordering::Greater => Place::Ahead,
    })
}

/// When a failed slot is tried again, if it waits for that.
pub fn retry_at(node: &NodeView) -> Option<Timestamp> {
    let failed = matches!(node.stage, StageName::Failed | StageName::Destroyed);
    node.due.filter(|_| failed && node.failures > 0)
}

const fn place(stage: StageName) -> Option<usize> {
    match stage {
        StageName::New | StageName::LeaseRequested => Some(0),
        StageName::LeaseCreated => Some(1),
        StageName::EndpointKnown => Some(2),
        StageName::BootstrapRunning | StageName::SwactorJoined => Some(3),
        StageName::HandedOff | StageName::Dormant => Some(4),
        StageName::Failed | StageName::Destroyed => None,
    }
}

/// True if a ribbon may show `to` right after `from`: nothing happened, or one legal step (D1).
///
/// Beyond the steps forward: a deletion ends in `F` or in nothing; any node may fail, be held, or be taken down; a cancelled session falls back to
/// the endpoint; a job that ended goes to rest from its bootstrap; a released hold goes on wherever it stood.
pub fn legal(from: char, to: char) -> bool {
    next(from).is_some_and(|letters| from == to || letters.contains(to))
}

/// The letters that may follow a letter, beside itself; nothing for what is no letter.
const fn next(letter: char) -> Option<&'static str> {
    match letter {
        '.' => Some("N?"),
        'N' => Some("LF?X"),
        'L' => Some("EBF?X"),
        'E' => Some("BF?X"),
        'B' => Some("HdEF?X"),
        'H' => Some("dEF?X"),
        'd' => Some("EF?X"),
        'F' => Some("N.?X"),
        'X' => Some("F.?"),
        '?' => Some(".NLEBHdFX"),
        _ => None,
    }
}

/// The last `width` letters of a ribbon, filled with `.` on the left, each with whether it stands in an
/// illegal pair.
pub fn ribbon(letters: &str, width: usize) -> Vec<(char, bool)> {
    let all: Vec<char> = letters.chars().collect();
    let cut = all.len().saturating_sub(width);
    let tail = all.get(cut..).unwrap_or_default();
    let broken = |at: usize| {
        tail.get(at..at.saturating_add(2))
            .is_some_and(|pair| matches!(pair, [a, b] if !legal(*a, *b)))
    };
    let fill = std::iter::repeat_n(('.', false), width.saturating_sub(tail.len()));
    let shown = tail.iter().enumerate().map(|(at, c)| {
        let bad = broken(at) || at.checked_sub(1).is_some_and(broken);
        (*c, bad)
    });
    fill.chain(shown).collect()
}
