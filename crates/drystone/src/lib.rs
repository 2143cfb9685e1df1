//! Rigid bodies, joints, hard contacts and dry friction: the engine.
//!
//! A [`World`] holds bodies and steps them with the half-implicit scheme of \[TasoraAnitescu2011\]: every
//! step finds the contacts, builds one cone complementarity problem, solves it to the accuracy asked for,
//! moves the bodies, removes overlaps, and has the result judged. The step is one page: `step.rs`. Symbols
//! and units are in `NOTATION.md`.
//!
//! | you want to | look at |
//! |---|---|
//! | build something | [`World::new`], [`BodyDef`], [`Shape`], [`JointDef`], [`Materials`] |
//! | let it run | [`World::step`], [`Settings`], [`StepReport`] |
//! | know what happens | [`World::contacts_of`], [`ContactEvent`], [`World::joint_reaction`], [`World::acceleration`], [`debug`] |
//! | ask where things are | [`World::ray_first`], [`World::cast_shape`], [`World::closest`], [`QueryFilter`] |
//! | steer | [`World::apply_force`], [`World::set_motor`], [`World::joint_jacobian`], [`World::on_problem`] |
//! | add physics | [`joint::Equation`], [`Field`], [`StiffForce`], [`World::on_contacts`], [`solve::solver::install`] |
//! | know what it takes | [`limits`]: how far, fast, heavy and strong |
//! | keep it | [`World::save`], [`State`], [`user_data`] |
//!
//! Modules that this page does not list are public for the other crates of the workspace: they change without
//! notice.

mod answer;
#[doc(hidden)]
pub mod body;
#[doc(hidden)]
pub mod bounds;
#[doc(hidden)]
pub mod check;
#[doc(hidden)]
pub mod collide;
#[doc(hidden)]
pub mod collider;
#[doc(hidden)]
pub mod contact;
mod contradiction;
mod control;
pub mod debug;
mod determined;
#[doc(hidden)]
pub mod diagnostics;
#[doc(hidden)]
pub mod emitter;
mod energy;
mod equilibrium;
#[doc(hidden)]
pub mod error;
#[doc(hidden)]
pub mod events;
pub mod field;
#[doc(hidden)]
pub mod formulation;
pub mod function;
#[doc(hidden)]
pub mod grains;
mod gyration;
mod hooks;
mod integrate;
mod islands;
pub mod joint;
mod kept;
#[doc(hidden)]
pub mod law;
mod lend;
pub mod limits;
#[doc(hidden)]
pub mod material;
mod method;
#[doc(hidden)]
pub mod model;
#[doc(hidden)]
pub mod motion;
#[doc(hidden)]
pub mod partition;
#[doc(hidden)]
pub mod prescribed_motion;
mod principal;
#[doc(hidden)]
pub mod queries;
pub mod random;
mod rattle;
#[doc(hidden)]
pub mod report;
mod saved;
#[doc(hidden)]
pub mod seal;
#[doc(hidden)]
pub mod settings;
mod setup;
pub mod shape;
#[doc(hidden)]
pub mod sleep;
mod spatial_order;
mod stabilise;
#[doc(hidden)]
pub mod stages;
#[doc(hidden)]
pub mod state;
#[doc(hidden)]
pub mod step;
#[doc(hidden)]
pub mod stiff;
#[doc(hidden)]
pub mod touching;
pub mod user_data;
mod whose;
mod workspace;
#[doc(hidden)]
pub mod world;

#[doc(inline)]
pub use body::{BodyDef, Collider, Filter, MassProperties, Motion};
#[doc(inline)]
pub use bounds::{Bounds, Leaving};
#[doc(inline)]
pub use collide::broadphase::Kind as BroadPhase;
#[doc(inline)]
pub use collide::query::{CastHit, ClosestPoints, Projection, RayHit};
#[doc(inline)]
pub use collide::{Aabb, Periodic};
#[doc(inline)]
pub use collider::ColliderId;
#[doc(inline)]
pub use contact::{Contact, ContactKey};
pub use debug::{Colour, DebugDraw};
pub use determined::SmallestForces;
#[doc(inline)]
pub use diagnostics::{Energy, Figures, Penetration};
#[doc(no_inline)]
pub use drystone_solve as solve;
#[doc(inline)]
pub use emitter::{Emitter, Flow, Sink};
pub use equilibrium::Settled;
#[doc(inline)]
pub use events::{ContactEvent, JointEvent, Phase, SensorEvent};
pub use field::{Field, Wrench};
pub use function::Function;
pub use joint::{JointDef, JointId, Motor};
#[doc(inline)]
pub use law::{Impact, PairLaw};
#[doc(inline)]
pub use material::{Combine, MOST_FRICTION, MaterialId, Materials};
pub use method::Method;
#[doc(inline)]
pub use model::{Body, BodyId, ColliderSlot, Model};
#[doc(hidden)]
pub use partition::{BodyMotion, JointMotion, Part};
#[doc(inline)]
pub use prescribed_motion::Guide;
#[doc(inline)]
pub use queries::{Found, QueryFilter};
#[doc(inline)]
pub use report::{DeepOverlap, JointDrift, Party, Stage, StepError, StepReport};
pub use saved::SaveError;
#[doc(inline)]
pub use seal::LoadError;
#[doc(inline)]
pub use settings::{Integrator, Settings, Stabilisation};
pub use shape::{Compound, HeightField, Hull, Pose, Shape, TriMesh};
#[doc(inline)]
pub use sleep::rule::Sleep;
#[doc(hidden)]
pub use spatial_order::along_curve;
#[doc(inline)]
pub use state::State;
#[doc(inline)]
pub use stiff::force::{Linearised, StiffForce};
#[doc(inline)]
pub use touching::ContactInfo;
#[doc(inline)]
pub use world::{World, WorldError};
