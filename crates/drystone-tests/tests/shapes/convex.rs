//! What must hold for every convex shape: support, bounds, moments. Membership is decided here, shape by
//! shape, from the definition; all else is measured against it.

use drystone::body::principal_moments;
use drystone::random::Random;
use drystone::shape::{Hull, Pose, Shape};
use glam::{DMat3, DVec3};

/// Shapes of all kinds with random dimensions.
fn zoo(random: &mut Random) -> Vec<Shape> {
    let size = |random: &mut Random| random.range(0.1, 1.5);
    let (a, b, c, d) = (size(random), size(random), size(random), 0.3 * size(random));
    let cloud: Vec<DVec3> =
        (0..15).map(|_| random.in_ball() * DVec3::new(a, b, c) + DVec3::splat(d)).collect();
    let many: Vec<DVec3> = (0..60).map(|_| random.unit_vector() * DVec3::new(a, b, c)).collect();
    let hull = Shape::hull(&cloud).unwrap();
    let half = DVec3::new(a, b, c);
    vec![
        Shape::sphere(a),
        Shape::cuboid(half),
        Shape::capsule(a, b),
        Shape::cylinder(a, b),
        Shape::cone(a, b),
        Shape::ellipsoid(half),
        hull.clone(),
        Shape::hull(&many).unwrap(),
        Shape::rounded(Shape::cuboid(half), d).unwrap(),
        Shape::rounded(Shape::cylinder(a, b), d).unwrap(),
        Shape::rounded(Shape::cone(a, b), d).unwrap(),
        Shape::rounded(hull, d).unwrap(),
    ]
}

/// Distance of a point from the shape, 0 inside. For an ellipsoid: some measure that is 0 inside.
fn outside(shape: &Shape, p: DVec3) -> f64 {
    let rho = p.truncate().length();
    match shape {
        Shape::Sphere { radius } => (p.length() - radius).max(0.0),
        Shape::Box { half } => (p.abs() - *half).max(DVec3::ZERO).length(),
        Shape::Capsule { radius, half_length } => {
            (rho.hypot((p.z.abs() - half_length).max(0.0)) - radius).max(0.0)
        }
        Shape::Cylinder { radius, half_length } => {
            (rho - radius).max(0.0).hypot((p.z.abs() - half_length).max(0.0))
        }
        Shape::Cone { radius, height } => {
            // In the half-plane of ρ and z: a triangle with its left side on the axis.
            let (base, apex) = (DVec3::new(0.0, 0.0, -0.25 * height), DVec3::new(0.0, 0.0, 0.75 * height));
            let rim = DVec3::new(*radius, 0.0, -0.25 * height);
            let q = DVec3::new(rho, 0.0, p.z);
            let side = (apex - rim).cross(DVec3::Y).normalize();
            let side = if side.x < 0.0 { -side } else { side };
            if q.z >= base.z && side.dot(q - rim) <= 0.0 {
                0.0
            } else {
                segment(q, base, rim).min(segment(q, rim, apex))
            }
        }
        Shape::Ellipsoid { half } => ((p / *half).length() - 1.0).max(0.0) * half.min_element(),
        Shape::Hull(hull) => from_hull(hull, p),
        Shape::Rounded { core, radius } => (outside(core, p) - radius).max(0.0),
        other => panic!("{} is not convex", other.name()),
    }
}

fn segment(p: DVec3, a: DVec3, b: DVec3) -> f64 {
    let share = ((p - a).dot(b - a) / (b - a).length_squared()).clamp(0.0, 1.0);
    p.distance(a + (b - a) * share)
}

/// To the nearest face, edge by edge where the foot is beside it.
fn from_hull(hull: &Hull, p: DVec3) -> f64 {
    if hull.faces().iter().all(|f| f.normal.dot(p) <= f.offset) {
        return 0.0;
    }
    let mut best = f64::INFINITY;
    for (k, face) in hull.faces().iter().enumerate() {
        let corners: Vec<DVec3> =
            hull.face_vertices(k).iter().map(|v| hull.vertices()[*v as usize]).collect();
        let mut within = true;
        for i in 0..corners.len() {
            let (a, b) = (corners[i], corners[(i + 1) % corners.len()]);
            within &= (b - a).cross(p - a).dot(face.normal) >= 0.0;
            best = best.min(segment(p, a, b));
        }
        if within {
            best = best.min((face.normal.dot(p) - face.offset).abs());
        }
    }
    best
}

