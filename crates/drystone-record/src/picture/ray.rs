//! Rays against solids. Convex solids answer with the span of the ray inside them, so that entry and exit are
//! both at hand where a solid is translucent.

use glam::{DMat3, DVec3};

use super::figure::tube_span;

/// A half-line; `direction` is unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ray {
    pub origin: DVec3,
    pub direction: DVec3,
}

impl Ray {
    pub fn at(&self, t: f64) -> DVec3 {
        self.origin + self.direction * t
    }
}

/// A frame to measure in: world to local is `to_local * (p - origin)`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub origin: DVec3,
    pub to_local: DMat3,
}

impl Frame {
    pub fn point(&self, world: DVec3) -> DVec3 {
        self.to_local * (world - self.origin)
    }

    pub fn ray(&self, ray: &Ray) -> Ray {
        Ray { origin: self.point(ray.origin), direction: self.to_local * ray.direction }
    }

    pub fn normal_to_world(&self, local: DVec3) -> DVec3 {
        self.to_local.transpose() * local
    }
}

/// A box with its frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Brick {
    pub frame: Frame,
    pub half: DVec3,
}

/// A capsule with its frame; the core runs along local z.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pill {
    pub frame: Frame,
    pub radius: f64,
    pub half_length: f64,
}

/// Span of the ray inside the ball, both ends possibly behind the origin.
pub(super) fn ball_span(ray: &Ray, centre: DVec3, radius: f64) -> Option<(f64, f64)> {
    let to_centre = centre - ray.origin;
    let along = to_centre.dot(ray.direction);
    // The offset of the centre from the ray, rather than |to_centre|² - along², keeps digits when the ball is
    // far.
    let off = to_centre - along * ray.direction;
    let discriminant = radius * radius - off.length_squared();
    if discriminant < 0.0 {
        return None;
    }
    let half = discriminant.sqrt();
    Some((along - half, along + half))
}

/// Part of the ray with `|coordinate| <= half`, one axis of a box.
pub(super) fn slab(origin: f64, direction: f64, half: f64) -> Option<(f64, f64)> {
    if direction == 0.0 {
        return (origin.abs() <= half).then_some((f64::NEG_INFINITY, f64::INFINITY));
    }
    let (a, b) = ((-half - origin) / direction, (half - origin) / direction);
    Some(if a < b { (a, b) } else { (b, a) })
}

pub(super) fn overlap(a: (f64, f64), b: (f64, f64)) -> Option<(f64, f64)> {
    let both = (a.0.max(b.0), a.1.min(b.1));
    (both.0 <= both.1).then_some(both)
}

impl Brick {
    pub fn span(&self, ray: &Ray) -> Option<(f64, f64)> {
        let r = self.frame.ray(ray);
        let x = slab(r.origin.x, r.direction.x, self.half.x)?;
        let y = slab(r.origin.y, r.direction.y, self.half.y)?;
        let z = slab(r.origin.z, r.direction.z, self.half.z)?;
        overlap(overlap(x, y)?, z)
    }

    /// Outward normal at a point on the surface, in the world.
    pub fn normal(&self, world: DVec3) -> DVec3 {
        let p = self.frame.point(world);
        let depth = self.half - p.abs();
        let local = if depth.x <= depth.y && depth.x <= depth.z {
            DVec3::X * p.x.signum()
        } else if depth.y <= depth.z {
            DVec3::Y * p.y.signum()
        } else {
            DVec3::Z * p.z.signum()
        };
        self.frame.normal_to_world(local)
    }

    /// Distance from a point on a face to the nearest edge of that face, m.
    pub fn distance_to_edge(&self, world: DVec3) -> f64 {
        let depth = (self.half - self.frame.point(world).abs()).to_array();
        // The smallest of the three is the face itself; the next is the nearest edge.
        let face = (0..3).fold(0, |best, k| if depth[k] < depth[best] { k } else { best });
        (0..3).filter(|&k| k != face).map(|k| depth[k]).fold(f64::INFINITY, f64::min)
    }
}

