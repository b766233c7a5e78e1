//! The fleet as of an earlier pass, read off the ribbons: they say where every node stood at the end of each pass.
//!
//! Only what a ribbon says is shown. What a node waited for then, and how many were wanted, nobody kept.

use driver::view::{GroupView, NodeView, PassView, RunView};
use reconciler_core::{
    id::{LogicalNodeId, PassNumber},
    observed::StageName,
};

use super::stage;

/// A node that changed its letter in a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    /// Which.
    pub(crate) slot: LogicalNodeId,
    /// Its letter before.
    pub(crate) before: char,
    /// Its letter after.
    pub(crate) after: char,
}

/// How many passes back the pass is, if ribbons reach it.
pub(crate) fn age_of(view: &RunView, pass: PassNumber) -> Option<usize> {
    let age = view.passes.iter().position(|known| known.pass == pass)?;
    (age < reach(view)).then_some(age)
}

/// How many passes the ribbons of a snapshot tell of.
pub(crate) fn reach(view: &RunView) -> usize {
    usize::try_from(view.ribbon_len).unwrap_or(usize::MAX).min(view.passes.len())
}

/// The pass that is `age` passes back.
pub(crate) fn pass_at(view: &RunView, age: usize) -> Option<&PassView> {
    view.passes.get(age).filter(|_| age < reach(view))
}

/// The letter of a node at the end of the pass `age` passes back.
fn letter(node: &NodeView, age: usize) -> Option<char> {
    node.ribbon.chars().rev().nth(age)
}

/// The nodes that the pass `age` passes back moved; those that are gone by now are not known.
pub(crate) fn moves(view: &RunView, age: usize) -> Vec<Moved> {
    let moved = view.nodes.iter().filter_map(|node| {
        let after = letter(node, age)?;
        let before = letter(node, age.saturating_add(1))?;
        (before != after).then(|| Moved { slot: node.slot.clone(), before, after })
    });
    moved.collect()
}

/// The run at the end of the pass `age` passes back; nothing if the ribbons do not reach it.
pub(crate) fn as_of(view: &RunView, age: usize) -> Option<RunView> {
    let pass = pass_at(view, age)?;
    let nodes: Vec<NodeView> = view.nodes.iter().filter_map(|node| stood(node, age)).collect();
    let groups = view.groups.iter().map(|group| counted(group, &nodes)).collect();
    let ready = nodes.iter().filter(|node| node.ready).count();
    Some(RunView {
        pass: pass.pass,
        at: pass.at,
        due: None,
        ready: u32::try_from(ready).unwrap_or(u32::MAX),
        groups,
        passes: view.passes.get(age..).unwrap_or_default().to_vec(),
        events: view.events.iter().filter(|event| event.pass <= pass.pass).cloned().collect(),
        holds: view.holds.iter().filter(|hold| hold.since <= pass.at).cloned().collect(),
        nodes,
        ..view.clone()
    })
}

fn stood(node: &NodeView, age: usize) -> Option<NodeView> {
    let letter = letter(node, age).filter(|letter| *letter != '.')?;
    let kept = node.ribbon.chars().count().saturating_sub(age);
    let reason = match self::letter(node, age.saturating_add(1)).filter(|before| *before != letter)
    {
        Some(before) => format!("{} -> {}", stage::told(before), stage::told(letter)),
        None => String::new(),
    };
    let stage = stage_of(letter);
    Some(NodeView {
        slot: node.slot.clone(),
        stage,
        reached: if letter == stage::letter_of(node) { node.reached } else { stage },
        ready: matches!(letter, 'H' | 'd'),
        deleting: letter == 'X',
        off: node.off,
        completed: false,
        hold: node.hold.filter(|_| letter == '?'),
        attempt: node.attempt,
        since: node.since,
        pending: None,
        failures: 0,
        due: None,
        reason: if letter == '?' && reason.is_empty() { "held".to_owned() } else { reason },
        last_error: None,
        endpoint: None,
        lease: None,
        second: None,
        ribbon: node.ribbon.chars().take(kept).collect(),
    })
}

const fn stage_of(letter: char) -> StageName {
    match letter {
        'N' => StageName::New,
        'L' => StageName::LeaseCreated,
        'E' => StageName::EndpointKnown,
        'B' => StageName::BootstrapRunning,
        'd' => StageName::Dormant,
        'H' | 'X' => StageName::HandedOff,
        _ => StageName::Failed,
    }
}

/// What is counted of a group is counted anew; what is wanted of it is that of the present.
fn counted(group: &GroupView, nodes: &[NodeView]) -> GroupView {
    let own = || nodes.iter().filter(|node| node.slot.group == group.group);
    let count = |of: fn(&NodeView) -> bool| {
        u32::try_from(own().filter(|node| of(node)).count()).unwrap_or(u32::MAX)
    };
    let mut stages: Vec<(StageName, u32)> = Vec::new();
    for node in own().filter(|node| !node.deleting) {
        match stages.iter_mut().find(|(stage, _)| *stage == node.stage) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => stages.push((node.stage, 1)),
        }
    }
    stages.sort_unstable();
    GroupView {
        ready: count(|node| node.ready),
        held: count(|node| node.hold.is_some()),
        deleting: count(|node| node.deleting),
        failing: count(|node| node.stage == StageName::Failed),
        orphans: 0,
        completed: None,
        waits_for: Vec::new(),
        stages,
        update: None,
        ..group.clone()
    }
}