/// Points of the surface: from within along random directions, by bisection. And the extreme ones that this
/// rarely hits.
fn surface(shape: &Shape, random: &mut Random, count: usize) -> Vec<DVec3> {
    let centre = shape.centroid();
    let far = 2.0 * (shape.bounding_radius() + centre.length());
    let mut points: Vec<DVec3> = (0..count)
        .map(|_| {
            let direction = random.unit_vector();
            let (mut inside, mut beyond) = (0.0, far);
            for _ in 0..45 {
                let middle = 0.5 * (inside + beyond);
                if outside(shape, centre + direction * middle) == 0.0 {
                    inside = middle
                } else {
                    beyond = middle
                }
            }
            centre + direction * inside
        })
        .collect();
    if let Shape::Hull(hull) = shape {
        points.extend(hull.vertices());
    }
    points
}

#[test]
fn support_is_the_furthest_point() {
    let mut random = Random::new(1);
    for _ in 0..3 {
        for shape in zoo(&mut random) {
            let size = shape.bounding_radius();
            let samples = surface(&shape, &mut random, 600);
            for k in 0..300 {
                let mut direction = random.unit_vector();
                if k % 10 == 0 {
                    direction = DVec3::AXES[k / 10 % 3] * if k / 30 % 2 == 0 { 1.0 } else { -1.0 };
                }
                // Length does not matter.
                let support = shape.support(direction * random.range(0.001, 1000.0));
                assert!(outside(&shape, support) <= 1e-13 * size, "{}: {support}", shape.name());
                let reach = support.dot(direction);
                let best = samples.iter().map(|p| p.dot(direction)).fold(f64::NEG_INFINITY, f64::max);
                assert!(best <= reach + 1e-12 * size, "{}: {best} beyond {reach}", shape.name());
                // And the samples are dense: they come near it.
                assert!(best > reach - 0.25 * size, "{}: {best} of {reach}", shape.name());
            }
        }
    }
}

#[test]
fn bounds_are_supports_along_the_axes() {
    let mut random = Random::new(2);
    for _ in 0..50 {
        for shape in zoo(&mut random) {
            let pose = Pose::new(random.in_ball(), random.rotation());
            let bounds = shape.aabb(&pose);
            let size = shape.bounding_radius();
            for k in 0..3 {
                let along = pose.rotation.conjugate() * DVec3::AXES[k];
                let high = pose.position[k] + along.dot(shape.support(along));
                let low = pose.position[k] + along.dot(shape.support(-along));
                assert!((bounds.max[k] - high).abs() <= 1e-12 * size, "{}", shape.name());
                assert!((bounds.min[k] - low).abs() <= 1e-12 * size, "{}", shape.name());
            }
        }
    }
}

#[test]
fn the_outer_and_the_inner_ball_touch() {
    let mut random = Random::new(3);
    for _ in 0..10 {
        for shape in zoo(&mut random) {
            let (outer, inner) = (shape.bounding_radius(), shape.inner_radius());
            let centre = match &shape {
                Shape::Rounded { core, .. } => core.centroid(),
                _ => shape.centroid(),
            };
            let (mut furthest, mut nearest) = (0.0f64, f64::INFINITY);
            let mut directions: Vec<DVec3> = (0..4000).map(|_| random.unit_vector()).collect();
            // A thin hull is nearest along one normal only, a flat cone downwards.
            directions.extend(DVec3::AXES.iter().flat_map(|a| [*a, -*a]));
            match &shape {
                Shape::Hull(hull) => directions.extend(hull.faces().iter().map(|f| f.normal)),
                Shape::Rounded { core, .. } => {
                    if let Shape::Hull(hull) = &**core {
                        directions.extend(hull.faces().iter().map(|f| f.normal));
                    }
                }
                _ => {}
            }
            for d in directions {
                let p = shape.support(d);
                furthest = furthest.max(p.length());
                // The nearest point of the boundary is where a supporting plane is nearest.
                nearest = nearest.min((p - centre).dot(d));
                assert_eq!(outside(&shape, centre + d * inner * (1.0 - 1e-9)), 0.0, "{}", shape.name());
            }
            assert!(furthest <= outer * (1.0 + 1e-12), "{}: {furthest} beyond {outer}", shape.name());
            assert!(furthest > 0.98 * outer, "{}: {furthest} of {outer}", shape.name());
            assert!(nearest >= inner * (1.0 - 1e-9), "{}: {nearest} within {inner}", shape.name());
            assert!(nearest < 1.1 * inner, "{}: {nearest} of {inner}", shape.name());
        }
    }
}

