//! A silo: a cylinder about the z axis over a cone, and below it a pipe that a plug closes. Its walls are
//! flat plates that touch the round ones from outside.

use std::f64::consts::{PI, TAU};

use drystone::{BodyDef, Collider, Pose, Shape};
use glam::{DQuat, DVec3};

/// Plates around.
const PLATES: usize = 48;

/// The inside; the cylinder stands on z = 0, the cone and the pipe are below.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vessel {
    /// Of the cylinder, m.
    pub radius: f64,
    /// Where the cylinder ends, m.
    pub top: f64,
    /// Of the cone's wall over the horizontal, rad.
    pub slope: f64,
    /// Radius of the pipe, m.
    pub outlet: f64,
    /// Length of the pipe, m.
    pub pipe: f64,
}

impl Vessel {
    /// Where the cone meets the pipe, m.
    pub fn rim(&self) -> f64 {
        -(self.radius - self.outlet) * self.slope.tan()
    }

    /// Upper face of the plug, m.
    pub fn floor(&self) -> f64 {
        self.rim() - self.pipe
    }

    /// Cross section of the cylinder, m².
    pub fn section(&self) -> f64 {
        PI * self.radius * self.radius
    }

    /// Volume of the cone and the pipe, m³.
    pub fn below(&self) -> f64 {
        let (a, b) = (self.radius, self.outlet);
        PI / 3.0 * -self.rim() * (a * a + a * b + b * b) + PI * b * b * self.pipe
    }

    /// Distance of a point from the round walls, cone, rim and plug, m; negative outside.
    pub fn clearance(&self, p: DVec3) -> f64 {
        let across = p.x.hypot(p.y);
        // From the rim, outward and up.
        let (out, up) = (across - self.outlet, p.z - self.rim());
        if up < 0.0 {
            return (-out).min(p.z - self.floor());
        }
        let (sin, cos) = self.slope.sin_cos();
        let from_cone = if out * cos + up * sin > 0.0 { up * cos - out * sin } else { out.hypot(up) };
        from_cone.min(self.radius - across)
    }

    /// The walls, `thickness` thick, and the plug.
    pub fn bodies(&self, thickness: f64, mu: f64) -> Vec<BodyDef> {
        let t = 0.5 * thickness;
        let around = (PI / PLATES as f64).tan();
        let (rim, floor) = (self.rim(), self.floor());
        let mut plates = Vec::with_capacity(3 * PLATES);
        let mut plate = |turn: DQuat, at: DVec3, half: DVec3| {
            let local = Pose::new(at, turn);
            plates.push(Collider { local, ..Collider::new(Shape::Box { half }, mu) });
        };
        for k in 0..PLATES {
            let turn = DQuat::from_rotation_z(TAU * (k as f64 + 0.5) / PLATES as f64);
            let wide = (self.radius + thickness) * around;
            let upright =
                |radius: f64, low: f64, high: f64| turn * DVec3::new(radius + t, 0.0, 0.5 * (low + high));
            let half = DVec3::new(t, wide, 0.5 * (self.top + thickness));
            plate(turn, upright(self.radius, -thickness, self.top), half);
            // As wide below as above: the inside is convex, so what is too much of a plate lies behind its
            // neighbours.
            let tilt = turn * DQuat::from_rotation_y(-self.slope);
            let length = (self.radius - self.outlet) / self.slope.cos() + thickness;
            let at = turn * DVec3::new(self.outlet, 0.0, rim) + tilt * DVec3::new(0.5 * length, 0.0, -t);
            plate(tilt, at, DVec3::new(0.5 * length, wide, t));
            let narrow = DVec3::new(t, (self.outlet + thickness) * around, 0.5 * self.pipe);
            plate(turn, upright(self.outlet, floor, rim), narrow);
        }
        let mut walls = BodyDef::fixed(Shape::HalfSpace).named("vessel");
        walls.colliders = plates;
        let side = self.outlet + thickness;
        let plug = BodyDef::fixed(Shape::Box { half: DVec3::new(side, side, t) }).friction(mu);
        vec![walls, plug.at(DVec3::Z * (floor - t)).named("plug")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VESSEL: Vessel = Vessel { radius: 2.0, top: 5.0, slope: PI / 6.0, outlet: 0.5, pipe: 0.4 };

    /// By shooting rays: the nearest plate in many directions is as far as the formula says, but for the
    /// plates' corners.
    #[test]
    fn plates_are_where_the_formula_says() {
        let mut world = drystone::World::new(drystone::Settings::default()).unwrap();
        for body in VESSEL.bodies(0.1, 0.5) {
            world.add_body(body).unwrap();
        }
        let mut random = drystone::random::Random::new(5);
        let mut seen = 0;
        while seen < 30 {
            let p = random.in_box(DVec3::new(-2.0, -2.0, VESSEL.floor()), DVec3::new(2.0, 2.0, 3.0));
            let clearance = VESSEL.clearance(p);
            if clearance <= 0.0 {
                continue;
            }
            seen += 1;
            let mut nearest = f64::INFINITY;
            for _ in 0..2000 {
                if let Some((_, hit)) = world.ray(p, random.unit_vector(), 10.0) {
                    nearest = nearest.min(hit.distance);
                }
            }
            // The corners of 48 plates are 0.2 % further out; few rays hit the very nearest point.
            assert!(nearest > clearance - 1e-9, "{p}: {nearest}, {clearance}");
            assert!(nearest < 1.05 * clearance + 0.005, "{p}: {nearest}, {clearance}");
        }
    }

    #[test]
    fn volume_below_is_what_sampling_gives() {
        let mut random = drystone::random::Random::new(2);
        let (lo, hi) = (DVec3::new(-2.0, -2.0, VESSEL.floor()), DVec3::new(2.0, 2.0, 0.0));
        let n = 200_000;
        let inside = (0..n).filter(|_| VESSEL.clearance(random.in_box(lo, hi)) > 0.0).count();
        let size = hi - lo;
        let sampled = inside as f64 / n as f64 * size.x * size.y * size.z;
        assert!((sampled / VESSEL.below() - 1.0).abs() < 0.02, "{sampled} {}", VESSEL.below());
    }
}
