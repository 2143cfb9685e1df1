//! Normals at the corners of triangles, so that a surface of many small ones looks as round as it is meant to
//! be.

use glam::{DVec3, Vec3};

/// A normal for each corner of each triangle: the mean, weighted by angle \[ThurmerWuthrich1998\], over the
/// triangles at that corner that are turned from this one by less than `crease` (degrees). Sharper edges stay
/// sharp.
pub(super) fn corner_normals(vertices: &[DVec3], triangles: &[[u32; 3]], crease: f64) -> Vec<[Vec3; 3]> {
    let least = crease.to_radians().cos();
    let corners = |t: usize| triangles[t].map(|i| vertices[i as usize]);
    let flat: Vec<DVec3> = (0..triangles.len())
        .map(|t| {
            let [a, b, c] = corners(t);
            (b - a).cross(c - a).normalize_or_zero()
        })
        .collect();
    // Triangles at each vertex, one after the other.
    let mut start = vec![0_u32; vertices.len() + 1];
    triangles.iter().flatten().for_each(|&i| start[i as usize + 1] += 1);
    (0..vertices.len()).for_each(|i| start[i + 1] += start[i]);
    let mut next = start.clone();
    let mut around = vec![(0_u32, 0.0_f32); 3 * triangles.len()];
    for (t, triangle) in triangles.iter().enumerate() {
        let at = corners(t);
        for k in 0..3 {
            let (to, from) = (at[(k + 1) % 3] - at[k], at[(k + 2) % 3] - at[k]);
            let place = &mut next[triangle[k] as usize];
            around[*place as usize] = (t as u32, to.angle_between(from) as f32);
            *place += 1;
        }
    }
    (0..triangles.len())
        .map(|t| {
            triangles[t].map(|i| {
                let here = &around[start[i as usize] as usize..start[i as usize + 1] as usize];
                let mean: DVec3 = here
                    .iter()
                    .filter(|(other, angle)| angle.is_finite() && flat[*other as usize].dot(flat[t]) >= least)
                    .map(|(other, angle)| flat[*other as usize] * f64::from(*angle))
                    .sum();
                mean.normalize_or(flat[t]).as_vec3()
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_stays_sharp_and_a_ball_becomes_round() {
        let corner = |k: u32| DVec3::new((k & 1) as f64, (k >> 1 & 1) as f64, (k >> 2) as f64) * 2.0 - 1.0;
        let vertices: Vec<DVec3> = (0..8).map(corner).collect();
        let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let triangles: Vec<[u32; 3]> =
            quads.iter().flat_map(|q| [[q[0], q[1], q[2]], [q[0], q[2], q[3]]]).collect();
        let sharp = corner_normals(&vertices, &triangles, 40.0);
        for (t, normals) in triangles.iter().zip(&sharp) {
            let [a, b, c] = t.map(|i| vertices[i as usize]);
            let flat = (b - a).cross(c - a).normalize().as_vec3();
            assert!(flat.as_dvec3().dot(a) > 0.0, "corners go round the wrong way");
            assert!(normals.iter().all(|n| n.abs_diff_eq(flat, 1e-6)));
        }
        // By angle each face counts the same at a corner, however it is split: the corner's own direction
        // comes out.
        for (t, normals) in triangles.iter().zip(corner_normals(&vertices, &triangles, 180.0)) {
            for (i, n) in t.iter().zip(normals) {
                assert!(n.abs_diff_eq(vertices[*i as usize].normalize().as_vec3(), 1e-6));
            }
        }
    }
}
