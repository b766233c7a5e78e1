//! What the engine is asked to make: the container of a node, and those of what runs beside it.
//!
//! A container gets the environment that its spec declares, its identity (`LEVELHEAD_RUN`, `_SLOT`, `_ATTEMPT`,
//! `_ORDINAL`), `PORT` if it has exactly one, and nothing of the driver's own. The spec's command is the whole command:
//! an entrypoint of the image stands in front of it only where the options keep it. No shell is involved.

use std::collections::{BTreeMap, HashMap};

use bollard::models::{
    ContainerCreateBody, DeviceRequest, EndpointSettings, HostConfig, HostConfigLogConfig,
    NetworkingConfig, PortBinding, RestartPolicy, RestartPolicyNameEnum,
};
use reconciler_core::{
    desired::{DesiredNodeShape, HookPoint, JoinMode},
    id::IdempotencyKey,
};

use super::{
    blueprint::Blueprint,
    labels::{self, Labels, Role},
    mounts,
    ports::PortPair,
    problem::Problem,
    wrap,
};
use crate::{provider::template::Values, secret::Missing};

/// The longest name that a machine may have.
const HOSTNAME_MAX: usize = 63;
/// Networks that the engine makes itself; they know no names of their members.
const NAMELESS: [&str; 4] = ["bridge", "default", "host", "none"];

/// What runs beside a node.
#[derive(Clone, Debug)]
pub(super) struct Beside<'a> {
    pub(super) argv: &'a [String],
    pub(super) hook: Option<(HookPoint, IdempotencyKey)>,
    /// The container whose network it shares: that of the node, where the node runs.
    pub(super) node: Option<&'a str>,
}

