//! The guide does what it says: its commands are run as they are printed, one after the other.

use std::{fs, process::Command};

use super::fleet::Fleet;
use crate::guides::follow;

const GUIDE: &str = include_str!("../../../../docs/guides/docker.md");
const EXAMPLE: &str = include_str!("../../../../examples/web-stack.toml");

#[test]
fn the_guide_does_what_it_says() {
    let test = "the_guide_does_what_it_says";
    let Some(fleet) = Fleet::new(test, "") else { return };
    if !Command::new("docker").arg("version").output().is_ok_and(|out| out.status.success()) {
        eprintln!("skipped: {test}, the guide uses the `docker` command, which is not here");
        return;
    }
    let own = EXAMPLE.replace("0f6a5c1e-6d0b-4c58-9a0e-3f1b7a52c9d4", fleet.world.uuid());
    assert_ne!(own, EXAMPLE);
    fs::write(fleet.world.dir().join("web-stack.toml"), own).unwrap();
    follow(&fleet.world, GUIDE, |line, text| match line {
        "levelhead up web-stack.toml --yes" => {
            assert!(text.contains("converged: 5 of 5"), "{text}");
            assert_eq!(fleet.nodes().len(), 5);
        }
        "levelhead scale web=5 --file web-stack.toml --yes" => assert_eq!(fleet.nodes().len(), 7),
        "levelhead scale web=2 --file web-stack.toml --yes" => assert_eq!(fleet.nodes().len(), 4),
        _ => {}
    });
    fleet.is_bare();
}
