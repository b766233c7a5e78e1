//! A second, plain writing of the decision, to hold the real one against whatever a test comes across (R1 to R7).
//!
//! It keeps no count, no index and no worklist, and asks the product for nothing but what a record and a shape say.

mod agrees;
mod belief;
mod dice;
mod fleets;
mod group;
mod node;
mod rules;
mod update;

pub(crate) use agrees::agrees;
pub(crate) use dice::{Dice, NOW};
