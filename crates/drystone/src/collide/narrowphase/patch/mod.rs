//! The contact patch of two features that lie along each other, seen along the contact normal.
//!
//! Both features are projected along the normal onto a plane through the closest points. There the patch is
//! the common part of two outlines (polygons, segments, discs); over it each feature has a height that is
//! linear in the place, and the gap is their difference. Since the normal is that of the closest points, the
//! least gap of the patch is the distance.
//!
//! Corners of the patch are named by what made them: a corner of either face, the crossing of two edges, a
//! place on a rim. Corners of the two faces that nearly coincide, as in a flush stack, would change their
//! maker with every small motion: near a corner, the corner's name wins. On a rim there are three places at
//! fixed directions of the world, so that a standing cylinder may spin without its points moving, and the
//! deepest one.

mod bar;
mod disc;
mod polygon;

use glam::{DVec2, DVec3};

use self::disc::Disc;
use self::polygon::{CORNERS, Polygon, clip_to_polygon};
use super::convex::{Convex, Pair};
use super::feature::Feature;
use super::point_selection::{Candidate, Spread};
use super::witness::Closest;
use super::{ContactPoint, Manifold, tangents};

/// The closest point of bars counts beside the ends of their common stretch when it is nearer by this part of
/// the scale.
const BETWEEN: f64 = 1e-13;

/// Features within this angle of the normal are level: only its square is left of how the gap along it
/// differs from the distance.
const LEVEL: f64 = 1e-6;

/// Kinds of names, and the names that are no corners.
const CORNER_OF_A: u32 = 0;
const CORNER_OF_B: u32 = 1 << 17;
const CROSSING: u32 = 2 << 17;
const SPECIAL: u32 = 3 << 17;
const CLOSEST: u64 = SPECIAL as u64;
const END: u64 = SPECIAL as u64 + 1;
const RIM_OF_A: u64 = SPECIAL as u64 + 4;
const RIM_OF_B: u64 = SPECIAL as u64 + 8;
/// After the three fixed places of a rim.
const DEEPEST: u64 = 3;

/// The source of the candidate that is the closest point itself.
const EXACT: u32 = 1;

/// Crossings are told apart by both edges, each by its two corners.
const CROSSING_KEY: u64 = 1 << 63;

/// The outline of a feature in the plane of projection.
enum Outline {
    Point,
    Segment { ends: [DVec2; 2], round: f64, axis: [DVec3; 2] },
    Polygon(Polygon),
    Disc(Disc),
}

/// A linear height over the plane: `base + slope · place`.
struct Height {
    base: f64,
    slope: DVec2,
}

impl Height {
    fn at(&self, place: DVec2) -> f64 {
        self.base + self.slope.dot(place)
    }
}

/// The plane of projection: origin at the closest point of A's core, axes `e1`, `e2` across the normal.
struct View {
    origin: DVec3,
    normal: DVec3,
    e1: DVec3,
    e2: DVec3,
    a: Height,
    b: Height,
    radius_a: f64,
    radius_b: f64,
    reach: f64,
    /// Lengths below this are rounding.
    rounding: f64,
}

/// Writes the contact points of two cores with their closest points, in the frame of A.
/// `skew` is a direction that belongs to the world.
pub(super) fn fill(pair: &Pair, closest: &Closest, skew: DVec3, reach: f64, out: &mut Manifold) {
    let n = closest.normal;
    let features = features(pair, closest);
    let gap = closest.separation - pair.radii;
    let single = |out: &mut Manifold| {
        let on_a = closest.on_a - n * pair.a.radius;
        let on_b = closest.on_b + n * pair.b.radius;
        out.push_within(reach, ContactPoint { on_a, on_b, normal: n, gap, feature: CLOSEST as u32 });
    };
    if features.iter().any(|f| matches!(f, Feature::Point)) {
        return single(out);
    }
    let (view, outlines) = View::new(pair, closest, &features, skew, reach);
    let mut spread = Spread::new();
    match &outlines {
        [Outline::Segment { round: ra, axis: a, .. }, Outline::Segment { round: rb, axis: b, .. }]
            if ra + rb + pair.radii > 0.0 =>
        {
            view.round_segments(*a, *ra, *b, *rb, closest, out);
            if least(out) > gap + BETWEEN * pair.scale {
                single(out);
            }
            return;
        }
        _ => view.common(&outlines, &mut spread),
    }
    let deepest = spread.deepest();
    if deepest > gap + 4.0 * view.rounding {
        spread.offer(Candidate { place: DVec2::ZERO, gap, key: CLOSEST, source: EXACT });
    }
    let last = out.last();
    for c in spread.chosen(|key| last.has(feature_of(key))) {
        let on_a = if c.source == EXACT {
            closest.on_a
        } else {
            view.origin + view.e1 * c.place.x + view.e2 * c.place.y + n * view.a.at(c.place)
        } - n * view.radius_a;
        let feature = feature_of(c.key);
        out.push(ContactPoint { on_a, on_b: on_a - n * c.gap, normal: n, gap: c.gap, feature });
    }
    out.distinct_features();
}

