//! Eight lanes of f32, and rows of eight f32 that belong to bodies.
//!
//! Two versions, AVX2 with fused multiply-adds and plain arrays, that do the same in the same order. They give the same bits
//! wherever the processor fuses; where it does not, plain arrays round products too, because to emulate it would take ten times as
//! long. All methods are forced inline into a function compiled for the instructions they use ([`widest`]); calling one on a
//! machine without them is undefined.

mod two;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::array::from_fn;

pub(super) use two::Two;

/// A body's numbers, half a cache line: two quarters of four.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(32))]
pub(super) struct Row(pub [f32; 8]);

/// One number for each of eight points.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(32))]
pub(super) struct Octet<T = f32>(pub [T; 8]);

/// A world vector for each of eight points.
pub(super) type Vectors = [Octet; 3];

/// Eight numbers that are worked on at once.
pub(super) trait Eight: Copy {
    unsafe fn splat(x: f32) -> Self;
    /// From `from`; a second eight, where there is one, is `stride` bytes further on.
    unsafe fn load(from: *const Octet, stride: usize) -> Self;
    unsafe fn store(self, to: *mut Octet, stride: usize);
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    /// `self` + x y.
    unsafe fn plus(self, x: Self, y: Self) -> Self;
    /// `self` - x y.
    unsafe fn less(self, x: Self, y: Self) -> Self;
    unsafe fn div(self, other: Self) -> Self;
    unsafe fn sqrt(self) -> Self;
    /// `yes` where `self <= other`, else `no`, lane by lane.
    unsafe fn select_le(self, other: Self, yes: Self, no: Self) -> Self;
    /// Zero where |self| ≤ `tiny`: numbers that halve from body to body would else end as denormal ones, which processors
    /// are slow with.
    unsafe fn flush(self, tiny: Self) -> Self;
    /// Numbers 4 `half` .. 4 `half` + 4 of the rows at `places` (bytes from the first), turned so that each is one vector.
    unsafe fn gather(rows: *const Row, places: *const Octet<u32>, stride: usize, half: usize) -> [Self; 4];
    /// Differences of the first three numbers of the rows of `a` and `b`, and sums of the three from the fifth on, those of MOMENTA
    /// times the number that follows them: an inverse mass. Without TWO there is no `b`.
    #[inline(always)]
    unsafe fn relative<const TWO: bool, const MOMENTA: bool>(
        rows: *const Row,
        places: [*const Octet<u32>; 2],
        stride: usize,
    ) -> [[Self; 3]; 2] {
        unsafe {
            let (v, w) = (Self::gather(rows, places[0], stride, 0), Self::gather(rows, places[0], stride, 1));
            let (mut u, mut turn) = ([v[0], v[1], v[2]], [w[0], w[1], w[2]]);
            if MOMENTA {
                (u, turn) = (times(v[3], u), times(w[3], turn));
            }
            if TWO {
                let (v, w) =
                    (Self::gather(rows, places[1], stride, 0), Self::gather(rows, places[1], stride, 1));
                let (other, spin) = ([v[0], v[1], v[2]], [w[0], w[1], w[2]]);
                (u, turn) = match MOMENTA {
                    true => (apart(u, v[3], other), along(turn, w[3], spin)),
                    false => (minus(u, other), plus(turn, spin)),
                };
            }
            [u, turn]
        }
    }
    /// Adds `force`, as rows again, to the first three numbers of the rows of `a` and takes it from those of `b`. Without TWO
    /// there is no `b`.
    unsafe fn exchange<const TWO: bool>(
        force: [Self; 3],
        rows: *mut Row,
        places: [*const Octet<u32>; 2],
        stride: usize,
    );
    /// The same, and adds `turn` to three numbers of both, from the fifth on; one row after the other, so that a body may occur more
    /// than once.
    unsafe fn exchange_both<const TWO: bool>(
        force: [Self; 3],
        turn: [Self; 3],
        rows: *mut Row,
        places: [*const Octet<u32>; 2],
        stride: usize,
    );
}

