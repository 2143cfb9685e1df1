//! Polygons into triangles by cutting ears, holes first joined to the outside by bridges [Eberly2002].
//!
//! Every corner is kept, also those in the middle of a straight side: a neighbour may have a corner there,
//! and the surface must stay closed.

use glam::{DVec2, DVec3};

/// Faces with more corners are refused: cutting ears takes time with the square of their number.
const MOST_CORNERS: usize = 4096;

/// A corner of a polygon: where it is in the plane, and its number outside.
#[derive(Clone, Copy, Debug)]
pub(super) struct Corner {
    pub at: DVec2,
    pub index: u32,
}

/// Splits a face of a file into triangles, or says why it cannot be.
pub(super) fn triangulate_face(
    vertices: &[DVec3],
    face: &[u32],
    into: &mut Vec<[u32; 3]>,
) -> Result<(), String> {
    if face.len() > MOST_CORNERS {
        return Err(format!("the face has {} corners, at most {MOST_CORNERS} are allowed", face.len()));
    }
    let at = |k: usize| vertices[face[k % face.len()] as usize];
    // Newell: the sum over all sides does not depend on a lucky choice of corner.
    let base = at(0);
    let normal: DVec3 = (0..face.len()).map(|k| (at(k) - base).cross(at(k + 1) - base)).sum();
    let size = (0..face.len()).map(|k| (at(k) - base).length_squared()).fold(0.0, f64::max);
    if normal.length() <= super::THINNEST * size {
        return Err("degenerate: the face has no area".into());
    }
    let (x, y) = axes(normal.normalize());
    let corner = |&index: &u32| {
        let d = vertices[index as usize] - base;
        Corner { at: DVec2::new(d.dot(x), d.dot(y)), index }
    };
    let ring: Vec<Corner> = face.iter().map(corner).collect();
    let triangles = triangulate(vec![ring]).ok_or("the face crosses itself and cannot be split")?;
    into.extend(triangles);
    Ok(())
}

/// Two directions that make a right-handed frame with `normal`.
pub(super) fn axes(normal: DVec3) -> (DVec3, DVec3) {
    let (x, y) = normal.any_orthonormal_pair();
    if x.cross(y).dot(normal) > 0.0 { (x, y) } else { (y, x) }
}

/// Twice the signed area; above 0 when counter-clockwise.
fn doubled_area(ring: &[Corner]) -> f64 {
    let base = ring.first().map_or(DVec2::ZERO, |c| c.at);
    (0..ring.len()).map(|k| (ring[k].at - base).perp_dot(ring[(k + 1) % ring.len()].at - base)).sum()
}

/// Splits what lies inside of the rings: counter-clockwise ones bound it from outside, clockwise ones are
/// holes. `None` where that cannot be, because rings cross.
pub(super) fn triangulate(rings: Vec<Vec<Corner>>) -> Option<Vec<[u32; 3]>> {
    let area: f64 = rings.iter().map(|r| doubled_area(r)).sum();
    let (holes, mut outers): (Vec<_>, Vec<_>) = rings.into_iter().partition(|r| doubled_area(r) < 0.0);
    let mut owned: Vec<Vec<Vec<Corner>>> = vec![Vec::new(); outers.len()];
    for hole in holes {
        // The smallest ring around the hole is the one it is a hole of.
        let around = (0..outers.len())
            .filter(|&k| hole.iter().any(|c| contains(&outers[k], c.at)))
            .min_by(|&a, &b| doubled_area(&outers[a]).total_cmp(&doubled_area(&outers[b])))?;
        owned[around].push(hole);
    }
    let mut triangles = Vec::new();
    let mut covered = 0.0;
    for (outer, mut holes) in outers.iter_mut().zip(owned) {
        while !holes.is_empty() {
            bridge(outer, &mut holes)?;
        }
        covered += cut_ears(outer, &mut triangles)?;
    }
    // Ears cut from rings that cross cover more or less than the rings enclose.
    ((covered - area).abs() <= 1e-6 * area).then_some(triangles)
}

