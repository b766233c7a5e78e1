//! Reads how a node comes up: its command, environment, ports and the commands that must succeed first.

use executor::seam::Capabilities;
use reconciler_core::{
    desired::{BootSpec, VerifyCommand},
    id::GroupId,
    time::Millis,
};
use toml::de::DeValue;

use super::{
    diagnostic::{Diagnostic, Report},
    env, keys,
    placeholder::{self, Placeholder},
    reader::{self, At, Section},
    suggest::listed,
};

/// How long a verify command may take if nothing is said.
const VERIFY_TIMEOUT_DEFAULT: Millis = Millis::from_secs(30);

/// The placeholder that gives a node without named ports one.
const MAIN_PORT: &str = "{port}";

/// What that port is called.
const MAIN_NAME: &str = "main";

/// Most ports of one node: each is held for as long as the node lives.
const PORTS_MAX: usize = 64;

/// What was read, and what the policy needs of it.
pub(super) struct Boot {
    /// The spec.
    pub(super) spec: BootSpec,
    /// How long the workload must run before it counts as joined.
    pub(super) settle: Option<At<Millis>>,
    /// Time between the polite and the forced end.
    pub(super) stop_grace: Option<At<Millis>>,
    /// The timeouts of the verify commands that name one.
    pub(super) verify_timeouts: Vec<At<Millis>>,
    /// True if the names of all its ports are known.
    ports_sound: bool,
}

impl Boot {
    /// The names of the ports that the node has, one of its own for `{port}` included; nothing if they are in doubt.
    pub(super) fn port_names(&self) -> Option<Vec<String>> {
        let names = &self.spec.ports;
        let main = names.is_empty() && self.has_port();
        self.ports_sound.then(|| if main { vec![MAIN_NAME.to_owned()] } else { names.clone() })
    }

    fn has_port(&self) -> bool {
        let boot = &self.spec;
        let verify = boot.verify.iter().flat_map(|command| &command.argv);
        let mut all = boot.command.iter().chain(boot.env.values()).chain(verify);
        !boot.ports.is_empty() || all.any(|text| text.contains(MAIN_PORT))
    }

    /// Checks the placeholders of one text of a hook or probe, which gets the ports that the node has and no other.
    pub(super) fn check_hook(&self, text: &At<&str>, out: &mut Report) {
        let boot = &self.spec;
        check_placeholders(text, self.ports_sound.then_some(&boot.ports), out);
        if self.ports_sound && !self.has_port() && text.value.contains(MAIN_PORT) {
            let message = "`{port}` stands here, and the node has no port";
            let hint = "name one in `ports` of [group.NAME.boot]";
            out.push(Diagnostic::new(text.span.clone(), message).hint(hint));
        }
    }
}

/// Reads `boot`; `capabilities` are absent if the provider itself is in doubt.
pub(super) fn read(
    group: &Section<'_>,
    capabilities: Option<&Capabilities>,
    out: &mut Report,
) -> Boot {
    let boot = group.sub("boot", &keys::BOOT, out);
    if group.raw("boot").is_some() {
        boot.require("command", "name the program and its arguments: command = [\"…\"]", out);
    } else {
        group.require("boot", "add [group.NAME.boot] with a `command`", out);
    }
    let (ports, ports_sound) = ports(&boot, out);
    let check = |texts: &[At<&str>], out: &mut Report| {
        for text in texts {
            check_placeholders(text, ports_sound.then_some(&ports), out);
        }
    };
    let command = command(&boot, out);
    check(&command, out);
    let (env, values) = env::read(&boot, out);
    check(&values, out);
    let secret_env = env::read_secrets(&boot, &env, capabilities, out);
    let mut verify = Vec::new();
    let mut verify_timeouts = Vec::new();
    for (argv, timeout) in verify_commands(&boot, out) {
        check(&argv, out);
        let given = timeout.as_ref().map_or(VERIFY_TIMEOUT_DEFAULT, |timeout| timeout.value);
        verify.push(VerifyCommand { argv: owned(&argv), timeout: given });
        verify_timeouts.extend(timeout);
    }
    let (command, workdir) = (owned(&command), workdir(&boot, out));
    let spec = BootSpec { command, env, secret_env, workdir, ports, verify };
    let settle = boot.duration("settle", out);
    let stop_grace = boot.duration("stop_grace", out);
    Boot { spec, settle, stop_grace, verify_timeouts, ports_sound }
}

pub(super) fn owned(texts: &[At<&str>]) -> Vec<String> {
    texts.iter().map(|text| text.value.to_owned()).collect()
}

/// The command of a boot section, of a verify entry or of a hook.
pub(super) fn command<'d>(section: &Section<'d>, out: &mut Report) -> Vec<At<&'d str>> {
    command_at("command", section, out)
}

