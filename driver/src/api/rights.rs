//! Who calls, and what they may do. Over the socket of the run its owner calls; over the network a token or a
//! certificate says who it is.

use axum::{
    extract::Request,
    http::{Method, StatusCode, header},
};

use super::{answer::Refused, tokens::Tokens};
use crate::{
    refusing::refuse,
    view::{Refusal, RefusalKind},
};

/// What TLS says of the other side of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    /// True if it showed a certificate that was checked.
    pub(super) is_certified: bool,
}

/// Who calls, for the journal; known of callers over the network.
#[derive(Clone, Debug)]
pub(super) struct Caller(pub(super) String);

/// How a listener knows its callers.
#[derive(Clone, Debug)]
pub(super) enum Guard {
    /// Who can open the socket owns the run.
    Owner,
    /// A token, or a certificate.
    Tokens(Tokens),
}

/// Calls that are posted and change nothing.
const HARMLESS: [&str; 1] = ["/v1/plan"];

impl Guard {
    /// Lets a call in, and notes who makes it.
    pub(super) fn admit(&self, request: &mut Request) -> Result<(), Refused> {
        let Self::Tokens(tokens) = self else { return Ok(()) };
        let shown = request.headers().get(header::AUTHORIZATION);
        let peer = request.extensions().get::<Peer>();
        let is_certified = peer.is_some_and(|peer| peer.is_certified);
        let Some(shown) = shown else {
            if is_certified {
                request.extensions_mut().insert(Caller("certificate".to_owned()));
                return Ok(());
            }
            return Err(unknown("a token or a client certificate is needed"));
        };
        let secret = shown.to_str().ok().and_then(|text| bearer(text));
        let token = secret.and_then(|secret| tokens.find(secret));
        let Some(token) = token else { return Err(unknown("the token is not known")) };
        let changes = request.method() != Method::GET && request.method() != Method::HEAD;
        if token.read_only && changes && !HARMLESS.contains(&request.uri().path()) {
            let text = format!("the token `{}` is read-only", token.name);
            return Err(refuse(RefusalKind::Forbidden, text).into());
        }
        request.extensions_mut().insert(Caller(format!("token {}", token.name)));
        Ok(())
    }
}

/// The secret in a header; the name of the scheme is the same in capitals.
fn bearer(text: &str) -> Option<&str> {
    let (scheme, secret) = text.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}

fn unknown(text: &str) -> Refused {
    let hint = Some("where the driver is, `levelhead token add NAME` makes a token".to_owned());
    let refusal = Refusal { hint, ..refuse(RefusalKind::Forbidden, text) };
    Refused::with(StatusCode::UNAUTHORIZED, refusal)
}

#[cfg(test)]
mod tests {
    use super::bearer;

    #[test]
    fn the_scheme_of_a_token_is_read_in_any_case() {
        for text in ["Bearer it", "bearer it", "BEARER  it "] {
            assert_eq!(bearer(text), Some("it"));
        }
        for text in ["Basic it", "Bearer", "Bearerit", "it"] {
            assert_eq!(bearer(text), None);
        }
    }
}