/// Whether a point is strictly inside of a ring, by counting crossings.
fn contains(ring: &[Corner], p: DVec2) -> bool {
    let mut inside = false;
    for k in 0..ring.len() {
        let (a, b) = (ring[k].at, ring[(k + 1) % ring.len()].at);
        if (a.y > p.y) != (b.y > p.y) && p.x < a.x + (p.y - a.y) / (b.y - a.y) * (b.x - a.x) {
            inside = !inside;
        }
    }
    inside
}

/// Joins one of the holes to the ring by a pair of opposite sides: the shortest that crosses nothing.
fn bridge(ring: &mut Vec<Corner>, holes: &mut Vec<Vec<Corner>>) -> Option<()> {
    let mut pairs: Vec<(f64, usize, usize, usize)> = Vec::new();
    for (h, hole) in holes.iter().enumerate() {
        for (i, a) in ring.iter().enumerate() {
            for (j, b) in hole.iter().enumerate() {
                pairs.push(((a.at - b.at).length_squared(), h, i, j));
            }
        }
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2, a.3).cmp(&(b.1, b.2, b.3))));
    let free = |a: &Corner, b: &Corner| {
        let all = std::iter::once(&*ring).chain(holes.iter());
        all.flat_map(|r| (0..r.len()).map(move |k| (r[k], r[(k + 1) % r.len()])))
            .all(|(c, d)| !blocks(a, b, &c, &d))
    };
    let &(_, h, i, j) = pairs.iter().find(|&&(_, h, i, j)| free(&ring[i], &holes[h][j]))?;
    let hole = holes.swap_remove(h);
    let mut joined = ring[..=i].to_vec();
    joined.extend(hole[j..].iter().chain(&hole[..=j]));
    joined.extend(&ring[i..]);
    *ring = joined;
    Some(())
}

/// Whether the side c d keeps a from seeing b. Sides that end in a or b do not.
fn blocks(a: &Corner, b: &Corner, c: &Corner, d: &Corner) -> bool {
    let shares = |p: &Corner, q: &Corner| p.index == q.index;
    if [c, d].iter().any(|p| shares(p, a) || shares(p, b)) {
        return false;
    }
    let side = |p: DVec2, q: DVec2, r: DVec2| (q - p).perp_dot(r - p);
    let (c1, d1) = (side(a.at, b.at, c.at), side(a.at, b.at, d.at));
    let (a1, b1) = (side(c.at, d.at, a.at), side(c.at, d.at, b.at));
    // On both sides or touching, of both lines.
    c1 * d1 <= 0.0 && a1 * b1 <= 0.0 && !(c1 == 0.0 && d1 == 0.0 && a1 == 0.0 && b1 == 0.0)
}

/// Cuts the ring down to nothing and returns twice the area that was cut off. `None` when nothing convex is
/// left.
fn cut_ears(ring: &[Corner], into: &mut Vec<[u32; 3]>) -> Option<f64> {
    let n = ring.len();
    let mut next: Vec<usize> = (0..n).map(|k| (k + 1) % n).collect();
    let mut before: Vec<usize> = (0..n).map(|k| (k + n - 1) % n).collect();
    let size = ring.iter().map(|c| (c.at - ring[0].at).length_squared()).fold(0.0, f64::max);
    let least = super::THINNEST * size;
    let (mut here, mut left, mut tried, mut covered) = (0, n, 0, 0.0);
    while left > 2 {
        let (a, b, c) = (before[here], here, next[here]);
        let area = doubled_area(&[ring[a], ring[b], ring[c]]);
        // After a round without an ear, whatever is convex at all will do.
        let desperate = tried > left;
        let good = if desperate { area >= 0.0 } else { area > least };
        if good && (desperate || is_ear(ring, &next, [a, b, c], left)) {
            into.push([ring[a].index, ring[b].index, ring[c].index]);
            covered += area;
            (next[a], before[c]) = (c, a);
            left -= 1;
            tried = 0;
            // Leaving the neighbour out makes fans of thin triangles rarer.
            here = next[c];
            continue;
        }
        if tried > 2 * left {
            return None;
        }
        here = c;
        tried += 1;
    }
    Some(covered)
}

