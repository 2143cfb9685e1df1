//! What a multiplication does to eight points, or twice eight, and to the rows of bodies.

use crate::colour::Span;

use super::super::eight::{
    Eight, Kernel, Octet, Row, Two, Vectors, add_dot, along, apart, cross, dot, less_cross, load3, minus,
    plus, project_parts, store3, times,
};
use super::super::metric::Metric;
use super::super::pack::{GROUP, Pack, VECTORS};

/// max |S⁻¹ (z - y)|², Σ ⟨z - y, S⁻¹ (z - y)⟩, both for an η_t of the step; Σ ⟨u_y, z - γ⟩, Σ ⟨b, z⟩.
pub(super) type Sums = [f64; 4];
pub(super) const MEASURE: usize = 0;
pub(super) const LENGTH: usize = 1;
pub(super) const DESCENT: usize = 2;
pub(super) const WORK: usize = 3;

pub(super) fn add(total: &mut Sums, part: Sums) {
    // Not f64::max, which would hide a NaN.
    total[MEASURE] = if part[MEASURE] <= total[MEASURE] { total[MEASURE] } else { part[MEASURE] };
    (1..4).for_each(|k| total[k] += part[k]);
}

/// Velocities below this share of the problem's largest are none.
const TINY: f32 = 1e-13;
/// Bodies whose sums are added up in f32.
pub(super) const CHUNK: usize = 128;
/// What a pass over the points does.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum What {
    /// z, its forces and the sums.
    Step,
    /// The measure alone.
    Measure,
    /// The forces and the work of γ.
    Push,
    /// u = N x in place of z, without the bias.
    Product,
}

/// All a pass needs; the pointers are to arrays as long as the pack says.
pub(super) struct View<'a> {
    pub pack: &'a Pack,
    pub what: What,
    /// tη_t of a contact is this many times its step.
    pub t: f32,
    pub beta: f32,
    pub metric: Metric,
    pub now: *const Vectors,
    pub before: *const Vectors,
    pub trial: *mut Vectors,
    pub velocity: *const Row,
    pub force: *mut Row,
    /// 1/η.
    pub weights: *const Octet,
}

// SAFETY: threads write only forces and multipliers of places in their own piece of one colour.
unsafe impl Sync for View<'_> {}

pub(super) struct Piece<'a> {
    pub view: &'a View<'a>,
    pub piece: Span,
}

impl Kernel for Piece<'_> {
    type Out = Sums;

    #[inline(always)]
    unsafe fn run<V: Eight>(self) -> Sums {
        let (view, s) = (self.view, self.piece);
        let [mut start, two_end, end] = [s.start, s.two_end, s.end].map(|x| x as usize / 8);
        let mut total = Sums::default();
        while start < end {
            let stop = end.min(start + BLOCK);
            unsafe { add(&mut total, block::<V>(view, start, two_end.clamp(start, stop), stop)) };
            start = stop;
        }
        total
    }
}

/// Groups whose sums are added up in f32.
const BLOCK: usize = 32;

/// Groups `start .. end`, those from `two_end` on of contacts with the world.
#[inline(always)]
unsafe fn block<V: Eight>(view: &View, start: usize, two_end: usize, end: usize) -> Sums {
    unsafe {
        let (mut acc, mut wide) = ([V::splat(0.0); 4], [Two::<V>::splat(0.0); 4]);
        let mut g = start;
        while g + 2 <= two_end {
            group::<Two<V>, true>(view, g, &mut wide);
            g += 2;
        }
        if g < two_end {
            group::<V, true>(view, g, &mut acc);
        }
        g = two_end;
        while g + 2 <= end {
            group::<Two<V>, false>(view, g, &mut wide);
            g += 2;
        }
        if g < end {
            group::<V, false>(view, g, &mut acc);
        }
        let most = wide[MEASURE].most();
        acc[MEASURE] = most.select_le(acc[MEASURE], acc[MEASURE], most);
        let mut seen = [Octet::default(); 4];
        for k in 1..4 {
            acc[k] = acc[k].add(wide[k].sum());
        }
        for k in 0..4 {
            acc[k].store(&mut seen[k], 0);
        }
        let sum = |k: usize| seen[k].0.iter().map(|x| f64::from(*x)).sum::<f64>();
        let most = seen[MEASURE].0.iter().fold(0.0, |m, x| if *x <= m { m } else { *x });
        [f64::from(most), sum(1), sum(2), sum(3)]
    }
}

