//! Convex solids beyond balls, boxes and capsules: where a line enters and leaves them, and their normals.
//!
//! Everything here is in the solid's own frame. Rounded solids are met by Newton's method: the distance to a
//! convex core along a line is a convex function, so that from outside its tangents never overshoot, and a
//! tangent that no longer falls proves that the line passes by.

use glam::{DVec2, DVec3};

use super::Solid;
use super::ray::{Ray, overlap, slab};

/// A convex solid in its own frame.
#[derive(Clone, Debug)]
pub(super) enum Figure {
    Cylinder {
        radius: f64,
        half_length: f64,
    },
    Cone {
        radius: f64,
        height: f64,
    },
    Ellipsoid {
        half: DVec3,
    },
    Polyhedron(Polyhedron),
    /// All points within `radius` of the core.
    Rounded {
        core: Core,
        radius: f64,
    },
}

/// What can be rounded.
#[derive(Clone, Debug)]
pub(super) enum Core {
    Box { half: DVec3 },
    Cylinder { radius: f64, half_length: f64 },
    Cone { radius: f64, height: f64 },
    Polyhedron(Polyhedron),
}

/// The common part of half-spaces, with the polygons that bound it.
#[derive(Clone, Debug)]
pub(super) struct Polyhedron {
    /// Normal and offset: inside is normal · x <= offset.
    planes: Vec<(DVec3, f64)>,
    /// Corners of each face, counter-clockwise from outside.
    rings: Vec<Vec<DVec3>>,
    reach: f64,
}

type Span = Option<(f64, f64)>;

impl Figure {
    /// `None` for solids that are drawn by other means.
    pub fn of(solid: &Solid) -> Option<Self> {
        Some(match solid {
            Solid::Cylinder { radius, half_length } => {
                Figure::Cylinder { radius: *radius, half_length: *half_length }
            }
            Solid::Cone { radius, height } => Figure::Cone { radius: *radius, height: *height },
            Solid::Ellipsoid { half } => Figure::Ellipsoid { half: *half },
            Solid::Convex { vertices, faces } => Figure::Polyhedron(Polyhedron::new(vertices, faces)),
            Solid::Rounded { core, radius } => {
                let core = match core.as_ref() {
                    Solid::Box { half } => Core::Box { half: *half },
                    Solid::Cylinder { radius, half_length } => {
                        Core::Cylinder { radius: *radius, half_length: *half_length }
                    }
                    Solid::Cone { radius, height } => Core::Cone { radius: *radius, height: *height },
                    Solid::Convex { vertices, faces } => Core::Polyhedron(Polyhedron::new(vertices, faces)),
                    _ => return None,
                };
                Figure::Rounded { core, radius: *radius }
            }
            _ => return None,
        })
    }

    /// The part of the line inside, both ends possibly behind the origin.
    pub fn span(&self, ray: &Ray) -> Span {
        // Measured from the point of the line nearest to the middle of the solid: an eye far away costs no
        // digits.
        let shift = -ray.origin.dot(ray.direction);
        let near = Ray { origin: ray.at(shift), direction: ray.direction };
        let (enter, leave) = match self {
            Figure::Cylinder { radius, half_length } => {
                let z = slab(near.origin.z, near.direction.z, *half_length)?;
                overlap(tube_span(&near, *radius)?, z)
            }
            Figure::Cone { radius, height } => cone_span(&near, *radius, *height),
            Figure::Ellipsoid { half } => {
                let (o, d) = (near.origin / *half, near.direction / *half);
                let a = d.length_squared();
                let middle = -o.dot(d) / a;
                let off = 1.0 - (o + middle * d).length_squared();
                let reach = (off >= 0.0).then(|| (off / a).sqrt());
                reach.map(|r| (middle - r, middle + r))
            }
            Figure::Polyhedron(p) => p.span(&near),
            Figure::Rounded { core, radius } => core.rounded_span(&near, *radius),
        }?;
        Some((enter + shift, leave + shift))
    }

