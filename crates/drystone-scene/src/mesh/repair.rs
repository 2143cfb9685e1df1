//! Triangles without area, which programs that tessellate leave behind: taken out so that the surface stays
//! closed.

use std::collections::HashMap;

use glam::DVec3;

use super::is_thin;

/// Takes out triangles without area and says how many there were.
///
/// One that comes twice to a corner leaves no hole. One whose corners lie on a line does: its neighbour along
/// the long side is cut in two at the corner between.
pub(super) fn take_out_thin(vertices: &[DVec3], triangles: &mut Vec<[u32; 3]>) -> usize {
    let thin = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|i| vertices[i as usize]);
        is_thin(a, b, c)
    };
    let mut slivers: Vec<[u32; 3]> = triangles.iter().copied().filter(|t| thin(t)).collect();
    let found = slivers.len();
    if found == 0 {
        return 0;
    }
    triangles.retain(|t| !thin(t));
    slivers.retain(|[a, b, c]| a != b && b != c && c != a);
    // Slivers beside slivers become whole one after the other.
    while !slivers.is_empty() {
        let mut sides: HashMap<(u32, u32), usize> = HashMap::with_capacity(3 * triangles.len());
        for (k, &[a, b, c]) in triangles.iter().enumerate() {
            sides.extend([((a, b), k), ((b, c), k), ((c, a), k)]);
        }
        let (before, mut cut) = (slivers.len(), Vec::new());
        slivers.retain(|t| {
            let [a, b, c] = long_side_last(*t, vertices);
            let Some(&k) = sides.get(&(a, c)).filter(|k| !cut.contains(*k)) else { return true };
            let Some(&d) = triangles[k].iter().find(|v| **v != a && **v != c) else { return true };
            cut.push(k);
            triangles[k] = [a, b, d];
            triangles.push([b, c, d]);
            false
        });
        if slivers.len() == before {
            break; // Their neighbours are not there: the surface is open anyway.
        }
    }
    found
}

/// The corners in their order, with the longest side from the last to the first.
fn long_side_last([a, b, c]: [u32; 3], vertices: &[DVec3]) -> [u32; 3] {
    let length = |i: u32, j: u32| vertices[i as usize].distance_squared(vertices[j as usize]);
    let (ab, bc, ca) = (length(a, b), length(b, c), length(c, a));
    if ca >= ab && ca >= bc {
        [a, b, c]
    } else if ab >= bc {
        [b, c, a]
    } else {
        [c, a, b]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every side of a triangle is passed once each way.
    fn closed(triangles: &[[u32; 3]]) -> bool {
        let sides: Vec<(u32, u32)> =
            triangles.iter().flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)]).collect();
        sides.iter().all(|(a, b)| sides.iter().filter(|s| **s == (*b, *a)).count() == 1)
    }

    #[test]
    fn a_tetrahedron_with_slivers_is_closed_again() {
        // 4 is between 0 and 1; 5 between 4 and 1.
        let x = |a: f64, b: f64, c: f64| DVec3::new(a, b, c);
        let vertices = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z, x(0.5, 0.0, 0.0), x(0.75, 0.0, 0.0)];
        let below = [[0, 2, 4], [4, 2, 5], [5, 2, 1]];
        let mut all = vec![[0, 1, 3], [0, 3, 2], [1, 2, 3]];
        all.extend(below);
        // Two slivers fill what is between the side 0-1 and the points on it.
        all.extend([[0, 4, 1], [4, 5, 1]]);
        assert!(closed(&all));
        assert_eq!(take_out_thin(&vertices, &mut all), 2);
        assert!(closed(&all), "{all:?}");
        assert_eq!(all.len(), 8);
        assert!(all.iter().all(|t| {
            let [a, b, c] = t.map(|i| vertices[i as usize]);
            !is_thin(a, b, c)
        }));
        // One that comes twice to a corner is only left out.
        let mut twice = vec![[0, 1, 3], [0, 3, 2], [1, 2, 3], [0, 2, 1], [0, 0, 1]];
        assert_eq!(take_out_thin(&vertices, &mut twice), 1);
        assert!(closed(&twice) && twice.len() == 4);
    }
}
