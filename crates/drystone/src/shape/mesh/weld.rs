//! Making one vertex of equal ones, and refusing what is no triangle.

use std::cmp::Ordering;

use glam::DVec3;

use crate::shape::moments::cross_of_sides;

/// A triangle whose height is below this share of its longest side has no area to speak of, nor a normal.
const THIN: f64 = 1e-14;

/// Welds exactly equal vertices and drops unused ones. Vertices keep their order (equal ones that of their first).
pub(super) fn weld(
    vertices: &[DVec3],
    mut triangles: Vec<[u32; 3]>,
) -> Result<(Vec<DVec3>, Vec<[u32; 3]>), String> {
    if let Some(k) = vertices.iter().position(|v| !v.is_finite()) {
        return Err(format!("vertex {k} must be finite, got {}", vertices[k]));
    }
    let mut used = vec![false; vertices.len()];
    for (k, t) in triangles.iter().enumerate() {
        for &v in t {
            match used.get_mut(v as usize) {
                Some(flag) => *flag = true,
                None => {
                    return Err(format!(
                        "triangle {k} names vertex {v}, but there are only {}",
                        vertices.len()
                    ));
                }
            }
        }
    }
    let mut order: Vec<u32> = (0..vertices.len() as u32).filter(|&v| used[v as usize]).collect();
    order.sort_by(|&i, &j| compare(vertices[i as usize], vertices[j as usize]).then(i.cmp(&j)));
    let mut first: Vec<u32> = (0..vertices.len() as u32).collect();
    for pair in 1..order.len() {
        let (before, here) = (order[pair - 1], order[pair]);
        if vertices[before as usize] == vertices[here as usize] {
            first[here as usize] = first[before as usize];
        }
    }
    let mut number = vec![u32::MAX; vertices.len()];
    let mut kept = Vec::new();
    for v in 0..vertices.len() {
        if used[v] && first[v] as usize == v {
            number[v] = kept.len() as u32;
            kept.push(vertices[v]);
        }
    }
    for v in triangles.iter_mut().flatten() {
        *v = number[first[*v as usize] as usize];
    }
    Ok((kept, triangles))
}

/// Lexicographic; finite numbers only, and 0 equals −0.
fn compare(a: DVec3, b: DVec3) -> Ordering {
    let by = |x: f64, y: f64| x.partial_cmp(&y).unwrap_or(Ordering::Equal);
    by(a.x, b.x).then(by(a.y, b.y)).then(by(a.z, b.z))
}

/// The unit normal, or why there is none.
pub(super) fn normal([a, b, c]: [DVec3; 3]) -> Result<DVec3, String> {
    let sides = [b - a, c - b, a - c];
    let longest = sides.iter().map(|s| s.abs().max_element()).fold(0.0, f64::max);
    if longest > 0.0 && longest.is_finite() {
        // Scaled, so that the product neither over- nor underflows.
        let across = cross_of_sides(sides.map(|s| s / longest));
        if across.length() > THIN {
            return Ok(across.normalize());
        }
    }
    Err(format!("has no area: its corners are {a}, {b} and {c}"))
}
