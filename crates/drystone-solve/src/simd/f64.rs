//! Lanes of f64: one (any machine), four (AVX2), eight (AVX-512).

use super::Lanes;

/// Lanes of f64, and tables of rows of eight numbers that are read and written column by column.
pub(crate) trait F64Lanes: Lanes<Number = f64> {
    /// For what is left over: half as many lanes, or one.
    type Half: F64Lanes;
    /// Eight numbers of one row, in registers.
    type Line: Copy + AsRef<[Self]>;

    /// self × other + sum, rounded once.
    fn mul_add(self, other: Self, sum: Self) -> Self;
    /// sum - self × other, rounded once.
    fn neg_mul_add(self, other: Self, sum: Self) -> Self;
    /// The columns of the first `COUNT` rows: number c of row k is in lane k of column c.
    fn columns(rows: [&[f64; 8]; 8]) -> [Self; 8];
    /// The same of rows of six numbers.
    fn columns_of_six(rows: [&[f64; 6]; 8]) -> [Self; 6];
    /// The reverse of `columns`; lines from `COUNT` on mean nothing.
    fn lines(columns: [Self; 8]) -> [Self::Line; 8];

    /// Numbers `at .. at + COUNT`.
    #[inline(always)]
    fn load(from: &[f64], at: usize) -> Self {
        const { assert!(size_of::<Self>() == Self::COUNT * size_of::<f64>()) };
        // SAFETY: the slice has `COUNT` numbers, and lanes are as many and nothing else, whatever their bits.
        unsafe { from[at..at + Self::COUNT].as_ptr().cast::<Self>().read_unaligned() }
    }

    /// Writes numbers `at .. at + COUNT`.
    #[inline(always)]
    fn store(self, to: &mut [f64], at: usize) {
        // SAFETY: as in `load`.
        unsafe { to[at..at + Self::COUNT].as_mut_ptr().cast::<Self>().write_unaligned(self) }
    }

    /// Writes a row.
    #[inline(always)]
    fn store_line(line: Self::Line, to: &mut [f64; 8]) {
        for (k, x) in line.as_ref().iter().enumerate() {
            x.store(to, k * Self::COUNT);
        }
    }

    /// Adds to a row.
    #[inline(always)]
    fn add_line(line: Self::Line, to: &mut [f64; 8]) {
        for (k, x) in line.as_ref().iter().enumerate() {
            (Self::load(to, k * Self::COUNT) + *x).store(to, k * Self::COUNT);
        }
    }
}

impl Lanes for f64 {
    type Number = f64;
    const COUNT: usize = 1;
    const NEGLIGIBLE: f64 = 1e-290;

    #[inline(always)]
    fn splat(x: f64) -> Self {
        x
    }
    #[inline(always)]
    fn add_product(self, x: Self, y: Self) -> Self {
        self + x * y
    }
    #[inline(always)]
    fn sub_product(self, x: Self, y: Self) -> Self {
        self - x * y
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        f64::sqrt(self)
    }
    #[inline(always)]
    fn select_le(self, other: Self, yes: Self, no: Self) -> Self {
        if self <= other { yes } else { no }
    }
}

impl F64Lanes for f64 {
    type Half = f64;
    type Line = [f64; 8];

    #[inline(always)]
    fn mul_add(self, other: Self, sum: Self) -> Self {
        f64::mul_add(self, other, sum)
    }
    #[inline(always)]
    fn neg_mul_add(self, other: Self, sum: Self) -> Self {
        f64::mul_add(-self, other, sum)
    }
    #[inline(always)]
    fn columns(rows: [&[f64; 8]; 8]) -> [Self; 8] {
        *rows[0]
    }
    #[inline(always)]
    fn columns_of_six(rows: [&[f64; 6]; 8]) -> [Self; 6] {
        *rows[0]
    }
    #[inline(always)]
    fn lines(columns: [Self; 8]) -> [[f64; 8]; 8] {
        [columns; 8]
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Ends, Kernel, Row64, SharedRows, Simd, Table, every_width};
    use super::*;

    fn rows() -> Vec<Row64> {
        (0..20).map(|i| Row64(std::array::from_fn(|c| (100 * i + c) as f64))).collect()
    }

    fn lanes<V: F64Lanes>(x: V) -> Vec<f64> {
        let mut out = [0.0; 8];
        x.store(&mut out, 0);
        out[..V::COUNT].to_vec()
    }

    /// Rows that are gathered, changed and scattered.
    struct RoundTrip;

    impl Kernel for RoundTrip {
        type Out = ();

        #[inline(always)]
        fn run<S: Simd>(self) {
            let ids: [u32; 8] = [3, 19, 0, 7, 8, 1, 12, 5];
            let (mut rows, count) = (rows(), S::F64::COUNT);
            let shared = SharedRows::new(&mut rows);
            // SAFETY: on one thread.
            let mut own = unsafe { shared.own(Ends::new([&ids, &[]], 20)) };
            let mut v: [S::F64; 8] = own.gather(0, 0);
            for (c, v) in v.iter_mut().enumerate() {
                let expected: Vec<f64> = ids[..count].iter().map(|i| (100 * i + c as u32).into()).collect();
                assert_eq!(lanes(*v), expected);
                *v = *v + S::F64::splat(0.5);
            }
            own.scatter(v, 0, 0);
            for (i, row) in rows.iter().enumerate() {
                let change = if ids[..count].contains(&(i as u32)) { 0.5 } else { 0.0 };
                assert_eq!(row.0, std::array::from_fn(|c| (100 * i + c) as f64 + change));
            }
        }
    }

