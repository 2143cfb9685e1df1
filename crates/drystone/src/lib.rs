//! Rigid bodies, joints, hard contacts and dry friction: the engine.
//!
//! A [`World`] holds bodies and steps them with the half-implicit scheme of \[TasoraAnitescu2011\]: every step finds the
//! contacts, builds one cone complementarity problem, solves it to the accuracy asked for, moves the bodies, removes
//! overlaps, and has the result judged. The step is one page: `step.rs`. Symbols and units are in `NOTATION.md`.

pub mod assemble;
pub mod body;
pub mod bounds;
pub mod collide;
pub mod collider;
pub mod contact;
mod control;
mod determined;
pub mod events;
pub mod field;
pub mod flow;
pub mod function;
pub mod grains;
pub mod guide;
mod gyration;
mod hooks;
mod islands;
pub mod joint;
pub mod law;
pub mod material;
pub mod measure;
pub mod model;
pub mod motion;
mod order;
pub mod part;
mod principal;
pub mod queries;
pub mod random;
mod saved;
pub mod seal;
pub mod settings;
mod settle;
pub mod shape;
pub mod sleep;
mod smooth;
mod stabilise;
pub mod state;
pub mod step;
pub mod stiff;
pub mod touching;
mod workspace;
pub mod world;

pub use body::{BodyDef, Collider, Filter, MassProperties, Motion};
pub use bounds::{Bounds, Leaving};
pub use collider::ColliderId;
pub use contact::Contact;
pub use determined::SmallestForces;
pub use drystone_solve as solve;
pub use events::{ContactEvent, JointEvent, Phase, SensorEvent};
pub use field::{Field, Wrench};
pub use flow::{Emitter, Flow, Sink};
pub use function::Function;
pub use guide::Guide;
pub use joint::{JointDef, JointId, Motor};
pub use law::{Impact, PairLaw};
pub use material::{Combine, MOST_FRICTION, MaterialId, Materials};
pub use model::{BodyId, Model};
pub use order::along_curve;
pub use part::{BodyMotion, Part};
pub use queries::{Found, QueryFilter};
pub use saved::SaveError;
pub use seal::LoadError;
pub use settings::{Integrator, Settings, Stabilisation};
pub use settle::Settled;
pub use shape::{Compound, HeightField, Hull, Pose, Shape, TriMesh};
pub use sleep::Sleep;
pub use state::State;
pub use step::{Apart, Deep, Party, Stage, StepError, StepReport};
pub use stiff::StiffForce;
pub use touching::ContactInfo;
pub use world::{World, WorldError};
