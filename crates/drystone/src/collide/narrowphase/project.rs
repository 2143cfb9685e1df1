//! The point of a core's surface nearest to a point, in closed form or nearly so: what a sphere needs, and a
//! ray.

use glam::{DVec2, DVec3};

use super::convex::{Convex, Kind, Pair};
use super::general;
use crate::shape::{Hull, Pose};

/// Where a core is nearest to a point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Projection {
    /// Signed distance of the point from the surface of the core, m; negative inside.
    pub(crate) distance: f64,
    /// The nearest point of the surface.
    pub(crate) point: DVec3,
    /// Unit outward normal there, towards or away from the point.
    pub(crate) normal: DVec3,
}

impl Convex<'_> {
    /// The point of the shape's surface nearest to `p`, all in the frame of the shape.
    pub(crate) fn project(&self, p: DVec3) -> Projection {
        if p.is_nan() {
            return Projection { distance: f64::NAN, point: p, normal: DVec3::Z };
        }
        let on_core = match self.kind {
            Kind::Point => segment(p, 0.0),
            Kind::Segment { half } => segment(p, half),
            Kind::Box { half } => cuboid(p, half),
            Kind::Cylinder { radius, half } => revolved(p, &cylinder_profile(radius, half)),
            Kind::Cone { radius, apex, base } => revolved(p, &cone_profile(radius, apex, base)),
            Kind::Ellipsoid { squares, less } => {
                // The ellipsoid itself, of which the core is a part.
                let whole = ellipsoid(p, squares);
                return Projection {
                    distance: whole.distance - (self.radius - less),
                    point: whole.point + whole.normal * (self.radius - less),
                    normal: whole.normal,
                };
            }
            Kind::Hull(hull) => polyhedron(p, hull),
        };
        Projection {
            distance: on_core.distance - self.radius,
            point: on_core.point + on_core.normal * self.radius,
            normal: on_core.normal,
        }
    }
}

fn segment(p: DVec3, half: f64) -> Projection {
    let point = DVec3::Z * p.z.clamp(-half, half);
    let away = p - point;
    let distance = away.length();
    let normal = if distance > 1e-140 { away / distance } else { DVec3::X };
    Projection { distance, point, normal }
}

fn cuboid(p: DVec3, half: DVec3) -> Projection {
    let clamped = p.clamp(-half, half);
    let away = p - clamped;
    let distance = away.length();
    if distance > 1e-140 {
        return Projection { distance, point: clamped, normal: away / distance };
    }
    let height = p.abs() - half;
    let mut k = 0;
    for j in 1..3 {
        if height[j] > height[k] {
            k = j;
        }
    }
    let normal = DVec3::AXES[k] * super::sign(p[k]);
    let mut point = p;
    point[k] = half[k] * super::sign(p[k]);
    Projection { distance: height[k], point, normal }
}

/// The outline of a solid of revolution in the half-plane (distance from the axis, height): a convex chain
/// that begins and ends on the axis, with unit outward normals.
struct Profile {
    points: [DVec2; 4],
    len: usize,
}

fn cylinder_profile(radius: f64, half: f64) -> Profile {
    Profile {
        points: [
            DVec2::new(0.0, half),
            DVec2::new(radius, half),
            DVec2::new(radius, -half),
            DVec2::new(0.0, -half),
        ],
        len: 4,
    }
}

fn cone_profile(radius: f64, apex: f64, base: f64) -> Profile {
    Profile {
        points: [DVec2::new(0.0, apex), DVec2::new(radius, base), DVec2::new(0.0, base), DVec2::ZERO],
        len: 3,
    }
}

fn revolved(p: DVec3, profile: &Profile) -> Projection {
    let across = p.x.hypot(p.y);
    let outward = if across > 1e-140 { DVec2::new(p.x, p.y) / across } else { DVec2::X };
    let q = DVec2::new(across, p.z);
    let mut inside = (f64::NEG_INFINITY, DVec2::ZERO, DVec2::ZERO);
    let mut outside = (f64::INFINITY, DVec2::ZERO, DVec2::ZERO);
    for pair in profile.points[..profile.len].windows(2) {
        let (from, along) = (pair[0], pair[1] - pair[0]);
        let squared = along.length_squared();
        // The chain runs down the outside, so the outward normal is to its left.
        let normal = along.perp() / squared.sqrt();
        let height = (q - from).dot(normal);
        let t = (q - from).dot(along) / squared;
        if height > inside.0 {
            inside = (height, q - normal * height, normal);
        }
        let near = if t <= 0.0 {
            from
        } else if t >= 1.0 {
            pair[1]
        } else {
            q - normal * height
        };
        let distance = if t > 0.0 && t < 1.0 { height.abs() } else { q.distance(near) };
        if distance < outside.0 {
            let away = if t > 0.0 && t < 1.0 { normal } else { (q - near) / distance };
            outside = (distance, near, away);
        }
    }
    let (distance, point, normal) = if inside.0 <= 0.0 { inside } else { outside };
    let lift = |v: DVec2| DVec3::new(outward.x * v.x, outward.y * v.x, v.y);
    Projection { distance, point: lift(point), normal: lift(normal) }
}

