//! An exec provider that lies, stumbles and forgets: nothing is made twice and nothing is destroyed on hearsay
//! (P1, C1 to C5).

use std::{collections::BTreeSet, fs, path::PathBuf};

use serde_json::Value;

use crate::world::{World, node, until, until_true};

const NODES: u32 = 9;

/// A run on a cloud of its own.
struct Cloud {
    world: World,
    dir: PathBuf,
}

impl Cloud {
    /// A cloud without faults, and a file that wants `count` instances of it.
    fn new(count: u32) -> Self {
        let world = World::new("");
        let dir = world.dir().join("cloud");
        fs::create_dir_all(dir.join("instances")).unwrap();
        fs::write(dir.join("calls"), "").unwrap();
        fs::write(world.dir().join("cloud.sh"), include_str!("cloud.sh")).unwrap();
        let cloud = Self { world, dir };
        cloud.fault("none");
        cloud.want(count);
        cloud
    }

    fn want(&self, count: u32) {
        self.world.write(&format!(
            "[provider.cloud]\nkind = \"exec\"\nprogram = [\"/bin/sh\", \"cloud.sh\", \"cloud\"]\n\
             timeout_ms = 3000\nvisibility_ms = 100\nlisting_period_ms = 200\n\
             rate_per_second = 1000\nrate_burst = 1000\n\
             [group.vm]\ncount = {count}\nprovider = \"cloud\"\n\
             [group.vm.boot]\ncommand = [\"serve\"]\nports = [\"http\"]\nsettle = \"50ms\"\n\
             [group.vm.policy]\nstable = \"30m\"\n\
             [group.vm.policy.restart]\ninitial = \"100ms\"\ncap = \"1s\"\n"
        ));
    }

    /// How the cloud misbehaves from now on; at once for the calls that begin later.
    fn fault(&self, fault: &str) {
        let new = self.dir.join("fault.new");
        fs::write(&new, fault).unwrap();
        fs::rename(new, self.dir.join("fault")).unwrap();
    }

    /// The calls of one kind so far, as `slot attempt`.
    fn calls(&self, call: &str) -> Vec<String> {
        let calls = fs::read_to_string(self.dir.join("calls")).unwrap();
        let of = |line: &str| Some(line.strip_prefix(call)?.strip_prefix(' ')?.to_owned());
        calls.lines().filter_map(of).collect()
    }

    /// What the cloud really holds.
    fn instances(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(self.dir.join("instances")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| !name.contains('.')).collect()
    }

    /// Puts an instance into the cloud that no record accounts for.
    fn plant(&self, slot: &str, attempt: &str) {
        let at = self.dir.join("instances").join(attempt);
        fs::create_dir(&at).unwrap();
        fs::write(at.join("slot"), slot).unwrap();
        fs::write(at.join("fence"), "1").unwrap();
    }

    /// Waits for so many more listings that at least `n` began after this call.
    fn until_listed(&self, n: usize) {
        let before = self.calls("list-owned").len();
        until_true("it is listed again", || self.calls("list-owned").len() > before + n);
    }

    fn provider(&self) -> Value {
        let view = self.world.status();
        let providers = view["providers"].as_array().unwrap();
        providers.iter().find(|p| p["name"] == "cloud").unwrap().clone()
    }
}

/// Everything up under a driver, with the calls that made it so.
fn driven() -> Cloud {
    let mut cloud = Cloud::new(NODES);
    cloud.world.drive();
    cloud.world.until_state("converged");
    assert_eq!(cloud.instances().len(), NODES as usize);
    assert_eq!(cloud.calls("create-lease").len(), NODES as usize);
    cloud
}

