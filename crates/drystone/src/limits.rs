//! How large the numbers may be that the engine is given, and those that its steps come to.
//!
//! Within these bounds no sum, product or square that a step forms is infinite: the energy of the heaviest
//! body at the largest speed is 1e64 J, a force of 1e60 N changes the velocity of the lightest one by
//! 1e109 m/s in the longest step (which the step then refuses), and solvers that iterate in single precision
//! (up to 3e38) square speeds of 1e12 m/s. What is beyond them is an error that names the field. A step whose
//! result is beyond them is an error, too ([`crate::StepError::OutOfRange`]), and leaves the world as it was.

use std::ops::RangeInclusive;

use glam::DVec3;

/// How far from the origin a body may be, along each axis, m. Further out numbers are more than a tenth of a
/// millimetre apart. Shapes are no larger, and envelopes.
pub const FARTHEST: f64 = 1e12;
/// How fast a body may be along each axis, m/s, or turn about it, rad/s; also the speed of a belt.
pub const FASTEST: f64 = 1e12;
/// The largest gravity along each axis, m/s²: that of a neutron star.
pub const GRAVITY: f64 = 1e12;
/// The largest force (N), torque (N m) or impulse (N s, N m s) along each axis.
pub const STRONGEST: f64 = 1e60;
/// The largest stiffness (N/m, N m/rad), damping (N s/m, N m s/rad) or compliance (m/N, rad/(N m)).
pub const STIFFEST: f64 = 1e60;
/// The largest coefficient of friction that can be given; see [`crate::MOST_FRICTION`] for the largest that
/// counts.
pub const ROUGHEST: f64 = 1e12;
/// The largest charge, C; pair forces go by the product of two.
pub const CHARGE: f64 = 1e40;
/// The smallest extent of a shape, m: moments of inertia go by its fifth power.
pub const SMALLEST: f64 = 1e-20;
/// How long a step may be, s: a gap of [`FARTHEST`] that closes in the shortest one is a speed of 1e27 m/s.
pub const STEPS: RangeInclusive<f64> = 1e-15..=1e9;
/// Masses of dynamic bodies (kg), whose inverses, squares and products are numbers.
pub const MASSES: RangeInclusive<f64> = 1e-40..=1e40;
/// Principal moments of inertia of dynamic bodies, kg m²: the same.
pub const MOMENTS: RangeInclusive<f64> = 1e-60..=1e60;

/// Says that a vector is not finite or has a component beyond `most`, naming the field and the bound.
pub(crate) fn within(field: &str, v: DVec3, most: f64, unit: &str) -> Result<(), String> {
    let largest = v.abs().max_element();
    if !v.is_finite() {
        Err(format!("{field} must be finite, got {v}"))
    } else if largest > most {
        Err(format!("{field} must be within {most:e} {unit}, got {largest:e}"))
    } else {
        Ok(())
    }
}

/// Says that a number is not finite, negative, or beyond `most`, naming the field and the bound.
pub(crate) fn up_to(field: &str, x: f64, most: f64, unit: &str) -> Result<(), String> {
    if !(x.is_finite() && x >= 0.0) {
        Err(format!("{field} must be finite and not negative, got {x}"))
    } else if x > most {
        let space = if unit.is_empty() { "" } else { " " };
        Err(format!("{field} must be at most {most:e}{space}{unit}, got {x:e}"))
    } else {
        Ok(())
    }
}

/// Says that a number of any sign is not finite or beyond `most`, naming the field and the bound.
pub(crate) fn sized(field: &str, x: f64, most: f64, unit: &str) -> Result<(), String> {
    let space = if unit.is_empty() { "" } else { " " };
    if !x.is_finite() {
        Err(format!("{field} must be finite, got {x}"))
    } else if x.abs() > most {
        Err(format!("{field} must be within {most:e}{space}{unit}, got {x:e}"))
    } else {
        Ok(())
    }
}

/// Whether a place and velocities, linear and angular, are numbers that a step may come to.
pub(crate) fn holds(position: DVec3, velocity: DVec3, angular: DVec3) -> bool {
    // A NaN is not within, either.
    let inside = |v: DVec3, most: f64| v.abs().cmple(DVec3::splat(most)).all();
    inside(position, FARTHEST) && inside(velocity, FASTEST) && inside(angular, FASTEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_is_said_with_its_bound() {
        let told = |v: DVec3| within("velocity", v, FASTEST, "m/s");
        assert_eq!(told(DVec3::splat(-1e12)), Ok(()));
        assert_eq!(told(DVec3::X * 1e200), Err("velocity must be within 1e12 m/s, got 1e200".into()));
        assert!(told(DVec3::NAN).unwrap_err().starts_with("velocity must be finite"));
        assert_eq!(up_to("mu", 1e12, ROUGHEST, ""), Ok(()));
        assert_eq!(up_to("mu", 1e13, ROUGHEST, ""), Err("mu must be at most 1e12, got 1e13".into()));
        assert!(up_to("mu", -1.0, ROUGHEST, "").unwrap_err().contains("not negative"));
        assert!(holds(DVec3::X * 1e12, DVec3::Y * -1e12, DVec3::ZERO));
        for bad in [f64::NAN, f64::NEG_INFINITY, 1.1e12] {
            let bad = DVec3::new(0.0, bad, 0.0);
            assert!(!holds(bad, DVec3::ZERO, DVec3::ZERO));
            assert!(!holds(DVec3::ZERO, bad, DVec3::ZERO) && !holds(DVec3::ZERO, DVec3::ZERO, bad));
        }
    }
}