/// Two random points in each cell of a grid over the bounds: their difference tells the error of the sum.
#[test]
fn moments_are_those_of_the_points_inside() {
    let mut random = Random::new(4);
    let n = 24;
    for _ in 0..2 {
        for shape in zoo(&mut random) {
            let pose = Pose::new(random.in_ball(), random.rotation());
            let bounds = shape.aabb(&pose);
            let cell = (bounds.max - bounds.min) / n as f64;
            let m = shape.moments().placed(&pose);
            // V, ∫(x−c) and ∫(x−c)(x−c)ᵀ, with their variances.
            let (mut sum, mut variance) = ([0.0; 10], [0.0; 10]);
            for k in 0..n * n * n {
                let at = DVec3::new((k % n) as f64, (k / n % n) as f64, (k / n / n) as f64);
                let corner = bounds.min + at * cell;
                let mut draw = || {
                    let p = random.in_box(corner, corner + cell);
                    let inside = if outside(&shape, pose.inverse_point(p)) == 0.0 { 1.0 } else { 0.0 };
                    let x = p - m.centroid;
                    [1.0, x.x, x.y, x.z, x.x * x.x, x.y * x.y, x.z * x.z, x.y * x.z, x.z * x.x, x.x * x.y]
                        .map(|f| f * inside * cell.x * cell.y * cell.z)
                };
                let (p, q) = (draw(), draw());
                for i in 0..10 {
                    sum[i] += 0.5 * (p[i] + q[i]);
                    variance[i] += 0.25 * (p[i] - q[i]).powi(2);
                }
            }
            let s = &m.second;
            let own = [
                m.volume, 0.0, 0.0, 0.0, s.x_axis.x, s.y_axis.y, s.z_axis.z, s.y_axis.z, s.z_axis.x,
                s.x_axis.y,
            ];
            for i in 0..10 {
                let (error, bound) = ((sum[i] - own[i]).abs(), 6.0 * variance[i].sqrt());
                assert!(error <= bound, "{} {i}: {} against {} ± {bound}", shape.name(), own[i], sum[i]);
                // A bound that lets everything pass would prove nothing.
                assert!(bound < 0.03 * m.volume * shape.bounding_radius().powi(2).max(0.1), "{bound}");
            }
        }
    }
}

#[test]
fn moments_are_possible_and_scale() {
    let mut random = Random::new(5);
    for _ in 0..50 {
        for shape in zoo(&mut random) {
            let m = shape.moments();
            assert_eq!((m.volume, m.centroid), (shape.volume(), shape.centroid()));
            assert_eq!(outside(&shape, m.centroid), 0.0, "{}", shape.name());
            let i = shape.inertia(3.0);
            assert!(
                i.abs_diff_eq(m.inertia(3.0), 1e-13 * shape.bounding_radius().powi(2)),
                "{}",
                shape.name()
            );
            assert_eq!(i, i.transpose());
            let p = principal_moments(&i);
            assert!(p[0] > 0.0 && p[2] < p[0] + p[1], "{p:?}");
            // For the same shape, m r² at any size: V as s³, the centroid as s, the inertia as m s².
            let s = 10f64.powf(random.range(-4.0, 4.0));
            let other = scaled(&shape, s);
            let large = other.moments();
            assert!((large.volume / (m.volume * s.powi(3)) - 1.0).abs() < 1e-9, "{}", shape.name());
            assert!((large.centroid / s).distance(m.centroid) < 1e-9);
            let unit = other.inertia(3.0) * (1.0 / (s * s));
            assert!(unit.abs_diff_eq(i, 1e-9 * p[2]), "{}", shape.name());
            assert!((other.bounding_radius() / s / shape.bounding_radius() - 1.0).abs() < 1e-12);
            assert!((other.inner_radius() / s / shape.inner_radius() - 1.0).abs() < 1e-9);
        }
    }
}

