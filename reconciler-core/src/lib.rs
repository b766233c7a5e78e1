//! The pure part of Levelhead: every decision, no clock and no I/O.
#![no_std]

extern crate alloc;
