//! Finding exactly equal points.

use std::cmp::Ordering;

use glam::DVec3;

/// For each point the first that equals it, itself if there is none before. Points must be finite; 0 equals
/// −0.
pub(super) fn first_equal(points: &[DVec3]) -> Vec<u32> {
    let at = |k: u32| points[k as usize];
    let mut order: Vec<u32> = (0..points.len() as u32).collect();
    order.sort_unstable_by(|&i, &j| compare(at(i), at(j)).then(i.cmp(&j)));
    let mut first: Vec<u32> = (0..points.len() as u32).collect();
    for pair in order.windows(2) {
        if at(pair[0]) == at(pair[1]) {
            first[pair[1] as usize] = first[pair[0] as usize];
        }
    }
    first
}

fn compare(a: DVec3, b: DVec3) -> Ordering {
    let by = |x: f64, y: f64| x.partial_cmp(&y).unwrap_or(Ordering::Equal);
    by(a.x, b.x).then(by(a.y, b.y)).then(by(a.z, b.z))
}