    /// Outward normal at a point of the surface.
    pub fn normal(&self, p: DVec3) -> DVec3 {
        match self {
            Figure::Cylinder { radius, half_length } => {
                if p.z.abs() - half_length > p.truncate().length() - radius {
                    DVec3::Z * p.z.signum()
                } else {
                    p.with_z(0.0).normalize_or(DVec3::X)
                }
            }
            Figure::Cone { radius, height } => {
                let side = cone_side(p, *radius, *height);
                if -0.25 * height - p.z > side.1 { DVec3::NEG_Z } else { side.0 }
            }
            Figure::Ellipsoid { half } => (p / (*half * *half)).normalize_or(DVec3::Z),
            Figure::Polyhedron(poly) => poly.planes[poly.face_at(p)].0,
            Figure::Rounded { core, .. } => (p - core.closest(p)).normalize_or(DVec3::Z),
        }
    }

    /// Distance from a point of a face to the nearest sharp edge; `None` without any.
    pub fn distance_to_edge(&self, p: DVec3) -> Option<f64> {
        match self {
            Figure::Cylinder { radius, half_length } => {
                let rim = DVec2::new(p.truncate().length() - radius, p.z.abs() - half_length);
                Some(rim.length())
            }
            Figure::Cone { radius, height } => {
                Some(DVec2::new(p.truncate().length() - radius, p.z + 0.25 * height).length())
            }
            Figure::Polyhedron(poly) => Some(
                ring_edges(&poly.rings[poly.face_at(p)])
                    .map(|(a, b)| (p - nearest_on_segment(p, a, b)).length())
                    .fold(f64::INFINITY, f64::min),
            ),
            Figure::Ellipsoid { .. } | Figure::Rounded { .. } => None,
        }
    }
}

/// Inside of the endless cylinder about z.
pub(super) fn tube_span(r: &Ray, radius: f64) -> Span {
    let (o, d) = (r.origin.truncate(), r.direction.truncate());
    let a = d.length_squared();
    if a == 0.0 {
        return (o.length_squared() <= radius * radius).then_some((f64::NEG_INFINITY, f64::INFINITY));
    }
    let middle = -o.dot(d) / a;
    let left = radius * radius - (o + d * middle).length_squared();
    let half = (left >= 0.0).then(|| (left / a).sqrt())?;
    Some((middle - half, middle + half))
}

/// Apex at 3/4 of the height above the origin, base 1/4 below.
fn cone_span(r: &Ray, radius: f64, height: f64) -> Span {
    let (slope, apex) = (radius / height, 0.75 * height);
    let along = slab(r.origin.z - 0.25 * height, r.direction.z, 0.5 * height)?;
    let (o, d) = (r.origin.truncate(), r.direction.truncate());
    // |o + t d|² <= slope² (apex - z(t))²: a t² + 2 b t + c <= 0.
    let below = apex - r.origin.z;
    let a = d.length_squared() - (slope * r.direction.z).powi(2);
    let b = o.dot(d) + slope * slope * below * r.direction.z;
    let c = o.length_squared() - (slope * below).powi(2);
    if a.abs() < 1e-12 {
        let cut = -c / (2.0 * b);
        let half = if b > 0.0 { (f64::NEG_INFINITY, cut) } else { (cut, f64::INFINITY) };
        return if b == 0.0 { (c <= 0.0).then_some(along) } else { overlap(half, along) };
    }
    let root = (b * b - a * c >= 0.0).then(|| (b * b - a * c).sqrt());
    let root = root?;
    let (t1, t2) = ((-b - root) / a, (-b + root) / a);
    if a > 0.0 {
        return overlap((t1, t2), along);
    }
    // A steep line is inside of both halves of the double cone; the slab holds one of them.
    let (low, high) = (t1.min(t2), t1.max(t2));
    let parts = [overlap((f64::NEG_INFINITY, low), along), overlap((high, f64::INFINITY), along)];
    parts.into_iter().flatten().max_by(|x, y| (x.1 - x.0).total_cmp(&(y.1 - y.0)))
}

