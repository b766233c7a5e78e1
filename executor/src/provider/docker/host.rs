//! Which engine a provider speaks to, and how: the option `host`, `DOCKER_HOST`, or the socket of this machine.

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
};

use bollard::{ClientVersion, Docker, errors::Error};

use super::reader::{Reader, is_plain};

/// The socket of an engine of this machine.
const SOCKET: &str = "unix:///var/run/docker.sock";
/// The client's own bound for one answer; effects have a shorter one of their own, pulls may need all of it.
const ANSWER_SECS: u64 = 3_600;

/// The files that prove who both ends are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TlsFiles {
    pub(super) ca: PathBuf,
    pub(super) cert: PathBuf,
    pub(super) key: PathBuf,
}

/// An engine as it is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// By a socket of this machine.
    Unix(String),
    /// By TCP without any protection, which is allowed within this machine alone.
    Plain(String),
    /// By TCP with TLS.
    Tls(String, TlsFiles),
}

/// Reads the option `host`.
pub(super) fn read(reader: &mut Reader<'_>) -> Option<String> {
    let hint = "such as \"unix:///var/run/docker.sock\" or \"tcp://build-1:2376\"";
    let host = reader.text("host", hint)?;
    if let Err(message) = address(&host) {
        reader.wrong("host", message, hint);
    }
    Some(host)
}

/// Reads the option `tls`.
pub(super) fn read_tls(reader: &mut Reader<'_>) -> Option<TlsFiles> {
    let members = reader.members("tls");
    if members.is_empty() {
        return None;
    }
    let hint = "tls has `ca`, `cert` and `key`, each a path of a PEM file";
    for (name, (key, _)) in &members {
        if !["ca", "cert", "key"].contains(name) {
            reader.wrong(key, "there is no such option", hint);
        }
    }
    let file = |name: &str| {
        let text = members.get(name).and_then(|(_, value)| value.as_str());
        text.filter(|text| is_plain(text)).map(PathBuf::from)
    };
    let (ca, cert, key) = (file("ca"), file("cert"), file("key"));
    if let (Some(ca), Some(cert), Some(key)) = (ca, cert, key) {
        return Some(TlsFiles { ca, cert, key });
    }
    reader.wrong("tls", "it lacks a file", hint);
    None
}

/// What an address names.
enum Address<'a> {
    Unix,
    Tcp(&'a str),
}

fn address(text: &str) -> Result<Address<'_>, String> {
    if let Some(path) = text.strip_prefix("unix://") {
        let absolute = path.starts_with('/');
        return absolute
            .then_some(Address::Unix)
            .ok_or_else(|| "the path of the socket is not absolute".to_owned());
    }
    match text.strip_prefix("tcp://").or_else(|| text.strip_prefix("https://")) {
        Some(rest) if rest.contains(':') && !rest.contains('/') => Ok(Address::Tcp(rest)),
        Some(_) => Err("it lacks a port, or has a path".to_owned()),
        None => Err("only unix:// and tcp:// are understood".to_owned()),
    }
}

/// What the environment says of an engine.
#[derive(Clone, Debug, Default)]
pub(super) struct Surroundings {
    /// `DOCKER_HOST`.
    pub(super) host: Option<String>,
    /// `DOCKER_CERT_PATH`.
    pub(super) certs: Option<PathBuf>,
}

impl Surroundings {
    /// As they are now.
    pub(super) fn read() -> Self {
        let host = std::env::var("DOCKER_HOST").ok().filter(|host| !host.is_empty());
        let certs = std::env::var_os("DOCKER_CERT_PATH").map(PathBuf::from);
        Self { host, certs }
    }
}

impl Host {
    /// The engine that options and surroundings name; relative paths of files start at `base_dir`.
    pub(super) fn chosen(
        host: Option<&str>,
        tls: Option<&TlsFiles>,
        base_dir: &Path,
        surroundings: &Surroundings,
    ) -> Result<Self, String> {
        let named = host.or(surroundings.host.as_deref()).unwrap_or(SOCKET);
        let rest = match address(named).map_err(|why| format!("{named}: {why}"))? {
            Address::Unix => return Ok(Self::Unix(named.to_owned())),
            Address::Tcp(rest) => rest.to_owned(),
        };
        let of_surroundings = || {
            let dir = surroundings.certs.as_ref().filter(|_| host.is_none())?;
            let file = |name| dir.join(name);
            Some(TlsFiles { ca: file("ca.pem"), cert: file("cert.pem"), key: file("key.pem") })
        };
        match tls.cloned().or_else(of_surroundings) {
            Some(files) => {
                let at = |path: &PathBuf| base_dir.join(path);
                let files =
                    TlsFiles { ca: at(&files.ca), cert: at(&files.cert), key: at(&files.key) };
                Ok(Self::Tls(format!("tcp://{rest}"), files))
            }
            None if is_loopback(&rest) => Ok(Self::Plain(format!("tcp://{rest}"))),
            None => Err(format!(
                "tcp://{rest} without TLS would hand the machine to anybody on the way; add `tls`"
            )),
        }
    }

