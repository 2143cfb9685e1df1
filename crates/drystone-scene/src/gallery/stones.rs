//! Random convex stones.

use drystone::Shape;
use drystone::random::Random;
use glam::DVec3;

/// Points a stone is the hull of.
const POINTS: usize = 16;
/// Points lie between this share of the distance to the surface of an ellipsoid and all of it.
const NEAREST: f64 = 0.8;
/// Semi-axes of the ellipsoid, the longest being 1, are at least this.
const FLATTEST: f64 = 0.6;

/// The hull of points near a random ellipsoid, of the volume asked for, its centroid in the origin.
pub(super) fn stone(random: &mut Random, volume: f64) -> Result<Shape, String> {
    let axes = DVec3::new(1.0, random.range(FLATTEST, 1.0), random.range(FLATTEST, 1.0));
    let points: Vec<DVec3> =
        (0..POINTS).map(|_| axes * random.unit_vector() * random.range(NEAREST, 1.0)).collect();
    let rough = Shape::hull(&points)?;
    let (centre, scale) = (rough.centroid(), (volume / rough.volume()).cbrt());
    Shape::hull(&points.iter().map(|x| scale * (*x - centre)).collect::<Vec<_>>())
}
