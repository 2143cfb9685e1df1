//! What must hold of the contacts of two convex shapes.

use drystone::collide::narrowphase::{ContactPoint, MAX_POINTS, Manifold, contacts};
use drystone::collide::query;
use drystone::shape::Shape;

use super::draw::Case;
use super::oracle::{extent, height};

/// The distance is known to this part of the size of the shapes and their distance, unless they are deep in each other.
const GAP: f64 = 1e-9;

/// The same for places on the surfaces, for normals, and for deep overlaps. Where the minimum is flat, rounding leaves its
/// square root, 1.5·10⁻⁸; a few times that is what kinks next to flat places cost.
const FLAT: f64 = 1e-7;

/// Overlaps of up to this part of the smaller shape are shallow.
const SHALLOW: f64 = 0.01;

/// Points, normal and gap agree to this part: numbers are only handed on.
const ROUNDING: f64 = 1e-12;

/// The gap of a patch may be off by this part: features count as lying along each other up to 2°.
const PATCH: f64 = 1e-3;

/// Points of a patch may be off the surface by this part of the size of the smaller shape.
const ALONG: f64 = 2e-3;

/// Sine of 2°.
const ALONG_SIN: f64 = 0.034_899_496_702_500_97;

/// The face of a box is the way out even where an edge would be one shorter by this part.
const FACE_FIRST: f64 = 0.025;

/// Names of features have 19 bits.
const NAMES: u32 = 1 << 19;

impl Case {
    /// Up to which places and normals are known, m.
    fn tolerance(&self) -> f64 {
        FLAT * self.size() + self.far()
    }

    /// Up to which a signed distance is known, m.
    fn gap_tolerance(&self, distance: f64) -> f64 {
        let shallow = SHALLOW * extent(&self.a).min(extent(&self.b));
        if distance > -shallow { GAP * self.size() + self.far() } else { self.tolerance() }
    }

    fn size(&self) -> f64 {
        let size = |shape: &Shape| if let Shape::HalfSpace = shape { 0.0 } else { extent(shape) };
        size(&self.a) + size(&self.b) + self.pose_a.position.distance(self.pose_b.position)
    }

    /// What the coordinates lose where the shapes stand far from the origin.
    fn far(&self) -> f64 {
        1e-14 * (self.pose_a.position.length() + self.pose_b.position.length())
    }

    fn contacts(&self, reach: f64) -> Manifold {
        let mut out = Manifold::default();
        contacts(&self.a, &self.pose_a, &self.b, &self.pose_b, reach, &mut out);
        out
    }
}

/// Two convex shapes.
pub fn check(case: &Case) -> Result<(), String> {
    let (near, all) = (case.contacts(case.reach), case.contacts(f64::INFINITY));
    sound(case, near.points(), case.reach)?;
    sound(case, all.points(), f64::INFINITY)?;
    flipped(case, near.points())?;
    if let (Shape::HalfSpace, Shape::HalfSpace) = (&case.a, &case.b) {
        return Ok(());
    }
    let Some(nearest) = all.points().iter().min_by(|p, q| p.gap.total_cmp(&q.gap)) else {
        return Err("no contact, however far it may be".into());
    };
    let tolerance = case.tolerance();
    let slack = tolerance + PATCH * nearest.gap.abs();
    let within = near.points().iter().map(|p| p.gap).fold(f64::INFINITY, f64::min);
    if nearest.gap + slack < case.reach && near.points().is_empty() {
        return Err(format!("gap {} is within reach {}, but there is no contact", nearest.gap, case.reach));
    }
    if within.is_finite() && (within - nearest.gap).abs() > slack {
        return Err(format!("gap {within} within reach, {} without", nearest.gap));
    }
    distances(case, nearest, all.points())
}

