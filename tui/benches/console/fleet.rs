//! A made-up fleet: groups of a thousand nodes, and what a pass makes of it.

use std::{collections::BTreeMap, io};

use driver::view::{DriverView, GroupView, NodeView, PassView, RunState, RunView, VIEW_SCHEMA};
use reconciler_core::{
    id::{Fence, Generation, LogicalNodeId, PassNumber, Uuid},
    observed::StageName,
    time::Timestamp,
};

const GROUP: usize = 1_000;
const RIBBON: usize = 32;
/// Noon of a day.
const AT: u64 = 1_795_953_600_000;

fn named<T: std::str::FromStr>(name: &str) -> io::Result<T> {
    name.parse().map_err(|_bad| io::Error::other(format!("{name} is no name")))
}

/// A run of `n` steady nodes.
pub(crate) fn steady(n: usize) -> io::Result<RunView> {
    let groups = (0..n.div_ceil(GROUP)).map(|at| group(at, n)).collect::<io::Result<Vec<_>>>()?;
    let nodes = (0..n).map(node).collect::<io::Result<Vec<_>>>()?;
    let want = u32::try_from(n).map_err(io::Error::other)?;
    let ribbon_len = u32::try_from(RIBBON).map_err(io::Error::other)?;
    let passes = (0..100).map(|age| pass(1_000 - age)).collect();
    Ok(RunView {
        schema: VIEW_SCHEMA,
        run: named("bench")?,
        uuid: Uuid::from_bytes([7; 16]),
        driver: Some(DriverView {
            pid: 1,
            since: Timestamp::from_millis(AT),
            fence: Fence::new(1),
            version: "0".to_owned(),
        }),
        generation: Generation::new(1),
        changed_by: None,
        pass: PassNumber::new(1_000),
        at: Timestamp::from_millis(AT),
        state: RunState::Converged,
        want,
        ready: want,
        due: None,
        ribbon_len,
        file: None,
        groups,
        nodes,
        holds: Vec::new(),
        outstanding: Vec::new(),
        passes,
        events: Vec::new(),
        orphans: Vec::new(),
        providers: Vec::new(),
        drift: Vec::new(),
    })
}

fn pass(number: u64) -> PassView {
    PassView {
        pass: PassNumber::new(number),
        at: Timestamp::from_millis(AT),
        trigger: "observation".to_owned(),
        facts: 1,
        transitions: 1,
        effects: 0,
        failures: 0,
        micros: 900,
    }
}

fn group(at: usize, n: usize) -> io::Result<GroupView> {
    let count = u32::try_from(GROUP.min(n - at * GROUP)).map_err(io::Error::other)?;
    Ok(GroupView {
        group: named(&format!("web{at:03}"))?,
        role: "worker".to_owned(),
        provider: named("process")?,
        want: count,
        ready: count,
        held: 0,
        deleting: 0,
        failing: 0,
        orphans: 0,
        off: 0,
        completed: None,
        after: BTreeMap::new(),
        waits_for: Vec::new(),
        revision: "9f2c1e7ab04d".to_owned(),
        command: vec!["/usr/bin/worker".to_owned()],
        stages: vec![(StageName::Dormant, count)],
        update: None,
    })
}

fn node(at: usize) -> io::Result<NodeView> {
    let index = u32::try_from(at % GROUP).map_err(io::Error::other)?;
    Ok(NodeView {
        slot: LogicalNodeId { group: named(&format!("web{:03}", at / GROUP))?, index },
        stage: StageName::Dormant,
        reached: StageName::Dormant,
        ready: true,
        deleting: false,
        off: false,
        completed: false,
        hold: None,
        attempt: 1,
        since: Timestamp::from_millis(AT),
        pending: None,
        failures: 0,
        due: None,
        reason: "steady".to_owned(),
        last_error: None,
        endpoint: Some("127.0.0.1:4100".to_owned()),
        lease: Some(format!("proc-{at}")),
        second: None,
        ribbon: "d".repeat(RIBBON),
    })
}

/// The run after one more pass that moved every `every`th node, beginning with the `first`.
pub(crate) fn moved(view: &RunView, first: usize, every: usize) -> RunView {
    let mut next = view.clone();
    next.pass = view.pass.next();
    next.at = Timestamp::from_millis(view.at.as_millis() + 100);
    next.passes.insert(0, pass(next.pass.get()));
    next.passes.truncate(100);
    for (at, node) in next.nodes.iter_mut().enumerate() {
        let moves = at % every == first % every;
        let (letter, stage) = match (moves, node.stage) {
            (false, stage) => (node.ribbon.chars().last().unwrap_or('d'), stage),
            (true, StageName::Dormant) => ('E', StageName::EndpointKnown),
            (true, StageName::EndpointKnown) => ('B', StageName::BootstrapRunning),
            (true, StageName::BootstrapRunning) => ('H', StageName::HandedOff),
            (true, _) => ('d', StageName::Dormant),
        };
        node.ribbon.remove(0);
        node.ribbon.push(letter);
        if moves {
            node.stage = stage;
            node.since = next.at;
        }
    }
    next
}
