//! Eight lanes of f32, or twice eight, and tables of rows of eight f32.

use std::array::from_fn;
use std::ops::{Add, Div, Mul, Sub};

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

/// Lanes of eight contacts, or of twice eight that are side by side in memory ([`Pair`]).
pub(crate) trait F32Lanes: Lanes<Number = f32> {
    /// How many eights.
    const EIGHTS: usize;

    /// A field of each of `EIGHTS` items.
    fn load<T>(items: &[T], field: impl Fn(&T) -> &Packed) -> Self;
    /// Writes a field of each of `EIGHTS` items.
    fn store<T>(self, items: &mut [T], field: impl Fn(&mut T) -> &mut Packed);
    /// Zero where |self| ≤ `tiny`, so that numbers that halve from body to body do not end as denormal ones, which
    /// processors are slow with.
    fn flush(self, tiny: Self) -> Self;

    /// Numbers 4 `half` .. 4 `half` + 4 of the rows of the bodies on one `side`, as columns.
    ///
    /// # Safety
    /// The contacts' bodies have rows, which nobody writes meanwhile.
    unsafe fn gather<P: Ends>(rows: *const Row32, contacts: &[P], side: usize, half: usize) -> [Self; 4];

    /// Differences of the first three numbers of the rows of both bodies, and sums of the three from the fifth on, those
    /// of MOMENTA times the number that follows them: an inverse mass. Without TWO there is no second body.
    ///
    /// # Safety
    /// As [`F32Lanes::gather`].
    #[inline(always)]
    unsafe fn relative<P: Ends, const TWO: bool, const MOMENTA: bool>(
        rows: *const Row32,
        contacts: &[P],
    ) -> [Vec3<Self>; 2] {
        // SAFETY: as the caller promises.
        let part = unsafe {
            [
                [Self::gather(rows, contacts, 0, 0), Self::gather(rows, contacts, 0, 1)],
                match TWO {
                    true => [Self::gather(rows, contacts, 1, 0), Self::gather(rows, contacts, 1, 1)],
                    false => [[Self::zero(); 4]; 2],
                },
            ]
        };
        let [[v, w], [other_v, other_w]] = part;
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

    /// Adds `force` to the first three numbers of the rows of the first bodies and takes it from those of the second.
    /// Without TWO there is no second body.
    ///
    /// # Safety
    /// The contacts' bodies have rows, which nobody else uses meanwhile.
    unsafe fn exchange<P: Ends, const TWO: bool>(force: Vec3<Self>, rows: *mut Row32, contacts: &[P]);

    /// The same, and adds `turn` to three numbers of both, from the fifth on; one row after the other, so that a body may
    /// occur more than once.
    ///
    /// # Safety
    /// As [`F32Lanes::exchange`].
    unsafe fn exchange_both<P: Ends, const TWO: bool>(
        force: Vec3<Self>,
        turn: Vec3<Self>,
        rows: *mut Row32,
        contacts: &[P],
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

/// Eight numbers on any machine.
#[derive(Clone, Copy)]
pub(in crate::simd) struct Array([f32; 8]);

macro_rules! operators {
    ($($trait:ident $method:ident),*) => {$(
        impl $trait for Array {
            type Output = Self;
            #[inline(always)]
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

    #[inline(always)]
    fn splat(x: f32) -> Self {
        Self([x; 8])
    }
    #[inline(always)]
    fn add_product(self, x: Self, y: Self) -> Self {
        Self(from_fn(|k| x.0[k].mul_add(y.0[k], self.0[k])))
    }
    #[inline(always)]
    fn sub_product(self, x: Self, y: Self) -> Self {
        Self(from_fn(|k| (-x.0[k]).mul_add(y.0[k], self.0[k])))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(self.0.map(f32::sqrt))
    }
    #[inline(always)]
    fn select_le(self, other: Self, yes: Self, no: Self) -> Self {
        Self(from_fn(|k| if self.0[k] <= other.0[k] { yes.0[k] } else { no.0[k] }))
    }
}

impl F32Lanes for Array {
    const EIGHTS: usize = 1;

    #[inline(always)]
    fn load<T>(items: &[T], field: impl Fn(&T) -> &Packed) -> Self {
        Self(field(&items[0]).0)
    }
    #[inline(always)]
    fn store<T>(self, items: &mut [T], field: impl Fn(&mut T) -> &mut Packed) {
        field(&mut items[0]).0 = self.0;
    }
    #[inline(always)]
    fn flush(self, tiny: Self) -> Self {
        Self(from_fn(|k| if self.0[k].abs() <= tiny.0[k] { 0.0 } else { self.0[k] }))
    }
    #[inline(always)]
    unsafe fn gather<P: Ends>(rows: *const Row32, contacts: &[P], side: usize, half: usize) -> [Self; 4] {
        // SAFETY: as the caller promises.
        let row = |place: u32| unsafe { (*rows.byte_add(place as usize)).0 };
        let picked = contacts[0].ends()[side].0.map(row);
        from_fn(|c| Self(from_fn(|k| picked[k][4 * half + c])))
    }
    #[inline(always)]
    unsafe fn exchange<P: Ends, const TWO: bool>(force: Vec3<Self>, rows: *mut Row32, contacts: &[P]) {
        // SAFETY: as the caller promises.
        unsafe { add_rows::<P, TWO>(contacts, rows, force, 0..3, [1.0, -1.0]) };
    }
    #[inline(always)]
    unsafe fn exchange_both<P: Ends, const TWO: bool>(
        force: Vec3<Self>,
        turn: Vec3<Self>,
        rows: *mut Row32,
        contacts: &[P],
    ) {
        // SAFETY: as the caller promises.
        unsafe {
            add_rows::<P, TWO>(contacts, rows, force, 0..3, [1.0, -1.0]);
            add_rows::<P, TWO>(contacts, rows, turn, 4..7, [1.0, 1.0]);
        }
    }
}

/// Adds `x`, with the sign of each side, to three numbers of the rows of the bodies.
///
/// # Safety
/// As [`F32Lanes::exchange`].
#[inline(always)]
unsafe fn add_rows<P: Ends, const TWO: bool>(
    contacts: &[P],
    rows: *mut Row32,
    x: Vec3<Array>,
    numbers: std::ops::Range<usize>,
    signs: [f32; 2],
) {
    let ends = contacts[0].ends();
    for k in 0..8 {
        for (places, sign) in ends.into_iter().zip(signs).take(if TWO { 2 } else { 1 }) {
            // SAFETY: as the caller promises.
            let row = unsafe { &mut (*rows.byte_add(places.0[k] as usize)).0 };
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
    unsafe fn gather<P: Ends>(rows: *const Row32, contacts: &[P], side: usize, half: usize) -> [Self; 4] {
        // SAFETY: as the caller promises.
        let [a, b]: [[V; 4]; 2] = unsafe {
            [V::gather(rows, &contacts[..1], side, half), V::gather(rows, &contacts[1..], side, half)]
        };
        [Self(a[0], b[0]), Self(a[1], b[1]), Self(a[2], b[2]), Self(a[3], b[3])]
    }
    #[inline(always)]
    unsafe fn relative<P: Ends, const TWO: bool, const MOMENTA: bool>(
        rows: *const Row32,
        contacts: &[P],
    ) -> [Vec3<Self>; 2] {
        // SAFETY: as the caller promises.
        let [[u, s], [v, t]]: [[Vec3<V>; 2]; 2] = unsafe {
            [
                V::relative::<P, TWO, MOMENTA>(rows, &contacts[..1]),
                V::relative::<P, TWO, MOMENTA>(rows, &contacts[1..]),
            ]
        };
        [
            [Self(u[0], v[0]), Self(u[1], v[1]), Self(u[2], v[2])],
            [Self(s[0], t[0]), Self(s[1], t[1]), Self(s[2], t[2])],
        ]
    }
    #[inline(always)]
    unsafe fn exchange<P: Ends, const TWO: bool>(f: Vec3<Self>, rows: *mut Row32, contacts: &[P]) {
        // SAFETY: as the caller promises.
        unsafe {
            V::exchange::<P, TWO>([f[0].0, f[1].0, f[2].0], rows, &contacts[..1]);
            V::exchange::<P, TWO>([f[0].1, f[1].1, f[2].1], rows, &contacts[1..]);
        }
    }
    #[inline(always)]
    unsafe fn exchange_both<P: Ends, const TWO: bool>(
        f: Vec3<Self>,
        t: Vec3<Self>,
        rows: *mut Row32,
        contacts: &[P],
    ) {
        let (force, turn) = ([f[0].0, f[1].0, f[2].0], [t[0].0, t[1].0, t[2].0]);
        let (force_1, turn_1) = ([f[0].1, f[1].1, f[2].1], [t[0].1, t[1].1, t[2].1]);
        // SAFETY: as the caller promises.
        unsafe {
            V::exchange_both::<P, TWO>(force, turn, rows, &contacts[..1]);
            V::exchange_both::<P, TWO>(force_1, turn_1, rows, &contacts[1..]);
        }
    }
}
