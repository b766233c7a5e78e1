//! The engine of this machine, an image that needs no registry, and what a person would do by hand.
//!
//! Without an engine these tests say so and prove nothing; in CI, on a machine that has one, that is a failure.

use std::{collections::HashMap, fs, os::unix::fs::symlink, path::Path, process::Command};

use bollard::{
    Docker,
    models::ContainerSummary,
    query_parameters::{
        CreateImageOptions, ListContainersOptions, ListVolumesOptions, RemoveContainerOptions,
    },
};
use futures_util::StreamExt as _;

/// The image of all tests: a static busybox under each of its names.
pub(crate) const IMAGE: &str = "levelhead-test/busybox:1";
/// Where Debian's package `busybox-static` puts it.
const BUSYBOX: &str = "/bin/busybox";
const SOCKET: &str = "/var/run/docker.sock";

/// The engine with the image in it; `None`, and a line that says why, where `test` cannot run.
pub(crate) async fn engine(test: &str) -> Option<Docker> {
    if std::env::var_os("DOCKER_HOST").is_none() && !Path::new(SOCKET).exists() {
        eprintln!("skipped: {test}, there is no Docker Engine on this machine");
        return None;
    }
    match prepared().await {
        Ok(docker) => Some(docker),
        Err(why) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: {test}, {why}");
            None
        }
        Err(why) => panic!("{test} must not be skipped in CI: {why}"),
    }
}

async fn prepared() -> Result<Docker, String> {
    let docker = Docker::connect_with_defaults().map_err(|error| error.to_string())?;
    let old = bollard::ClientVersion { major_version: 1, minor_version: 41 };
    let docker = match docker.version().await {
        Ok(_) => docker,
        Err(_) => {
            Docker::connect_with_unix(SOCKET, 120, &old).map_err(|error| error.to_string())?
        }
    };
    docker.ping().await.map_err(|error| format!("the Docker Engine does not answer: {error}"))?;
    if docker.inspect_image(IMAGE).await.is_err() {
        load(&docker, IMAGE).await?;
    }
    Ok(docker)
}

/// Makes an image of the static busybox of this machine, and nothing else.
pub(crate) async fn load(docker: &Docker, image: &str) -> Result<(), String> {
    let told = |error: std::io::Error| error.to_string();
    let busybox =
        fs::read(BUSYBOX).map_err(|_missing| "busybox-static is not installed".to_owned())?;
    if wants_interpreter(&busybox) {
        return Err(format!("{BUSYBOX} is not static: install busybox-static"));
    }
    let root = tempfile::tempdir().map_err(told)?;
    let bin = root.path().join("bin");
    for dir in ["bin", "etc", "tmp", "data"] {
        fs::create_dir(root.path().join(dir)).map_err(told)?;
    }
    fs::copy(BUSYBOX, bin.join("busybox")).map_err(told)?;
    let names = Command::new(BUSYBOX).arg("--list").output().map_err(told)?;
    for name in String::from_utf8_lossy(&names.stdout).lines().filter(|name| *name != "busybox") {
        symlink("busybox", bin.join(name)).map_err(told)?;
    }
    // The name of the image is part of it, so that two of them are not one.
    fs::write(root.path().join("etc/image"), image).map_err(told)?;
    let tar = Command::new("tar").arg("-C").arg(root.path()).args(["-c", "."]).output();
    let tar = tar.map_err(told)?.stdout;
    let (repo, tag) = image.split_once(':').expect("an image with a tag");
    let options = CreateImageOptions {
        from_src: Some("-".to_owned()),
        repo: Some(repo.to_owned()),
        tag: Some(tag.to_owned()),
        ..CreateImageOptions::default()
    };
    let mut steps = docker.create_image(Some(options), Some(bollard::body_full(tar.into())), None);
    while let Some(step) = steps.next().await {
        step.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// True for a 64-bit ELF program that needs a loader, which an image of its own does not have.
fn wants_interpreter(program: &[u8]) -> bool {
    let number = |at: usize, len: usize| {
        let bytes = program.get(at..at + len).unwrap_or_default();
        bytes.iter().rev().fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte))
    };
    let (first, size, count) = (number(0x20, 8), number(0x36, 2), number(0x38, 2));
    (0..count).any(|nth| number(first + nth * size, 4) == 3)
}

/// Every container of a run, also of what ended.
pub(crate) async fn containers(docker: &Docker, run: &str) -> Vec<ContainerSummary> {
    let filters = HashMap::from([("label".to_owned(), vec![format!("levelhead.run={run}")])]);
    let options = ListContainersOptions { all: true, filters: Some(filters), ..Default::default() };
    docker.list_containers(Some(options)).await.unwrap()
}

/// The names of every volume of a run.
pub(crate) async fn volumes(docker: &Docker, run: &str) -> Vec<String> {
    let filters = HashMap::from([("label".to_owned(), vec![format!("levelhead.run={run}")])]);
    let options = ListVolumesOptions { filters: Some(filters) };
    let found = docker.list_volumes(Some(options)).await.unwrap().volumes.unwrap_or_default();
    found.into_iter().map(|volume| volume.name).collect()
}

/// Removes a container as `docker rm -f` does.
pub(crate) async fn remove(docker: &Docker, id: &str) {
    let options = RemoveContainerOptions { force: true, v: true, link: false };
    docker.remove_container(id, Some(options)).await.unwrap();
}
