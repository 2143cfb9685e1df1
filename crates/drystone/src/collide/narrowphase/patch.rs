//! The contact patch of two features that lie along each other, seen along the contact normal.
//!
//! Both features are projected along the normal onto a plane through the closest points. There the patch is the common part
//! of two outlines (polygons, segments, discs); over it each feature has a height that is linear in the place, and the gap
//! is their difference. Since the normal is that of the closest points, the least gap of the patch is the distance.
//!
//! Corners of the patch are named by what made them: a corner of either face, the crossing of two edges, a place on a rim.
//! Corners of the two faces that nearly coincide, as in a flush stack, would change their maker with every small motion:
//! near a corner, the corner's name wins. On a rim there are three places at fixed directions of the world, so that a
//! standing cylinder may spin without its points moving, and the deepest one.

use glam::{DVec2, DVec3};

use super::convex::{Convex, Pair};
use super::feature::Feature;
use super::general::Closest;
use super::spread::{Candidate, Spread};
use super::{ALONG_SIN, ContactPoint, Manifold, RIM_PLACES, tangents};

/// Faces with more corners than this are thinned out: the patch loses some corners, never the closest point.
const CORNERS: usize = 32;

/// A corner's name holds within this part of the size of the smaller face.
const SNAP: f64 = 0.02;

/// Sharp edges count as along each other up to this sine.
const SHARP_SIN: f64 = 1e-3;

/// The closest point of bars counts beside the ends of their common stretch when it is nearer by this part of the scale.
const BETWEEN: f64 = 1e-13;

/// Normals of single points may differ from the contact's by this cosine.
const SAME_SIDE: f64 = 0.9;

/// Kinds of names, and the names that are no corners.
const CORNER_OF_A: u32 = 0;
const CORNER_OF_B: u32 = 1 << 17;
const CROSSING: u32 = 2 << 17;
const SPECIAL: u32 = 3 << 17;
const CLOSEST: u64 = SPECIAL as u64;
const END: u64 = SPECIAL as u64 + 1;
const RIM_OF_A: u64 = SPECIAL as u64 + 4;
const RIM_OF_B: u64 = SPECIAL as u64 + 8;
const RIMS_CROSS: u64 = SPECIAL as u64 + 12;
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

struct Polygon {
    corners: [DVec2; CORNERS],
    names: [u32; CORNERS],
    len: usize,
    /// Square root of the area.
    size: f64,
}

struct Disc {
    centre: DVec3,
    normal: DVec3,
    radius: f64,
}

