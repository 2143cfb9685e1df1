//! Eight lanes of f32, or twice eight, and tables of rows of eight f32.

use std::array::from_fn;
use std::ops::{Add, Div, Mul, Sub};

use crate::parallel::Shared;

use super::Lanes;
use super::vec3::{Vec3, add, add_scaled, scale, sub, sub_scaled};

/// Eight numbers in memory, one for each of eight contacts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(32))]
pub(crate) struct Packed<T = f32>(pub [T; 8]);

/// A body's numbers, half a cache line: two quarters of four.
pub(crate) type Row32 = Packed<f32>;

/// A world vector for each of eight contacts.
pub(crate) type Vectors = [Packed; 3];

/// Eight contacts that know their bodies.
pub(crate) trait Ends {
    /// Where the rows of the first and of the second bodies are, in bytes from the first row.
    fn ends(&self) -> [&Packed<u32>; 2];
}

/// Contacts, eight to a group, that one thread works on, and the rows of their bodies.
pub(crate) struct OwnContacts<'a, P> {
    groups: &'a [P],
    rows: Shared<Row32>,
}

impl<'a, P: Ends> OwnContacts<'a, P> {
    /// # Safety
    /// The ends of all of these contacts are places of rows, and as long as the result is there nobody else
    /// uses those, or writes them where they are only to be read.
    #[inline(always)]
    pub unsafe fn new(groups: &'a [P], rows: Shared<Row32>) -> Self {
        Self { groups, rows }
    }

    /// Groups `g .. g + EIGHTS`.
    #[inline(always)]
    pub fn groups<V: F32Lanes>(&self, g: usize) -> &'a [P] {
        &self.groups[g..g + V::EIGHTS]
    }

    /// Where the rows of the bodies of the contacts of group `g` are, by side.
    #[inline(always)]
    pub(in crate::simd) fn places(&self, g: usize) -> [Places<'a>; 2] {
        self.groups[g].ends().map(|bytes| Places { rows: self.rows, bytes })
    }
}

/// Where the rows of eight bodies are: see [`OwnContacts::new`].
#[derive(Clone, Copy)]
pub(in crate::simd) struct Places<'a> {
    rows: Shared<Row32>,
    bytes: &'a Packed<u32>,
}

impl Places<'_> {
    /// The row of the `k`-th.
    #[inline(always)]
    pub fn row(&self, k: usize) -> *mut Row32 {
        self.rows.0.wrapping_byte_add(self.bytes.0[k] as usize)
    }
}

/// Lanes of eight contacts, or of twice eight that are side by side in memory ([`Pair`]).
pub(crate) trait F32Lanes: Lanes<Number = f32> {
    /// How many eights.
    const EIGHTS: usize;

    /// A field of each of `EIGHTS` items.
    fn load<T>(items: &[T], field: impl Fn(&T) -> &Packed) -> Self;
    /// Writes a field of each of `EIGHTS` items.
    fn store<T>(self, items: &mut [T], field: impl Fn(&mut T) -> &mut Packed);
    /// Zero where |self| ≤ `tiny`, so that numbers that halve from body to body do not end as denormal ones,
    /// which processors are slow with.
    fn flush(self, tiny: Self) -> Self;

    /// Numbers 4 `half` .. 4 `half` + 4 of the rows of the bodies of group `g` on one `side`, as columns.
    fn gather<P: Ends>(own: &OwnContacts<P>, g: usize, side: usize, half: usize) -> [Self; 4];

