//! An engine of a test's own, with its own socket and data; it takes root and a `dockerd`.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use bollard::{
    Docker,
    query_parameters::{ListContainersOptions, RemoveContainerOptions},
};
use rustix::process::Signal;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::engine::{IMAGE, load};
use crate::world::{ended, send, until};

const DOCKERD: &str = "/usr/sbin/dockerd";

/// An engine of the test's own.
pub(crate) struct Own {
    runtime: Runtime,
    daemon: Option<Child>,
    dir: TempDir,
}

impl Own {
    /// One for the law called `test`, with the image of most tests; nothing, with its reason, where none can be.
    pub(crate) fn new(test: &str) -> Option<Self> {
        if !Path::new(DOCKERD).exists() || !rustix::process::geteuid().is_root() {
            eprintln!("skipped: {test}, it takes root and {DOCKERD}");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let mut own = Self { runtime: Runtime::new().unwrap(), daemon: None, dir };
        if !own.start() {
            let log = fs::read_to_string(own.dir.path().join("log")).unwrap_or_default();
            let last = log.lines().last().unwrap_or_default();
            eprintln!("skipped: {test}, an engine of its own does not start here: {last}");
            return None;
        }
        own.runtime.block_on(load(&own.client(), IMAGE)).unwrap();
        Some(own)
    }

    /// Where it is reached.
    pub(crate) fn socket(&self) -> PathBuf {
        self.dir.path().join("d.sock")
    }

    fn client(&self) -> Docker {
        let version = bollard::ClientVersion { major_version: 1, minor_version: 41 };
        Docker::connect_with_unix(self.socket().to_str().unwrap(), 60, &version).unwrap()
    }

    /// Starts the daemon; false if it ends instead of answering.
    pub(crate) fn start(&mut self) -> bool {
        let at = |name: &str| self.dir.path().join(name).display().to_string();
        let log = File::options().create(true).append(true).open(at("log")).unwrap();
        // Not the machine's own settings.
        fs::write(at("daemon.json"), "{}").unwrap();
        // In a network of its own: without a bridge, an engine takes away the one that the machine's engine uses.
        let mut command = Command::new("unshare");
        command.args(["--net", DOCKERD]);
        command.args(["--config-file", &at("daemon.json")]);
        command.args(["-H", &format!("unix://{}", self.socket().display())]);
        command.args(["--data-root", &at("data"), "--exec-root", &at("exec"), "-p", &at("pid")]);
        command.args(["--bridge=none", "--iptables=false", "--ip-masq=false"]);
        command.args(["--ip-forward=false", "--storage-driver=vfs"]);
        command.env_remove("DOCKER_HOST").stdin(Stdio::null());
        let mut daemon = command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let answers = until("the engine answers or ends", || {
            if daemon.try_wait().unwrap().is_some() {
                return Some(false);
            }
            let ping = self.socket().exists()
                && self.runtime.block_on(async { self.client().ping().await.is_ok() });
            ping.then_some(true)
        });
        self.daemon = Some(daemon);
        answers
    }

    /// Stops the daemon; what it ran ends with it.
    pub(crate) fn stop(&mut self) {
        if let Some(mut daemon) = self.daemon.take()
            && daemon.try_wait().unwrap().is_none()
        {
            send(&daemon, Signal::TERM);
            ended(&mut daemon);
        }
    }

    /// How many containers run.
    pub(crate) fn running(&self) -> usize {
        let list = async { self.client().list_containers(None::<ListContainersOptions>).await };
        self.runtime.block_on(list).unwrap().len()
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if self.daemon.as_mut().is_some_and(|daemon| daemon.try_wait().unwrap().is_none()) {
            let client = self.client();
            self.runtime.block_on(async {
                let all = ListContainersOptions { all: true, ..Default::default() };
                for one in client.list_containers(Some(all)).await.unwrap_or_default() {
                    let options = RemoveContainerOptions { force: true, v: true, link: false };
                    // What cannot be removed goes with the daemon.
                    drop(client.remove_container(&one.id.unwrap(), Some(options)).await);
                }
            });
        }
        self.stop();
    }
}