impl Blueprint<'_> {
    /// The container of the node, made by the request `key`.
    pub(super) fn node(&self, key: IdempotencyKey) -> Result<ContainerCreateBody, Problem> {
        let mut labels = self.labels(Role::Node)?;
        labels.insert(labels::KEY.to_owned(), key.to_string());
        let mut body = self.base(&self.request.spec.boot.command, labels, None)?;
        if self.request.spec.join == JoinMode::Agent {
            wrap::by_agent(self, &mut body)?;
        }
        let slot = self.request.slot.to_string();
        let networks = &self.ground.options.networks;
        let network = networks.first().map(String::as_str);
        if network != Some("host") {
            body.hostname = (slot.len() <= HOSTNAME_MAX).then_some(slot);
            self.publish(&mut body);
        }
        body.networking_config = network.map(|name| NetworkingConfig {
            endpoints_config: Some(HashMap::from([(name.to_owned(), self.member_of(name))])),
        });
        if let Some(host) = &mut body.host_config {
            host.network_mode = network.map(ToOwned::to_owned);
        }
        Ok(body)
    }

    /// A container beside the node, for one verify command or hook.
    pub(super) fn beside(&self, what: &Beside<'_>) -> Result<ContainerCreateBody, Problem> {
        let role = if what.hook.is_some() { Role::Hook } else { Role::Verify };
        let mut labels = self.labels(role)?;
        if let Some((point, key)) = what.hook {
            labels.insert(labels::HOOK.to_owned(), point.as_str().to_owned());
            labels.insert(labels::KEY.to_owned(), key.to_string());
        }
        let mut body = self.base(what.argv, labels, what.hook.map(|(point, _)| point))?;
        let own = self.ground.options.networks.first();
        if let Some(host) = &mut body.host_config {
            let alone = own.is_some_and(|name| matches!(name.as_str(), "host" | "none"));
            let shared = what.node.map(|id| format!("container:{id}"));
            host.pid_mode.clone_from(&shared);
            host.network_mode = shared.filter(|_| !alone).or_else(|| own.cloned());
        }
        Ok(body)
    }

    fn labels(&self, role: Role) -> Result<Labels, Problem> {
        let (request, options) = (self.request, &self.ground.options);
        let shape = &request.spec.shape;
        let mut labels: Labels = options.labels.clone().into_iter().collect();
        labels.extend(shape.labels.clone());
        labels.extend(labels::of_attempt(request, &self.ground.name, self.fence));
        let ports = serde_json::to_string(self.ports)
            .map_err(|error| Problem::Invalid(format!("its ports cannot be written: {error}")))?;
        labels.insert(labels::ROLE.to_owned(), role.as_str().to_owned());
        labels.insert(labels::IMAGE.to_owned(), shape.image.clone().unwrap_or_default());
        labels.insert(labels::PORTS.to_owned(), ports);
        if options.volumes.iter().any(|volume| !volume.keep) {
            labels.insert(labels::VOLUMES.to_owned(), "own".to_owned());
        }
        Ok(labels)
    }

    /// What all containers of the attempt have in common.
    fn base(
        &self,
        argv: &[String],
        labels: Labels,
        hook: Option<HookPoint>,
    ) -> Result<ContainerCreateBody, Problem> {
        let (request, options) = (self.request, &self.ground.options);
        let inside = self.ports.iter().map(|(name, pair)| (name.clone(), pair.inside)).collect();
        let boot = &request.spec.boot;
        let values = Values::new(&request.slot, request.attempt.uuid, boot, &inside);
        let argv = argv.iter().map(|text| values.fill(text)).collect::<Result<Vec<_>, _>>()?;
        if argv.first().is_none_or(String::is_empty) {
            return Err(Problem::Invalid("the command is empty".to_owned()));
        }
        // The image's entrypoint belongs to the workload, and to nothing that runs beside it.
        let keep = options.entrypoint
            && labels.get(labels::ROLE).is_some_and(|role| role == Role::Node.as_str());
        let (entrypoint, cmd) = match argv.split_first() {
            Some((program, rest)) if !keep => (Some(vec![program.clone()]), rest.to_vec()),
            Some(_) | None => (None, argv),
        };
        let volumes = labels::of_attempt(request, &self.ground.name, self.fence);
        Ok(ContainerCreateBody {
            image: Some(self.image.to_owned()),
            entrypoint,
            cmd: Some(cmd),
            env: Some(self.env(&values, &inside, hook)?),
            working_dir: boot.workdir.clone(),
            user: options.user.clone(),
            labels: Some(labels),
            host_config: Some(HostConfig {
                // Levelhead is the supervisor: an engine that restarts by itself would work against it.
                restart_policy: Some(RestartPolicy {
                    name: Some(RestartPolicyNameEnum::NO),
                    maximum_retry_count: None,
                }),
                init: options.init.then_some(true),
                readonly_rootfs: Some(options.read_only),
                mounts: Some(mounts::mounts(options, request.attempt.uuid, &volumes)),
                log_config: options.log_max_bytes.map(log_config),
                ..resources(&request.spec.shape, options.gpu_driver.as_deref())
            }),
            ..ContainerCreateBody::default()
        })
    }

    fn env(
        &self,
        values: &Values<'_>,
        ports: &BTreeMap<String, u16>,
        hook: Option<HookPoint>,
    ) -> Result<Vec<String>, Problem> {
        let request = self.request;
        let boot = &request.spec.boot;
        let mut env = BTreeMap::new();
        let mut all = ports.values();
        if let (Some(port), None) = (all.next(), all.next()) {
            env.insert("PORT".to_owned(), port.to_string());
        }
        for (name, value) in &boot.env {
            if name.is_empty() || name.contains('=') {
                return Err(Problem::Invalid(format!("`{name}` is no name of a variable")));
            }
            env.insert(name.clone(), values.fill(value)?);
        }
        let secrets = self.ground.place.secrets.resolve(boot);
        let secrets = secrets.map_err(|missing| Problem::Secrets(Missing::told(&missing)))?;
        env.extend(secrets.iter().map(|(name, value)| (name.clone(), value.expose().to_owned())));
        let identity = [
            ("LEVELHEAD_RUN", request.run.to_string()),
            ("LEVELHEAD_SLOT", request.slot.to_string()),
            ("LEVELHEAD_ATTEMPT", request.attempt.uuid.to_string()),
            ("LEVELHEAD_ORDINAL", request.attempt.ordinal.to_string()),
        ];
        env.extend(identity.map(|(name, value)| (name.to_owned(), value)));
        env.extend(hook.map(|point| ("LEVELHEAD_HOOK".to_owned(), point.as_str().to_owned())));
        Ok(env.into_iter().map(|(name, value)| format!("{name}={value}")).collect())
    }

    fn publish(&self, body: &mut ContainerCreateBody) {
        let inside = |pair: &PortPair| format!("{}/tcp", pair.inside);
        body.exposed_ports = Some(self.ports.values().map(inside).collect());
        let binding = |pair: &PortPair| PortBinding {
            host_ip: Some(self.ground.options.publish.to_string()),
            host_port: Some(pair.outside.to_string()),
        };
        let bindings = self.ports.values().map(|pair| (inside(pair), Some(vec![binding(pair)])));
        if let Some(host) = &mut body.host_config {
            host.port_bindings = Some(bindings.collect());
        }
    }

    /// How the node is known on a network: by its slot and, with the others of its group, by that.
    pub(super) fn member_of(&self, network: &str) -> EndpointSettings {
        let slot = &self.request.slot;
        let names = vec![slot.to_string(), slot.group.to_string()];
        let aliases = (!NAMELESS.contains(&network)).then_some(names);
        EndpointSettings { aliases, ..EndpointSettings::default() }
    }
}

fn resources(shape: &DesiredNodeShape, gpu_driver: Option<&str>) -> HostConfig {
    /// Billionths of a processor in a thousandth.
    const NANOS: i64 = 1_000_000;
    const MIB: i64 = 1024 * 1024;
    let gpus = |count: u32| {
        vec![DeviceRequest {
            driver: gpu_driver.map(ToOwned::to_owned),
            count: Some(count.into()),
            capabilities: Some(vec![vec!["gpu".to_owned()]]),
            ..DeviceRequest::default()
        }]
    };
    let disk = |gib: u32| HashMap::from([("size".to_owned(), format!("{gib}G"))]);
    HostConfig {
        nano_cpus: shape.cpu_millis.map(|millis| i64::from(millis) * NANOS),
        memory: shape.memory_mib.map(|mib| i64::from(mib) * MIB),
        storage_opt: shape.disk_gib.map(disk),
        device_requests: shape.gpus.map(gpus),
        ..HostConfig::default()
    }
}

fn log_config(bytes: u64) -> HostConfigLogConfig {
    let config = [("max-size", bytes.to_string()), ("max-file", "2".to_owned())];
    let config = config.map(|(name, value)| (name.to_owned(), value));
    HostConfigLogConfig { typ: Some("json-file".to_owned()), config: Some(HashMap::from(config)) }
}
