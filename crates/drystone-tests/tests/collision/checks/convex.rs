//! What must hold of the contacts of two convex shapes.

use drystone::collide::narrowphase::{ContactPoint, MAX_POINTS, Manifold, contacts};
use drystone::collide::query;
use drystone::shape::Shape;
use glam::DVec3;

use super::draw::Case;
use super::solid::{extent, height};

/// The distance is known to this part of the size of the shapes and their distance, unless they are deep in
/// each other.
const GAP: f64 = 1e-9;

/// The same for places on the surfaces, for normals, and for deep overlaps. Where the minimum is flat,
/// rounding leaves its square root, 1.5·10⁻⁸; a few times that is what kinks next to flat places cost.
const FLAT: f64 = 1e-7;

/// Normals are known to this angle where shapes are apart.
const NORMAL: f64 = 1e-6;

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
    // Of a patch only one point may be within reach.
    let patch = all.points().len() > 1;
    sound(case, near.points(), case.reach, patch)?;
    sound(case, all.points(), f64::INFINITY, patch)?;
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

/// Numbers are numbers, and where a ball fits into both shapes there is a contact, however near they must be,
/// and it is deep.
pub fn check_overlap(case: &Case) -> Result<(), String> {
    let near = case.contacts(case.reach);
    let distance = query::distance(&case.a, &case.pose_a, &case.b, &case.pose_b);
    if distance.is_nan() || !near.points().iter().all(finite) {
        return Err(format!("not a number: {distance} {:?}", near.points()));
    }
    if let (Shape::HalfSpace, Shape::HalfSpace) = (&case.a, &case.b) {
        return Ok(());
    }
    let upper = case.bounds(&[], &[]).upper;
    let deepest = near.points().iter().map(|p| p.gap).fold(f64::INFINITY, f64::min);
    let overlap = upper < -case.tolerance();
    if overlap && !(deepest < 0.0 && distance < 0.0) {
        return Err(format!("overlap by {}, but contact {deepest} and distance {distance}", -upper));
    }
    Ok(())
}

fn finite(p: &ContactPoint) -> bool {
    p.on_a.is_finite() && p.on_b.is_finite() && p.normal.is_finite() && p.gap.is_finite()
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
        // Faces come first, with normals up to 2° from the direction of the closest points: along them, the
        // far end of a large face may reach deeper than the contact by that angle times its length.
        tilt = ALONG_SIN * (diameter(&case.a) + diameter(&case.b));
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
    // Deep in a curved shape the way out may be longer than the shortest by a little: there may be any number
    // of ways out, and the search for the shortest has an end. Between flat faces there are only so many.
    let curved = curved(&case.a) || curved(&case.b);
    let detour = if curved { PATCH * (-distance).max(0.0) } else { 0.0 };
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
    // Bars have normals of their own along each other, and faces of boxes come first; a half-space has but
    // one.
    let plane = matches!(case.a, Shape::HalfSpace) || matches!(case.b, Shape::HalfSpace);
    // Nearer than this the separation says little about the direction.
    let apart = distance > 0.01 * case.size();
    if apart && normals.len() == 1 && tilt == 0.0 && !plane {
        normal_of(case, nearest.normal)
    } else {
        Ok(())
    }
}

/// Of a box or a capsule.
fn diameter(shape: &Shape) -> f64 {
    match shape {
        Shape::Box { half } => 2.0 * half.length(),
        Shape::Capsule { radius, half_length } => 2.0 * (radius + half_length),
        _ => 0.0,
    }
}

/// Whether there is more to the shape than flat faces, or such with a radius around them.
fn curved(shape: &Shape) -> bool {
    match shape {
        Shape::Cylinder { .. } | Shape::Cone { .. } | Shape::Ellipsoid { .. } => true,
        Shape::Rounded { core, .. } => curved(core),
        _ => false,
    }
}

/// The normal of shapes that are apart, within 10⁻⁶: around it, no direction further away separates better.
fn normal_of(case: &Case, normal: DVec3) -> Result<(), String> {
    let (separation, best) = case.widest_near(normal);
    let gained = separation - case.separation(normal);
    let angle = best.distance(normal);
    if angle > NORMAL && gained > 1e-14 * case.size() + case.far() {
        return Err(format!("normal {normal} off by {angle}: {best} separates better by {gained}"));
    }
    Ok(())
}

/// What is true of every point; `patch` where features lie along each other.
fn sound(case: &Case, points: &[ContactPoint], reach: f64, patch: bool) -> Result<(), String> {
    let tolerance = case.tolerance();
    if points.len() > MAX_POINTS {
        return Err(format!("{} points", points.len()));
    }
    for (k, p) in points.iter().enumerate() {
        if !finite(p) {
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
            let off = if patch {
                ALONG * extent(&case.a).min(extent(&case.b)) + ALONG_SIN * p.gap.abs()
            } else {
                PATCH * extent(shape).min(p.gap.abs())
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
    // Spheres have no orientation.
    let ball = matches!(case.a, Shape::Sphere { .. });
    let same_pose = case.pose_a.position == case.pose_b.position
        && (ball || case.pose_a.rotation == case.pose_b.rotation);
    if case.a == case.b && same_pose {
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