    /// Differences of the first three numbers of the rows of both bodies of group `g`, and sums of the three
    /// from the fifth on, those of MOMENTA times the number that follows them: an inverse mass. Without TWO
    /// there is no second body.
    #[inline(always)]
    fn relative<P: Ends, const TWO: bool, const MOMENTA: bool>(
        own: &OwnContacts<P>,
        g: usize,
    ) -> [Vec3<Self>; 2] {
        let [v, w]: [[Self; 4]; 2] = [Self::gather(own, g, 0, 0), Self::gather(own, g, 0, 1)];
        let [other_v, other_w] = match TWO {
            true => [Self::gather(own, g, 1, 0), Self::gather(own, g, 1, 1)],
            false => [[Self::zero(); 4]; 2],
        };
        let (mut u, mut turn) = ([v[0], v[1], v[2]], [w[0], w[1], w[2]]);
        if MOMENTA {
            (u, turn) = (scale(v[3], u), scale(w[3], turn));
        }
        if TWO {
            let other = [other_v[0], other_v[1], other_v[2]];
            let spin = [other_w[0], other_w[1], other_w[2]];
            (u, turn) = match MOMENTA {
                true => (sub_scaled(u, other_v[3], other), add_scaled(turn, other_w[3], spin)),
                false => (sub(u, other), add(turn, spin)),
            };
        }
        [u, turn]
    }

    /// Adds `force` to the first three numbers of the rows of the first bodies of group `g` and takes it from
    /// those of the second. Without TWO there is no second body.
    fn exchange<P: Ends, const TWO: bool>(force: Vec3<Self>, own: &mut OwnContacts<P>, g: usize);

    /// The same, and adds `turn` to three numbers of both, from the fifth on; one row after the other, so
    /// that a body may occur more than once.
    fn exchange_both<P: Ends, const TWO: bool>(
        force: Vec3<Self>,
        turn: Vec3<Self>,
        own: &mut OwnContacts<P>,
        g: usize,
    );
}

/// Three fields.
#[inline(always)]
pub(crate) fn load3<V: F32Lanes, T>(items: &[T], field: impl Fn(&T) -> &Vectors) -> Vec3<V> {
    [V::load(items, |x| &field(x)[0]), V::load(items, |x| &field(x)[1]), V::load(items, |x| &field(x)[2])]
}

/// Writes three fields.
#[inline(always)]
pub(crate) fn store3<V: F32Lanes>(x: Vec3<V>, items: &mut [Vectors]) {
    x[0].store(items, |x| &mut x[0]);
    x[1].store(items, |x| &mut x[1]);
    x[2].store(items, |x| &mut x[2]);
}

/// Eight numbers on any machine. On x86-64, where it serves machines from before 2013 and tests, operations
/// are out of line: eight calls of a library for each product would make kernels several times as large as on
/// vectors, and builds longer by minutes.
#[derive(Clone, Copy)]
pub(in crate::simd) struct Array([f32; 8]);

macro_rules! operators {
    ($($trait:ident $method:ident),*) => {$(
        impl $trait for Array {
            type Output = Self;
            #[cfg_attr(target_arch = "x86_64", inline(never))]
            #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
            fn $method(self, other: Self) -> Self {
                Self(from_fn(|k| self.0[k].$method(other.0[k])))
            }
        }
        impl<V: Lanes> $trait for Pair<V> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self(self.0.$method(other.0), self.1.$method(other.1))
            }
        }
    )*};
}
operators!(Add add, Sub sub, Mul mul, Div div);

impl Lanes for Array {
    type Number = f32;
    const COUNT: usize = 8;
    const NEGLIGIBLE: f32 = 1e-30;

    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn splat(x: f32) -> Self {
        Self([x; 8])
    }
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn add_product(self, x: Self, y: Self) -> Self {
        Self(from_fn(|k| x.0[k].mul_add(y.0[k], self.0[k])))
    }
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn sub_product(self, x: Self, y: Self) -> Self {
        Self(from_fn(|k| (-x.0[k]).mul_add(y.0[k], self.0[k])))
    }
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn sqrt(self) -> Self {
        Self(self.0.map(f32::sqrt))
    }
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn select_le(self, other: Self, yes: Self, no: Self) -> Self {
        Self(from_fn(|k| if self.0[k] <= other.0[k] { yes.0[k] } else { no.0[k] }))
    }
}

