//! What lets an agent in: a token for each attempt, derived from a key that the run keeps, and kept nowhere.

use std::{collections::BTreeMap, fmt, fmt::Write as _};

use reconciler_core::{
    desired::BootSpec,
    id::{AgentSeal, Fence, LogicalNodeId, Uuid},
};
use ring::hmac;

use super::protocol::{
    ATTEMPT_VAR, CERT_VAR, DRIVER_VAR, FENCE_VAR, Hello, PORTS_VAR, RUN_VAR, SLOT_VAR, TOKEN_VAR,
};

/// Makes and knows the tokens of a run, and says where its driver is reached. It is never shown.
pub struct Grants {
    run: Uuid,
    key: hmac::Key,
    address: String,
    certificate: String,
}

impl Grants {
    /// The tokens of `run` by its `secret`; agents reach its driver at `address`, where it shows the certificate whose
    /// DER is `certificate`.
    pub fn new(run: Uuid, secret: &[u8; 32], address: String, certificate: &[u8]) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        Self { run, key, address, certificate: hex(certificate) }
    }

    /// What the environment of a node tells its agent; the token stands in it, so it is given to the node and shown to
    /// nobody.
    pub fn env(
        &self,
        slot: &LogicalNodeId,
        attempt: Uuid,
        fence: Fence,
        (boot, ports): (&BootSpec, &BTreeMap<String, u16>),
    ) -> BTreeMap<&'static str, String> {
        // The first that is listed comes first: it is the one that `{port}` means.
        let first = boot.ports.first();
        let (head, rest): (Vec<_>, Vec<_>) =
            ports.iter().partition(|(name, _)| Some(*name) == first);
        let ports = head.into_iter().chain(rest).map(|(name, port)| format!("{name}={port}"));
        BTreeMap::from([
            (RUN_VAR, self.run.to_string()),
            (SLOT_VAR, slot.to_string()),
            (ATTEMPT_VAR, attempt.to_string()),
            (DRIVER_VAR, self.address.clone()),
            (CERT_VAR, self.certificate.clone()),
            (TOKEN_VAR, hex(hmac::sign(&self.key, &claim(self.run, attempt)).as_ref())),
            (FENCE_VAR, fence.to_string()),
            (PORTS_VAR, ports.collect::<Vec<_>>().join(",")),
        ])
    }

    /// True if the token is that of the attempt that `hello` names, in this run.
    pub fn knows(&self, hello: &Hello) -> bool {
        let Some(token) = bytes(&hello.token) else { return false };
        let claim = claim(self.run, hello.attempt);
        hello.run == self.run && hmac::verify(&self.key, &claim, &token).is_ok()
    }
}

impl fmt::Debug for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grants").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Hello {
    /// What tells this agent from any other that shows its token.
    pub fn seal(&self) -> AgentSeal {
        AgentSeal::of(format!("{}/{}", self.attempt, self.instance).as_bytes())
    }
}

/// What a token is made for.
fn claim(run: Uuid, attempt: Uuid) -> Vec<u8> {
    [b"levelhead agent 1".as_slice(), run.as_bytes(), attempt.as_bytes()].concat()
}

/// `bytes` in hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all that is written");
        text
    })
}

/// The bytes of hexadecimal digits; nothing if they are none.
pub(super) fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
        pair.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u8::from_str_radix(pair, 16).ok())?
    };
    digits.map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(grants: &Grants, of: Uuid, shown: Uuid) -> Hello {
        let slot: LogicalNodeId = "web-0".parse().unwrap();
        let env = grants.env(&slot, of, Fence::new(3), (&BootSpec::default(), &BTreeMap::new()));
        Hello {
            version: 1,
            run: Uuid::from_bytes([1; 16]),
            slot,
            attempt: shown,
            token: env[TOKEN_VAR].clone(),
            instance: "a".to_owned(),
            session: None,
        }
    }

    /// A token is good for its attempt, its run and its key, and for nothing else.
    #[test]
    fn a_token_is_of_one_attempt() {
        let [run, one, other] = [1, 2, 3].map(|n| Uuid::from_bytes([n; 16]));
        let grants = Grants::new(run, &[7; 32], "127.0.0.1:1".to_owned(), b"der");
        let good = hello(&grants, one, one);
        assert!(grants.knows(&good));
        assert!(!grants.knows(&hello(&grants, one, other)));
        assert!(!grants.knows(&Hello { run: other, ..good.clone() }));
        for token in ["", "x", "00", &good.token[2..], &format!("{}00", good.token), "\u{e4}\u{e4}"]
        {
            assert!(!grants.knows(&Hello { token: token.to_owned(), ..good.clone() }), "{token}");
        }
        let another_key = Grants::new(run, &[8; 32], "127.0.0.1:1".to_owned(), b"der");
        assert!(!another_key.knows(&good));
        assert!(!format!("{grants:?}").contains(&good.token));
    }

    #[test]
    fn digits_and_bytes_are_the_same() {
        assert_eq!(bytes(&hex(&[0, 15, 255])), Some(vec![0, 15, 255]));
        for bad in ["0", "0g", "+1", "000"] {
            assert_eq!(bytes(bad), None, "{bad}");
        }
    }
}
