//! A connection to a port: it passes once it stands.

use reconciler_core::observed::ProbeAnswer;
use tokio::net::TcpStream;

use super::place::{Place, told};

/// Connects.
///
/// # Cancel safety
/// Dropped, it closes what it opened.
pub(super) async fn ask(place: &Place<'_>) -> ProbeAnswer {
    match TcpStream::connect((place.host, place.port)).await {
        Ok(_stands) => ProbeAnswer::Passed,
        Err(error) => told(&format!("cannot connect to {place}"), &error),
    }
}
