//! An engine that is stopped and started under a live driver: nobody is charged for its absence, and all comes back.

use super::{fleet::group, own::Own};
use crate::world::{World, node, until_true};

/// C1, C2, C7: while the engine is away nothing is concluded and nobody is charged; when it is back, so are the nodes.
#[test]
fn an_engine_that_was_stopped_and_started_gets_its_nodes_back() {
    let test = "an_engine_that_was_stopped_and_started_gets_its_nodes_back";
    let Some(mut own) = Own::new(test) else { return };
    let file = format!(
        "[provider.box]\nkind = \"docker\"\ninit = true\nnetworks = [\"none\"]\nhost = \"unix://{}\"\n{}",
        own.socket().display(),
        group("web", 2, r#"["sleep", "3600"]"#, "")
    );
    let mut world = World::new(&file);
    world.drive();
    world.until_state("converged");
    assert_eq!(own.running(), 2);
    own.stop();
    until_true("the trouble is told", || {
        let view = world.status();
        let providers = view["providers"].as_array().unwrap();
        providers.iter().any(|one| one["name"] == "box" && one["trouble"].is_string())
    });
    let view = world.status();
    // Nobody saw the nodes end, so nothing is said of them, and nothing is done.
    assert_eq!((&view["ready"], &view["holds"]), (&2.into(), &serde_json::json!([])));
    assert!(own.start());
    until_true("both are back", || own.running() == 2);
    let view = world.until_state("converged");
    for slot in ["web-0", "web-1"] {
        assert!(node(&view, slot)["attempt"].as_u64().unwrap() <= 3, "{view}");
    }
    world.expect(0, &["down", "FILE", "--yes"]);
    assert_eq!(own.running(), 0);
    world.stop_drivers();
}