    /// A client that speaks `version`; nothing is sent by this.
    pub(super) fn connect(&self, version: &ClientVersion) -> Result<Docker, Error> {
        match self {
            Self::Unix(path) => Docker::connect_with_unix(path, ANSWER_SECS, version),
            Self::Plain(address) => Docker::connect_with_http(address, ANSWER_SECS, version),
            Self::Tls(address, TlsFiles { ca, cert, key }) => {
                Docker::connect_with_ssl(address, key, cert, ca, ANSWER_SECS, version)
            }
        }
    }

    /// True if ports of the engine's machine are ports of this one.
    pub(super) const fn is_here(&self) -> bool {
        matches!(self, Self::Unix(_))
    }

    /// By which name what is published on `publish` is reached from here.
    pub(super) fn reached_at(&self, publish: IpAddr) -> String {
        match self {
            Self::Plain(address) | Self::Tls(address, _) => {
                let rest = address.trim_start_matches("tcp://");
                let host = rest.rsplit_once(':').map_or(rest, |(host, _)| host);
                host.trim_matches(|c| c == '[' || c == ']').to_owned()
            }
            Self::Unix(_) if publish.is_unspecified() && publish.is_ipv6() => "::1".to_owned(),
            Self::Unix(_) if publish.is_unspecified() => "127.0.0.1".to_owned(),
            Self::Unix(_) => publish.to_string(),
        }
    }
}

fn is_loopback(rest: &str) -> bool {
    let host = rest.rsplit_once(':').map_or(rest, |(host, _)| host);
    let host = host.trim_matches(|c| c == '[' || c == ']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(host: Option<&str>, env: Option<&str>, tls: bool) -> Result<Host, String> {
        let files = TlsFiles { ca: "ca".into(), cert: "cert".into(), key: "/k/key".into() };
        let surroundings = Surroundings { host: env.map(String::from), certs: None };
        Host::chosen(host, tls.then_some(&files), Path::new("/base"), &surroundings)
    }

    /// R97: the option goes before the environment, and that before the socket of this machine.
    #[test]
    fn the_nearest_word_names_the_engine() {
        let unix = |path: &str| Ok(Host::Unix(path.to_owned()));
        assert_eq!(chosen(None, None, false), unix("unix:///var/run/docker.sock"));
        assert_eq!(chosen(None, Some("unix:///run/a"), false), unix("unix:///run/a"));
        assert_eq!(chosen(Some("unix:///b"), Some("unix:///a"), false), unix("unix:///b"));
        let files =
            TlsFiles { ca: "/base/ca".into(), cert: "/base/cert".into(), key: "/k/key".into() };
        let tls = Host::Tls("tcp://far:2376".to_owned(), files);
        assert_eq!(chosen(Some("tcp://far:2376"), None, true), Ok(tls));
    }

    /// An engine gives whoever reaches it the whole machine.
    #[test]
    fn plain_tcp_is_for_this_machine_alone() {
        assert!(chosen(Some("tcp://127.0.0.1:2375"), None, false).is_ok());
        assert!(chosen(Some("tcp://[::1]:2375"), None, false).is_ok());
        assert!(chosen(Some("tcp://far:2375"), None, false).is_err_and(|why| why.contains("tls")));
        assert!(chosen(None, Some("tcp://10.0.0.1:2375"), false).is_err());
    }

    #[test]
    fn other_addresses_are_refused() {
        for bad in ["ssh://a", "far:2376", "tcp://far", "unix://relative", "tcp://a:1/path"] {
            assert!(chosen(Some(bad), None, true).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_published_is_reached_by_the_name_of_its_machine() {
        let any = "0.0.0.0".parse().unwrap();
        let local = chosen(None, None, false).unwrap();
        assert_eq!(local.reached_at(any), "127.0.0.1");
        assert_eq!(local.reached_at("192.168.1.5".parse().unwrap()), "192.168.1.5");
        assert_eq!(chosen(Some("tcp://far:2376"), None, true).unwrap().reached_at(any), "far");
    }
}
