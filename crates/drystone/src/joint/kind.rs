//! The list of joints.

use serde::{Deserialize, Serialize};

use glam::DVec3;

use super::bushing::Bushing;
use super::coupled_bushing::CoupledBushing;
use super::custom::Custom;
use super::equation::{Demands, Equations, Errors, Full, Placed, Sink};
use super::trajectory::Trajectory;
use super::{ball, cylindrical, distance, fixed, gear, knife_edge, planar, point_on_line, point_on_plane};
use super::{prismatic, pulley, rack_and_pinion, revolute, rolling_disc, screw, universal};
use crate::limits::{FARTHEST, STIFFEST, sized, up_to, within};

/// What a joint does. Frame A is fixed to its first body, frame B to its second; z is the axis unless said
/// otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
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
    /// B turns about z and advances along it. Coordinate: angle.
    Screw {
        /// m in a turn
        pitch: f64,
    },
    /// B turns `ratio` times as fast as A, each about its own z axis, which bearings hold in the world.
    Gear {
        /// Turns of B for one of A.
        ratio: f64,
    },
    /// The rack B moves along its z axis as the pinion A turns about its own.
    RackAndPinion {
        /// Of the pinion, m.
        radius: f64,
    },
    /// A rope from the origin of A over two points of the world to the origin of B.
    Pulley {
        /// Where the rope leaves for A and for B, m, world.
        points: [DVec3; 2],
        /// How often the side of B counts.
        ratio: f64,
        /// |A side| + ratio |B side|, m.
        length: f64,
    },
    /// Springs and dampers along and about all axes.
    Bushing(Box<Bushing>),
    /// Springs and dampers that couple all axes.
    CoupledBushing(Box<CoupledBushing>),
    /// B follows functions of time in A.
    Trajectory(Box<Trajectory>),
    /// The origin of B moves along the x axis of B only, as a skate does on A; it may turn.
    KnifeEdge,
    /// A thin disc about the z axis of B rolls without slip on the plane z = 0 of A.
    RollingDisc {
        /// m
        radius: f64,
    },
    /// Equations of a program.
    #[serde(skip)]
    Custom(Custom),
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
            Kind::Screw { .. } => "screw",
            Kind::Gear { .. } => "gear",
            Kind::RackAndPinion { .. } => "rack_and_pinion",
            Kind::Pulley { .. } => "pulley",
            Kind::Bushing(_) | Kind::CoupledBushing(_) => "bushing",
            Kind::Trajectory(_) => "trajectory",
            Kind::KnifeEdge => "knife_edge",
            Kind::RollingDisc { .. } => "rolling_disc",
            Kind::Custom(_) => "custom",
        }
    }

    /// Whether each free coordinate is an angle, in their order.
    pub fn coordinates(&self) -> &'static [bool] {
        match self {
            Kind::Fixed | Kind::Ball | Kind::Distance { .. } => &[],
            Kind::Gear { .. } | Kind::RackAndPinion { .. } | Kind::Pulley { .. } => &[],
            Kind::CoupledBushing(_) | Kind::Custom(_) => &[],
            Kind::Bushing(_) | Kind::Trajectory(_) | Kind::KnifeEdge | Kind::RollingDisc { .. } => &[],
            Kind::Revolute | Kind::Screw { .. } => &[true],
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
        self.equations_into(p, &mut out);
        out
    }

    /// The same in a place that was used before.
    pub(crate) fn equations_into(&self, p: &Placed, out: &mut Equations) {
        self.fill(p, &mut Full::new(out));
    }

    /// The equations alone.
    pub(crate) fn demands_into(&self, p: &Placed, out: &mut Equations) {
        self.fill(p, &mut Demands::new(out));
    }

    /// Errors and rates alone, and with `values` those of the free coordinates: all Jacobians are without
    /// meaning.
    pub(crate) fn errors_into(&self, p: &Placed, values: bool, out: &mut Equations) {
        match values {
            true => self.fill(p, &mut Errors::<true>::new(out)),
            false => self.fill(p, &mut Errors::<false>::new(out)),
        }
    }

    #[inline(always)]
    fn fill(&self, p: &Placed, out: &mut impl Sink) {
        match self {
            Kind::Fixed => fixed::equations(p, out),
            Kind::Revolute => revolute::equations(p, out),
            Kind::Prismatic => prismatic::equations(p, out),
            Kind::Cylindrical => cylindrical::equations(p, out),
            Kind::Ball => ball::equations(p, out),
            Kind::Universal => universal::equations(p, out),
            Kind::Planar => planar::equations(p, out),
            Kind::PointOnLine => point_on_line::equations(p, out),
            Kind::PointOnPlane => point_on_plane::equations(p, out),
            Kind::Distance { length } => distance::rod(*length, p, out),
            Kind::Rope { length } => distance::rope(*length, p, out),
            Kind::Spring { length, stiffness, damping } => {
                distance::spring(*length, *stiffness, *damping, p, out)
            }
            Kind::Screw { pitch } => screw::equations(*pitch, p, out),
            Kind::Gear { ratio } => gear::equations(*ratio, p, out),
            Kind::RackAndPinion { radius } => rack_and_pinion::equations(*radius, p, out),
            Kind::Pulley { points, ratio, length } => pulley::equations(*points, *ratio, *length, p, out),
            Kind::Bushing(bushing) => bushing.equations(p, out),
            Kind::CoupledBushing(bushing) => bushing.equations(p, out),
            Kind::Trajectory(trajectory) => trajectory.equations(p, out),
            Kind::KnifeEdge => knife_edge::equations(p, out),
            Kind::RollingDisc { radius } => rolling_disc::equations(*radius, p, out),
            Kind::Custom(custom) => custom.equations(p, out),
        }
    }

    /// Says what is wrong with the parameters, naming the field.
    pub fn check(&self) -> Result<(), String> {
        let positive = |name: &str, x: f64| {
            if x.is_finite() && x > 0.0 {
                up_to(name, x, FARTHEST, "m")
            } else {
                Err(format!("{name} must be positive and finite, got {x}"))
            }
        };
        let not_zero = |name: &str, x: f64, unit: &str| {
            if x.is_finite() && x != 0.0 {
                sized(name, x, FARTHEST, unit)
            } else {
                Err(format!("{name} must be finite and not zero, got {x}"))
            }
        };
        match self {
            Kind::Distance { length } | Kind::Rope { length } => positive("length", *length),
            Kind::Spring { length, stiffness, damping } => up_to("length", *length, FARTHEST, "m")
                .and(up_to("stiffness", *stiffness, STIFFEST, "N/m"))
                .and(up_to("damping", *damping, STIFFEST, "N s/m")),
            Kind::Screw { pitch } => not_zero("pitch", *pitch, "m a turn"),
            Kind::Gear { ratio } => not_zero("ratio", *ratio, ""),
            Kind::RackAndPinion { radius } => not_zero("radius", *radius, "m"),
            Kind::Pulley { points, ratio, length } => {
                points.iter().try_for_each(|p| within("points", *p, FARTHEST, "m of the origin"))?;
                if !(ratio.is_finite() && *ratio > 0.0) {
                    return Err(format!("ratio must be positive and finite, got {ratio}"));
                }
                up_to("ratio", *ratio, FARTHEST, "")?;
                // A rope over both sides, as they may be.
                if length.is_finite() && *length > 0.0 {
                    Ok(())
                } else {
                    Err(format!("length must be positive and finite, got {length}"))
                }
            }
            Kind::Bushing(bushing) => bushing.check(),
            Kind::Trajectory(trajectory) => trajectory.check(),
            Kind::RollingDisc { radius } => positive("radius", *radius),
            Kind::Custom(custom) => custom.check(),
            _ => Ok(()),
        }
    }

    /// Whether axes that should agree point opposite ways: the equations alone do not tell.
    pub(crate) fn is_reversed(&self, p: &Placed) -> bool {
        let opposed = |k: usize| p.a(k).dot(p.b(k)) < 0.0;
        match self {
            Kind::Revolute | Kind::Cylindrical | Kind::Planar | Kind::Screw { .. } => opposed(2),
            Kind::Fixed | Kind::Prismatic => opposed(2) || opposed(0),
            _ => false,
        }
    }

    /// Whether some of its equations are about velocities only.
    pub(crate) fn is_nonholonomic(&self) -> bool {
        matches!(self, Kind::KnifeEdge | Kind::RollingDisc { .. })
    }

    /// Whether its equations are functions of time.
    pub(crate) fn is_led(&self) -> bool {
        // What a program's own equations make of time is not known.
        matches!(self, Kind::Trajectory(_) | Kind::Custom(_))
    }
}