#[inline(always)]
unsafe fn group<V: Eight, const TWO: bool>(view: &View, g: usize, acc: &mut [V; 4]) {
    unsafe {
        let pack = view.pack;
        let points = pack.groups.get_unchecked(g);
        let n: [V; 3] = load3(&points.n, GROUP);
        let mut bias = times(V::load(&points.bias, GROUP), n);
        if !pack.drift.is_empty() {
            bias = plus(bias, load3(pack.drift.get_unchecked(g), VECTORS));
        }
        let now: [V; 3] = load3(view.now.add(g), VECTORS);
        if view.what == What::Push {
            acc[WORK] = add_dot(acc[WORK], bias, now);
            return push::<V, TWO>(view, g, n, now);
        }
        let places = [&raw const points.a, &raw const points.b];
        let [seen, turn] = V::relative::<TWO, false>(view.velocity, places, GROUP);
        let mut u = less_cross(seen, turn, n);
        if view.what == What::Product {
            return store3(u, view.trial.add(g), VECTORS);
        }
        u = plus(u, bias);
        let tiny = V::splat(TINY);
        u = [u[0].flush(tiny), u[1].flush(tiny), u[2].flush(tiny)];
        let before = load3(view.before.add(g), VECTORS);
        let y = along(now, V::splat(view.beta), minus(now, before));
        let eta = V::load(&points.step, GROUP);
        let step = V::splat(view.t).mul(eta);
        // Along the normal the step is κ times as long as across.
        let (to, un, kappa) = (apart(y, step, u), dot(u, n), view.metric.kappa);
        let dn = dot(to, n);
        let pressed = dn.less(V::splat(kappa - 1.0).mul(step), un);
        let z = project_parts(pressed, apart(to, dn, n), n, view.metric.friction(pack, g));
        let d = minus(z, y);
        let along = dot(d, n);
        let (sq, weight) = (dot(d, d), V::load(view.weights.add(g), size_of::<Octet>()));
        let less = along.mul(along);
        let length = sq.less(V::splat(1.0 - 1.0 / kappa), less).mul(weight);
        let measure = sq.less(V::splat(1.0 - 1.0 / (kappa * kappa)), less).mul(weight).mul(weight);
        acc[MEASURE] = measure.select_le(acc[MEASURE], acc[MEASURE], measure);
        if view.what == What::Measure {
            return;
        }
        acc[LENGTH] = acc[LENGTH].add(length);
        acc[DESCENT] = add_dot(acc[DESCENT], u, minus(z, now));
        acc[WORK] = add_dot(acc[WORK], bias, z);
        store3(z, view.trial.add(g), VECTORS);
        push::<V, TWO>(view, g, n, z);
    }
}

/// Adds D z to the forces: the arms are -r n and r n, so that both torques turn the same way.
#[inline(always)]
unsafe fn push<V: Eight, const TWO: bool>(view: &View, g: usize, n: [V; 3], z: [V; 3]) {
    unsafe {
        let points = view.pack.groups.get_unchecked(g);
        let places = [&raw const points.a, &raw const points.b];
        V::exchange_both::<TWO>(z, cross(z, n), view.force, places, GROUP);
    }
}

/// Over bodies: ⟨F - F_y, M⁻¹ (F - F_y)⟩ with F_y = F_now + β (F_now - F_before), and ⟨F, 2 v_free + M⁻¹ F⟩. In the same pass
/// what [`Velocities`] says of F and F_now, where the next β is known.
pub(super) struct Settle<'a> {
    pub force: &'a [Row],
    pub now: &'a [Row],
    pub before: &'a [Row],
    pub beta: f32,
    pub free: &'a [Row],
    pub inverse: &'a [Row],
    pub ahead: Option<(f32, &'a mut [Row])>,
}

impl Kernel for Settle<'_> {
    type Out = [f64; 2];

    #[inline(always)]
    unsafe fn run<V: Eight>(mut self) -> [f64; 2] {
        let mut total = [0.0; 2];
        let n = self.force.len();
        let (mut start, mut seen) = (0, [Octet::default(); 2]);
        while start < n {
            let end = (start + CHUNK).min(n);
            unsafe {
                // Two rows at a time: sums wait for each other.
                let (mut acc, mut wide) = ([V::splat(0.0); 2], [Two::<V>::splat(0.0); 2]);
                let mut i = start;
                while i + 2 <= end {
                    self.row::<Two<V>>(i, &mut wide);
                    i += 2;
                }
                if i < end {
                    self.row::<V>(i, &mut acc);
                }
                for k in 0..2 {
                    acc[k].add(wide[k].sum()).store(&mut seen[k], 0);
                }
            }
            for k in 0..2 {
                total[k] += seen[k].0.iter().map(|x| f64::from(*x)).sum::<f64>();
            }
            start = end;
        }
        total
    }
}

impl Settle<'_> {
    /// Row `i`, and the next where `V` is two.
    #[inline(always)]
    unsafe fn row<V: Eight>(&mut self, i: usize, [change, kinetic]: &mut [V; 2]) {
        const ROW: usize = size_of::<Row>();
        unsafe {
            let row = |rows: &[Row]| rows.as_ptr().wrapping_add(i).cast::<Octet>();
            let (f, now) = (V::load(row(self.force), ROW), V::load(row(self.now), ROW));
            let (before, m) = (V::load(row(self.before), ROW), V::load(row(self.inverse), ROW));
            let step = f.sub(now);
            let d = step.less(V::splat(self.beta), now.sub(before));
            *change = change.plus(d, m.mul(d));
            let free = V::load(row(self.free), ROW);
            let v = free.plus(m, f);
            *kinetic = kinetic.plus(f, free.add(v));
            if let Some((beta, to)) = &mut self.ahead {
                v.plus(m, V::splat(*beta).mul(step)).store(to.as_mut_ptr().add(i).cast(), ROW);
            }
        }
    }
}

/// v = v_free + M⁻¹ (F + β (F - F_before)).
pub(super) struct Velocities<'a> {
    pub force: &'a [Row],
    pub before: &'a [Row],
    pub beta: f32,
    pub free: Option<&'a [Row]>,
    pub inverse: &'a [Row],
    pub to: &'a mut [Row],
}

impl Kernel for Velocities<'_> {
    type Out = ();

    #[inline(always)]
    unsafe fn run<V: Eight>(self) {
        for i in 0..self.to.len() {
            let row = |rows: &[Row]| rows.as_ptr().wrapping_add(i).cast::<Octet>();
            unsafe {
                let (f, before) = (V::load(row(self.force), 0), V::load(row(self.before), 0));
                let y = f.add(V::splat(self.beta).mul(f.sub(before)));
                let mut v = V::load(row(self.inverse), 0).mul(y);
                if let Some(free) = self.free {
                    v = V::load(row(free), 0).add(v);
                }
                v.store((&raw mut self.to[i]).cast(), 0);
            }
        }
    }
}