/// x y + z, rounded once where that is one instruction; and in tests, which compare with processors that do.
#[inline(always)]
fn fused(x: f32, y: f32, z: f32) -> f32 {
    if cfg!(any(test, target_feature = "fma", target_arch = "aarch64")) { x.mul_add(y, z) } else { x * y + z }
}

/// For machines without AVX2.
#[derive(Clone, Copy)]
pub(super) struct Plain([f32; 8]);

impl Eight for Plain {
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        Self([x; 8])
    }
    #[inline(always)]
    unsafe fn load(from: *const Octet, _: usize) -> Self {
        Self(unsafe { (*from).0 })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut Octet, _: usize) {
        unsafe { (*to).0 = self.0 };
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Self(from_fn(|k| self.0[k] + other.0[k]))
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        Self(from_fn(|k| self.0[k] - other.0[k]))
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        Self(from_fn(|k| self.0[k] * other.0[k]))
    }
    #[inline(always)]
    unsafe fn plus(self, x: Self, y: Self) -> Self {
        Self(from_fn(|k| fused(x.0[k], y.0[k], self.0[k])))
    }
    #[inline(always)]
    unsafe fn less(self, x: Self, y: Self) -> Self {
        Self(from_fn(|k| fused(-x.0[k], y.0[k], self.0[k])))
    }
    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        Self(from_fn(|k| self.0[k] / other.0[k]))
    }
    #[inline(always)]
    unsafe fn sqrt(self) -> Self {
        Self(self.0.map(f32::sqrt))
    }
    #[inline(always)]
    unsafe fn select_le(self, other: Self, yes: Self, no: Self) -> Self {
        Self(from_fn(|k| if self.0[k] <= other.0[k] { yes.0[k] } else { no.0[k] }))
    }
    #[inline(always)]
    unsafe fn flush(self, tiny: Self) -> Self {
        Self(from_fn(|k| if self.0[k].abs() <= tiny.0[k] { 0.0 } else { self.0[k] }))
    }
    #[inline(always)]
    unsafe fn gather(rows: *const Row, places: *const Octet<u32>, _: usize, half: usize) -> [Self; 4] {
        let row = |k: usize| unsafe { (*rows.byte_add((*places).0[k] as usize)).0 };
        from_fn(|c| Self(from_fn(|k| row(k)[4 * half + c])))
    }
    #[inline(always)]
    unsafe fn exchange<const TWO: bool>(
        force: [Self; 3],
        rows: *mut Row,
        places: [*const Octet<u32>; 2],
        _: usize,
    ) {
        for k in 0..8 {
            let row = |side: usize| unsafe { &mut (*rows.byte_add((*places[side]).0[k] as usize)).0 };
            (0..3).for_each(|c| row(0)[c] += force[c].0[k]);
            if TWO {
                (0..3).for_each(|c| row(1)[c] -= force[c].0[k]);
            }
        }
    }
    #[inline(always)]
    unsafe fn exchange_both<const TWO: bool>(
        force: [Self; 3],
        turn: [Self; 3],
        rows: *mut Row,
        places: [*const Octet<u32>; 2],
        _: usize,
    ) {
        unsafe { Self::exchange::<TWO>(force, rows, places, 0) };
        for k in 0..8 {
            let row = |side: usize| unsafe { &mut (*rows.byte_add((*places[side]).0[k] as usize)).0 };
            (0..3).for_each(|c| row(0)[4 + c] += turn[c].0[k]);
            if TWO {
                (0..3).for_each(|c| row(1)[4 + c] += turn[c].0[k]);
            }
        }
    }
}

/// A piece of work over eights; `run` must be forced inline.
pub(super) trait Kernel {
    /// What it returns.
    type Out;

