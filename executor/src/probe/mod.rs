//! Probes that are asked over the network, the same for every provider; commands are asked by the provider.

mod http;
mod network;
mod place;
mod tcp;

pub(crate) use network::over_network;
