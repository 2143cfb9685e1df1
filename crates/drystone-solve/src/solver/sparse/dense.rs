//! Partial Cholesky of one dense front: the first columns become columns of L, the rest the Schur complement.
//!
//! The front is stored by columns, lower triangle only. Panels of a few columns are factored one column at a
//! time; what is left is updated by tiles that stay in registers.

use crate::simd::{F64Lanes, Kernel, Simd, dispatch};

/// Columns of a panel.
pub(super) const PANEL: usize = 32;
/// Columns of a tile.
const TILE: usize = 4;

/// Factors the first `width` of `height` columns. A pivot not above `floor` is replaced by one so large that
/// its row drops out. Returns how many were; None if `more`, asked at every panel, says no.
pub fn partial_cholesky(
    front: &mut [f64],
    height: usize,
    width: usize,
    floor: f64,
    more: &dyn Fn() -> bool,
) -> Option<usize> {
    assert!(front.len() >= height * height && width <= height);
    dispatch(Partial { front, height, width, floor, more })
}

struct Partial<'a> {
    front: &'a mut [f64],
    height: usize,
    width: usize,
    floor: f64,
    more: &'a dyn Fn() -> bool,
}

impl Kernel for Partial<'_> {
    type Out = Option<usize>;

    #[inline(always)]
    fn run<S: Simd>(self) -> Option<usize> {
        let Partial { front, height, width, floor, more } = self;
        let mut dropped = 0;
        let mut begin = 0;
        while begin < width {
            if !more() {
                return None;
            }
            let end = (begin + PANEL).min(width);
            for j in begin..end {
                let (before, column) = column_of(front, height, j);
                for t in begin..j {
                    let done = &before[t * height..][..height];
                    if done[j] != 0.0 {
                        subtract::<S::F64>(column, done, j, height, done[j]);
                    }
                }
                let pivot = &mut column[j];
                // A NaN drops out as well.
                if !(*pivot > floor) {
                    *pivot = 1e128;
                    dropped += 1;
                } else {
                    *pivot = pivot.sqrt();
                }
                let scale = 1.0 / *pivot;
                column[j + 1..].iter_mut().for_each(|x| *x *= scale);
            }
            update::<S::F64, false>(front, height, begin, end);
            begin = end;
        }
        Some(dropped)
    }
}

/// The columns before column `j`, and that one.
#[inline(always)]
pub(super) fn column_of(front: &mut [f64], height: usize, j: usize) -> (&[f64], &mut [f64]) {
    let (before, rest) = front.split_at_mut(j * height);
    (before, &mut rest[..height])
}

/// x[from..to] -= factor * y[from..to].
#[inline(always)]
pub(super) fn subtract<V: F64Lanes>(x: &mut [f64], y: &[f64], from: usize, to: usize, factor: f64) {
    let (x, y) = (&mut x[from..to], &y[from..to]);
    let (mut i, much) = (0, V::splat(factor));
    while i + V::COUNT <= x.len() {
        V::load(x, i).sub(V::load(y, i).mul(much)).store(x, i);
        i += V::COUNT;
    }
    while i < x.len() {
        x[i] -= y[i] * factor;
        i += 1;
    }
}

/// Subtracts L Lᵀ of the panel's columns from every later column below the diagonal, or with `WHOLE`, of a
/// front that is not symmetric, L U from all later rows and columns. Without `WHOLE` a tile's rows begin at
/// its own first column, so that it also writes a few entries above the diagonal, which nobody reads.
#[inline(always)]
pub(super) fn update<V: F64Lanes, const WHOLE: bool>(
    front: &mut [f64],
    height: usize,
    begin: usize,
    end: usize,
) {
    let (panel, rest) = front[begin * height..height * height].split_at_mut((end - begin) * height);
    let mut j = end;
    for columns in rest.chunks_mut(TILE * height) {
        if columns.len() == TILE * height {
            let mut i = if WHOLE { end } else { j };
            while i + 2 * V::COUNT <= height {
                tile::<V, 2, WHOLE>(panel, columns, height, [begin, end], [i, j]);
                i += 2 * V::COUNT;
            }
            if i + V::COUNT <= height {
                tile::<V, 1, WHOLE>(panel, columns, height, [begin, end], [i, j]);
                i += V::COUNT;
            }
            while i < height {
                tile::<f64, 1, WHOLE>(panel, columns, height, [begin, end], [i, j]);
                i += 1;
            }
            j += TILE;
            continue;
        }
        for column in columns.chunks_exact_mut(height) {
            for (done, t) in panel.chunks_exact(height).zip(begin..end) {
                let (from, factor) = if WHOLE { (end, column[t]) } else { (j, done[j]) };
                subtract::<V>(column, done, from, height, factor);
            }
            j += 1;
        }
    }
}