    /// Does it.
    ///
    /// # Safety
    /// The machine has the instructions of `V`.
    unsafe fn run<V: Eight>(self) -> Self::Out;
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2<K: Kernel>(kernel: K) -> K::Out {
    use std::arch::x86_64::__m256;
    unsafe { kernel.run::<__m256>() }
}

/// The same code with twice as many registers. (Sixteen lanes at a time gained nothing.)
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,fma")]
unsafe fn avx512<K: Kernel>(kernel: K) -> K::Out {
    use std::arch::x86_64::__m256;
    unsafe { kernel.run::<__m256>() }
}

/// Runs `kernel` with the widest instructions of this machine.
pub(super) fn widest<K: Kernel>(kernel: K) -> K::Out {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: each only where the machine has the instructions.
    unsafe {
        if is_x86_feature_detected!("fma") {
            if is_x86_feature_detected!("avx512vl") {
                return avx512(kernel);
            }
            if is_x86_feature_detected!("avx2") {
                return avx2(kernel);
            }
        }
    }
    // SAFETY: plain arrays work everywhere.
    unsafe { kernel.run::<Plain>() }
}

/// World vectors of eight points.
pub(super) type Three<V> = [V; 3];

#[inline(always)]
pub(super) unsafe fn load3<V: Eight>(from: *const Vectors, stride: usize) -> Three<V> {
    let from = from.cast::<Octet>();
    unsafe { [V::load(from, stride), V::load(from.add(1), stride), V::load(from.add(2), stride)] }
}

#[inline(always)]
pub(super) unsafe fn store3<V: Eight>(x: Three<V>, to: *mut Vectors, stride: usize) {
    let to = to.cast::<Octet>();
    unsafe {
        x[0].store(to, stride);
        x[1].store(to.add(1), stride);
        x[2].store(to.add(2), stride);
    }
}

#[inline(always)]
pub(super) unsafe fn dot<V: Eight>(a: Three<V>, b: Three<V>) -> V {
    unsafe { a[0].mul(b[0]).plus(a[1], b[1]).plus(a[2], b[2]) }
}

/// x + a·b.
#[inline(always)]
pub(super) unsafe fn add_dot<V: Eight>(x: V, a: Three<V>, b: Three<V>) -> V {
    unsafe { x.plus(a[0], b[0]).plus(a[1], b[1]).plus(a[2], b[2]) }
}

#[inline(always)]
pub(super) unsafe fn cross<V: Eight>(a: Three<V>, b: Three<V>) -> Three<V> {
    unsafe {
        [a[1].mul(b[2]).less(a[2], b[1]), a[2].mul(b[0]).less(a[0], b[2]), a[0].mul(b[1]).less(a[1], b[0])]
    }
}

#[inline(always)]
pub(super) unsafe fn plus<V: Eight>(a: Three<V>, b: Three<V>) -> Three<V> {
    unsafe { [a[0].add(b[0]), a[1].add(b[1]), a[2].add(b[2])] }
}

#[inline(always)]
pub(super) unsafe fn minus<V: Eight>(a: Three<V>, b: Three<V>) -> Three<V> {
    unsafe { [a[0].sub(b[0]), a[1].sub(b[1]), a[2].sub(b[2])] }
}

#[inline(always)]
pub(super) unsafe fn times<V: Eight>(s: V, a: Three<V>) -> Three<V> {
    unsafe { [s.mul(a[0]), s.mul(a[1]), s.mul(a[2])] }
}

/// a + s b.
#[inline(always)]
pub(super) unsafe fn along<V: Eight>(a: Three<V>, s: V, b: Three<V>) -> Three<V> {
    unsafe { [a[0].plus(s, b[0]), a[1].plus(s, b[1]), a[2].plus(s, b[2])] }
}

/// a - s b.
#[inline(always)]
pub(super) unsafe fn apart<V: Eight>(a: Three<V>, s: V, b: Three<V>) -> Three<V> {
    unsafe { [a[0].less(s, b[0]), a[1].less(s, b[1]), a[2].less(s, b[2])] }
}

/// a - b × c.
#[inline(always)]
pub(super) unsafe fn less_cross<V: Eight>(a: Three<V>, b: Three<V>, c: Three<V>) -> Three<V> {
    unsafe {
        [
            a[0].less(b[1], c[2]).plus(b[2], c[1]),
            a[1].less(b[2], c[0]).plus(b[0], c[2]),
            a[2].less(b[0], c[1]).plus(b[1], c[0]),
        ]
    }
}

/// Squares of this size, in the pack's units, are those of vectors far below its rounding.
const NEXT_TO_NONE: f32 = 1e-30;

/// Projection on the friction cone about `n` with [μ, 1/(1 + μ²)], as a world vector; see cone::friction.
#[inline(always)]
pub(super) unsafe fn project<V: Eight>(d: Three<V>, n: Three<V>, [mu, share]: [V; 2]) -> Three<V> {
    unsafe {
        let dn = dot(d, n);
        project_parts(dn, apart(d, dn, n), n, [mu, mu, share])
    }
}

/// The same of dn n + dt, where lengths along `n` count κ times less than across, with [μ, κμ, 1/(1 + κμ²)].
#[inline(always)]
pub(super) unsafe fn project_parts<V: Eight>(
    dn: V,
    dt: Three<V>,
    n: Three<V>,
    [mu, pull, share]: [V; 3],
) -> Three<V> {
    unsafe {
        let sq = dot(dt, dt);
        let r = sq.sqrt();
        let (zero, one) = (V::splat(0.0), V::splat(1.0));
        // 1/r = r / r²: the division does not wait for the root. What is too small to be divided by is none.
        let over_r = r.mul(one.div(sq.select_le(V::splat(NEXT_TO_NONE), one, sq)));
        let (mu_r, minus_dn, mu_dn) = (pull.mul(r), zero.sub(dn), mu.mul(dn));
        let slide_n = dn.add(mu_r).mul(share);
        let slide_t = mu.mul(share).mul(pull.plus(dn, over_r));
        let pn = mu_r.select_le(minus_dn, zero, r.select_le(mu_dn, dn, slide_n));
        let pt = mu_r.select_le(minus_dn, zero, r.select_le(mu_dn, one, slide_t));
        along(times(pn, n), pt, dt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: [u32; 8] = [3, 19, 0, 7, 8, 1, 12, 5];
    const SECOND: [u32; 8] = [2, 4, 6, 9, 10, 11, 13, 14];

    /// Everything a kernel may do, on rows of which no two are the same: points of `a` with those 40 rows further on.
    struct Everything<'a>(&'a mut [Row]);

    impl Kernel for Everything<'_> {
        type Out = Vec<u32>;

        #[inline(always)]
        unsafe fn run<V: Eight>(self) -> Vec<u32> {
            let a = [Octet(FIRST.map(|i| 32 * i)), Octet(SECOND.map(|i| 32 * i))];
            let b = a.map(|o| Octet(o.0.map(|place| place + 40 * 32)));
            let (a, b) = (a.as_ptr(), b.as_ptr());
            let rows = self.0.as_mut_ptr();
            let mut seen = Vec::new();
            unsafe {
                let (v, w) = (V::gather(rows, a, 32, 0), V::gather(rows, b, 32, 1));
                let (x, y) = ([v[0], v[1], v[2]], [w[0], w[1], w[2]]);
                let p = project(minus(x, y), times(V::splat(0.6), y), [V::splat(0.3), V::splat(1.0 / 1.09)]);
                let c = plus(cross(x, p), times(dot(x, y), y));
                let f = c[0].flush(V::splat(0.5)).add(v[3].div(V::splat(3.0)));
                let [s, t] = V::relative::<true, true>(rows, [a, b], 32);
                let [o, q] = V::relative::<true, false>(rows, [a, b], 32);
                let [one, _] = V::relative::<false, true>(rows, [a, b], 32);
                let less = less_cross(s, t, apart(along(o, f, q), v[3], one));
                V::exchange_both::<true>(c, p, rows, [a, b], 32);
                V::exchange_both::<false>(c, p, rows, [a, b], 32);
                V::exchange::<true>(p, rows, [a, b], 32);
                let mut out = [Octet([0.0; 8]); 2];
                for x in
                    v.into_iter().chain(w).chain(c).chain(p).chain([f]).chain(s).chain(t).chain(o).chain(less)
                {
                    x.store(out.as_mut_ptr(), 32);
                    seen.extend(out[0].0.map(f32::to_bits));
                }
            }
            seen
        }
    }

    #[test]
    fn all_versions_give_the_same_bits_in_the_right_places() {
        let start: Vec<Row> = (0..60).map(|i| Row(from_fn(|c| (0.37 * (8 * i + c) as f32).sin()))).collect();
        let (mut plain, mut wide) = (start.clone(), start.clone());
        // SAFETY: plain arrays work everywhere.
        let a = unsafe { Everything(&mut plain).run::<Plain>() };
        let b = widest(Everything(&mut wide));
        assert_eq!(a, b);
        assert_eq!(plain, wide);
        // Of two eights the first is what one alone is, and the second does the same elsewhere.
        let mut double = start.clone();
        // SAFETY: as above.
        let c = unsafe { Everything(&mut double).run::<Two<Plain>>() };
        assert_eq!(a, c);
        for i in 0..60 {
            assert_eq!(double[i] != plain[i], SECOND.contains(&(i as u32 % 40)), "row {i}");
        }
        // What was gathered is there in the order of the ids, and what was exchanged came and went.
        let number = |k: usize, lane: usize| f32::from_bits(a[8 * k + lane]);
        for (lane, id) in FIRST.into_iter().map(|id| id as usize).enumerate() {
            assert_eq!(number(0, lane), start[id].0[0]);
            assert_eq!(number(7, lane), start[id + 40].0[7]);
            let (force, turn, other) = (number(9, lane), number(12, lane), start[id + 40].0);
            assert_eq!(plain[id].0[1], start[id].0[1] + force + force + turn);
            assert_eq!(plain[id + 40].0[1], other[1] - force - turn);
            assert_eq!(plain[id].0[5], start[id].0[5] + turn + turn);
            assert_eq!(plain[id + 40].0[5], other[5] + turn);
            assert_eq!((plain[id].0[3], plain[id].0[7]), (start[id].0[3], start[id].0[7]));
            assert_eq!((plain[id + 40].0[3], plain[id + 40].0[7]), (other[3], other[7]));
        }
        assert_eq!((plain[15], plain[45 + 10]), (start[15], start[45 + 10]));
    }

    /// Adds one, and 1 to 8, to rows of which some occur twice or on both sides.
    struct Repeats<'a>(&'a mut [Row]);