impl F32Lanes for Array {
    const EIGHTS: usize = 1;

    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn load<T>(items: &[T], field: impl Fn(&T) -> &Packed) -> Self {
        Self(field(&items[0]).0)
    }
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn store<T>(self, items: &mut [T], field: impl Fn(&mut T) -> &mut Packed) {
        field(&mut items[0]).0 = self.0;
    }
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn flush(self, tiny: Self) -> Self {
        Self(from_fn(|k| if self.0[k].abs() <= tiny.0[k] { 0.0 } else { self.0[k] }))
    }
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn gather<P: Ends>(own: &OwnContacts<P>, g: usize, side: usize, half: usize) -> [Self; 4] {
        let places = own.places(g)[side];
        // SAFETY: the contacts' ends have rows, and nobody else writes them.
        let picked: [[f32; 8]; 8] = from_fn(|k| unsafe { (*places.row(k)).0 });
        from_fn(|c| Self(from_fn(|k| picked[k][4 * half + c])))
    }
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn exchange<P: Ends, const TWO: bool>(force: Vec3<Self>, own: &mut OwnContacts<P>, g: usize) {
        add_rows::<P, TWO>(own, g, force, 0..3, [1.0, -1.0]);
    }
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn exchange_both<P: Ends, const TWO: bool>(
        force: Vec3<Self>,
        turn: Vec3<Self>,
        own: &mut OwnContacts<P>,
        g: usize,
    ) {
        add_rows::<P, TWO>(own, g, force, 0..3, [1.0, -1.0]);
        add_rows::<P, TWO>(own, g, turn, 4..7, [1.0, 1.0]);
    }
}

/// Adds `x`, with the sign of each side, to three numbers of the rows of the bodies of group `g`.
#[cfg_attr(target_arch = "x86_64", inline(never))]
#[cfg_attr(not(target_arch = "x86_64"), inline(always))]
fn add_rows<P: Ends, const TWO: bool>(
    own: &mut OwnContacts<P>,
    g: usize,
    x: Vec3<Array>,
    numbers: std::ops::Range<usize>,
    signs: [f32; 2],
) {
    let ends = own.places(g);
    for k in 0..8 {
        for (places, sign) in ends.into_iter().zip(signs).take(if TWO { 2 } else { 1 }) {
            // SAFETY: the contacts' ends have rows, and nobody else uses them.
            let row = unsafe { &mut (*places.row(k)).0 };
            row[numbers.clone()].iter_mut().zip(x).for_each(|(to, x)| *to += sign * x.0[k]);
        }
    }
}

/// Twice as many lanes, one half after the other in every operation: what one waits for the other fills.
#[derive(Clone, Copy)]
pub(crate) struct Pair<V>(V, V);

impl<V: Lanes> Pair<V> {
    /// Each lane's sum over the halves.
    #[inline(always)]
    pub fn sum(self) -> V {
        self.0 + self.1
    }

    /// Each lane's larger number of the halves; a NaN stays.
    #[inline(always)]
    pub fn most(self) -> V {
        self.0.select_le(self.1, self.1, self.0)
    }
}

impl<V: Lanes> Lanes for Pair<V> {
    type Number = V::Number;
    const COUNT: usize = 2 * V::COUNT;
    const NEGLIGIBLE: V::Number = V::NEGLIGIBLE;

    #[inline(always)]
    fn splat(x: V::Number) -> Self {
        Self(V::splat(x), V::splat(x))
    }
    #[inline(always)]
    fn add_product(self, x: Self, y: Self) -> Self {
        Self(self.0.add_product(x.0, y.0), self.1.add_product(x.1, y.1))
    }
    #[inline(always)]
    fn sub_product(self, x: Self, y: Self) -> Self {
        Self(self.0.sub_product(x.0, y.0), self.1.sub_product(x.1, y.1))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(self.0.sqrt(), self.1.sqrt())
    }
    #[inline(always)]
    fn select_le(self, other: Self, yes: Self, no: Self) -> Self {
        Self(self.0.select_le(other.0, yes.0, no.0), self.1.select_le(other.1, yes.1, no.1))
    }
}