    /// Inertias, those of the last body too.
    struct Six;

    impl Kernel for Six {
        type Out = ();

        #[inline(always)]
        fn run<S: Simd>(self) {
            let ids: [u32; 8] = [3, 9, 0, 7, 8, 1, 2, 5];
            let all: Vec<[f64; 6]> = (0..10).map(|i| std::array::from_fn(|c| (10 * i + c) as f64)).collect();
            let columns: [S::F64; 6] = Table(&all).gather(&Ends::new([&[], &ids], 10), 1, 0);
            for (c, v) in columns.into_iter().enumerate() {
                let expected: Vec<f64> =
                    ids[..S::F64::COUNT].iter().map(|i| (10 * i + c as u32).into()).collect();
                assert_eq!(lanes(v), expected);
            }
        }
    }

    /// Sums to rows of which one occurs more than once.
    struct AddsUp;

    impl Kernel for AddsUp {
        type Out = ();

        #[inline(always)]
        fn run<S: Simd>(self) {
            let ids: [u32; 8] = [3, 19, 0, 3, 8, 1, 3, 5];
            let mut rows = rows();
            let (same, shared) = ([2; 8], SharedRows::new(&mut rows));
            // SAFETY: on one thread.
            let mut own = unsafe { shared.own(Ends::new([&same, &ids], 20)) };
            let v: [S::F64; 8] = own.gather(0, 0);
            own.add(v, 1, 0);
            for (i, row) in rows.iter().enumerate() {
                let times = ids[..S::F64::COUNT].iter().filter(|id| **id as usize == i).count() as f64;
                assert_eq!(row.0, std::array::from_fn(|c| (100 * i + c) as f64 + times * (200 + c) as f64));
            }
        }
    }

    #[test]
    #[should_panic(expected = "body 20, but there are 20")]
    fn ends_are_below_their_bound() {
        Ends::new([&[3, 19], &[0, 20, 1]], 20);
    }

    #[test]
    #[should_panic(expected = "ends.bound <= self.0.len()")]
    fn a_table_has_a_row_for_every_end() {
        Table(&rows()[..19]).gather::<f64>(&Ends::new([&[3], &[]], 20), 0, 0);
    }

    #[test]
    fn gather_scatter_and_add_are_the_same_for_every_width() {
        every_width(|| RoundTrip);
        every_width(|| Six);
        every_width(|| AddsUp);
    }

    /// Every operation, on numbers with a NaN, zeros and infinities among them.
    struct Arithmetic;

    impl Kernel for Arithmetic {
        type Out = Vec<u64>;

        #[inline(always)]
        fn run<S: Simd>(self) -> Vec<u64> {
            let x: [f64; 16] = std::array::from_fn(|k| match k {
                3 => f64::NAN,
                5 => 0.0,
                6 => f64::INFINITY,
                _ => (k as f64 + 0.3).sin() * 10f64.powi(k as i32 - 8),
            });
            let y: [f64; 16] = std::array::from_fn(|k| if k == 8 { f64::NAN } else { (k as f64).cos() });
            let mut out = [[0.0; 16]; 11];
            for at in (0..16).step_by(S::F64::COUNT) {
                let (x, y, z) = (S::F64::load(&x, at), S::F64::load(&y, at), S::F64::splat(0.7));
                let results = [
                    x + y,
                    x - y,
                    x * y,
                    x / y,
                    x.sqrt(),
                    x.add_product(y, z),
                    x.sub_product(y, z),
                    x.mul_add(y, z),
                    x.neg_mul_add(y, z),
                    y.larger(x),
                    x.clamp(y, z),
                ];
                for (to, x) in out.iter_mut().zip(results) {
                    x.store(to, at);
                }
            }
            // A NaN is one whatever its sign.
            out.as_flattened().iter().map(|x| if x.is_nan() { u64::MAX } else { x.to_bits() }).collect()
        }
    }

    #[test]
    fn every_width_rounds_alike() {
        let all = every_width(|| Arithmetic);
        assert!(all.iter().all(|x| *x == all[0]));
        let number = |op: usize, k: usize| f64::from_bits(all[0][16 * op + k]);
        let (x, y) = (1.3f64.sin() * 10f64.powi(-7), 1f64.cos());
        assert_eq!(number(5, 1), x + y * 0.7);
        assert_eq!(number(7, 1), x.mul_add(y, 0.7));
        assert!(all[0][16 * 9 + 3] == u64::MAX, "the larger of a number and a NaN is a NaN");
        assert_eq!(number(9, 5), 5f64.cos().max(0.0));
    }
}