/// Whether no other corner lies in the triangle or on its sides.
fn is_ear(ring: &[Corner], next: &[usize], [a, b, c]: [usize; 3], left: usize) -> bool {
    let (p, q, r) = (ring[a].at, ring[b].at, ring[c].at);
    let mut k = next[c];
    for _ in 0..left - 3 {
        let x = ring[k].at;
        let other = ![a, b, c].iter().any(|&i| ring[i].index == ring[k].index);
        if other
            && (q - p).perp_dot(x - p) >= 0.0
            && (r - q).perp_dot(x - q) >= 0.0
            && (p - r).perp_dot(x - r) >= 0.0
        {
            return false;
        }
        k = next[k];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(points: &[(f64, f64)], from: u32) -> Vec<Corner> {
        let corner =
            |(k, &(x, y)): (usize, &(f64, f64))| Corner { at: DVec2::new(x, y), index: from + k as u32 };
        points.iter().enumerate().map(corner).collect()
    }

    /// Area by triangles, and that every side of the rings is a side of exactly one triangle.
    fn check(rings: Vec<Vec<Corner>>, area: f64) {
        let corners: Vec<Corner> = rings.iter().flatten().copied().collect();
        let at = |i: u32| corners.iter().find(|c| c.index == i).unwrap().at;
        let sides: Vec<(u32, u32)> = rings
            .iter()
            .flat_map(|r| (0..r.len()).map(|k| (r[k].index, r[(k + 1) % r.len()].index)))
            .collect();
        let triangles = triangulate(rings).unwrap();
        let doubled: Vec<f64> =
            triangles.iter().map(|&[a, b, c]| (at(b) - at(a)).perp_dot(at(c) - at(a))).collect();
        assert!(doubled.iter().all(|&a| a > 1e-9), "{doubled:?}");
        assert!((doubled.iter().sum::<f64>() - 2.0 * area).abs() < 1e-9);
        for (a, b) in sides {
            let uses = triangles.iter().flat_map(|&[p, q, r]| [(p, q), (q, r), (r, p)]);
            assert_eq!(uses.filter(|&s| s == (a, b)).count(), 1, "{a} {b}");
        }
    }

    #[test]
    fn concave_with_corners_in_straight_sides() {
        let l =
            [(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (2.0, 1.0), (1.0, 1.0), (1.0, 2.0), (0.0, 2.0), (0.0, 1.0)];
        check(vec![ring(&l, 0)], 3.0);
        let split_triangle = [(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (1.0, 1.0), (0.0, 2.0), (0.0, 1.0)];
        check(vec![ring(&split_triangle, 0)], 2.0);
    }

    #[test]
    fn holes_islands_and_several_rings() {
        let square = |low: f64, high: f64| vec![(low, low), (high, low), (high, high), (low, high)];
        let hole = |low: f64, high: f64| vec![(low, low), (low, high), (high, high), (high, low)];
        check(vec![ring(&square(0.0, 4.0), 0), ring(&hole(1.0, 3.0), 4)], 12.0);
        check(vec![ring(&square(0.0, 4.0), 0), ring(&hole(1.0, 3.0), 4), ring(&square(1.5, 2.5), 8)], 13.0);
        let two = vec![ring(&square(0.0, 4.0), 0), ring(&hole(0.5, 1.5), 4), ring(&hole(2.0, 3.5), 8)];
        check(two, 16.0 - 1.0 - 2.25);
        check(vec![ring(&square(0.0, 1.0), 0), ring(&square(2.0, 3.0), 4)], 2.0);
    }

    #[test]
    fn crossing_rings_are_refused() {
        let bow = [(0.0, 0.0), (2.0, 2.0), (2.0, 0.0), (0.0, 1.0)];
        assert!(triangulate(vec![ring(&bow, 0)]).is_none());
        let hole_outside = vec![(5.0, 5.0), (5.0, 6.0), (6.0, 6.0), (6.0, 5.0)];
        let square = [(0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0)];
        assert!(triangulate(vec![ring(&square, 0), ring(&hole_outside, 4)]).is_none());
    }
}
