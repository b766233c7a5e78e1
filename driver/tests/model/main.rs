//! Models of the durable lifecycle over the core's own tables, checked state by state.

mod saga;
