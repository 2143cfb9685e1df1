//! Making one vertex of equal ones, and refusing what is no triangle.

use glam::DVec3;

use crate::shape::FARTHEST;
use crate::shape::equal::first_equal;
use crate::shape::moments::cross_of_sides;

/// A triangle whose height is below this share of its longest side has no area to speak of, nor a normal.
const THIN: f64 = 1e-14;

/// Welds exactly equal vertices and drops unused ones. Vertices keep their order (equal ones that of their
/// first).
pub(super) fn weld(
    vertices: &[DVec3],
    mut triangles: Vec<[u32; 3]>,
) -> Result<(Vec<DVec3>, Vec<[u32; 3]>), String> {
    if let Some(k) = vertices.iter().position(|v| !v.is_finite()) {
        return Err(format!("vertex {k} must be finite, got {}", vertices[k]));
    }
    if let Some(k) = vertices.iter().position(|v| v.abs().max_element() > FARTHEST) {
        return Err(format!("vertex {k} is too far away: {}", vertices[k]));
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
    let first = first_equal(vertices);
    // The first of equal vertices may itself be unused.
    for v in 0..vertices.len() {
        used[first[v] as usize] |= used[v];
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

/// The unit normal, or why there is none.
pub(super) fn normal([a, b, c]: [DVec3; 3]) -> Result<DVec3, String> {
    let sides = [b - a, c - b, a - c];
    let longest = sides.iter().map(|s| s.abs().max_element()).fold(0.0, f64::max);
    if longest > 1.0 / FARTHEST {
        // Scaled, so that the product neither over- nor underflows.
        let across = cross_of_sides(sides.map(|s| s / longest));
        if across.length() > THIN {
            return Ok(across.normalize());
        }
    }
    Err(format!("has no area: its corners are {a}, {b} and {c}"))
}
