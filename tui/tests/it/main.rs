//! What the front end promises, seen from outside.

mod console_fixture;
mod console_fuzz;
mod console_legal;
mod console_plan;
mod console_screens;
mod console_select;
mod console_time;
