//! The journal's laws, proved on real files.

#[cfg(test)]
mod backup;
#[cfg(test)]
mod compact;
#[cfg(test)]
mod corpus;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod handoff;
#[cfg(test)]
mod history;
#[cfg(test)]
mod inspect;
#[cfg(test)]
mod isolation;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod lease;
#[cfg(test)]
mod owner;
#[cfg(test)]
mod ownership;
#[cfg(test)]
mod reader;
#[cfg(test)]
mod refusal;
#[cfg(test)]
mod replace;
#[cfg(test)]
mod room;
#[cfg(test)]
mod size;
#[cfg(test)]
mod verify;
#[cfg(test)]
mod world;