/// Nothing was made, destroyed, started or ended since everything was up.
fn untouched(cloud: &Cloud, instances: &BTreeSet<String>) {
    assert_eq!(cloud.instances(), *instances);
    assert_eq!(cloud.calls("create-lease").len(), NODES as usize);
    assert_eq!(cloud.calls("start-bootstrap").len(), NODES as usize);
    assert_eq!(cloud.calls("cancel-bootstrap"), [""; 0]);
    assert_eq!(cloud.calls("destroy-lease"), [""; 0]);
}

/// A listing that cannot be understood shows nothing: the last state is kept, and the trouble is told (C1).
#[test]
fn a_listing_that_makes_no_sense_changes_nothing() {
    let cloud = driven();
    let instances = cloud.instances();
    for fault in ["bare-list", "html", "half", "exit", "hang"] {
        cloud.fault(fault);
        until_true(fault, || cloud.provider()["trouble"].is_string());
        if fault != "hang" {
            cloud.until_listed(2);
        }
        let view = cloud.world.status();
        assert_eq!((&view["ready"], &view["holds"]), (&NODES.into(), &Value::Array(Vec::new())));
        untouched(&cloud, &instances);
        cloud.fault("none");
        until_true("it is seen again", || cloud.provider()["trouble"].is_null());
    }
    untouched(&cloud, &instances);
}

/// Too much is missing at once, and no look by id can say what is true: the group is held, nothing is made or
/// destroyed, and the hold ends by itself once the listing is whole (C1, D6).
#[test]
fn a_listing_that_lacks_too_much_holds_the_group() {
    let cloud = driven();
    let instances = cloud.instances();
    for fault in ["nothing", "blind-third"] {
        cloud.fault(fault);
        let hold = until(fault, || {
            let view = cloud.world.status();
            view["holds"].as_array().unwrap().first().cloned()
        });
        assert_eq!(
            (&hold["subject"], &hold["code"]),
            (&"vm".into(), &"observation.implausible".into())
        );
        cloud.until_listed(3);
        untouched(&cloud, &instances);
        cloud.fault("none");
        let view = cloud.world.until_state("converged");
        assert_eq!(view["holds"], Value::Array(Vec::new()));
    }
    // The same again while every look by id says that the node is there.
    cloud.fault("third");
    cloud.until_listed(4);
    untouched(&cloud, &instances);
    cloud.fault("none");
    cloud.world.until_state("converged");
    untouched(&cloud, &instances);
    let holds = cloud.world.events_of("hold", "vm");
    assert!(holds.iter().all(|hold| hold["count"] == 1), "told once each: {holds:?}");
}

/// A creation that failed and happened all the same is found and adopted: there is no second one (C2, D7).
#[test]
fn a_creation_that_happened_all_the_same_is_adopted() {
    let mut cloud = Cloud::new(3);
    cloud.fault("made-anyway");
    cloud.world.drive();
    let view = cloud.world.until_state("converged");
    assert_eq!(cloud.calls("create-lease").len(), 3, "one each");
    assert_eq!(cloud.instances().len(), 3);
    for slot in ["vm-0", "vm-1", "vm-2"] {
        assert_eq!(node(&view, slot)["attempt"], 1);
    }
}

/// A creation that was reported and never happened is not believed for ever, and not repeated under the same
/// identity while it may still appear (C2, C3).
#[test]
fn a_creation_that_never_happened_is_made_good() {
    let mut cloud = Cloud::new(2);
    cloud.fault("made-nothing");
    cloud.world.drive();
    until_true("each was asked for", || cloud.calls("create-lease").len() >= 2);
    cloud.until_listed(1);
    assert_eq!(cloud.world.status()["ready"], 0);
    cloud.fault("none");
    let slot = |call: String| call.split(' ').next().unwrap().to_owned();
    cloud.world.until_state("converged");
    assert_eq!(cloud.instances().len(), 2);
    let made: BTreeSet<String> = cloud.calls("create-lease").into_iter().map(slot).collect();
    assert_eq!(made.into_iter().collect::<Vec<_>>(), ["vm-0", "vm-1"]);
}