/// The least distance of the cores between flat faces, and flat faces and edges, that lie along each other
/// all but exactly, and the point of A there. Along any direction as near as that to their normals it is the
/// same, up to rounding; nothing where the features are others, too many cornered, or not over each other.
pub(super) fn level(pair: &Pair, closest: &Closest) -> Option<(f64, DVec3)> {
    let features = features(pair, closest);
    for (core, feature) in [&pair.a, &pair.b].into_iter().zip(&features) {
        match *feature {
            Feature::Point => return None,
            Feature::Segment { round, .. } if round > 0.0 => return None,
            Feature::Face { index, .. } if core.face_len(index) > CORNERS => return None,
            _ => {}
        }
    }
    let (view, outlines) = View::new(pair, closest, &features, super::SKEW, f64::INFINITY);
    let flat = |height: &Height| height.slope.length_squared() < LEVEL * LEVEL;
    let edges = outlines.iter().all(|o| matches!(o, Outline::Segment { .. }));
    if edges || !flat(&view.a) || !flat(&view.b) {
        return None;
    }
    let mut spread = Spread::new();
    view.common(&outlines, &mut spread);
    // The normal is good to less than the tilt of the faces: the deepest places of rims are found by the gap
    // alone.
    let [a, b] = &outlines;
    for (outline, other, height) in [(a, b, &view.b), (b, a, &view.a)] {
        let Outline::Disc(disc) = outline else { continue };
        let Some(place) = view.lowest_on_rim(disc, view.downhill()) else { continue };
        let over = match other {
            Outline::Disc(d) => view.disc_holds(d, height, place),
            Outline::Polygon(p) => p.holds(place, view.rounding),
            _ => false,
        };
        if over {
            view.offer(place, CLOSEST, &mut spread);
        }
    }
    let least = spread.least()?;
    Some((least.gap + pair.radii, view.on_disc(least.place, &view.a)))
}

/// What the cores turn towards each other.
fn features(pair: &Pair, closest: &Closest) -> [Feature; 2] {
    let (n, [piece_a, piece_b]) = (closest.normal, closest.pieces);
    [
        pair.a.feature(-n, piece_a, closest.on_a),
        pair.b.feature(pair.in_b(n), piece_b, pair.in_b(closest.on_b - pair.offset)),
    ]
}

fn least(out: &Manifold) -> f64 {
    out.points().iter().fold(f64::INFINITY, |x, p| x.min(p.gap))
}

