//! Where a ray enters a convex shape, in the frame of the shape.

use glam::{DVec2, DVec3};

use crate::collide::narrowphase::Convex;
use crate::shape::{Hull, Shape};

/// What a ray does in the frame of the shape.
pub(super) enum Hit {
    Miss,
    Inside,
    /// Distance and outward normal.
    Surface(f64, DVec3),
}

/// Where the ray from `o` along the unit vector `d` enters the shape.
pub(super) fn cast(shape: &Shape, o: DVec3, d: DVec3) -> Hit {
    match shape {
        Shape::Sphere { radius } => ball(o, d, *radius),
        Shape::HalfSpace => half_space(o, d),
        Shape::Box { half } => cuboid(o, d, *half),
        Shape::Capsule { radius, half_length } => capsule(o, d, *radius, *half_length),
        Shape::Cylinder { radius, half_length } => cylinder(o, d, *radius, *half_length),
        Shape::Cone { radius, height } => cone(o, d, *radius, *height),
        Shape::Ellipsoid { half } => ellipsoid(o, d, *half),
        Shape::Hull(hull) => polyhedron(o, d, hull),
        Shape::Rounded { .. } => Convex::of(shape).map_or(Hit::Miss, |core| by_distance(o, d, &core)),
        Shape::Mesh(_) | Shape::HeightField(_) | Shape::Compound(_) => Hit::Miss,
    }
}

/// Where the line enters the ball about the origin. The foot of the perpendicular keeps the digits that the
/// usual b² - 4ac loses when the ray starts far away.
fn entry(o: DVec3, d: DVec3, radius: f64) -> Option<f64> {
    let towards = -o.dot(d);
    let room = radius * radius - (o + d * towards).length_squared();
    (room >= 0.0 && towards >= 0.0).then(|| towards - room.sqrt())
}

/// A ball about the origin.
pub(super) fn ball(o: DVec3, d: DVec3, radius: f64) -> Hit {
    if o.length_squared() <= radius * radius {
        return Hit::Inside;
    }
    match entry(o, d, radius) {
        Some(t) => Hit::Surface(t.max(0.0), ((o + d * t) / radius).normalize_or(-d)),
        None => Hit::Miss,
    }
}

fn half_space(o: DVec3, d: DVec3) -> Hit {
    if o.z <= 0.0 {
        Hit::Inside
    } else if d.z < 0.0 {
        Hit::Surface(-o.z / d.z, DVec3::Z)
    } else {
        Hit::Miss
    }
}

fn cuboid(o: DVec3, d: DVec3, half: DVec3) -> Hit {
    let (mut enter, mut leave) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut normal = DVec3::ZERO;
    for k in 0..3 {
        if d[k] == 0.0 {
            if o[k].abs() > half[k] {
                return Hit::Miss;
            }
            continue;
        }
        let side = -d[k].signum();
        let near = (side * half[k] - o[k]) / d[k];
        let far = (-side * half[k] - o[k]) / d[k];
        if near > enter {
            enter = near;
            normal = DVec3::ZERO;
            normal[k] = side;
        }
        leave = leave.min(far);
    }
    if enter > leave || leave < 0.0 {
        Hit::Miss
    } else if enter <= 0.0 {
        Hit::Inside
    } else {
        Hit::Surface(enter, normal)
    }
}

/// The side wall where it is hit between the ends of the core, else the ball at the end that the ray meets
/// first.
fn capsule(o: DVec3, d: DVec3, radius: f64, half_length: f64) -> Hit {
    let from_core = |p: DVec3| p - DVec3::Z * p.z.clamp(-half_length, half_length);
    if from_core(o).length_squared() <= radius * radius {
        return Hit::Inside;
    }
    let across = DVec3::new(d.x, d.y, 0.0);
    let speed = across.length();
    let mut first = f64::INFINITY;
    if speed > 0.0
        && let Some(t) = entry(DVec3::new(o.x, o.y, 0.0), across / speed, radius)
        && t >= 0.0
        && (o.z + d.z * (t / speed)).abs() <= half_length
    {
        first = t / speed;
    }
    for end in [-half_length, half_length] {
        if let Some(t) = entry(o - DVec3::Z * end, d, radius).filter(|t| *t >= 0.0) {
            first = first.min(t);
        }
    }
    if first.is_finite() { Hit::Surface(first, from_core(o + d * first).normalize_or(-d)) } else { Hit::Miss }
}

/// The part of the line within some convex sets, found by cutting.
struct Stretch {
    enter: f64,
    leave: f64,
    /// Of the surface where it enters.
    normal: DVec3,
}

impl Stretch {
    const ALL: Self = Self { enter: f64::NEG_INFINITY, leave: f64::INFINITY, normal: DVec3::ZERO };

    /// Keeps what lies below the plane `normal · x = offset`.
    fn cut(&mut self, o: DVec3, d: DVec3, normal: DVec3, offset: f64) {
        let (height, speed) = (normal.dot(o) - offset, normal.dot(d));
        if speed == 0.0 {
            if height > 0.0 {
                self.leave = f64::NEG_INFINITY;
            }
            return;
        }
        let t = -height / speed;
        if speed < 0.0 {
            if t > self.enter {
                (self.enter, self.normal) = (t, normal);
            }
        } else {
            self.leave = self.leave.min(t);
        }
    }

    fn hit(&self, normal: impl FnOnce(f64) -> DVec3) -> Hit {
        if self.enter.is_nan() || self.leave.is_nan() || self.enter > self.leave || self.leave < 0.0 {
            Hit::Miss
        } else if self.enter <= 0.0 {
            Hit::Inside
        } else {
            let n = if self.normal == DVec3::ZERO { normal(self.enter) } else { self.normal };
            Hit::Surface(self.enter, n)
        }
    }
}