/// The nearest point x of an ellipsoid satisfies p - x = t x / a² for some t, component by component, so that
/// Σ (a p / (t + a²))² = 1 with the largest root t > -c² [Eberly2013]. The left side falls in t: Newton's
/// method from the left of the root never overshoots, and bisection keeps it between its bounds where it is
/// slow.
fn ellipsoid(p: DVec3, squares: DVec3) -> Projection {
    let least = squares.min_element();
    // In units of the shortest semi-axis.
    let unit = least.sqrt();
    let (e, z) = (squares / least, p / unit);
    // x = e z / (s + e) with s = t / least, |.| along each axis in units of its semi-axis: √e z / (s + e).
    let y = e.map(f64::sqrt) * z;
    let excess = |s: f64| (y / (e + s)).length_squared() - 1.0;
    // At the lower bound the shortest axes alone reach 1, at the upper bound all together do not.
    let shortest = DVec3::from_array(e.to_array().map(|x| f64::from(x == 1.0)));
    let mut low = ((y * shortest).length() - 1.0).max(-1.0 + 2.0 * f64::EPSILON);
    let mut high = y.length() - 1.0;
    if excess(low) <= 0.0 && low < -0.5 {
        return deep_in_ellipsoid(squares, unit, e, z, shortest);
    }
    let mut s = low;
    for _ in 0..200 {
        let f = y / (e + s);
        let value = f.length_squared() - 1.0;
        if value > 0.0 {
            low = s;
        } else {
            high = s;
        }
        let slope = -2.0 * (f * f / (e + s)).element_sum();
        // Newton on 1 - 1/√(1 + value): nearly straight where value itself is steep.
        let root = (1.0 + value).sqrt();
        let mut next = s - 2.0 * (1.0 + value) * (root - 1.0) / slope;
        if !(next > low && next < high) {
            next = 0.5 * (low + high);
        }
        if (next - s).abs() <= 1e-16 * (1.0 + s.abs()) || next == low || next == high {
            s = next;
            break;
        }
        s = next;
    }
    let direction = z / (e + s);
    let length = direction.length();
    let normal = direction / length;
    let point = e * direction * unit;
    Projection { distance: s * length * unit, point, normal }
}

/// A point so deep inside, on the plane across the shortest axis, that the nearest points lie in a pair above
/// and below.
fn deep_in_ellipsoid(squares: DVec3, unit: f64, e: DVec3, z: DVec3, shortest: DVec3) -> Projection {
    let long = |k: usize| if e[k] > 1.0 { e[k] * z[k] / (e[k] - 1.0) } else { 0.0 };
    let mut x = DVec3::new(long(0), long(1), long(2));
    let rest = (1.0 - (x * x / e).element_sum()).max(0.0).sqrt();
    let first = DVec3::AXES[shortest.max_position()];
    x += (z * shortest).try_normalize().unwrap_or(first) * rest;
    let point = x * unit;
    let normal = (point / squares).normalize_or(first);
    Projection { distance: -(z - x).length() * unit, point, normal }
}

/// Outside, by the distance of the point and the hull; inside, through the nearest face.
fn polyhedron(p: DVec3, hull: &Hull) -> Projection {
    let core = Convex { kind: Kind::Hull(hull), radius: 0.0 };
    let point = Convex { kind: Kind::Point, radius: 0.0 };
    if let Some(c) = general::apart(&Pair::new(core, &Pose::IDENTITY, point, &Pose::at(p))) {
        return Projection { distance: c.separation, point: c.on_a, normal: -c.normal };
    }
    let mut highest = (f64::NEG_INFINITY, DVec3::Z);
    for f in hull.faces() {
        let height = f.normal.dot(p) - f.offset;
        if height > highest.0 {
            highest = (height, f.normal);
        }
    }
    Projection { distance: highest.0, point: p - highest.1 * highest.0, normal: highest.1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::shape::Shape;

    /// The nearest point is on the surface, no sampled point of the surface is nearer, and the normal is that
    /// of the support plane.
    #[test]
    fn nothing_on_the_surface_is_nearer() {
        let mut random = Random::new(17);
        for round in 0..3000 {
            let mut size = || random.range(0.1, 2.0);
            let (x, y, z) = (size(), size(), size());
            let shape = match round % 4 {
                0 => Shape::Cylinder { radius: x, half_length: y },
                1 => Shape::Cone { radius: x, height: y },
                2 => Shape::Ellipsoid { half: DVec3::new(x, y, z) },
                _ => Shape::Ellipsoid { half: DVec3::new(x, x, z) },
            };
            let core = Convex::of(&shape).unwrap();
            let mut p = 2.0 * random.in_ball();
            if round % 5 == 0 {
                p[round % 3] = 0.0;
            }
            let found = core.project(p);
            let context = format!("{shape:?} {p} {found:?}");
            assert!((found.normal.length() - 1.0).abs() < 1e-12, "{context}");
            assert!((p - found.point - found.normal * found.distance).length() < 1e-12, "{context}");
            let plane = found.normal.dot(shape.support(found.normal));
            assert!((plane - found.normal.dot(found.point)).abs() < 1e-12, "{context}");
            // Inside, every support plane is at least as far away; outside none is further.
            for _ in 0..300 {
                let n = random.unit_vector();
                let height = n.dot(p - shape.support(n));
                assert!(height <= found.distance + 1e-12, "{context}: {height} along {n}");
            }
        }
    }

    #[test]
    fn ellipsoid_from_its_centre_and_its_axes() {
        let shape = Shape::Ellipsoid { half: DVec3::new(3.0, 2.0, 1.0) };
        let core = Convex::of(&shape).unwrap();
        let middle = core.project(DVec3::ZERO);
        assert!((middle.distance + 1.0).abs() < 1e-14 && middle.normal.z.abs() > 1.0 - 1e-14, "{middle:?}");
        let far = core.project(DVec3::X * 5.0);
        assert!((far.distance - 2.0).abs() < 1e-14 && far.point.distance(DVec3::X * 3.0) < 1e-14);
        // Beyond the centre of curvature at the end of the long axis, c²/a = 1/3 from it, the pole is not
        // nearest.
        let inner = core.project(DVec3::X * 2.0);
        assert!(inner.distance > -1.0 && inner.point.x < 3.0, "{inner:?}");
    }
}