/// The name of a key: 19 bits.
fn feature_of(key: u64) -> u32 {
    if key & CROSSING_KEY == 0 {
        return key as u32;
    }
    let mixed = (key ^ key >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    CROSSING | (mixed >> 47) as u32
}

/// The key of the crossing of two edges, the first of A.
fn crossing(edge_a: [u32; 2], edge_b: [u32; 2]) -> u64 {
    let edge = |[i, j]: [u32; 2]| u64::from(i.min(j) & 0x7fff) << 15 | u64::from(i.max(j) & 0x7fff);
    CROSSING_KEY | edge(edge_a) << 30 | edge(edge_b)
}

impl View {
    fn new(
        pair: &Pair,
        closest: &Closest,
        features: &[Feature; 2],
        skew: DVec3,
        reach: f64,
    ) -> (Self, [Outline; 2]) {
        let (e1, e2) = tangents(closest.normal, skew);
        let mut view = Self {
            origin: closest.on_a,
            normal: closest.normal,
            e1,
            e2,
            a: Height { base: 0.0, slope: DVec2::ZERO },
            b: Height { base: -closest.separation, slope: DVec2::ZERO },
            radius_a: pair.a.radius,
            radius_b: pair.b.radius,
            reach,
            rounding: 1e-14 * pair.scale,
        };
        let (outline_a, height_a) = view.outline(&pair.a, &features[0], |p| p, |v| v, -1.0);
        let (outline_b, height_b) =
            view.outline(&pair.b, &features[1], |p| pair.out_of_b(p), |v| pair.turn * v, 1.0);
        (view.a, view.b) = (height_a, height_b);
        (view, [outline_a, outline_b])
    }

    /// The corners of the common part of two outlines, if these are not both round.
    fn common(&self, outlines: &[Outline; 2], spread: &mut Spread) {
        use Outline::{Disc, Polygon, Segment};
        match outlines {
            [Polygon(a), Polygon(b)] => self.polygons(a, b, spread),
            [Polygon(p), Segment { ends, .. }] | [Segment { ends, .. }, Polygon(p)] => {
                if let Some((from, to)) = clip_to_polygon(*ends, p, self.rounding) {
                    self.stretch(*ends, from, to, spread);
                }
            }
            [Disc(d), Segment { ends, .. }] => {
                if let Some((from, to)) = self.clip_to_disc(*ends, d, &self.a) {
                    self.stretch(*ends, from, to, spread);
                }
            }
            [Segment { ends, .. }, Disc(d)] => {
                if let Some((from, to)) = self.clip_to_disc(*ends, d, &self.b) {
                    self.stretch(*ends, from, to, spread);
                }
            }
            [Disc(d), Polygon(p)] => self.disc_on_polygon(d, &self.a, RIM_OF_A, p, CORNER_OF_B, spread),
            [Polygon(p), Disc(d)] => self.disc_on_polygon(d, &self.b, RIM_OF_B, p, CORNER_OF_A, spread),
            [Disc(a), Disc(b)] => self.discs(a, b, spread),
            [Segment { ends: a, .. }, Segment { ends: b, .. }] => self.segments(*a, *b, spread),
            _ => {}
        }
    }

    /// The direction across the normal in which the gap falls fastest, as long as it falls.
    fn downhill(&self) -> DVec3 {
        let slope = self.b.slope - self.a.slope;
        self.e1 * slope.x + self.e2 * slope.y
    }

    fn place(&self, point: DVec3) -> DVec2 {
        let d = point - self.origin;
        DVec2::new(d.dot(self.e1), d.dot(self.e2))
    }

    /// The height of the plane through `point` with the given normal.
    fn height(&self, point: DVec3, normal: DVec3) -> Height {
        let steep = -1.0 / normal.dot(self.normal);
        Height {
            base: normal.dot(self.origin - point) * steep,
            slope: DVec2::new(normal.dot(self.e1), normal.dot(self.e2)) * steep,
        }
    }

    /// `side` is the sign of the outward direction along the contact normal.
    fn outline(
        &self,
        core: &Convex,
        feature: &Feature,
        point: impl Fn(DVec3) -> DVec3,
        vector: impl Fn(DVec3) -> DVec3,
        side: f64,
    ) -> (Outline, Height) {
        match *feature {
            Feature::Point => (Outline::Point, Height { base: 0.0, slope: DVec2::ZERO }),
            Feature::Segment { ends, round } => {
                let axis = ends.map(&point);
                let along = axis[1] - axis[0];
                // The generator towards the contact: across the axis, not exactly along the normal.
                let outward = (self.normal - along * (along.dot(self.normal) / along.length_squared()))
                    .normalize_or_zero();
                let line = axis.map(|p| p + outward * (side * round));
                let ends = line.map(|p| self.place(p));
                let heights = line.map(|p| (p - self.origin).dot(self.normal));
                let run = ends[1] - ends[0];
                let slope = run * ((heights[1] - heights[0]) / run.length_squared());
                let base = heights[0] - slope.dot(ends[0]);
                (Outline::Segment { ends, round, axis }, Height { base, slope })
            }
            Feature::Face { index, normal } => {
                let count = core.face_len(index);
                let stride = count.div_ceil(CORNERS);
                let mut polygon =
                    Polygon { corners: [DVec2::ZERO; CORNERS], names: [0; CORNERS], len: 0, size: 0.0 };
                let mut nearest = (f64::INFINITY, DVec3::ZERO);
                for k in (0..count).step_by(stride) {
                    // Seen along the normal from A's side, the corners of A run clockwise.
                    let k = if side > 0.0 { k } else { count - 1 - k };
                    let (local, name) = core.face_corner(index, k);
                    let corner = point(local);
                    let place = self.place(corner);
                    polygon.corners[polygon.len] = place;
                    polygon.names[polygon.len] = name;
                    polygon.len += 1;
                    if place.length_squared() < nearest.0 {
                        nearest = (place.length_squared(), corner);
                    }
                }
                polygon.size = polygon.area().max(0.0).sqrt();
                // Through the corner next to the contact: the plane of a large face is known best there.
                let height = self.height(nearest.1, vector(normal));
                (Outline::Polygon(polygon), height)
            }
            Feature::Disc { centre, normal, radius } => {
                let disc = Disc { centre: point(centre), normal: vector(normal), radius };
                let height = self.height(disc.centre, disc.normal);
                (Outline::Disc(disc), height)
            }
        }
    }

    fn offer(&self, place: DVec2, key: u64, spread: &mut Spread) {
        let gap = self.a.at(place) - self.b.at(place) - (self.radius_a + self.radius_b);
        if gap <= self.reach {
            spread.offer(Candidate { place, gap, key, source: 0 });
        }
    }
}
