//! The list of joints.

use serde::{Deserialize, Serialize};

use super::equation::{Equations, Placed};
use super::{ball, cylindrical, distance, fixed, planar, point_on_line, point_on_plane, prismatic};
use super::{revolute, universal};

/// What a joint does. Frame A is fixed to its first body, frame B to its second; z is the axis unless said otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// B does not move in A.
    Fixed,
    /// B turns about z. Coordinate: angle.
    Revolute,
    /// B slides along z. Coordinate: displacement.
    Prismatic,
    /// B slides along z and turns about it. Coordinates: displacement, angle.
    Cylindrical,
    /// B turns about the common origin.
    Ball,
    /// B turns about the x axis of A and its own y axis. Coordinates: the two angles.
    Universal,
    /// B slides in the plane z = 0 of A and turns about its normal. Coordinates: two displacements, angle.
    Planar,
    /// The origin of B slides along the z axis of A. Coordinate: displacement.
    PointOnLine,
    /// The origin of B slides in the plane z = 0 of A. Coordinates: two displacements.
    PointOnPlane,
    /// The origins stay this far apart.
    Distance {
        /// m
        length: f64,
    },
    /// The origins are at most this far apart. Coordinate: their distance.
    Rope {
        /// m
        length: f64,
    },
    /// A spring and damper between the origins. Coordinate: their distance.
    Spring {
        /// Without force, m.
        length: f64,
        /// N/m
        stiffness: f64,
        /// N s/m
        damping: f64,
    },
}

impl Kind {
    /// As messages and files spell it.
    pub fn name(&self) -> &'static str {
        match self {
            Kind::Fixed => "fixed",
            Kind::Revolute => "revolute",
            Kind::Prismatic => "prismatic",
            Kind::Cylindrical => "cylindrical",
            Kind::Ball => "ball",
            Kind::Universal => "universal",
            Kind::Planar => "planar",
            Kind::PointOnLine => "point_on_line",
            Kind::PointOnPlane => "point_on_plane",
            Kind::Distance { .. } => "distance",
            Kind::Rope { .. } => "rope",
            Kind::Spring { .. } => "spring",
        }
    }

    /// Whether each free coordinate is an angle, in their order.
    pub fn coordinates(&self) -> &'static [bool] {
        match self {
            Kind::Fixed | Kind::Ball | Kind::Distance { .. } => &[],
            Kind::Revolute => &[true],
            Kind::Prismatic | Kind::PointOnLine | Kind::Rope { .. } | Kind::Spring { .. } => &[false],
            Kind::Cylindrical => &[false, true],
            Kind::Universal => &[true, true],
            Kind::Planar => &[false, false, true],
            Kind::PointOnPlane => &[false, false],
        }
    }

    /// The equations and free coordinates at a placement.
    pub fn equations(&self, p: &Placed) -> Equations {
        let mut out = Equations::default();
        match self {
            Kind::Fixed => fixed::equations(p, &mut out),
            Kind::Revolute => revolute::equations(p, &mut out),
            Kind::Prismatic => prismatic::equations(p, &mut out),
            Kind::Cylindrical => cylindrical::equations(p, &mut out),
            Kind::Ball => ball::equations(p, &mut out),
            Kind::Universal => universal::equations(p, &mut out),
            Kind::Planar => planar::equations(p, &mut out),
            Kind::PointOnLine => point_on_line::equations(p, &mut out),
            Kind::PointOnPlane => point_on_plane::equations(p, &mut out),
            Kind::Distance { length } => distance::rod(*length, p, &mut out),
            Kind::Rope { length } => distance::rope(*length, p, &mut out),
            Kind::Spring { length, stiffness, damping } => {
                distance::spring(*length, *stiffness, *damping, p, &mut out)
            }
        }
        out
    }

    /// Says what is wrong with the parameters, naming the field.
    pub fn check(&self) -> Result<(), String> {
        let not_negative = |name: &str, x: f64| {
            if x.is_finite() && x >= 0.0 {
                Ok(())
            } else {
                Err(format!("{name} must be finite and not negative, got {x}"))
            }
        };
        match *self {
            Kind::Distance { length } | Kind::Rope { length } => {
                if length.is_finite() && length > 0.0 {
                    Ok(())
                } else {
                    Err(format!("length must be positive and finite, got {length}"))
                }
            }
            Kind::Spring { length, stiffness, damping } => not_negative("length", length)
                .and(not_negative("stiffness", stiffness))
                .and(not_negative("damping", damping)),
            _ => Ok(()),
        }
    }
}
