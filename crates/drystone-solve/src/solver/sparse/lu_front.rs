//! Partial LU of one dense front: the first columns become columns of L and rows of U, the rest the Schur
//! complement.
//!
//! The front is stored by columns, all of it. Rows change places among those to be eliminated only: the
//! others belong to fronts that are not there yet. Panels are factored one column at a time; what is left is
//! updated by tiles that stay in registers.

use crate::simd::{Kernel, Simd, dispatch};

use super::dense::{PANEL, column_of, subtract, update};

/// Factors the first `width` of `height` columns. Row j changed places with row `swaps[j]`. A pivot of at
/// most `floor` is replaced by one so large that its row drops out. False if `more`, asked at every panel,
/// says no.
pub fn partial_lu(
    front: &mut [f64],
    height: usize,
    width: usize,
    floor: f64,
    swaps: &mut [u32],
    more: &dyn Fn() -> bool,
) -> bool {
    assert!(front.len() >= height * height && width <= height && swaps.len() >= width);
    dispatch(Partial { front, height, width, floor, swaps, more })
}

struct Partial<'a> {
    front: &'a mut [f64],
    height: usize,
    width: usize,
    floor: f64,
    swaps: &'a mut [u32],
    more: &'a dyn Fn() -> bool,
}

impl Kernel for Partial<'_> {
    type Out = bool;

    #[inline(always)]
    fn run<S: Simd>(self) -> bool {
        let Partial { front, height, width, floor, swaps, more } = self;
        let mut begin = 0;
        while begin < width {
            if !more() {
                return false;
            }
            let end = (begin + PANEL).min(width);
            for j in begin..end {
                let (before, column) = column_of(front, height, j);
                for t in begin..j {
                    subtract::<S::F64>(column, &before[t * height..], t + 1, height, column[t]);
                }
                let mut p = j;
                for i in j + 1..width {
                    if column[i].abs() > column[p].abs() {
                        p = i;
                    }
                }
                swaps[j] = p as u32;
                if p != j {
                    front[..height * height].chunks_exact_mut(height).for_each(|column| column.swap(j, p));
                }
                let column = &mut front[j * height..][..height];
                // A NaN drops out as well.
                if !(column[j].abs() > floor) {
                    column[j] = 1e128;
                }
                let scale = 1.0 / column[j];
                column[j + 1..].iter_mut().for_each(|x| *x *= scale);
            }
            for c in end..height {
                let (before, column) = column_of(front, height, c);
                for t in begin..end {
                    subtract::<S::F64>(column, &before[t * height..], t + 1, end, column[t]);
                }
            }
            update::<S::F64, true>(front, height, begin, end);
            begin = end;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factors_give_the_front_back() {
        for (n, k) in [(1, 1), (7, 3), (40, 40), (83, 41), (70, 0)] {
            // Small on the diagonal, so that rows must change places.
            let a: Vec<f64> = (0..n * n)
                .map(|x| (x % n, x / n))
                .map(|(i, j)| {
                    ((i * i + 3 * j * i + 7 * j) as f64 * 0.37).sin() + if i == j { 1e-9 } else { 0.0 }
                })
                .collect();
            let (mut f, mut swaps) = (a.clone(), vec![0; k]);
            assert!(partial_lu(&mut f, n, k, 0.0, &mut swaps, &|| true));
            assert!(k == 0 || !partial_lu(&mut a.clone(), n, k, 0.0, &mut swaps.clone(), &|| false));
            let mut rows: Vec<usize> = (0..n).collect();
            swaps.iter().enumerate().for_each(|(j, p)| rows.swap(j, *p as usize));
            assert!(k < 7 || rows.iter().enumerate().any(|(i, r)| i != *r));
            for j in 0..n {
                for i in 0..n {
                    let l = |t: usize| if i == t { 1.0 } else { f[t * n + i] };
                    let mut sum: f64 = (0..k.min(i + 1).min(j + 1)).map(|t| l(t) * f[j * n + t]).sum();
                    if i >= k && j >= k {
                        sum += f[j * n + i];
                    }
                    assert!((sum - a[j * n + rows[i]]).abs() < 1e-8 * n as f64, "{n} {k}: {i} {j}");
                }
            }
        }
    }
}
