//! What a world does for its user: bodies, control, events, queries, fields, hooks, saving, and the same bits
//! each time.

mod bodies;
mod broadphase_agree;
mod control;
mod debug;
mod events;
mod fields;
mod hooks;
mod kept_pairs;
mod limits;
mod motion;
mod order;
mod periodic;
mod places;
mod queries;
mod reproducible;
mod rules;
mod saved;
mod stack;
mod stiff;
mod substeps;
mod user_data;
