//! Symmetric matrices of at most five rows, one for each block.

use crate::cone::MAX_ROWS;

/// A matrix of which the first rows and columns are in use.
pub(in crate::solver) type Small = [[f64; MAX_ROWS]; MAX_ROWS];

/// All zero.
pub(in crate::solver) const ZERO: Small = [[0.0; MAX_ROWS]; MAX_ROWS];

/// t with t tᵀ = h, lower triangular, for a positive semidefinite h: a pivot that rounding left without value
/// gives a zero column.
pub(in crate::solver) fn root(n: usize, h: &Small) -> Small {
    let mut t = ZERO;
    for j in 0..n {
        let pivot = h[j][j] - (0..j).map(|k| t[j][k] * t[j][k]).sum::<f64>();
        if !(pivot > 1e-15 * h[j][j]) {
            continue;
        }
        t[j][j] = pivot.sqrt();
        for i in j + 1..n {
            t[i][j] = (h[i][j] - (0..j).map(|k| t[i][k] * t[j][k]).sum::<f64>()) / t[j][j];
        }
    }
    t
}

/// The inverse of a positive definite matrix over the rows that are not `fixed`; zero elsewhere.
pub(in crate::solver) fn inverse(n: usize, a: &Small, fixed: &[bool; MAX_ROWS]) -> Small {
    let mut used = [0; MAX_ROWS];
    let mut m = 0;
    for i in 0..n {
        if !fixed[i] {
            used[m] = i;
            m += 1;
        }
    }
    let mut compact = ZERO;
    for i in 0..m {
        for j in 0..m {
            compact[i][j] = a[used[i]][used[j]];
        }
    }
    let t = root(m, &compact);
    let mut out = ZERO;
    for c in 0..m {
        let mut x = [0.0; MAX_ROWS];
        x[c] = 1.0;
        for i in 0..m {
            let sum = x[i] - (0..i).map(|k| t[i][k] * x[k]).sum::<f64>();
            x[i] = if t[i][i] > 0.0 { sum / t[i][i] } else { 0.0 };
        }
        for i in (0..m).rev() {
            let sum = x[i] - (i + 1..m).map(|k| t[k][i] * x[k]).sum::<f64>();
            x[i] = if t[i][i] > 0.0 { sum / t[i][i] } else { 0.0 };
        }
        for i in 0..m {
            out[used[i]][used[c]] = x[i];
        }
    }
    for i in 0..n {
        for j in 0..i {
            let mean = 0.5 * (out[i][j] + out[j][i]);
            (out[i][j], out[j][i]) = (mean, mean);
        }
    }
    out
}

/// The inverse of a matrix that is neither symmetric nor singular, by elimination with row pivots.
pub(in crate::solver) fn general_inverse(n: usize, a: &Small) -> Small {
    let (mut a, mut out) = (*a, ZERO);
    (0..n).for_each(|i| out[i][i] = 1.0);
    for c in 0..n {
        let p = (c..n).max_by(|i, j| a[*i][c].abs().total_cmp(&a[*j][c].abs())).unwrap_or(c);
        a.swap(c, p);
        out.swap(c, p);
        let scale = 1.0 / a[c][c];
        for k in 0..n {
            a[c][k] *= scale;
            out[c][k] *= scale;
        }
        for r in 0..n {
            let much = a[r][c];
            if r != c && much != 0.0 {
                for k in 0..n {
                    a[r][k] -= much * a[c][k];
                    out[r][k] -= much * out[c][k];
                }
            }
        }
    }
    out
}

/// The same over the rows that are not `fixed`; zero elsewhere.
pub(in crate::solver) fn general_inverse_of(n: usize, a: &Small, fixed: &[bool; MAX_ROWS]) -> Small {
    let mut whole = *a;
    for i in 0..n {
        for j in 0..n {
            if fixed[i] || fixed[j] {
                whole[i][j] = (i == j) as u8 as f64;
            }
        }
    }
    let mut out = general_inverse(n, &whole);
    (0..n).filter(|i| fixed[*i]).for_each(|i| out[i][i] = 0.0);
    out
}

/// y += m x.
pub(in crate::solver) fn multiply(n: usize, m: &Small, x: &[f64], y: &mut [f64]) {
    for i in 0..n {
        for j in 0..n {
            y[i] += m[i][j] * x[j];
        }
    }
}

/// L with L Lᵀ = m for a positive semidefinite 3 x 3 matrix (xx, yy, zz, xy, xz, yz), largest pivots first: a
/// body that cannot turn about some axis has no column for it.
pub(super) fn root3(m: &[f64; 6]) -> [[f64; 3]; 3] {
    let mut a = [[m[0], m[3], m[4]], [m[3], m[1], m[5]], [m[4], m[5], m[2]]];
    let scale = m[0].max(m[1]).max(m[2]);
    let mut l = [[0.0; 3]; 3];
    let mut done = [false; 3];
    for c in 0..3 {
        let Some(p) = (0..3).filter(|i| !done[*i]).max_by(|i, j| a[*i][*i].total_cmp(&a[*j][*j])) else {
            break;
        };
        if !(a[p][p] > 1e-13 * scale) {
            break;
        }
        done[p] = true;
        let d = a[p][p].sqrt();
        for i in 0..3 {
            l[i][c] = if done[i] && i != p { 0.0 } else { a[i][p] / d };
        }
        for i in 0..3 {
            for j in 0..3 {
                a[i][j] -= l[i][c] * l[j][c];
            }
        }
    }
    l
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_and_inverses() {
        let mut a = ZERO;
        for i in 0..5 {
            for j in 0..5 {
                a[i][j] = 1.0 / (1.0 + (i as f64 - j as f64).abs());
            }
        }
        let fixed = [false, true, false, false, true];
        let b = inverse(5, &a, &fixed);
        for i in 0..5 {
            for j in 0..5 {
                let used = !fixed[i] && !fixed[j];
                let sum: f64 = (0..5).filter(|k| !fixed[*k]).map(|k| a[i][k] * b[k][j]).sum();
                if used {
                    assert!((sum - (i == j) as u8 as f64).abs() < 1e-13);
                } else {
                    assert_eq!(b[i][j], 0.0);
                }
            }
        }
        let mut skew = a;
        (0..4).for_each(|i| skew[i][i + 1] -= 0.7);
        skew[0][0] = 0.0;
        let b = general_inverse(5, &skew);
        for i in 0..5 {
            for j in 0..5 {
                let sum: f64 = (0..5).map(|k| skew[i][k] * b[k][j]).sum();
                assert!((sum - (i == j) as u8 as f64).abs() < 1e-12);
            }
        }
        // n nᵀ / 2: a body locked to a plane.
        let n = [0.48, 0.6, 0.64];
        let l = root3(&[
            0.5 * n[0] * n[0],
            0.5 * n[1] * n[1],
            0.5 * n[2] * n[2],
            0.5 * n[0] * n[1],
            0.5 * n[0] * n[2],
            0.5 * n[1] * n[2],
        ]);
        for i in 0..3 {
            for j in 0..3 {
                let sum: f64 = (0..3).map(|k| l[i][k] * l[j][k]).sum();
                assert!((sum - 0.5 * n[i] * n[j]).abs() < 1e-15);
            }
            assert_eq!((l[i][1], l[i][2]), (0.0, 0.0));
        }
    }
}
