//! How fast bodies go, and how far friction may let them hover.

use crate::shape::Shape;

/// Velocities that decide how far ahead contacts are looked for: linear and angular (world axes), by body
/// slot.
pub type Velocities = [[f64; 6]];

/// Velocity of a body; at rest where none is said.
pub(crate) fn velocity(v: &Velocities, slot: u32) -> &[f64; 6] {
    v.get(slot as usize).unwrap_or(&[0.0; 6])
}

/// How far a contact of the shape may hover by friction, at most, m: a contact's gap by friction is bounded
/// by the smaller inner radius of its two parts, whatever μ.
pub(super) fn hover_limit(shape: &Shape) -> f64 {
    match shape {
        Shape::Compound(_) => shape.bounding_radius(),
        _ => shape.inner_radius(),
    }
}