/// The command under `key`.
pub(super) fn command_at<'d>(
    key: &str,
    section: &Section<'d>,
    out: &mut Report,
) -> Vec<At<&'d str>> {
    let Some(command) = section.texts(key, out) else { return Vec::new() };
    let hint = format!("name the program and its arguments: {key} = [\"…\"]");
    let written = section.raw(key).and_then(|v| v.get_ref().as_array()).map(|a| a.len());
    if written == Some(0) {
        out.push(Diagnostic::new(command.span, "the command is empty").hint(hint));
    } else if let Some(program) = command.value.first().filter(|program| program.value.is_empty()) {
        out.push(Diagnostic::new(program.span.clone(), "the program is empty").hint(hint));
    }
    command.value
}

type Verify<'d> = (Vec<At<&'d str>>, Option<At<Millis>>);

fn verify_commands<'d>(boot: &Section<'d>, out: &mut Report) -> Vec<Verify<'d>> {
    let Some(value) = boot.raw("verify") else { return Vec::new() };
    let DeValue::Array(items) = value.get_ref() else {
        let wrong = reader::wrong_type(value, "an array of tables");
        out.push(wrong.hint("write verify = [ { command = [\"…\"], timeout = \"5s\" } ]"));
        return Vec::new();
    };
    let mut commands = Vec::new();
    for item in items {
        let entry = Section::open(item, &keys::VERIFY, out);
        entry.require("command", "name the program and its arguments: command = [\"…\"]", out);
        let argv = command(&entry, out);
        let timeout = entry.duration("timeout", out);
        if let Some(zero) = timeout.as_ref().filter(|timeout| timeout.value == Millis::ZERO) {
            let message = "a timeout of zero lets nothing succeed";
            out.push(Diagnostic::new(zero.span.clone(), message).hint("write \"5s\", say"));
        }
        commands.push((argv, timeout));
    }
    commands
}

fn workdir(boot: &Section<'_>, out: &mut Report) -> Option<String> {
    let workdir = boot.text("workdir", out)?;
    if workdir.value.is_empty() {
        let hint = "leave the key out for the lease's own directory";
        out.push(Diagnostic::new(workdir.span, "the directory is empty").hint(hint));
        return None;
    }
    if !placeholder::find(workdir.value).is_empty() {
        let message = "placeholders are not filled in here";
        out.push(Diagnostic::new(workdir.span, message).hint("write the path out"));
        return None;
    }
    Some(workdir.value.to_owned())
}

/// The names of the ports, and whether the list could be read as a whole.
fn ports(boot: &Section<'_>, out: &mut Report) -> (Vec<String>, bool) {
    let before = out.len();
    let Some(ports) = boot.texts("ports", out) else {
        return (Vec::new(), out.len() == before);
    };
    if ports.value.len() > PORTS_MAX {
        let message = format!("{} ports are declared", ports.value.len());
        let hint = format!("at most {PORTS_MAX} are allowed");
        out.push(Diagnostic::new(ports.span, message).hint(hint));
    }
    let mut seen: Vec<At<&str>> = Vec::new();
    for port in ports.value.into_iter().take(PORTS_MAX) {
        if let Some(first) = seen.iter().find(|first| first.value == port.value) {
            let message = format!("port `{}` is declared twice", port.value);
            let twice = Diagnostic::new(port.span, message).label("again here");
            out.push(twice.related(first.span.clone(), "first here").hint("keep one of them"));
            continue;
        }
        // Port names follow the same rule as the names of groups.
        if let Err(error) = port.value.parse::<GroupId>() {
            let message = format!("`{}` is not a valid port name", port.value);
            out.push(Diagnostic::new(port.span.clone(), message).hint(error.rule));
        }
        seen.push(port);
    }
    (owned(&seen), out.len() == before)
}

/// Checks the placeholders of one text; without `ports` only their names are checked.
fn check_placeholders(text: &At<&str>, ports: Option<&Vec<String>>, out: &mut Report) {
    for (_, placeholder) in placeholder::find(text.value) {
        let (message, hint) = match (placeholder, ports) {
            (Placeholder::Port(name), Some(ports)) if !ports.iter().any(|port| port == name) => (
                format!("`{{port:{name}}}` names a port that is not declared"),
                format!("declared ports: {}", listed(ports.iter().map(String::as_str))),
            ),
            (Placeholder::Unknown(name), _) => (
                format!("`{{{name}}}` is not a placeholder"),
                format!("known: {}", placeholder::ALL),
            ),
            (Placeholder::Known | Placeholder::Port(_), _) => continue,
        };
        out.push(Diagnostic::new(text.span.clone(), message).hint(hint));
    }
}