    const LEFT: [u32; 8] = [3, 3, 0, 7, 3, 1, 0, 5];
    const RIGHT: [u32; 8] = [4, 3, 6, 9, 10, 4, 3, 4];

    impl Kernel for Repeats<'_> {
        type Out = ();

        #[inline(always)]
        unsafe fn run<V: Eight>(self) {
            let [a, b] = [LEFT, RIGHT].map(|ids| Octet(ids.map(|i| 32 * i)));
            let numbers = Octet(from_fn(|k| (k + 1) as f32));
            unsafe {
                let (one, x) = (V::splat(1.0), V::load(&numbers, 0));
                V::exchange_both::<true>([one, x, x], [x, one, one], self.0.as_mut_ptr(), [&a, &b], 0);
            }
        }
    }

    #[test]
    fn a_body_may_be_told_twice_at_once() {
        let mut plain = vec![Row::default(); 12];
        let mut wide = plain.clone();
        // SAFETY: plain arrays work everywhere.
        unsafe { Repeats(&mut plain).run::<Plain>() };
        widest(Repeats(&mut wide));
        assert_eq!(plain, wide);
        for (i, row) in (0..).zip(&plain) {
            let mut told = [0.0; 8];
            for (k, x) in (0..8).zip(1..) {
                let (x, left, right) = (x as f32, LEFT[k] == i, RIGHT[k] == i);
                let (force, turn) =
                    (f32::from(left as u8) - f32::from(right as u8), f32::from(left as u8 + right as u8));
                for (c, amount) in [1.0, x, x, 0.0].into_iter().enumerate() {
                    told[c] += force * amount;
                }
                for (c, amount) in [x, 1.0, 1.0, 0.0].into_iter().enumerate() {
                    told[4 + c] += turn * amount;
                }
            }
            assert_eq!(row.0, told, "row {i}");
        }
    }
}