/// The nearest point says the signed distance, and its normal proves it.
fn distances(case: &Case, nearest: &ContactPoint, all: &[ContactPoint]) -> Result<(), String> {
    let gap = nearest.gap;
    let distance = query::distance(&case.a, &case.pose_a, &case.b, &case.pose_b);
    let tolerance = case.gap_tolerance(distance);
    let mut slack = tolerance + PATCH * gap.abs();
    let mut tilt = 0.0;
    let written_out = |shape: &Shape| matches!(shape, Shape::Box { .. } | Shape::Capsule { .. });
    if written_out(&case.a) && written_out(&case.b) {
        // Faces come first, with normals up to 2° from the direction of the closest points.
        tilt = ALONG_SIN * (extent(&case.a) + extent(&case.b));
    }
    if let (Shape::Box { half: ha }, Shape::Box { half: hb }) = (&case.a, &case.b)
        && gap < 0.0
    {
        slack += FACE_FIRST * gap.abs() + 1e-4 * ha.min_element().min(hb.min_element());
    }
    let mut normals: Vec<_> = all.iter().map(|p| p.normal).collect();
    normals.dedup();
    let points: Vec<_> = all.iter().map(|p| 0.5 * (p.on_a + p.on_b)).collect();
    let bounds = case.bounds(&normals, &points);
    if !(distance <= bounds.upper + tolerance) {
        return Err(format!("distance {distance}, but points show at most {}", bounds.upper));
    }
    // Deep in a curved shape the way out may be longer than the shortest by a little.
    let detour = PATCH * (-distance).max(0.0);
    if !(distance >= bounds.lower - tolerance - detour) {
        let n = bounds.direction;
        return Err(format!("distance {distance}, but {} separates by {}", n, bounds.lower));
    }
    if !(gap <= distance + slack && gap >= distance - slack) {
        return Err(format!("gap {gap}, but distance {distance}"));
    }
    let proved = case.separation(nearest.normal);
    if !(proved >= gap - slack - tilt - case.tolerance()) {
        return Err(format!("gap {gap}, but its normal separates by {proved}"));
    }
    Ok(())
}

/// What is true of every point.
pub fn sound(case: &Case, points: &[ContactPoint], reach: f64) -> Result<(), String> {
    let tolerance = case.tolerance();
    if points.len() > MAX_POINTS {
        return Err(format!("{} points", points.len()));
    }
    for (k, p) in points.iter().enumerate() {
        if !(p.on_a.is_finite() && p.on_b.is_finite() && p.normal.is_finite() && p.gap.is_finite()) {
            return Err(format!("not a number: {p:?}"));
        }
        if (p.normal.length() - 1.0).abs() > 1e-9 {
            return Err(format!("normal of length {}: {p:?}", p.normal.length()));
        }
        if p.gap > reach {
            return Err(format!("gap beyond reach {reach}: {p:?}"));
        }
        let error = (p.on_a - p.on_b - p.normal * p.gap).length();
        if error > ROUNDING * (case.size() + p.gap.abs()) + case.far() {
            return Err(format!("points and gap disagree by {error}: {p:?}"));
        }
        for (name, shape, pose, point) in
            [("A", &case.a, &case.pose_a, p.on_a), ("B", &case.b, &case.pose_b, p.on_b)]
        {
            let outside = height(shape, pose.inverse_point(point));
            // Where features count as lying along each other, one is off the other's surface in between.
            let off = if points.len() == 1 {
                PATCH * extent(shape).min(p.gap.abs())
            } else {
                ALONG * extent(&case.a).min(extent(&case.b)) + ALONG_SIN * p.gap.abs()
            };
            if outside > tolerance + off {
                return Err(format!("point outside {name} by {outside}: {p:?}"));
            }
        }
        if p.feature >= NAMES || points[..k].iter().any(|q| q.feature == p.feature) {
            return Err(format!("feature named {} twice, or with too many bits", p.feature));
        }
    }
    Ok(())
}

/// With A and B exchanged the result is the same but for their names.
fn flipped(case: &Case, points: &[ContactPoint]) -> Result<(), String> {
    if case.a == case.b && case.pose_a.position == case.pose_b.position {
        // No telling them apart.
        return Ok(());
    }
    let mut swapped = Manifold::default();
    contacts(&case.b, &case.pose_b, &case.a, &case.pose_a, case.reach, &mut swapped);
    let same = |p: &ContactPoint, q: &ContactPoint| {
        p.on_a == q.on_b
            && p.on_b == q.on_a
            && p.normal == -q.normal
            && p.gap == q.gap
            && p.feature == q.feature
    };
    if points.len() != swapped.points().len() || !points.iter().zip(swapped.points()).all(|(p, q)| same(p, q))
    {
        return Err(format!("{points:?}\nswapped {:?}", swapped.points()));
    }
    Ok(())
}