/// A destroy is believed when the absence is seen, and not before (C5, D8).
#[test]
fn a_destroy_is_over_when_the_absence_was_seen() {
    let mut cloud = Cloud::new(3);
    cloud.world.drive();
    cloud.world.until_state("converged");
    cloud.fault("kept");
    cloud.want(2);
    until_true("vm-2 was destroyed twice", || cloud.calls("destroy-lease").len() >= 2);
    let view = cloud.world.status();
    assert_eq!(node(&view, "vm-2")["deleting"], true, "{view}");
    assert_eq!(cloud.instances().len(), 3);
    assert!(cloud.calls("destroy-lease").iter().all(|call| call.starts_with("vm-2 ")));
    cloud.fault("none");
    cloud.world.until_state("converged");
    assert_eq!(cloud.instances().len(), 2);

    // A destroy that failed and happened all the same is not repeated for ever.
    cloud.fault("gone-anyway");
    cloud.want(1);
    until_true("one is left", || {
        let view = cloud.world.status();
        view["want"] == 1 && view["state"] == "converged"
    });
    let of_vm_1 = cloud.calls("destroy-lease").iter().filter(|c| c.starts_with("vm-1 ")).count();
    assert_eq!((of_vm_1, cloud.instances().len()), (1, 1));
    assert_eq!(cloud.calls("create-lease").len(), 3);
}

/// An instance of ours that no record accounts for is told and counted, and never destroyed (C4).
#[test]
fn an_orphan_is_told_and_left_alone() {
    let mut cloud = Cloud::new(2);
    cloud.world.drive();
    cloud.world.until_state("converged");
    let stray = "00000000-0000-4000-8000-000000000001";
    cloud.plant("vm-7", stray);
    let orphans = until("the orphan is told", || {
        let orphans = cloud.world.status()["orphans"].clone();
        (orphans != Value::Array(Vec::new())).then_some(orphans)
    });
    assert_eq!(orphans[0]["slot"], "vm-7", "{orphans}");
    cloud.until_listed(3);
    assert!(cloud.calls("destroy-lease").is_empty());
    cloud.world.run(&["down", "--yes", "--timeout", "5s", "FILE"]);
    let left: Vec<String> = cloud.instances().into_iter().collect();
    assert_eq!(left, [stray]);
    assert!(cloud.calls("destroy-lease").iter().all(|call| !call.contains(stray)));
    let told = cloud.world.events().into_iter().filter(|e| e["kind"] == "orphan").count();
    assert_eq!(told, 1);
}

/// A listing may show what there is and say nothing of how it fares: each workload is looked at by its id then, and
/// its end is noticed (C3).
#[test]
fn a_listing_that_says_nothing_of_workloads_hides_no_end() {
    let cloud = driven();
    cloud.fault("silent");
    cloud.until_listed(1);
    let first = node(&cloud.world.status(), "vm-0")["attempt"].clone();
    let attempt = cloud
        .calls("create-lease")
        .iter()
        .find_map(|call| call.strip_prefix("vm-0 ").map(str::to_owned));
    fs::remove_file(cloud.dir.join("instances").join(attempt.unwrap()).join("running")).unwrap();
    until_true("it is replaced", || {
        let view = cloud.world.status();
        let node = node(&view, "vm-0");
        node["attempt"] != first && node["ready"] == true
    });
    assert_eq!(cloud.calls("create-lease").len(), NODES as usize + 1);
}

/// A start that reports success and started nothing never counts as a node that serves (C5).
#[test]
fn a_start_that_started_nothing_brings_nothing_up() {
    let mut cloud = Cloud::new(1);
    cloud.fault("started-nothing");
    cloud.world.drive();
    let view = cloud.world.until_state("held");
    assert_eq!(view["ready"], 0);
    assert_eq!(view["holds"][0]["code"], "restart.crash-loop");
    assert_eq!(cloud.calls("complete-bootstrap"), [""; 0]);
}
