//! Vectors of three numbers, and small symmetric matrices.

/// Two unit vectors that complete `n` to a right-handed frame, without branches \[Duff2017\].
#[inline(always)]
pub fn basis(n: [f64; 3]) -> [[f64; 3]; 2] {
    let sign = 1f64.copysign(n[2]);
    let a = -1.0 / (sign + n[2]);
    let b = n[0] * n[1] * a;
    [[1.0 + sign * n[0] * n[0] * a, sign * b, -sign * n[0]], [b, sign + n[1] * n[1] * a, -n[1]]]
}

#[inline(always)]
pub(crate) fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline(always)]
pub(crate) fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Symmetric 3x3 (xx, yy, zz, xy, xz, yz) times a vector.
#[inline(always)]
pub(crate) fn symmetric(m: &[f64; 6], x: [f64; 3]) -> [f64; 3] {
    [
        m[0] * x[0] + m[3] * x[1] + m[4] * x[2],
        m[3] * x[0] + m[1] * x[1] + m[5] * x[2],
        m[4] * x[0] + m[5] * x[1] + m[2] * x[2],
    ]
}

/// Whether all are finite, several at a time: x · 0 is zero for those that are.
pub(crate) fn all_finite(x: &[f64]) -> bool {
    // Nothing times a number is nothing.
    let (eights, rest) = x.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for eight in eights {
        (0..8).for_each(|k| sums[k] += 0.0 * eight[k]);
    }
    rest.iter().fold(sums.iter().sum::<f64>(), |sum, x| sum + 0.0 * x) == 0.0
}

/// Mean of the diagonal and a bound on the largest eigenvalue of a small symmetric matrix given by rows.
pub(super) fn trace_and_bound(n: usize, g: &[[f64; 5]; 5]) -> [f64; 2] {
    let mut trace = 0.0;
    let (mut rows, mut squares) = (0.0f64, 0.0);
    for i in 0..n {
        trace += g[i][i];
        let mut row = 0.0;
        for value in &g[i][..n] {
            row += value.abs();
            squares += value * value;
        }
        rows = rows.max(row);
    }
    [trace / n as f64, rows.min(squares.sqrt()).min(trace)]
}