/// Rows i.., columns j..j + TILE: sums of products over the panel in registers.
#[inline(always)]
fn tile<V: F64Lanes, const R: usize, const WHOLE: bool>(
    panel: &[f64],
    columns: &mut [f64],
    height: usize,
    [begin, end]: [usize; 2],
    [i, j]: [usize; 2],
) {
    let mut sum = [[V::splat(0.0); R]; TILE];
    // Of rows that are done: U, where that is not the panel's own.
    let mut upper = [&columns[..0]; TILE];
    if WHOLE {
        for c in 0..TILE {
            upper[c] = &columns[c * height + begin..c * height + end];
        }
    }
    for (k, column) in panel.chunks_exact(height).enumerate() {
        let mut rows = [V::splat(0.0); R];
        for r in 0..R {
            rows[r] = V::load(column, i + r * V::COUNT);
        }
        for c in 0..TILE {
            let much = V::splat(if WHOLE { upper[c][k] } else { column[j + c] });
            for r in 0..R {
                sum[c][r] = sum[c][r].add(rows[r].mul(much));
            }
        }
    }
    for c in 0..TILE {
        let to = &mut columns[c * height..][..height];
        for r in 0..R {
            let at = i + r * V::COUNT;
            V::load(to, at).sub(sum[c][r]).store(to, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A dense positive definite matrix, by columns.
    fn matrix(n: usize) -> Vec<f64> {
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                a[j * n + i] = ((i * j + i + j) as f64 * 0.37).sin();
            }
        }
        let mut b = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                b[j * n + i] = (0..n).map(|k| a[k * n + i] * a[k * n + j]).sum();
            }
            b[i * n + i] += 1.0;
        }
        b
    }

    #[test]
    fn the_factor_gives_the_front_back() {
        for (n, k) in [(1, 1), (7, 3), (40, 40), (83, 41), (70, 0)] {
            let a = matrix(n);
            let mut f = a.clone();
            assert_eq!(partial_cholesky(&mut f, n, k, 0.0, &|| true), Some(0));
            for j in 0..n {
                for i in j..n {
                    let mut sum: f64 = (0..k.min(j + 1)).map(|t| f[t * n + i] * f[t * n + j]).sum();
                    if j >= k {
                        sum += f[j * n + i];
                    }
                    assert!((sum - a[j * n + i]).abs() < 1e-11 * n as f64, "{n} {k}: {i} {j}");
                }
            }
        }
    }

    /// Asked at each of three panels.
    #[test]
    fn it_can_be_cut_short() {
        for asked in 0..3usize {
            let left = std::cell::Cell::new(asked);
            let more = || left.replace(left.get().saturating_sub(1)) > 0;
            assert_eq!(partial_cholesky(&mut matrix(70), 70, 70, 0.0, &more), None, "{asked}");
        }
    }

    #[test]
    fn a_row_without_a_pivot_drops_out() {
        let mut f = vec![1.0, 1.0, 0.5, 0.0, 1.0, 0.5, 0.0, 0.0, 1.0];
        assert_eq!(partial_cholesky(&mut f, 3, 3, 1e-12, &|| true), Some(1));
        assert!(f.iter().all(|x| x.is_finite()));
        assert_eq!(f[5], 0.0);
    }
}