/// Normal of the cone's side at a point, and its distance beyond the side.
fn cone_side(p: DVec3, radius: f64, height: f64) -> (DVec3, f64) {
    let out = p.with_z(0.0).normalize_or(DVec3::X);
    let normal = (out * height + DVec3::Z * radius).normalize();
    (normal, normal.dot(p - DVec3::Z * 0.75 * height))
}

fn nearest_on_segment(p: DVec3, a: DVec3, b: DVec3) -> DVec3 {
    let d = b - a;
    let t = (p - a).dot(d) / d.length_squared();
    a + d * if t.is_finite() { t.clamp(0.0, 1.0) } else { 0.0 }
}

fn ring_edges(ring: &[DVec3]) -> impl Iterator<Item = (DVec3, DVec3)> + '_ {
    (0..ring.len()).map(|k| (ring[k], ring[(k + 1) % ring.len()]))
}

impl Polyhedron {
    fn new(vertices: &[DVec3], faces: &[Vec<u32>]) -> Self {
        let mut planes = Vec::with_capacity(faces.len());
        let mut rings = Vec::with_capacity(faces.len());
        for face in faces {
            let ring: Vec<DVec3> = face.iter().map(|&i| vertices[i as usize]).collect();
            let normal: DVec3 = ring_edges(&ring).map(|(a, b)| (a - ring[0]).cross(b - ring[0])).sum();
            let Some(normal) = normal.try_normalize() else { continue };
            let offset = ring.iter().map(|v| v.dot(normal)).fold(f64::NEG_INFINITY, f64::max);
            planes.push((normal, offset));
            rings.push(ring);
        }
        let reach = vertices.iter().map(|v| v.length()).fold(0.0, f64::max);
        Self { planes, rings, reach }
    }

    fn span(&self, r: &Ray) -> Span {
        let mut span = (f64::NEG_INFINITY, f64::INFINITY);
        for &(n, offset) in &self.planes {
            let (slope, room) = (n.dot(r.direction), offset - n.dot(r.origin));
            if slope == 0.0 {
                if room < 0.0 {
                    return None;
                }
                continue;
            }
            let t = room / slope;
            span = if slope > 0.0 { (span.0, span.1.min(t)) } else { (span.0.max(t), span.1) };
            if span.0 > span.1 {
                return None;
            }
        }
        (!self.planes.is_empty()).then_some(span)
    }

    /// The face that a point of the surface lies on.
    fn face_at(&self, p: DVec3) -> usize {
        let beyond = |k: usize| self.planes[k].0.dot(p) - self.planes[k].1;
        (1..self.planes.len()).fold(0, |best, k| if beyond(k) > beyond(best) { k } else { best })
    }

    fn closest(&self, p: DVec3) -> DVec3 {
        let mut best = (f64::INFINITY, p);
        for (&(n, offset), ring) in self.planes.iter().zip(&self.rings) {
            let height = n.dot(p) - offset;
            if height <= 0.0 {
                continue;
            }
            let foot = p - height * n;
            let over = ring_edges(ring).all(|(a, b)| (b - a).cross(foot - a).dot(n) >= 0.0);
            if over {
                return foot;
            }
            for (a, b) in ring_edges(ring) {
                let q = nearest_on_segment(p, a, b);
                let d = (p - q).length_squared();
                if d < best.0 {
                    best = (d, q);
                }
            }
        }
        best.1
    }
}

impl Core {
    /// The point of the core nearest to a point; the point itself inside.
    fn closest(&self, p: DVec3) -> DVec3 {
        match self {
            Core::Box { half } => p.clamp(-*half, *half),
            Core::Cylinder { radius, half_length } => {
                let flat = p.truncate().clamp_length_max(*radius);
                flat.extend(p.z.clamp(-half_length, *half_length))
            }
            Core::Cone { radius, height } => {
                let (base, apex) = (-0.25 * height, 0.75 * height);
                let inside = p.z >= base && cone_side(p, *radius, *height).1 <= 0.0;
                if inside {
                    return p;
                }
                let out = p.with_z(0.0).normalize_or(DVec3::X);
                let rim = out * *radius + DVec3::Z * base;
                let on_side = nearest_on_segment(p, rim, DVec3::Z * apex);
                let on_base = p.truncate().clamp_length_max(*radius).extend(base);
                let far = |q: &DVec3| (p - *q).length_squared();
                // Above the base only the side can be near.
                if p.z < base && far(&on_base) < far(&on_side) { on_base } else { on_side }
            }
            Core::Polyhedron(p0) => p0.closest(p),
        }
    }

