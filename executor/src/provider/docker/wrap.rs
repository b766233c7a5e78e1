//! The agent in a container: its first process, which runs the node's command.

use bollard::models::{ContainerCreateBody, Mount, MountType};

use super::{blueprint::Blueprint, problem::Problem};

/// Where it stands in a container that it is mounted into.
const PLACE: &str = "/.levelhead-agent";

/// Has the command of `body` run by the agent, which is in the image or mounted read-only.
pub(super) fn by_agent(
    blueprint: &Blueprint<'_>,
    body: &mut ContainerCreateBody,
) -> Result<(), Problem> {
    let (request, options) = (blueprint.request, &blueprint.ground.options);
    if options.entrypoint {
        let text = "an agent cannot stand in front of the image's own entrypoint: name it in the command, and leave the option `entrypoint` out";
        return Err(Problem::Invalid(text.to_owned()));
    }
    let grants = blueprint.ground.place.secrets.grants().ok_or(Problem::NoAgents)?;
    let inside = blueprint.ports.iter().map(|(name, pair)| (name.clone(), pair.inside)).collect();
    let boot = (&request.spec.boot, &inside);
    let told = grants.env(&request.slot, request.attempt.uuid, blueprint.fence, boot);
    let env = body.env.get_or_insert_default();
    env.retain(|line| line.split('=').next().is_none_or(|name| !told.contains_key(name)));
    env.extend(told.iter().map(|(name, value)| format!("{name}={value}")));
    let command = body.entrypoint.take().into_iter().chain(body.cmd.take()).flatten();
    let words = ["agent", "--"].map(str::to_owned);
    body.cmd = Some(words.into_iter().chain(command).collect());
    body.entrypoint = Some(vec![options.agent_path.clone().unwrap_or_else(|| PLACE.to_owned())]);
    if options.agent_path.is_none() {
        let mount = Mount {
            typ: Some(MountType::BIND),
            source: Some(source(options.agent_source.as_deref())?),
            target: Some(PLACE.to_owned()),
            read_only: Some(true),
            ..Mount::default()
        };
        let host = body.host_config.get_or_insert_default();
        host.mounts.get_or_insert_default().push(mount);
    }
    Ok(())
}

/// The program that is mounted.
fn source(named: Option<&str>) -> Result<String, Problem> {
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    let own = std::env::current_exe()
        .map_err(|error| Problem::Invalid(format!("this program cannot be found: {error}")))?;
    Ok(own.to_string_lossy().into_owned())
}
