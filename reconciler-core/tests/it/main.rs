//! The laws and tables of the pure part, proved from outside by its public surface alone.

mod brakes;
mod canonical;
mod clock;
mod drift;
mod fixture;
mod fleet;
mod fold_effects;
mod fold_failures;
mod fold_workload;
mod ids;
mod ladder_rows;
mod ladder_table;
mod laws;
mod laws_single;
mod listings;
mod plan_graph;
mod plan_hash;
mod plan_refusal;
mod plan_steps;
mod reasons;
mod redaction;
mod revisions;
mod shapes;
mod trace;
mod world;