/// From the foot of the perpendicular on the shape's origin, so that a ray from far away keeps the digits of
/// the shape.
fn from_nearby(o: DVec3, d: DVec3) -> (DVec3, f64) {
    let t = -o.dot(d);
    (o + d * t, t)
}

fn cylinder(o: DVec3, d: DVec3, radius: f64, half: f64) -> Hit {
    let (p, shift) = from_nearby(o, d);
    let mut stretch = Stretch::ALL;
    stretch.cut(p, d, DVec3::Z, half);
    stretch.cut(p, d, DVec3::NEG_Z, half);
    let (q, e) = (DVec2::new(p.x, p.y), DVec2::new(d.x, d.y));
    let squared = e.length_squared();
    if squared > 0.0 {
        let foot = -q.dot(e) / squared;
        let room = radius * radius - (q + e * foot).length_squared();
        if room.is_nan() || room < 0.0 {
            return Hit::Miss;
        }
        let chord = (room / squared).sqrt();
        if foot - chord > stretch.enter {
            (stretch.enter, stretch.normal) = (foot - chord, DVec3::ZERO);
        }
        stretch.leave = stretch.leave.min(foot + chord);
    } else if q.length_squared() > radius * radius {
        return Hit::Miss;
    }
    let side = |t: f64| (q + e * (t - shift)).extend(0.0).normalize_or(-d);
    Stretch { enter: stretch.enter + shift, leave: stretch.leave + shift, ..stretch }.hit(side)
}

/// Within the lower of the two cones through the apex, |x_xy| = k (apex - z), and above the base.
fn cone(o: DVec3, d: DVec3, radius: f64, height: f64) -> Hit {
    let (apex, base) = (0.75 * height, -0.25 * height);
    let slope = radius / height;
    let (p, shift) = from_nearby(o, d);
    let mut stretch = Stretch::ALL;
    stretch.cut(p, d, DVec3::Z, apex);
    stretch.cut(p, d, DVec3::NEG_Z, -base);
    let (q, e) = (DVec2::new(p.x, p.y), DVec2::new(d.x, d.y));
    let (down, fall) = (slope * (apex - p.z), -slope * d.z);
    // |q + t e|² ≤ (down + t fall)²
    let a = e.length_squared() - fall * fall;
    let b = q.dot(e) - down * fall;
    let c = q.length_squared() - down * down;
    let discriminant = b * b - a * c;
    let (mut from, mut to) = (f64::NEG_INFINITY, f64::INFINITY);
    if discriminant < 0.0 {
        if a >= 0.0 {
            return Hit::Miss;
        }
    } else {
        let root = -(b + discriminant.sqrt().copysign(b));
        let (t1, t2) = if root == 0.0 { (0.0, 0.0) } else { (root / a, c / root) };
        let (low, high) = (t1.min(t2), t1.max(t2));
        if a > 0.0 {
            (from, to) = (low, high);
        } else if fall < 0.0 {
            // Steep and upward: the lower cone is left for good at the first root, or the only one.
            to = if a < 0.0 { low } else { t2 };
        } else {
            from = if a < 0.0 { high } else { t2 };
        }
    }
    if from > stretch.enter {
        (stretch.enter, stretch.normal) = (from, DVec3::ZERO);
    }
    stretch.leave = stretch.leave.min(to);
    let side = |t: f64| {
        let across = (q + e * (t - shift)).normalize_or_zero();
        DVec3::new(across.x, across.y, slope).normalize_or(-d)
    };
    Stretch { enter: stretch.enter + shift, leave: stretch.leave + shift, ..stretch }.hit(side)
}

/// The unit ball in coordinates scaled by the semi-axes.
fn ellipsoid(o: DVec3, d: DVec3, half: DVec3) -> Hit {
    let (p, shift) = from_nearby(o, d);
    let (q, e) = (p / half, d / half);
    let squared = e.length_squared();
    let foot = -q.dot(e) / squared;
    let room = 1.0 - (q + e * foot).length_squared();
    if room.is_nan() || room < 0.0 {
        return Hit::Miss;
    }
    let chord = (room / squared).sqrt();
    let stretch = Stretch { enter: foot - chord + shift, leave: foot + chord + shift, normal: DVec3::ZERO };
    stretch.hit(|t| ((q + e * (t - shift)) / half).normalize_or(-d))
}

fn polyhedron(o: DVec3, d: DVec3, hull: &Hull) -> Hit {
    let mut stretch = Stretch::ALL;
    for face in hull.faces() {
        stretch.cut(o, d, face.normal, face.offset);
    }
    stretch.hit(|_| -d)
}

/// Newton's method on the distance from the shape along the ray: it is a convex function, so from outside the
/// method comes up to the first zero and never beyond.
fn by_distance(o: DVec3, d: DVec3, shape: &Convex) -> Hit {
    let mut t = 0.0;
    let mut last = f64::INFINITY;
    for step in 0..200 {
        let nearest = shape.project(o + d * t);
        let f = nearest.distance;
        if step == 0 && f <= 0.0 {
            return Hit::Inside;
        }
        let slope = nearest.normal.dot(d);
        let advance = f / -slope;
        // Below rounding, or no longer falling: there is no more to gain.
        if f <= 1e-15 * (nearest.point.length() + t) || (f >= last && last < 1e-12 * (1.0 + t)) {
            return Hit::Surface(t, nearest.normal);
        }
        if slope.is_nan() || slope >= 0.0 {
            return Hit::Miss;
        }
        t += advance;
        last = f;
    }
    Hit::Miss
}
