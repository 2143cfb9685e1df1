//! Eight numbers at a time, or one of eight, on the vectors that the machine has. Products are added rounded
//! once: half the instructions, and the same bits wherever they run.

use std::marker::PhantomData;

use crate::simd::F64Lanes;

/// As many as the widest vectors have.
pub(in crate::solver) const WIDTH: usize = 8;
pub(in crate::solver) type F64x8 = [f64; WIDTH];

/// Stands for the lanes of this machine.
#[derive(Clone, Copy)]
pub(in crate::solver) struct On<V>(PhantomData<V>);

impl<V: F64Lanes> On<V> {
    #[inline(always)]
    pub fn new() -> Self {
        Self(PhantomData)
    }

    /// to += x y.
    #[inline(always)]
    pub fn add<const W: usize>(self, to: &mut [f64; W], x: &[f64; W], y: &[f64; W]) {
        if V::COUNT == 1 {
            return add_one_by_one(to, x, y);
        }
        if W < V::COUNT {
            return (0..W).for_each(|l| to[l] = f64::mul_add(x[l], y[l], to[l]));
        }
        for at in (0..W).step_by(V::COUNT) {
            let get = |x: &[f64; W]| V::load(x, at);
            get(x).mul_add(get(y), get(to)).store(to, at);
        }
    }

    /// to -= x y.
    #[inline(always)]
    pub fn take<const W: usize>(self, to: &mut [f64; W], x: &[f64; W], y: &[f64; W]) {
        if V::COUNT == 1 {
            return take_one_by_one(to, x, y);
        }
        if W < V::COUNT {
            return (0..W).for_each(|l| to[l] = f64::mul_add(-x[l], y[l], to[l]));
        }
        for at in (0..W).step_by(V::COUNT) {
            let get = |x: &[f64; W]| V::load(x, at);
            get(x).neg_mul_add(get(y), get(to)).store(to, at);
        }
    }

    /// x y.
    #[inline(always)]
    pub fn times<const W: usize>(self, x: &[f64; W], y: &[f64; W]) -> [f64; W] {
        let mut out = [0.0; W];
        if W < V::COUNT {
            (0..W).for_each(|l| out[l] = x[l] * y[l]);
            return out;
        }
        for at in (0..W).step_by(V::COUNT) {
            let get = |x: &[f64; W]| V::load(x, at);
            get(x).mul(get(y)).store(&mut out, at);
        }
        out
    }

    /// The sum of each of a few rows, in pairs: turned, so that all are found at once.
    #[inline(always)]
    pub fn across<const N: usize>(self, rows: &[F64x8; N]) -> [f64; N] {
        let mut out = [0.0; WIDTH];
        for at in (0..WIDTH).step_by(V::COUNT) {
            let mut some = [&rows[0]; WIDTH];
            for l in at..N {
                some[l - at] = &rows[l];
            }
            let [a, b, c, d, e, f, g, h] = V::columns(some);
            (((a + e) + (b + f)) + ((c + g) + (d + h))).store(&mut out, at);
        }
        std::array::from_fn(|r| out[r])
    }

    /// x + y.
    #[inline(always)]
    pub fn plus(self, x: &F64x8, y: &F64x8) -> F64x8 {
        let mut out = [0.0; WIDTH];
        for at in (0..WIDTH).step_by(V::COUNT) {
            let get = |x: &F64x8| V::load(x, at);
            get(x).add(get(y)).store(&mut out, at);
        }
        out
    }

    /// Row by row of several islands to number by number: twelve of each.
    #[inline(always)]
    pub fn turned<const W: usize>(self, rows: [&[f64; 12]; W]) -> [[f64; W]; 12] {
        let mut out = [[0.0; W]; 12];
        if W < WIDTH {
            (0..W).for_each(|l| (0..12).for_each(|k| out[k][l] = rows[l][k]));
            return out;
        }
        for at in (0..WIDTH).step_by(V::COUNT) {
            let of_lane: [&[f64; 12]; WIDTH] = std::array::from_fn(|l| rows[(at + l).min(W - 1)]);
            // The last eight first: four of them come twice.
            let (last, first) = (V::columns(of_lane.map(last_eight)), V::columns(of_lane.map(first_eight)));
            for k in 0..8 {
                last[k].store(&mut out[4 + k], at);
            }
            for k in 0..8 {
                first[k].store(&mut out[k], at);
            }
        }
        out
    }

    /// to -= factor from.
    #[inline(always)]
    pub fn take_all(self, to: &mut F64x8, factor: f64, from: &F64x8) {
        self.take(to, from, &[factor; WIDTH]);
    }

    /// x factor.
    #[inline(always)]
    pub fn scaled(self, x: &F64x8, factor: f64) -> F64x8 {
        self.times(x, &[factor; WIDTH])
    }

    /// to += factor from.
    #[inline(always)]
    pub fn add_all(self, to: &mut F64x8, factor: f64, from: &F64x8) {
        self.add(to, from, &[factor; WIDTH]);
    }
}

// On x86-64 these serve machines from before 2013 and tests. Out of line, because eight calls of a library
// for each product make kernels several times as large as on vectors, and builds longer by minutes.

#[cfg_attr(target_arch = "x86_64", inline(never))]
#[cfg_attr(not(target_arch = "x86_64"), inline(always))]
fn add_one_by_one<const W: usize>(to: &mut [f64; W], x: &[f64; W], y: &[f64; W]) {
    for k in 0..W {
        to[k] = x[k].mul_add(y[k], to[k]);
    }
}

#[cfg_attr(target_arch = "x86_64", inline(never))]
#[cfg_attr(not(target_arch = "x86_64"), inline(always))]
fn take_one_by_one<const W: usize>(to: &mut [f64; W], x: &[f64; W], y: &[f64; W]) {
    for k in 0..W {
        to[k] = (-x[k]).mul_add(y[k], to[k]);
    }
}

fn first_eight(row: &[f64; 12]) -> &[f64; 8] {
    let ([first], _) = row.as_chunks::<8>() else { unreachable!("eight of twelve") };
    first
}

fn last_eight(row: &[f64; 12]) -> &[f64; 8] {
    let (_, [last]) = row.as_rchunks::<8>() else { unreachable!("eight of twelve") };
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Kernel, Simd, every_width};

    /// Sums of six rows, which differ by their rounding where they are taken in another order.
    struct Sums([F64x8; 6]);

    impl Kernel for Sums {
        type Out = [f64; 6];

        #[inline(always)]
        fn run<S: Simd>(self) -> [f64; 6] {
            On::<S::F64>::new().across(&self.0)
        }
    }

    #[test]
    fn sums_are_taken_in_pairs_by_vectors_of_any_width() {
        let rows: [F64x8; 6] = std::array::from_fn(|r| {
            std::array::from_fn(|k| ((8 * r + k) as f64).sin() * 10f64.powi(k as i32 - 4))
        });
        let pairs = rows.map(|x| ((x[0] + x[4]) + (x[1] + x[5])) + ((x[2] + x[6]) + (x[3] + x[7])));
        assert!((0..6).any(|r| pairs[r] != rows[r].iter().sum::<f64>()), "the order matters");
        assert!(every_width(|| Sums(rows)).into_iter().all(|sums| sums == pairs));
    }
}
