//! Eight numbers at a time, on the vectors that the machine has. Products are added rounded once: half the instructions, and
//! the same bits wherever they run.

use std::marker::PhantomData;

use super::super::sweep::vector::Vector;

/// As many as the widest vectors have.
pub(in crate::solver) const WIDE: usize = 8;
pub(in crate::solver) type Wide = [f64; WIDE];

/// Stands for vectors that the machine is known to have.
#[derive(Clone, Copy)]
pub(in crate::solver) struct On<V>(PhantomData<V>);

impl<V: Vector> On<V> {
    /// # Safety
    /// The machine has the instructions of `V`.
    #[inline(always)]
    pub unsafe fn new() -> Self {
        Self(PhantomData)
    }

    /// to += x y.
    #[inline(always)]
    pub fn add(self, to: &mut Wide, x: &Wide, y: &Wide) {
        for at in (0..WIDE).step_by(V::L) {
            // SAFETY: V::L of eight numbers from `at` on, with instructions that the machine has; so below.
            unsafe {
                let get = |x: &Wide| V::load(x.as_ptr().add(at));
                get(x).mul_add(get(y), get(to)).store(to.as_mut_ptr().add(at));
            }
        }
    }

    /// to -= x y.
    #[inline(always)]
    pub fn take(self, to: &mut Wide, x: &Wide, y: &Wide) {
        for at in (0..WIDE).step_by(V::L) {
            unsafe {
                let get = |x: &Wide| V::load(x.as_ptr().add(at));
                get(x).take_from(get(y), get(to)).store(to.as_mut_ptr().add(at));
            }
        }
    }

    /// x y.
    #[inline(always)]
    pub fn times(self, x: &Wide, y: &Wide) -> Wide {
        let mut out = [0.0; WIDE];
        for at in (0..WIDE).step_by(V::L) {
            unsafe {
                let get = |x: &Wide| V::load(x.as_ptr().add(at));
                get(x).mul(get(y)).store(out.as_mut_ptr().add(at));
            }
        }
        out
    }

    /// The sum of each of a few rows, in pairs: turned, so that all are found at once.
    #[inline(always)]
    pub fn across<const N: usize>(self, rows: &[Wide; N]) -> [f64; N] {
        let mut out = [0.0; WIDE];
        for at in (0..WIDE).step_by(V::L) {
            let mut places = [rows[0].as_ptr(); WIDE];
            for l in at..N {
                places[l - at] = rows[l].as_ptr();
            }
            // SAFETY: eight numbers of each row.
            unsafe {
                let [a, b, c, d, e, f, g, h] = V::turned(places.as_ptr());
                a.add(e).add(b.add(f)).add(c.add(g).add(d.add(h))).store(out.as_mut_ptr().add(at));
            }
        }
        std::array::from_fn(|r| out[r])
    }

    /// x + y.
    #[inline(always)]
    pub fn plus(self, x: &Wide, y: &Wide) -> Wide {
        let mut out = [0.0; WIDE];
        for at in (0..WIDE).step_by(V::L) {
            unsafe {
                let get = |x: &Wide| V::load(x.as_ptr().add(at));
                get(x).add(get(y)).store(out.as_mut_ptr().add(at));
            }
        }
        out
    }

    /// Row by row of eight islands to number by number: twelve of each.
    #[inline(always)]
    pub fn turned(self, rows: [&[f64; 12]; WIDE]) -> [Wide; 12] {
        let mut out = [[0.0; WIDE]; 12];
        for at in (0..WIDE).step_by(V::L) {
            // The last eight first: four of them come twice.
            for from in [4, 0] {
                let places: [*const f64; WIDE] =
                    std::array::from_fn(|l| rows[(at + l).min(WIDE - 1)][from..].as_ptr());
                // SAFETY: eight numbers of twelve from the fifth or the first on.
                let turned = unsafe { V::turned(places.as_ptr()) };
                for (to, x) in out[from..from + 8].iter_mut().zip(turned) {
                    unsafe { x.store(to.as_mut_ptr().add(at)) };
                }
            }
        }
        out
    }

    /// to -= factor from.
    #[inline(always)]
    pub fn take_all(self, to: &mut Wide, factor: f64, from: &Wide) {
        for at in (0..WIDE).step_by(V::L) {
            unsafe {
                let get = |x: &Wide| V::load(x.as_ptr().add(at));
                get(from).take_from(V::splat(factor), get(to)).store(to.as_mut_ptr().add(at));
            }
        }
    }

    /// x factor.
    #[inline(always)]
    pub fn scaled(self, x: &Wide, factor: f64) -> Wide {
        self.times(x, &[factor; WIDE])
    }

    /// to += factor from.
    #[inline(always)]
    pub fn add_all(self, to: &mut Wide, factor: f64, from: &Wide) {
        for at in (0..WIDE).step_by(V::L) {
            unsafe {
                let get = |x: &Wide| V::load(x.as_ptr().add(at));
                get(from).mul_add(V::splat(factor), get(to)).store(to.as_mut_ptr().add(at));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::first_order::{Kernel, widest};

    /// Sums of six rows, which differ by their rounding where they are taken in another order.
    struct Sums([Wide; 6]);

    impl Kernel for Sums {
        type Out = [f64; 6];

        #[inline(always)]
        unsafe fn run<V: Vector>(self) -> [f64; 6] {
            unsafe { On::<V>::new() }.across(&self.0)
        }
    }

    #[test]
    fn sums_are_taken_in_pairs_by_vectors_of_any_width() {
        let rows: [Wide; 6] = std::array::from_fn(|r| {
            std::array::from_fn(|k| ((8 * r + k) as f64).sin() * 10f64.powi(k as i32 - 4))
        });
        let pairs = rows.map(|x| ((x[0] + x[4]) + (x[1] + x[5])) + ((x[2] + x[6]) + (x[3] + x[7])));
        assert!((0..6).any(|r| pairs[r] != rows[r].iter().sum::<f64>()), "the order matters");
        assert_eq!(widest(Sums(rows)), pairs);
        // SAFETY: scalar code runs everywhere.
        assert_eq!(unsafe { Sums(rows).run::<f64>() }, pairs);
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the machine has the instructions.
            assert_eq!(unsafe { Sums(rows).run::<std::arch::x86_64::__m256d>() }, pairs);
        }
    }
}
