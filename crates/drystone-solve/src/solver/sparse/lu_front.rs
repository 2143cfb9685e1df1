//! Partial LU of one dense front: the first columns become columns of L and rows of U, the rest the Schur
//! complement.
//!
//! The front is stored by columns, all of it. Rows change places among those to be eliminated only: the
//! others belong to fronts that are not there yet. Panels are factored one column at a time; what is left is
//! updated by tiles that stay in registers.

use crate::simd::{Kernel, Simd, dispatch};

use super::dense::{PANEL, subtract, update};

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
        let f = front.as_mut_ptr();
        let mut begin = 0;
        while begin < width {
            if !more() {
                return false;
            }
            let end = (begin + PANEL).min(width);
            // SAFETY: all rows and columns are below `height`, whose square the front holds.
            unsafe {
                for j in begin..end {
                    let column = f.add(j * height);
                    for t in begin..j {
                        subtract::<S::F64>(column, f.add(t * height), t + 1, height, *column.add(t));
                    }
                    let mut p = j;
                    for i in j + 1..width {
                        if (*column.add(i)).abs() > (*column.add(p)).abs() {
                            p = i;
                        }
                    }
                    swaps[j] = p as u32;
                    if p != j {
                        for c in 0..height {
                            std::ptr::swap(f.add(c * height + j), f.add(c * height + p));
                        }
                    }
                    let pivot = column.add(j);
                    // A NaN drops out as well.
                    if !((*pivot).abs() > floor) {
                        *pivot = 1e128;
                    }
                    let scale = 1.0 / *pivot;
                    for i in j + 1..height {
                        *column.add(i) *= scale;
                    }
                }
                for c in end..height {
                    let column = f.add(c * height);
                    for t in begin..end {
                        subtract::<S::F64>(column, f.add(t * height), t + 1, end, *column.add(t));
                    }
                }
                update::<S::F64, true>(f, height, begin, end);
            }
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