fn scaled(shape: &Shape, s: f64) -> Shape {
    match shape {
        Shape::Sphere { radius } => Shape::sphere(radius * s),
        Shape::Box { half } => Shape::cuboid(*half * s),
        Shape::Capsule { radius, half_length } => Shape::capsule(radius * s, half_length * s),
        Shape::Cylinder { radius, half_length } => Shape::cylinder(radius * s, half_length * s),
        Shape::Cone { radius, height } => Shape::cone(radius * s, height * s),
        Shape::Ellipsoid { half } => Shape::ellipsoid(*half * s),
        Shape::Hull(hull) => {
            Shape::hull(&hull.vertices().iter().map(|v| *v * s).collect::<Vec<_>>()).unwrap()
        }
        Shape::Rounded { core, radius } => Shape::rounded(scaled(core, s), radius * s).unwrap(),
        other => panic!("{} is not convex", other.name()),
    }
}

/// Closed forms from a table of solids.
#[test]
fn simple_solids_by_the_book() {
    use std::f64::consts::PI;
    let diagonal = |s: &Shape| {
        let i = s.inertia(1.0);
        assert_eq!(i, DMat3::from_diagonal(DVec3::new(i.x_axis.x, i.y_axis.y, i.z_axis.z)));
        DVec3::new(i.x_axis.x, i.y_axis.y, i.z_axis.z)
    };
    let near = |a: DVec3, b: DVec3| assert!(a.distance(b) < 1e-14, "{a} {b}");
    let cylinder = Shape::cylinder(2.0, 1.5);
    assert!((cylinder.volume() - 12.0 * PI).abs() < 1e-13);
    near(diagonal(&cylinder), DVec3::new(4.0 / 4.0 + 9.0 / 12.0, 4.0 / 4.0 + 9.0 / 12.0, 4.0 / 2.0));
    let cone = Shape::cone(2.0, 3.0);
    assert!((cone.volume() - 4.0 * PI).abs() < 1e-13);
    // 3/20 r² + 3/80 h² and 3/10 r².
    near(diagonal(&cone), DVec3::new(0.6 + 27.0 / 80.0, 0.6 + 27.0 / 80.0, 1.2));
    let ellipsoid = Shape::ellipsoid(DVec3::new(1.0, 2.0, 3.0));
    assert!((ellipsoid.volume() - 8.0 * PI).abs() < 1e-13);
    near(diagonal(&ellipsoid), DVec3::new(13.0, 10.0, 5.0) / 5.0);
    near(diagonal(&Shape::ellipsoid(DVec3::ONE)), diagonal(&Shape::sphere(1.0)));
}

#[test]
fn dimensions_are_checked_by_name() {
    let why = |s: Shape| s.check().unwrap_err();
    assert!(why(Shape::cylinder(0.0, 1.0)).starts_with("radius"));
    assert!(why(Shape::cylinder(1.0, -1.0)).starts_with("half_length"));
    assert!(why(Shape::cone(f64::NAN, 1.0)).starts_with("radius"));
    assert!(why(Shape::cone(1.0, f64::INFINITY)).starts_with("height"));
    assert!(why(Shape::ellipsoid(DVec3::new(1.0, 0.0, 1.0))).starts_with("half[1]"));
    for shape in zoo(&mut Random::new(6)) {
        assert!(shape.check().is_ok() && shape.is_convex());
    }
}