impl<V: F32Lanes> F32Lanes for Pair<V> {
    const EIGHTS: usize = 2;

    #[inline(always)]
    fn load<T>(items: &[T], field: impl Fn(&T) -> &Packed) -> Self {
        Self(V::load(&items[..1], &field), V::load(&items[1..], &field))
    }
    #[inline(always)]
    fn store<T>(self, items: &mut [T], field: impl Fn(&mut T) -> &mut Packed) {
        self.0.store(&mut items[..1], &field);
        self.1.store(&mut items[1..], &field);
    }
    #[inline(always)]
    fn flush(self, tiny: Self) -> Self {
        Self(self.0.flush(tiny.0), self.1.flush(tiny.1))
    }
    #[inline(always)]
    fn gather<P: Ends>(own: &OwnContacts<P>, g: usize, side: usize, half: usize) -> [Self; 4] {
        let a: [V; 4] = V::gather(own, g, side, half);
        let b: [V; 4] = V::gather(own, g + 1, side, half);
        [Self(a[0], b[0]), Self(a[1], b[1]), Self(a[2], b[2]), Self(a[3], b[3])]
    }
    #[inline(always)]
    fn relative<P: Ends, const TWO: bool, const MOMENTA: bool>(
        own: &OwnContacts<P>,
        g: usize,
    ) -> [Vec3<Self>; 2] {
        let [u, s]: [Vec3<V>; 2] = V::relative::<P, TWO, MOMENTA>(own, g);
        let [v, t]: [Vec3<V>; 2] = V::relative::<P, TWO, MOMENTA>(own, g + 1);
        [
            [Self(u[0], v[0]), Self(u[1], v[1]), Self(u[2], v[2])],
            [Self(s[0], t[0]), Self(s[1], t[1]), Self(s[2], t[2])],
        ]
    }
    #[inline(always)]
    fn exchange<P: Ends, const TWO: bool>(f: Vec3<Self>, own: &mut OwnContacts<P>, g: usize) {
        V::exchange::<P, TWO>([f[0].0, f[1].0, f[2].0], own, g);
        V::exchange::<P, TWO>([f[0].1, f[1].1, f[2].1], own, g + 1);
    }
    #[inline(always)]
    fn exchange_both<P: Ends, const TWO: bool>(
        f: Vec3<Self>,
        t: Vec3<Self>,
        own: &mut OwnContacts<P>,
        g: usize,
    ) {
        let (force, turn) = ([f[0].0, f[1].0, f[2].0], [t[0].0, t[1].0, t[2].0]);
        let (force_1, turn_1) = ([f[0].1, f[1].1, f[2].1], [t[0].1, t[1].1, t[2].1]);
        V::exchange_both::<P, TWO>(force, turn, own, g);
        V::exchange_both::<P, TWO>(force_1, turn_1, own, g + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::super::vec3::{cross, dot, sub_cross};
    use super::super::{Kernel, Simd, every_width};
    use super::*;

    const FIRST: [u32; 8] = [3, 19, 0, 7, 8, 1, 12, 5];
    const SECOND: [u32; 8] = [2, 4, 6, 9, 10, 11, 13, 14];

    struct Contacts([Packed<u32>; 2]);

    impl Ends for Contacts {
        fn ends(&self) -> [&Packed<u32>; 2] {
            self.0.each_ref()
        }
    }

    /// Contacts of these bodies with those `further` rows further on.
    fn contacts(ids: [u32; 8], further: u32) -> Contacts {
        Contacts([Packed(ids.map(|i| 32 * i)), Packed(ids.map(|i| 32 * (i + further)))])
    }

    fn rows() -> Vec<Row32> {
        (0..60).map(|i| Packed(from_fn(|c| (0.37 * (8 * i + c) as f32).sin()))).collect()
    }

    /// Everything a kernel may do, on rows of which no two are the same; the rows after it, and what was seen
    /// by the first eight lanes.
    #[inline(always)]
    fn everything<V: F32Lanes>() -> (Vec<Row32>, Vec<u32>) {
        let (mut all, mut seen) = (rows(), Vec::new());
        let pairs = [contacts(FIRST, 40), contacts(SECOND, 40)];
        // SAFETY: all bodies have rows, on one thread.
        let mut own = unsafe { OwnContacts::new(&pairs, Shared(all.as_mut_ptr())) };
        let (v, w): ([V; 4], [V; 4]) = (V::gather(&own, 0, 0, 0), V::gather(&own, 0, 1, 1));
        let (x, y) = ([v[0], v[1], v[2]], [w[0], w[1], w[2]]);
        let p = add_scaled(sub(x, y), V::splat(0.6).sqrt(), y);
        let c = add(cross(x, p), scale(dot(x, y), y));
        let f = c[0].flush(V::splat(0.5)) + v[3] / V::splat(3.0);
        let [s, t] = V::relative::<_, true, true>(&own, 0);
        let [o, q] = V::relative::<_, true, false>(&own, 0);
        let [one, _] = V::relative::<_, false, true>(&own, 0);
        let less = sub_cross(s, t, sub_scaled(add_scaled(o, f, q), v[3].larger(f), one));
        V::exchange_both::<_, true>(c, p, &mut own, 0);
        V::exchange_both::<_, false>(c, p, &mut own, 0);
        V::exchange::<_, true>(p, &mut own, 0);
        let mut out = [Packed::default(); 2];
        for x in v.into_iter().chain(w).chain(c).chain(p).chain([f]).chain(s).chain(t).chain(o).chain(less) {
            x.store(&mut out[..V::EIGHTS], |x| x);
            seen.extend(out[0].0.map(f32::to_bits));
        }
        (all, seen)
    }

    struct Everything;

    impl Kernel for Everything {
        type Out = [(Vec<Row32>, Vec<u32>); 2];

        #[inline(always)]
        fn run<S: Simd>(self) -> Self::Out {
            [everything::<S::F32>(), everything::<Pair<S::F32>>()]
        }
    }

    #[test]
    fn all_widths_give_the_same_bits_in_the_right_places() {
        let (start, all) = (rows(), every_width(|| Everything));
        assert!(all.iter().all(|x| *x == all[0]));
        let [(plain, a), (double, b)] = &all[0];
        // Of two eights the first is what one alone is, and the second does the same elsewhere.
        assert_eq!(a, b);
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

    const LEFT: [u32; 8] = [3, 3, 0, 7, 3, 1, 0, 5];
    const RIGHT: [u32; 8] = [4, 3, 6, 9, 10, 4, 3, 4];

    /// Adds one, and 1 to 8, to rows of which some occur twice or on both sides.
    struct Repeats;

    impl Kernel for Repeats {
        type Out = Vec<Row32>;

        #[inline(always)]
        fn run<S: Simd>(self) -> Vec<Row32> {
            let contacts = [Contacts([LEFT, RIGHT].map(|ids| Packed(ids.map(|i| 32 * i))))];
            let numbers = [Packed(from_fn(|k| (k + 1) as f32))];
            let mut rows = vec![Row32::default(); 12];
            let (one, x) = (S::F32::one(), S::F32::load(&numbers, |x| x));
            // SAFETY: twelve rows, on one thread.
            let mut own = unsafe { OwnContacts::new(&contacts, Shared(rows.as_mut_ptr())) };
            S::F32::exchange_both::<_, true>([one, x, x], [x, one, one], &mut own, 0);
            rows
        }
    }

    #[test]
    fn a_body_may_be_told_twice_at_once() {
        let all = every_width(|| Repeats);
        assert!(all.iter().all(|rows| *rows == all[0]));
        for (i, row) in (0..).zip(&all[0]) {
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
