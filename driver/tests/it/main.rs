//! Tests of the driver through its public face; one binary, so that it links once.

mod config;
