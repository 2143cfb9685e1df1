//! What random scenes are drawn from: numbers, laws of contact, shapes.

use drystone::random::Random;
use drystone::{Compound, Pose, Shape};
use glam::{DQuat, DVec3};

use super::place::text;
use crate::SceneError;

/// A generator with the distributions that scenes need. Draws use only the four operations and square roots.
#[derive(Clone, Debug)]
pub struct Draw(Random);

impl Draw {
    /// Draws that depend on `seed` alone.
    pub fn new(seed: u64) -> Self {
        Self(Random::new(seed))
    }

    /// Uniform between `lo` and `hi`.
    pub fn range(&mut self, lo: f64, hi: f64) -> f64 {
        self.0.range(lo, hi)
    }

    /// Between `lo` and `hi`, every octave equally often and flat within it.
    pub fn log_range(&mut self, lo: f64, hi: f64) -> f64 {
        let mut octaves = 0;
        let mut top = lo;
        while top < hi {
            top *= 2.0;
            octaves += 1;
        }
        if octaves == 0 {
            return lo;
        }
        let mut start = lo;
        for _ in 0..self.whole(0, octaves - 1) {
            start *= 2.0;
        }
        self.range(start, (2.0 * start).min(hi))
    }

    /// A whole number from `lo` to `hi`, both included.
    pub fn whole(&mut self, lo: usize, hi: usize) -> usize {
        let drawn = lo + (self.0.uniform() * (hi - lo + 1) as f64) as usize;
        drawn.min(hi)
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.0.uniform() < probability
    }

    /// One of several values.
    pub fn choose<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.whole(0, values.len() - 1)]
    }

    /// Uniform in a box.
    pub fn point(&mut self, lo: DVec3, hi: DVec3) -> DVec3 {
        self.0.in_box(lo, hi)
    }

    /// Uniform on the unit sphere.
    pub fn direction(&mut self) -> DVec3 {
        self.0.unit_vector()
    }

    /// Uniform in a ball of this radius.
    pub fn in_ball(&mut self, radius: f64) -> DVec3 {
        self.0.in_ball() * radius
    }

    /// Uniform over all rotations.
    pub fn rotation(&mut self) -> DQuat {
        self.0.rotation()
    }

    /// A step from 1 to 20 ms; 10 ms, the default, most often.
    pub fn step(&mut self) -> f64 {
        self.choose(&[0.001, 0.002, 0.005, 0.01, 0.01, 0.01, 0.01, 0.02])
    }

    /// A coefficient of friction: none, common ones, and now and then one that no surface exceeds.
    pub fn friction(&mut self) -> f64 {
        match self.whole(0, 9) {
            0 => 0.0,
            1 => self.log_range(1.0, 1e3),
            2 => 1e6,
            _ => self.range(0.05, 1.0),
        }
    }

    /// A coefficient of restitution: most often none, else anything up to 1.
    pub fn restitution(&mut self) -> f64 {
        match self.whole(0, 4) {
            0 => 1.0,
            1 => self.range(0.0, 1.0),
            _ => 0.0,
        }
    }

    /// A solid of any shape that a dynamic body can have, within a ball of about this radius.
    pub fn solid(&mut self, size: f64) -> Result<Shape, SceneError> {
        Ok(match self.whole(0, 8) {
            0 => Shape::sphere(self.range(0.5, 1.0) * size),
            1 => Shape::cuboid(self.half_extents(size)),
            2 => Shape::capsule(self.range(0.2, 0.5) * size, self.range(0.1, 0.6) * size),
            3 => Shape::cylinder(self.range(0.3, 0.8) * size, self.range(0.2, 0.6) * size),
            4 => Shape::cone(self.range(0.4, 0.8) * size, self.range(0.5, 1.2) * size),
            5 => Shape::ellipsoid(self.range(0.25, 1.0) * size * self.axes(0.3)),
            6 => self.hull(size)?,
            7 => {
                let core = match self.whole(0, 3) {
                    0 => Shape::cuboid(self.half_extents(0.8 * size)),
                    1 => Shape::cylinder(self.range(0.3, 0.6) * size, self.range(0.2, 0.5) * size),
                    2 => Shape::cone(self.range(0.4, 0.7) * size, self.range(0.5, 1.0) * size),
                    _ => self.hull(0.8 * size)?,
                };
                Shape::rounded(core, self.range(0.05, 0.2) * size).map_err(text)?
            }
            _ => self.compound(size)?,
        })
    }

    /// The hull of a few points.
    pub fn hull(&mut self, size: f64) -> Result<Shape, SceneError> {
        let axes = self.axes(0.4) * size;
        let points: Vec<DVec3> = (0..self.whole(6, 16)).map(|_| self.direction() * axes).collect();
        // Few points may lie nearly in a plane: the corners of a tetrahedron keep it thick.
        let s = 0.4 * axes;
        let corners = [[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]];
        let all: Vec<DVec3> = points.into_iter().chain(corners.map(|c| DVec3::from_array(c) * s)).collect();
        Shape::hull(&all).map_err(text)
    }

    /// A dumbbell, a corner or a cross of convex parts.
    pub fn compound(&mut self, size: f64) -> Result<Shape, SceneError> {
        let (long, thin) = (0.6 * size, self.range(0.12, 0.25) * size);
        let bar = Shape::cuboid(DVec3::new(long, thin, thin));
        let upright = Pose::new(DVec3::ZERO, DQuat::from_rotation_z(std::f64::consts::FRAC_PI_2));
        let parts = match self.whole(0, 2) {
            0 => vec![
                (Pose::at(DVec3::X * long), Shape::sphere(2.0 * thin)),
                (Pose::at(DVec3::NEG_X * long), Shape::sphere(1.5 * thin)),
                (Pose::IDENTITY, bar),
            ],
            1 => vec![
                (Pose::at(DVec3::new(0.0, -long, 0.0)), bar.clone()),
                (Pose { position: DVec3::new(-long, 0.0, 0.0), ..upright }, bar),
            ],
            _ => vec![(Pose::IDENTITY, bar.clone()), (upright, bar)],
        };
        Ok(Shape::Compound(Compound::new(parts).map_err(text)?.into()))
    }

    fn half_extents(&mut self, size: f64) -> DVec3 {
        self.range(0.4, 0.6) * size * self.axes(0.3)
    }

    /// Three numbers between `least` and 1.
    pub fn axes(&mut self, least: f64) -> DVec3 {
        self.point(DVec3::splat(least), DVec3::ONE)
    }
}
