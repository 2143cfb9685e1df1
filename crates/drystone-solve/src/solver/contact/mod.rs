//! The contact update, which every iteration over contacts makes [TasoraAnitescu2011, Algorithm 2 (23)-(26)]:
//!
//! ```text
//!     u  = Dᵀ v + b,      γ⁺ = Π(γ - η u),      v += M⁻¹ D (γ⁺ - γ)
//! ```
//!
//! It is made of lanes, a layout and a pass. Lanes ([`crate::simd`]) are how many contacts are updated at
//! once, and in which precision. A layout says how a contact and its bodies are stored: [`layout`] has
//! general contacts and those of spheres in f64, `sphere_contacts::pack` the compact one of spheres in f32. A
//! pass (Gauss-Seidel, Jacobi, gradient, residual, product) says which velocities are read and where the
//! result goes. What all of them share is [`update`]: the projection on the cone and the step against u.

pub(super) mod layout;
pub(super) mod update;
