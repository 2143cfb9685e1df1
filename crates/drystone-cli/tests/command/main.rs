//! What the command does, seen from outside: the built program, its exit status, what it prints and what it
//! writes.

mod bodies;
mod catalogue;
mod damage;
mod decompose;
mod determinism;
mod devices;
mod ending;
mod files;
mod keeping;
mod outputs;
mod own_files;
mod quoted;
mod recordings;
mod refusals;
mod report;
mod scenes;
mod scratch;
mod series;
mod signals;
mod solve;
mod squeeze;
mod states;
mod tables;
mod view;
mod zoo;
