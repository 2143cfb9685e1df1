//! What can be said of one shape from its definition alone: the furthest point along a direction, the height
//! of a point over the surface, the room around a point inside.
#![allow(dead_code)]

use drystone::shape::Shape;
use glam::{DVec2, DVec3};

/// The point of a shape furthest along `d`, in its frame. Of a half-space, the origin.
pub fn support(shape: &Shape, d: DVec3) -> DVec3 {
    let side = |x: f64| if x < 0.0 { -1.0 } else { 1.0 };
    let rim = |radius: f64| d.truncate().try_normalize().unwrap_or(DVec2::X) * radius;
    let furthest = |points: &mut dyn Iterator<Item = DVec3>| {
        points.max_by(|p, q| p.dot(d).total_cmp(&q.dot(d))).unwrap_or(DVec3::ZERO)
    };
    match shape {
        Shape::Sphere { radius } => d.normalize_or_zero() * *radius,
        Shape::HalfSpace => DVec3::ZERO,
        Shape::Box { half } => *half * DVec3::new(side(d.x), side(d.y), side(d.z)),
        Shape::Capsule { radius, half_length } => {
            DVec3::Z * (half_length * side(d.z)) + d.normalize_or_zero() * *radius
        }
        Shape::Cylinder { radius, half_length } => rim(*radius).extend(half_length * side(d.z)),
        Shape::Cone { radius, height } => {
            furthest(&mut [DVec3::Z * (0.75 * height), rim(*radius).extend(-0.25 * height)].into_iter())
        }
        Shape::Ellipsoid { half } => *half * (*half * d).normalize_or_zero(),
        Shape::Hull(hull) => furthest(&mut hull.vertices().iter().copied()),
        Shape::Rounded { core, radius } => support(core, d) + d.normalize_or_zero() * *radius,
        Shape::Mesh(mesh) => furthest(&mut mesh.vertices().iter().copied()),
        Shape::HeightField(field) => furthest(
            &mut (0..field.heights().len()).map(|k| field.point(k % field.columns(), k / field.columns())),
        ),
        Shape::Compound(compound) => furthest(
            &mut compound
                .parts()
                .iter()
                .map(|(pose, s)| pose.point(support(s, pose.rotation.conjugate() * d))),
        ),
    }
}

/// How far a shape reaches from its origin, m, up to a factor of two; without end for a half-space.
pub fn extent(shape: &Shape) -> f64 {
    match shape {
        Shape::HalfSpace => f64::INFINITY,
        _ => DVec3::AXES
            .iter()
            .flat_map(|d| [*d, -*d])
            .map(|d| support(shape, d).dot(d).abs())
            .fold(0.0, f64::max),
    }
}

/// Height of a point over the surface of a convex shape, in its frame. Outside, the shape is at least so far
/// away. Inside, where it is negative, a ball of that radius about the point lies in the shape; this is not
/// so for a rounded hull outside its core: see [`room`].
pub fn height(shape: &Shape, p: DVec3) -> f64 {
    match shape {
        Shape::Sphere { radius } => p.length() - radius,
        Shape::HalfSpace => p.z,
        Shape::Box { half } => {
            let q = p.abs() - *half;
            q.max(DVec3::ZERO).length() + q.max_element().min(0.0)
        }
        Shape::Capsule { radius, half_length } => {
            (p - DVec3::Z * p.z.clamp(-half_length, *half_length)).length() - radius
        }
        Shape::Cylinder { radius, half_length } => {
            let q = DVec2::new(p.truncate().length() - radius, p.z.abs() - half_length);
            q.max(DVec2::ZERO).length() + q.max_element().min(0.0)
        }
        Shape::Cone { radius, height } => {
            let q = DVec2::new(p.truncate().length(), p.z);
            let (apex, rim) = (DVec2::new(0.0, 0.75 * height), DVec2::new(*radius, -0.25 * height));
            let outward = DVec2::new(*height, *radius).normalize();
            let highest = outward.dot(q - apex).max(rim.y - q.y);
            if highest <= 0.0 {
                return highest;
            }
            let distance = |from: DVec2, to: DVec2| {
                let along = to - from;
                q.distance(from + along * ((q - from).dot(along) / along.length_squared()).clamp(0.0, 1.0))
            };
            distance(apex, rim).min(distance(DVec2::new(0.0, rim.y), rim))
        }
        Shape::Ellipsoid { half } => {
            let f = (p / *half).length();
            if f <= 1.0 {
                // In units of the semi-axes it is a ball, and no length grows by more than 1 / the shortest
                // of them.
                return (f - 1.0) * half.min_element();
            }
            let n = (p / (*half * *half)).normalize_or_zero();
            n.dot(p - support(shape, n)).max((f - 1.0) * half.min_element())
        }
        Shape::Hull(hull) => {
            hull.faces().iter().map(|f| f.normal.dot(p) - f.offset).fold(f64::NEG_INFINITY, f64::max)
        }
        Shape::Rounded { core, radius } => height(core, p) - radius,
        Shape::Mesh(_) | Shape::HeightField(_) | Shape::Compound(_) => f64::NAN,
    }
}

/// The radius of a ball about a point that lies in a convex shape; negative where there is none, and greater
/// the nearer the shape is.
pub fn room(shape: &Shape, p: DVec3) -> f64 {
    if let Shape::Rounded { core, radius } = shape
        && let Shape::Hull(hull) = &**core
    {
        let over = height(core, p);
        let corner = hull.vertices().iter().map(|v| v.distance(p)).fold(f64::INFINITY, f64::min);
        return radius - if over <= 0.0 { over } else { corner };
    }
    -height(shape, p)
}

/// A point well inside a shape.
pub fn middle(shape: &Shape) -> DVec3 {
    match shape {
        Shape::Hull(hull) => hull.vertices().iter().sum::<DVec3>() / hull.vertices().len() as f64,
        Shape::Rounded { core, .. } => middle(core),
        _ => DVec3::ZERO,
    }
}
