//! The schema in `docs/api.md` is what is served: every field has a row that says what it is, and every row a field.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use driver::view::{
    BlockerView, DemandView, Difference, Edit, FileView, HoldView, ImpactView, NodeView,
    OrphanView, OutputView, OutstandingView, PlanGroupView, RunDelta, RunView, SecondView,
    UpdateView, WaitsForView, diff,
};
use reconciler_core::{
    effect::{CommandKind, FailureClass},
    hold::HoldCode,
    id::AttemptOrdinal,
    observed::StageName,
};
use serde_json::{Value, json};

use crate::{
    http::{get, post},
    stand::{Stand, counts, eventually},
    world::Act,
};

/// Which type stands in a field of another.
const WITHIN: [(&str, &str, &str); 35] = [
    ("RunView", "driver", "DriverView"),
    ("RunView", "file", "FileView"),
    ("RunView", "groups", "GroupView"),
    ("RunView", "nodes", "NodeView"),
    ("RunView", "holds", "HoldView"),
    ("RunView", "outstanding", "OutstandingView"),
    ("RunView", "passes", "PassView"),
    ("RunView", "events", "EventView"),
    ("RunView", "orphans", "OrphanView"),
    ("RunView", "providers", "ProviderView"),
    ("RunView", "drift", "DriftView"),
    ("RunDelta", "file", "FileView"),
    ("RunDelta", "groups", "GroupView"),
    ("RunDelta", "nodes", "NodeView"),
    ("RunDelta", "holds", "HoldView"),
    ("RunDelta", "outstanding", "OutstandingView"),
    ("RunDelta", "passes", "PassView"),
    ("RunDelta", "events", "EventView"),
    ("RunDelta", "orphans", "OrphanView"),
    ("RunDelta", "providers", "ProviderView"),
    ("RunDelta", "drift", "DriftView"),
    ("GroupView", "update", "UpdateView"),
    ("NodeView", "second", "SecondView"),
    ("EventsView", "events", "EventView"),
    ("OperationView", "steps", "OperationStepView"),
    ("ExplainView", "facts", "FactView"),
    ("ExplainView", "blockers", "BlockerView"),
    ("ExplainView", "drift", "DriftView"),
    ("PlanView", "groups", "PlanGroupView"),
    ("PlanView", "steps", "StepView"),
    ("PlanView", "bound", "BoundView"),
    ("PlanView", "drift", "DriftView"),
    ("PlanView", "demand", "DemandView"),
    ("PlanGroupView", "changes", "ChangeView"),
    ("PlanGroupView", "impact", "ImpactView"),
];

/// The rows of the tables: by type and field, which kinds of value it may be.
type Rows = BTreeMap<(String, String), BTreeSet<String>>;

fn documented() -> Rows {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/api.md");
    let text = fs::read_to_string(path).unwrap();
    let mut rows = Rows::new();
    let mut current = None;
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("### ") {
            current = title.ends_with("View").then(|| title.to_owned());
            if ["RunDelta", "Refusal"].contains(&title) {
                current = Some(title.to_owned());
            }
        }
        let cells: Vec<&str> = line.split(" | ").collect();
        let (Some(name), [field, kinds, _]) = (&current, cells.as_slice()) else { continue };
        let Some(field) = field.strip_prefix("| `").and_then(|f| f.strip_suffix('`')) else {
            continue;
        };
        let kinds = kinds.split(" or ").map(str::to_owned).collect();
        assert!(rows.insert((name.clone(), field.to_owned()), kinds).is_none(), "{line}");
    }
    rows
}

/// What was served so far.
#[derive(Default)]
struct Served(Rows);