/// A linear height over the plane: `base + slope · place`.
#[derive(Clone, Copy)]
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
    let [piece_a, piece_b] = closest.pieces;
    let features = [
        pair.a.feature(-n, piece_a, closest.on_a),
        pair.b.feature(pair.into_b(n), piece_b, pair.into_b(closest.on_b - pair.offset)),
    ];
    let gap = closest.separation - pair.radii;
    let single = |out: &mut Manifold| {
        let on_a = closest.on_a - n * pair.a.radius;
        let on_b = closest.on_b + n * pair.b.radius;
        out.push_within(reach, ContactPoint { on_a, on_b, normal: n, gap, feature: CLOSEST as u32 });
    };
    if features.iter().any(|f| matches!(f, Feature::Point)) {
        return single(out);
    }
    let (e1, e2) = tangents(n, skew);
    let mut view = View {
        origin: closest.on_a,
        normal: n,
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
        view.outline(&pair.b, &features[1], |p| pair.from_b(p), |v| pair.turn * v, 1.0);
    (view.a, view.b) = (height_a, height_b);

    use Outline::{Disc, Polygon, Segment};
    let mut spread = Spread::new();
    match (&outline_a, &outline_b) {
        (Polygon(a), Polygon(b)) => view.polygons(a, b, &mut spread),
        (Polygon(p), Segment { ends, .. }) | (Segment { ends, .. }, Polygon(p)) => {
            if let Some((from, to)) = clip_to_polygon(*ends, p, view.rounding) {
                view.stretch(*ends, from, to, &mut spread);
            }
        }
        (Disc(d), Segment { ends, .. }) => {
            if let Some((from, to)) = view.clip_to_disc(*ends, d, &view.a) {
                view.stretch(*ends, from, to, &mut spread);
            }
        }
        (Segment { ends, .. }, Disc(d)) => {
            if let Some((from, to)) = view.clip_to_disc(*ends, d, &view.b) {
                view.stretch(*ends, from, to, &mut spread);
            }
        }
        (Disc(d), Polygon(p)) => view.disc_on_polygon(d, &view.a, RIM_OF_A, p, CORNER_OF_B, &mut spread),
        (Polygon(p), Disc(d)) => view.disc_on_polygon(d, &view.b, RIM_OF_B, p, CORNER_OF_A, &mut spread),
        (Disc(a), Disc(b)) => view.discs(a, b, &mut spread),
        (Segment { round: ra, axis: a, .. }, Segment { round: rb, axis: b, .. })
            if ra + rb + pair.radii > 0.0 =>
        {
            view.round_segments(*a, *ra, *b, *rb, closest, out);
            if least(out) > gap + BETWEEN * pair.scale {
                single(out);
            }
            return;
        }
        (Segment { ends: a, .. }, Segment { ends: b, .. }) => view.segments(*a, *b, &mut spread),
        _ => {}
    }
    let deepest = spread.deepest();
    if deepest > gap + 4.0 * view.rounding {
        spread.offer(Candidate { place: DVec2::ZERO, gap, key: CLOSEST, source: EXACT });
    }
    for c in spread.chosen(10.0 * view.rounding) {
        let on_plane = view.origin + view.e1 * c.place.x + view.e2 * c.place.y;
        let (on_a, on_b) = if c.source == EXACT {
            (closest.on_a, closest.on_b)
        } else {
            (on_plane + n * view.a.at(c.place), on_plane + n * view.b.at(c.place))
        };
        out.push(ContactPoint {
            on_a: on_a - n * view.radius_a,
            on_b: on_b + n * view.radius_b,
            normal: n,
            gap: c.gap,
            feature: feature_of(c.key),
        });
    }
    out.distinct_features();
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

    fn polygons(&self, a: &Polygon, b: &Polygon, spread: &mut Spread) {
        let near = SNAP * 0.5 * a.size.min(b.size);
        let near_squared = near * near;
        let snapped = |place: DVec2, otherwise: u64| {
            let at = |p: &Polygon| {
                (0..p.len).find(|k| p.corners[*k].distance_squared(place) <= near_squared).map(|k| p.names[k])
            };
            match at(a) {
                Some(name) => u64::from(CORNER_OF_A | name & 0x1_ffff),
                None => match at(b) {
                    Some(name) => u64::from(CORNER_OF_B | name & 0x1_ffff),
                    None => otherwise,
                },
            }
        };
        for i in 0..a.len {
            let ends = [a.corners[i], a.corners[a.next(i)]];
            let Some(cut) = cut_by_polygon(ends, b, self.rounding) else { continue };
            let key = |k: usize| crossing(a.edge(i), b.edge(k));
            match cut.entered {
                None => {
                    self.offer(ends[0], u64::from(CORNER_OF_A | a.names[i] & 0x1_ffff), spread);
                }
                Some(k) => {
                    let place = ends[0].lerp(ends[1], cut.from);
                    self.offer(place, snapped(place, key(k)), spread);
                }
            }
            if let Some(k) = cut.left {
                let place = ends[0].lerp(ends[1], cut.to);
                self.offer(place, snapped(place, key(k)), spread);
            }
        }
        for k in 0..b.len {
            if a.holds(b.corners[k], self.rounding) {
                let own = u64::from(CORNER_OF_B | b.names[k] & 0x1_ffff);
                self.offer(b.corners[k], snapped(b.corners[k], own), spread);
            }
        }
    }

    /// The ends of a part of a segment.
    fn stretch(&self, ends: [DVec2; 2], from: f64, to: f64, spread: &mut Spread) {
        self.offer(ends[0].lerp(ends[1], from), END, spread);
        if to > from {
            self.offer(ends[0].lerp(ends[1], to), END + 1, spread);
        }
    }

    /// Sharp edges along each other: more strictly so, since beside a sharp edge there is nothing to touch.
    fn segments(&self, a: [DVec2; 2], b: [DVec2; 2], spread: &mut Spread) {
        let along = a[1] - a[0];
        let other = b[1] - b[0];
        if along.perp_dot(other).abs() > SHARP_SIN * along.length() * other.length() {
            return;
        }
        let squared = along.length_squared();
        let beside = b.map(|p| (p - a[0]).perp_dot(along).abs());
        if beside[0].max(beside[1]) > SHARP_SIN * squared.min(along.length() * other.length()) {
            return;
        }
        let t = b.map(|p| (p - a[0]).dot(along) / squared);
        let (from, to) = (t[0].min(t[1]).max(0.0), t[0].max(t[1]).min(1.0));
        if from < to {
            self.stretch(a, from, to, spread);
        }
    }

    /// Round bars along each other up to 2°. Each end of the common stretch has its own normal: across the axis of A it
    /// leads from axis to axis, along it it is that of the closest points.
    fn round_segments(
        &self,
        a: [DVec3; 2],
        round_a: f64,
        b: [DVec3; 2],
        round_b: f64,
        closest: &Closest,
        out: &mut Manifold,
    ) {
        let (u, v) = (a[1] - a[0], b[1] - b[0]);
        if u.cross(v).length_squared() > (ALONG_SIN * ALONG_SIN) * u.length_squared() * v.length_squared() {
            return;
        }
        let t = b.map(|p| (p - a[0]).dot(u) / u.length_squared());
        let (from, to) = (t[0].min(t[1]).max(0.0), t[0].max(t[1]).min(1.0));
        if from >= to {
            return;
        }
        let least = closest.separation - self.radius_a - self.radius_b;
        let (u, v_across) = (u.normalize(), v.normalize());
        let slope = closest.normal.dot(u);
        for (along, name) in [(from, END), (to, END + 1)] {
            let pa = a[0].lerp(a[1], along);
            let pb = b[0] + v * ((along - t[0]) / (t[1] - t[0]));
            let own = (pa - pb).normalize_or_zero();
            let normal = if own.dot(closest.normal) > SAME_SIDE {
                (own * (1.0 - slope * slope).sqrt() + u * slope).normalize()
            } else {
                closest.normal
            };
            let side_a = normal.reject_from_normalized(u).normalize_or_zero();
            let side_b = normal.reject_from_normalized(v_across).normalize_or_zero();
            let on_a = pa - side_a * round_a - normal * self.radius_a;
            let on_b = pb + side_b * round_b + normal * self.radius_b;
            // Nothing is nearer than the closest points.
            let gap = (on_a - on_b).dot(normal).max(least);
            out.push_within(
                self.reach,
                ContactPoint { on_a, on_b: on_a - normal * gap, normal, gap, feature: name as u32 },
            );
        }
    }

    /// The point of a disc's plane over a place.
    fn on_disc(&self, place: DVec2, height: &Height) -> DVec3 {
        self.origin + self.e1 * place.x + self.e2 * place.y + self.normal * height.at(place)
    }

    fn disc_holds(&self, disc: &Disc, height: &Height, place: DVec2) -> bool {
        self.on_disc(place, height).distance(disc.centre) <= disc.radius + self.rounding
    }

    /// The part of the segment over the disc.
    fn clip_to_disc(&self, ends: [DVec2; 2], disc: &Disc, height: &Height) -> Option<(f64, f64)> {
        let (from, to) = self.crosses_rim(ends, disc, height)?;
        let (from, to) = (from.max(0.0), to.min(1.0));
        (from <= to).then_some((from, to))
    }

    /// Where the line through two places crosses the rim of a disc.
    fn crosses_rim(&self, ends: [DVec2; 2], disc: &Disc, height: &Height) -> Option<(f64, f64)> {
        let p = self.on_disc(ends[0], height) - disc.centre;
        let d = self.on_disc(ends[1], height) - disc.centre - p;
        let squared = d.length_squared();
        // The foot of the perpendicular from the centre, and half the chord.
        let foot = -p.dot(d) / squared;
        let room = disc.radius * disc.radius - (p + d * foot).length_squared();
        if room.is_nan() || room < 0.0 || squared <= 0.0 {
            return None;
        }
        let half = (room / squared).sqrt();
        Some((foot - half, foot + half))
    }

    /// Three fixed places on a rim, and the one furthest out along `direction`, with their numbers.
    fn rim_places(&self, disc: &Disc, direction: DVec3, mut visit: impl FnMut(DVec2, u64)) {
        for (k, (c, s)) in RIM_PLACES.into_iter().enumerate() {
            let towards = (self.e1 * c + self.e2 * s).reject_from_normalized(disc.normal).normalize_or_zero();
            visit(self.place(disc.centre + towards * disc.radius), k as u64);
        }
        let tilt = direction.reject_from_normalized(disc.normal);
        if tilt.length_squared() > 1e-24 {
            visit(self.place(disc.centre + tilt.normalize() * disc.radius), DEEPEST);
        }
    }

    fn disc_on_polygon(
        &self,
        disc: &Disc,
        height: &Height,
        rim: u64,
        polygon: &Polygon,
        corner: u32,
        spread: &mut Spread,
    ) {
        let outward = if rim == RIM_OF_A { -self.normal } else { self.normal };
        self.rim_places(disc, outward, |place, k| {
            if polygon.holds(place, self.rounding) {
                self.offer(place, rim + k, spread);
            }
        });
        for k in 0..polygon.len {
            let ends = [polygon.corners[k], polygon.corners[polygon.next(k)]];
            if self.disc_holds(disc, height, ends[0]) {
                self.offer(ends[0], u64::from(corner | polygon.names[k] & 0x1_ffff), spread);
            }
            let Some((from, to)) = self.crosses_rim(ends, disc, height) else { continue };
            for (t, number) in [(from, 0), (to, 1)] {
                if t > 0.0 && t < 1.0 {
                    self.offer(ends[0].lerp(ends[1], t), crossing(polygon.edge(k), [number, number]), spread);
                }
            }
        }
    }

    fn discs(&self, a: &Disc, b: &Disc, spread: &mut Spread) {
        self.rim_places(a, -self.normal, |place, k| {
            if self.disc_holds(b, &self.b, place) {
                self.offer(place, RIM_OF_A + k, spread);
            }
        });
        self.rim_places(b, self.normal, |place, k| {
            if self.disc_holds(a, &self.a, place) {
                self.offer(place, RIM_OF_B + k, spread);
            }
        });
        let (ca, cb) = (self.place(a.centre), self.place(b.centre));
        let apart = cb - ca;
        let d = apart.length();
        if d <= (a.radius - b.radius).abs() || d >= a.radius + b.radius || d <= self.rounding {
            return;
        }
        let along = 0.5 * (d + (a.radius - b.radius) * ((a.radius + b.radius) / d));
        let off = (a.radius * a.radius - along * along).max(0.0).sqrt();
        for (side, key) in [(1.0, RIMS_CROSS), (-1.0, RIMS_CROSS + 1)] {
            let mut place = ca + apart * (along / d) + apart.perp() * (side * off / d);
            // Tilted discs are seen as slim ellipses: Newton's method brings the place onto both rims.
            let mut error = f64::INFINITY;
            for _ in 0..10 {
                let (fa, ga) = self.off_rim(a, &self.a, place);
                let (fb, gb) = self.off_rim(b, &self.b, place);
                error = fa.abs().max(fb.abs());
                let determinant = ga.perp_dot(gb);
                if error <= self.rounding || determinant == 0.0 {
                    break;
                }
                place -= DVec2::new(fa * gb.y - fb * ga.y, fb * ga.x - fa * gb.x) / determinant;
            }
            if error > 1e-10 * (a.radius + b.radius) || !place.is_finite() {
                continue;
            }
            self.offer(place, key, spread);
        }
    }

    /// How far a place is outside the rim, and the slope of that.
    fn off_rim(&self, disc: &Disc, height: &Height, place: DVec2) -> (f64, DVec2) {
        let p = self.on_disc(place, height) - disc.centre;
        let r = p.length();
        let slope = |e: DVec3, s: f64| p.dot(e + self.normal * s) / r;
        (r - disc.radius, DVec2::new(slope(self.e1, height.slope.x), slope(self.e2, height.slope.y)))
    }
}