    fn reach(&self) -> f64 {
        match self {
            Core::Box { half } => half.length(),
            Core::Cylinder { radius, half_length } => radius.hypot(*half_length),
            Core::Cone { radius, height } => radius.hypot(0.25 * height).max(0.75 * height),
            Core::Polyhedron(p) => p.reach,
        }
    }

    fn rounded_span(&self, r: &Ray, radius: f64) -> Span {
        let reach = self.reach() + radius;
        let off = reach * reach - r.origin.length_squared();
        if off <= 0.0 {
            return None;
        }
        let far = off.sqrt() * 1.001 + 1e-6 * reach;
        let enter = self.approach(r, -far, radius, reach)?;
        let back = Ray { origin: r.origin, direction: -r.direction };
        let leave = -self.approach(&back, -far, radius, reach)?;
        (enter <= leave).then_some((enter, leave))
    }

    /// The first point within `radius` of the core, from a place outside.
    fn approach(&self, r: &Ray, mut t: f64, radius: f64, reach: f64) -> Option<f64> {
        for _ in 0..60 {
            let p = r.at(t);
            let away = p - self.closest(p);
            let distance = away.length();
            let gap = distance - radius;
            if gap <= 1e-9 * reach {
                return Some(t);
            }
            let slope = away.dot(r.direction) / distance;
            if slope >= 0.0 {
                return None;
            }
            t -= gap / slope;
        }
        // A line that grazes converges slowly: it is as good as on the surface by now.
        Some(t)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn octahedron() -> (Vec<DVec3>, Vec<Vec<u32>>) {
        let v = [DVec3::X, DVec3::Y, DVec3::Z].iter().flat_map(|&a| [0.5 * a, -0.7 * a]).collect();
        let mut faces = Vec::new();
        for k in 0..8_u32 {
            let [x, y, z] = [k & 1, 2 + (k >> 1 & 1), 4 + (k >> 2 & 1)];
            let flips = (k & 1) ^ (k >> 1 & 1) ^ (k >> 2 & 1);
            faces.push(if flips == 0 { vec![x, y, z] } else { vec![x, z, y] });
        }
        (v, faces)
    }

    fn all() -> Vec<Solid> {
        let (vertices, faces) = octahedron();
        let cores = vec![
            Solid::Cylinder { radius: 0.5, half_length: 0.7 },
            Solid::Cone { radius: 0.6, height: 1.2 },
            Solid::Convex { vertices, faces },
            Solid::Box { half: DVec3::new(0.3, 0.4, 0.6) },
        ];
        let mut solids: Vec<Solid> = cores[..3].to_vec();
        solids.push(Solid::Ellipsoid { half: DVec3::new(0.3, 0.6, 0.9) });
        solids.extend(cores.into_iter().map(|c| Solid::Rounded { core: Box::new(c), radius: 0.15 }));
        solids
    }

    /// Whether a point is inside, straight from the definitions.
    fn inside(solid: &Solid, p: DVec3) -> f64 {
        let rho = p.truncate().length();
        match solid {
            Solid::Box { half } => (p.abs() - *half).max_element(),
            Solid::Cylinder { radius, half_length } => (rho - radius).max(p.z.abs() - half_length),
            Solid::Cone { radius, height } => {
                (rho / radius - (0.75 * height - p.z) / height).max((-0.25 * height - p.z) / height)
            }
            Solid::Ellipsoid { half } => (p / *half).length() - 1.0,
            Solid::Convex { vertices, faces } => faces
                .iter()
                .map(|f| {
                    let [a, b, c] = [f[0], f[1], f[2]].map(|i| vertices[i as usize]);
                    (b - a).cross(c - a).normalize().dot(p - a)
                })
                .fold(f64::NEG_INFINITY, f64::max),
            // Within reach of some point of the core: looked for among points strewn over a ball about p.
            Solid::Rounded { .. } => unreachable!("tested by the distance to many core points"),
            _ => unreachable!(),
        }
    }

    fn lines() -> impl Iterator<Item = Ray> {
        (0..40).flat_map(|i| {
            (0..40).map(move |j| {
                let origin = DVec3::new(3.0, i as f64 * 0.07 - 1.37, 2.0 - 0.05 * j as f64);
                let target = DVec3::new(0.07 * j as f64 - 1.41, 0.21, j as f64 * 0.05 - 1.0);
                Ray { origin, direction: (target - origin).normalize() }
            })
        })
    }

    #[test]
    fn spans_end_on_the_surface_and_hold_the_inside() {
        for solid in all().iter().filter(|s| !matches!(s, Solid::Rounded { .. })) {
            let figure = Figure::of(solid).unwrap();
            let (mut hits, mut misses) = (0, 0);
            for ray in lines() {
                let steps = (0..700).map(|k| inside(solid, ray.at(k as f64 * 0.01)));
                match figure.span(&ray) {
                    Some((enter, leave)) => {
                        hits += 1;
                        assert!(inside(solid, ray.at(enter)).abs() < 1e-9, "{solid:?}");
                        assert!(inside(solid, ray.at(leave)).abs() < 1e-9, "{solid:?}");
                        assert!(inside(solid, ray.at(0.5 * (enter + leave))) < 1e-9);
                    }
                    None => {
                        misses += 1;
                        steps.for_each(|d| assert!(d > -1e-9, "{solid:?} {ray:?} {d}"));
                    }
                }
            }
            assert!(hits > 100 && misses > 100, "{solid:?}: {hits} {misses}");
        }
    }

    #[test]
    fn rounded_surfaces_are_a_radius_away_from_the_core() {
        // Distances to the core by a search of their own: the lowest of many points of it along coordinates.
        for solid in all() {
            let Solid::Rounded { core, radius } = &solid else { continue };
            let grid: Vec<DVec3> = (0..61 * 61 * 61)
                .map(|k| DVec3::new((k % 61) as f64, (k / 61 % 61) as f64, (k / 3721) as f64) / 30.0 - 1.0)
                .filter(|&p| inside(core, p) <= 0.0)
                .collect();
            let figure = Figure::of(&solid).unwrap();
            let mut hits = 0;
            for ray in lines().step_by(23) {
                let Some((enter, leave)) = figure.span(&ray) else { continue };
                for t in [enter, leave] {
                    let p = ray.at(t);
                    let found = grid.iter().map(|q| (p - *q).length()).fold(f64::INFINITY, f64::min);
                    // The nearest grid point is further than the nearest point, by a cell at most.
                    assert!(found > radius - 1e-6 && found < radius + 0.06, "{core:?} {found}");
                    let n = figure.normal(p);
                    let under = p - n * *radius;
                    assert!(inside(core, under) < 1e-6, "{core:?} {under}");
                }
                hits += 1;
            }
            assert!(hits > 5);
        }
    }

    #[test]
    fn normals_point_out_and_are_steepest() {
        for solid in all().iter().filter(|s| !matches!(s, Solid::Rounded { .. })) {
            let figure = Figure::of(solid).unwrap();
            for ray in lines().step_by(7) {
                let Some((enter, _)) = figure.span(&ray) else { continue };
                let p = ray.at(enter);
                let n = figure.normal(p);
                assert!((n.length() - 1.0).abs() < 1e-12);
                if figure.distance_to_edge(p).is_none_or(|d| d > 1e-3) {
                    assert!(inside(solid, p + 1e-6 * n) > 0.0 && inside(solid, p - 1e-6 * n) < 0.0);
                    let (a, b) = n.any_orthonormal_pair();
                    // The surface is level along its tangents.
                    for d in [a, b] {
                        let slope = (inside(solid, p + 1e-6 * d) - inside(solid, p - 1e-6 * d)) / 2e-6;
                        assert!(slope.abs() < 1e-3, "{solid:?} {slope}");
                    }
                }
            }
        }
    }
}
