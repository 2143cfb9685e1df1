//! Regions that bodies must not leave.

use glam::DVec3;

/// The inside of a closed container, or the side of a floor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Region {
    /// Between two corners, m; components may be infinite.
    Box {
        /// Smallest corner.
        min: DVec3,
        /// Largest corner.
        max: DVec3,
    },
    /// A cylinder about an axis through the origin.
    Cylinder {
        /// Unit.
        axis: DVec3,
        /// m
        radius: f64,
        /// Half of its length, m.
        half_length: f64,
    },
}

impl Region {
    /// Everything above the plane z = 0.
    pub fn above_floor() -> Self {
        let far = f64::INFINITY;
        Self::Box { min: DVec3::new(-far, -far, 0.0), max: DVec3::splat(far) }
    }

    /// Whether a point is inside. A point that is not a number is not.
    pub fn contains(&self, p: DVec3) -> bool {
        match self {
            Self::Box { min, max } => p.cmpge(*min).all() && p.cmple(*max).all(),
            Self::Cylinder { axis, radius, half_length } => {
                let along = axis.dot(p);
                along.abs() <= *half_length && (p - *axis * along).length() <= *radius
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_have_an_inside_and_an_outside() {
        let floor = Region::above_floor();
        assert!(floor.contains(DVec3::new(1e9, -3.0, 0.1)) && !floor.contains(DVec3::NEG_Z));
        let drum = Region::Cylinder { axis: DVec3::Y, radius: 1.0, half_length: 0.5 };
        assert!(drum.contains(DVec3::new(0.7, 0.4, 0.7)));
        assert!(!drum.contains(DVec3::new(0.8, 0.4, 0.7)) && !drum.contains(DVec3::Y));
        assert!(!drum.contains(DVec3::NAN) && !floor.contains(DVec3::NAN));
    }
}