/// The part of an edge within a polygon, and the polygon's edges that cut it.
struct Cut {
    from: f64,
    to: f64,
    entered: Option<usize>,
    left: Option<usize>,
}

fn cut_by_polygon(ends: [DVec2; 2], polygon: &Polygon, slack: f64) -> Option<Cut> {
    let mut cut = Cut { from: 0.0, to: 1.0, entered: None, left: None };
    for k in 0..polygon.len {
        let (corner, inward) = polygon.side(k);
        let h = ends.map(|p| (p - corner).dot(inward) + slack);
        if h[0] < 0.0 && h[1] < 0.0 {
            return None;
        }
        if h[0] < 0.0 || h[1] < 0.0 {
            let t = h[0] / (h[0] - h[1]);
            if h[0] < 0.0 && t > cut.from {
                (cut.from, cut.entered) = (t, Some(k));
            } else if h[1] < 0.0 && t < cut.to {
                (cut.to, cut.left) = (t, Some(k));
            }
        }
    }
    (cut.from <= cut.to).then_some(cut)
}

fn clip_to_polygon(ends: [DVec2; 2], polygon: &Polygon, slack: f64) -> Option<(f64, f64)> {
    cut_by_polygon(ends, polygon, slack).map(|cut| (cut.from, cut.to))
}

impl Polygon {
    fn next(&self, k: usize) -> usize {
        if k + 1 == self.len { 0 } else { k + 1 }
    }

    fn edge(&self, k: usize) -> [u32; 2] {
        [self.names[k], self.names[self.next(k)]]
    }

    /// A point of side k and its unit normal towards the inside.
    fn side(&self, k: usize) -> (DVec2, DVec2) {
        let along = self.corners[self.next(k)] - self.corners[k];
        (self.corners[k], along.perp().normalize_or_zero())
    }

    fn holds(&self, place: DVec2, slack: f64) -> bool {
        (0..self.len).all(|k| {
            let (corner, inward) = self.side(k);
            (place - corner).dot(inward) >= -slack
        })
    }

    fn area(&self) -> f64 {
        let first = self.corners[0];
        let mut twice = 0.0;
        for k in 1..self.len.saturating_sub(1) {
            twice += (self.corners[k] - first).perp_dot(self.corners[k + 1] - first);
        }
        0.5 * twice
    }
}
