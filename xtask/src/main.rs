//! Development verbs.
fn main() {}