impl Pill {
    pub fn span(&self, ray: &Ray) -> Option<(f64, f64)> {
        let r = self.frame.ray(ray);
        let tip = DVec3::Z * self.half_length;
        let parts =
            [self.cylinder_span(&r), ball_span(&r, tip, self.radius), ball_span(&r, -tip, self.radius)];
        // The capsule is convex, so the union of the spans of its parts is one span.
        parts.into_iter().flatten().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    fn cylinder_span(&self, r: &Ray) -> Option<(f64, f64)> {
        let along_z = slab(r.origin.z, r.direction.z, self.half_length)?;
        overlap(tube_span(r, self.radius)?, along_z)
    }

    pub fn normal(&self, world: DVec3) -> DVec3 {
        let p = self.frame.point(world);
        let core = DVec3::Z * p.z.clamp(-self.half_length, self.half_length);
        self.frame.normal_to_world((p - core).normalize_or(DVec3::Z))
    }
}

/// Where the ray crosses the triangle, from either side [MollerTrumbore1997]: the distance, and the shares of
/// the second and third corner.
pub(super) fn triangle_crossing(ray: &Ray, [a, b, c]: &[DVec3; 3]) -> Option<(f64, f64, f64)> {
    let (ab, ac) = (*b - *a, *c - *a);
    let p = ray.direction.cross(ac);
    let determinant = ab.dot(p);
    if determinant == 0.0 {
        return None;
    }
    let s = ray.origin - *a;
    let u = s.dot(p) / determinant;
    let q = s.cross(ab);
    let v = ray.direction.dot(q) / determinant;
    (u >= 0.0 && v >= 0.0 && u + v <= 1.0).then(|| (ac.dot(q) / determinant, u, v))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(origin: DVec3) -> Frame {
        Frame { origin, to_local: DMat3::from_rotation_y(0.3).transpose() }
    }

    #[test]
    fn spans_end_on_the_surface() {
        // Signed distances: each end of a span lies on the surface, its middle inside.
        let pill = Pill { frame: frame(DVec3::new(0.1, 0.2, 0.3)), radius: 0.4, half_length: 0.7 };
        let pill_distance = |p: DVec3| {
            let p = pill.frame.point(p);
            (p - DVec3::Z * p.z.clamp(-0.7, 0.7)).length() - 0.4
        };
        let brick = Brick { frame: frame(DVec3::new(-0.1, 0.1, 0.0)), half: DVec3::new(0.5, 0.3, 0.8) };
        let brick_distance = |p: DVec3| (brick.frame.point(p).abs() - brick.half).max_element();
        let (mut hits, mut misses) = (0, 0);
        for i in 0..20 {
            for j in 0..20 {
                let origin = DVec3::new(3.0, i as f64 * 0.1 - 1.0, 2.0);
                let target = DVec3::new(0.0, 0.3, j as f64 * 0.2 - 2.0);
                let ray = Ray { origin, direction: (target - origin).normalize() };
                let check = |span: Option<(f64, f64)>, distance: &dyn Fn(DVec3) -> f64| match span {
                    Some((enter, leave)) => {
                        assert!(distance(ray.at(enter)).abs() < 1e-12);
                        assert!(distance(ray.at(leave)).abs() < 1e-12);
                        assert!(distance(ray.at(0.5 * (enter + leave))) < 1e-12);
                        1
                    }
                    None => {
                        assert!((0..600).all(|k| distance(ray.at(k as f64 * 0.01)) > -1e-12));
                        0
                    }
                };
                let n = check(pill.span(&ray), &pill_distance) + check(brick.span(&ray), &brick_distance);
                hits += n;
                misses += 2 - n;
            }
        }
        assert!(hits > 50 && misses > 50, "{hits} hits, {misses} misses");
    }

    #[test]
    fn a_triangle_is_crossed_inside_only() {
        let triangle = [DVec3::ZERO, DVec3::X, DVec3::Y];
        let down = |x: f64, y: f64| Ray { origin: DVec3::new(x, y, 2.0), direction: DVec3::NEG_Z };
        assert_eq!(triangle_crossing(&down(0.25, 0.25), &triangle), Some((2.0, 0.25, 0.25)));
        assert_eq!(triangle_crossing(&down(0.6, 0.6), &triangle), None);
        assert_eq!(triangle_crossing(&down(-0.1, 0.5), &triangle), None);
    }
}