impl Served {
    fn note(&mut self, name: &str, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.note(name, item)),
            Value::Object(fields) => {
                for (field, value) in fields {
                    let kind = kind(value).to_owned();
                    let key = (name.to_owned(), field.clone());
                    self.0.entry(key).or_default().insert(kind);
                    let within = WITHIN.iter().find(|(of, at, _)| of == &name && at == field);
                    if let Some((.., inner)) = within {
                        self.note(inner, value);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The view of a run with everything in it that is seldom there; its types are the driver's, so that a field that is
/// added to one of them cannot be forgotten here.
fn rich(view: &RunView) -> RunView {
    let group = view.groups[0].clone();
    let node = view.nodes[0].clone();
    let update = UpdateView {
        target: "4ef719d8".to_owned(),
        prior: Some("31427840".to_owned()),
        reverts: false,
        paused: true,
        ready: 1,
        deadline: Some(view.at),
    };
    let second = SecondView {
        attempt: 2,
        stage: StageName::HandedOff,
        deleting: false,
        reason: "steady".to_owned(),
        last_error: Some("it failed".to_owned()),
        lease: Some("web-0.2".to_owned()),
    };
    let file = FileView {
        path: "cluster.toml".to_owned(),
        problem: Some("line 1: it is wrong".to_owned()),
        differs: vec![(group.group.clone(), 1, 2)],
        off_differs: Vec::new(),
        revised: Vec::new(),
    };
    let node = NodeView {
        hold: Some(HoldCode::CrashLoop),
        pending: Some(CommandKind::CreateLease.into()),
        due: Some(view.at),
        last_error: Some("it failed".to_owned()),
        second: Some(second),
        ..node
    };
    RunView {
        file: Some(file),
        due: Some(view.at),
        holds: vec![HoldView {
            subject: "web-0".to_owned(),
            code: HoldCode::CrashLoop,
            text: "it failed".to_owned(),
            since: view.at,
            way_out: "levelhead release web-0".to_owned(),
        }],
        outstanding: vec![OutstandingView {
            subject: "web-0".to_owned(),
            count: 1,
            why: "held".to_owned(),
            waits_for: WaitsForView::Person,
            way_out: Some("levelhead release web-0".to_owned()),
        }],
        orphans: vec![OrphanView {
            provider: group.provider.clone(),
            slot: node.slot.clone(),
            lease: "web-0.9".to_owned(),
        }],
        groups: vec![driver::view::GroupView { update: Some(update), completed: Some(0), ..group }],
        nodes: vec![node],
        ..view.clone()
    }
}

/// What lies between two views, with nothing left out.
fn full_delta(old: RunView, new: &RunView) -> RunDelta {
    let Difference::Changed(delta) = diff(old, new) else { panic!("they differ") };
    RunDelta {
        passes: new.passes.clone(),
        events: new.events.clone(),
        groups_gone: vec![new.groups[0].group.clone()],
        nodes_gone: vec![new.nodes[0].slot.clone()],
        providers: Some(new.providers.clone()),
        drift: Some(new.drift.clone()),
        ..*delta
    }
}

/// Notes what no run of a moment has in it.
fn seldom(served: &mut Served, view: RunView) {
    let rich = rich(&view);
    served.note("RunView", &serde_json::to_value(&rich).unwrap());
    let delta = full_delta(view, &rich);
    served.note("RunDelta", &serde_json::to_value(delta).unwrap());
    let blocker = BlockerView { what: "a hold".to_owned(), way_out: None };
    served.note("BlockerView", &serde_json::to_value(blocker).unwrap());
    let demand = DemandView {
        confirm: "name".to_owned(),
        name: "web".to_owned(),
        reasons: vec!["it is asked for".to_owned()],
    };
    served.note("PlanView", &json!({ "demand": demand }));
    let impact = ImpactView {
        reason: "requested-rolling".to_owned(),
        replaced: 1,
        minimum_available: 1,
        peak: 2,
        downtime: false,
        summary: "one after another".to_owned(),
    };
    let group = PlanGroupView {
        group: rich.groups[0].group.clone(),
        from: 1,
        to: 2,
        changes: Vec::new(),
        unchanged: 1,
        impact: Some(impact),
    };
    served.note("PlanGroupView", &serde_json::to_value(group).unwrap());
    let output = OutputView {
        slot: "web-0".parse().unwrap(),
        attempt: AttemptOrdinal::new(1),
        lines: vec!["a line".to_owned()],
    };
    served.note("OutputView", &serde_json::to_value(output).unwrap());
}

/// Where the rows and what is served are not the same.
fn differences(rows: &Rows, served: &Rows) -> Vec<String> {
    let mut wrong = Vec::new();
    assert!(rows.len() > 150, "the tables were not found");
    let node = |field: &str| rows.contains_key(&("NodeView".to_owned(), field.to_owned()));
    for ((name, field), kinds) in served {
        // An explanation has the fields of its node, and a fact one of three.
        let of_another = (name == "ExplainView" && node(field))
            || (name == "FactView" && ["text", "count", "at"].contains(&field.as_str()));
        match rows.get(&(name.clone(), field.clone())) {
            Some(said) if kinds.is_subset(said) => {}
            None if of_another => {}
            said => wrong.push(format!("{name}.{field} is {kinds:?}, and its row says {said:?}")),
        }
    }
    let unserved = rows.keys().filter(|row| !served.contains_key(*row));
    wrong.extend(unserved.map(|(name, field)| format!("{name}.{field} is not served")));
    wrong
}

/// Every field that is served has a row with what it is, and every row is of a field that is served.
#[test]
fn the_documented_schema_is_the_served_one() {
    let mut stand = Stand::new(9);
    stand.policy.restart.attempts = 1;
    let fails = Act::Fail(FailureClass::Capacity);
    stand.world.script(CommandKind::CreateLease, Some("web-1"), 100, fails);
    let run = stand.drive(driver::Begin::Driving);
    run.edit(&stand.declare(&[("api", 2), ("web", 2)]));
    run.until("it is held", |view| !view.holds.is_empty() && view.ready == 3);
    run.client();
    let socket = stand.paths().socket();
    let mut served = Served::default();
    let mut called = |name: &str, path: &str| served.note(name, &get(&socket, path).json());
    called("HealthView", "/v1/health");
    called("ReadyView", "/v1/ready");
    called("RunView", "/v1/snapshot");
    called("EventsView", "/v1/events");
    called("OperationView", "/v1/operations");
    eventually("its operation has steps", || {
        get(&socket, "/v1/operations/1").json()["steps"][0]["action"].is_string()
    });
    called("OperationView", "/v1/operations/1");
    called("ExplainView", "/v1/explain?subject=web");
    let mut posted = |name: &str, path: &str, body: &Value| {
        served.note(name, &post(&socket, path, &body.to_string()).json());
    };
    let more = counts(&[("api", 3)]);
    posted("PlanView", "/v1/plan", &json!({ "edit": more }));
    posted("PlanView", "/v1/plan", &json!({ "edit": Edit::Down }));
    posted("ReleaseView", "/v1/release", &json!({"subject": "web-1", "confirm": null}));
    posted("Refusal", "/v1/plan", &json!({"edit": counts(&[("nowhere", 3)])}));
    let view = run.view();
    run.stop();

    seldom(&mut served, view);
    let wrong = differences(&documented(), &served.0);
    assert!(wrong.is_empty(), "{wrong:#?}");
}
