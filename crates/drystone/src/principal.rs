//! Principal axes of a symmetric tensor.

use glam::{DMat3, DVec3};

/// Eigenvalues and the right-handed frame of unit eigenvectors (columns) of a symmetric matrix, by cyclic
/// Jacobi rotations. Nothing is turned more than it must be: a diagonal matrix keeps its axes and their
/// order.
pub fn principal_frame(m: &DMat3) -> (DVec3, DMat3) {
    let mut a = m.to_cols_array_2d();
    let mut v = DMat3::IDENTITY.to_cols_array_2d();
    for _ in 0..30 {
        let off = a[0][1].abs() + a[0][2].abs() + a[1][2].abs();
        if off <= 1e-17 * (a[0][0].abs() + a[1][1].abs() + a[2][2].abs()) {
            break;
        }
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            if a[p][q] == 0.0 {
                continue;
            }
            let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            // signum of 0.0 is 1: equal diagonal entries are turned by 45 degrees.
            let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
            let c = 1.0 / (t * t + 1.0).sqrt();
            let s = t * c;
            for k in 0..3 {
                (a[k][p], a[k][q]) = (c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]);
            }
            for k in 0..3 {
                (a[p][k], a[q][k]) = (c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]);
            }
            // The columns of the frame are rows here.
            for k in 0..3 {
                (v[p][k], v[q][k]) = (c * v[p][k] - s * v[q][k], s * v[p][k] + c * v[q][k]);
            }
            (a[p][q], a[q][p]) = (0.0, 0.0);
        }
    }
    (DVec3::new(a[0][0], a[1][1], a[2][2]), DMat3::from_cols_array_2d(&v))
}

/// Eigenvalues of a symmetric matrix in rising order.
pub fn principal_moments(m: &DMat3) -> [f64; 3] {
    let mut moments = principal_frame(m).0.to_array();
    moments.sort_by(f64::total_cmp);
    moments
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    #[test]
    fn the_frame_makes_it_diagonal() {
        let mut random = crate::random::Random::new(3);
        for k in 0..200 {
            let d = DVec3::new(1.0, 1.0 + 0.5 * (k % 3) as f64, 2.0);
            let r = DMat3::from_quat(random.rotation());
            let m = r * DMat3::from_diagonal(d) * r.transpose();
            let (moments, frame) = principal_frame(&m);
            assert!((frame.determinant() - 1.0).abs() < 1e-14, "{frame}");
            assert!((frame * frame.transpose()).abs_diff_eq(DMat3::IDENTITY, 1e-14));
            let back = frame * DMat3::from_diagonal(moments) * frame.transpose();
            assert!(back.abs_diff_eq(m, 1e-14), "{back} {m}");
        }
    }

    #[test]
    fn diagonal_tensors_keep_their_axes() {
        let (moments, frame) = principal_frame(&DMat3::from_diagonal(DVec3::new(3.0, 1.0, 2.0)));
        assert_eq!((moments, frame), (DVec3::new(3.0, 1.0, 2.0), DMat3::IDENTITY));
        let near = DMat3::from_quat(DQuat::from_rotation_z(0.1));
        let (_, frame) =
            principal_frame(&(near * DMat3::from_diagonal(DVec3::new(3.0, 1.0, 2.0)) * near.transpose()));
        assert!(frame.abs_diff_eq(near, 1e-14), "{frame}");
    }

    #[test]
    fn principal_moments_survive_a_rotation() {
        let r = DMat3::from_quat(DQuat::from_euler(glam::EulerRot::XYZ, 0.3, -1.1, 2.0));
        let m = r * DMat3::from_diagonal(DVec3::new(3.0, 1.0, 2.5)) * r.transpose();
        let e = principal_moments(&m);
        for (x, y) in e.iter().zip([1.0, 2.5, 3.0]) {
            assert!((x - y).abs() < 1e-12, "{e:?}");
        }
    }
}
