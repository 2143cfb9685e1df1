//! What a multiplication does to eight points, or twice eight, and to the rows of bodies.

use crate::colour::Span;
use crate::parallel::Shared;
use crate::simd::vec3::{self, Vec3, add_dot, add_scaled, cross, dot, scale, sub, sub_cross};
use crate::simd::{F32Lanes, Kernel, Lanes, OwnContacts, Packed, Pair, Row32, Simd, Vectors, load3, store3};

use super::super::super::contact::update::scaled_step;
use super::super::groups::{self, GroupPass};
use super::super::metric::Metric;
use super::super::pack::{Group, Pack, flushed};

/// max |S⁻¹ (z - y)|², Σ ⟨z - y, S⁻¹ (z - y)⟩, both for an η_t of the step; Σ ⟨u_y, z - γ⟩, Σ ⟨b, z⟩.
pub(super) type Sums = [f64; 4];
pub(super) const MEASURE: usize = 0;
pub(super) const LENGTH: usize = 1;
pub(super) const DESCENT: usize = 2;
pub(super) const WORK: usize = 3;

pub(super) fn add(total: &mut Sums, part: Sums) {
    total[MEASURE] = total[MEASURE].larger(part[MEASURE]);
    (1..4).for_each(|k| total[k] += part[k]);
}

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

/// All a pass needs; what is shared is as long as the pack says.
pub(super) struct View<'a> {
    pub pack: &'a Pack,
    pub what: What,
    /// tη_t of a contact is this many times its step.
    pub t: f32,
    pub beta: f32,
    pub metric: Metric,
    pub now: &'a [Vectors],
    pub before: &'a [Vectors],
    pub trial: Shared<Vectors>,
    pub velocity: &'a [Row32],
    pub force: Shared<Row32>,
    /// 1/η.
    pub weights: &'a [Packed],
}

/// A piece of a colour. Whoever makes one promises that nobody else works on its bodies and multipliers.
pub(super) struct Piece<'a> {
    pub view: &'a View<'a>,
    pub piece: Span,
}

impl Kernel for Piece<'_> {
    type Out = Sums;

    #[inline(always)]
    fn run<S: Simd>(self) -> Sums {
        let Self { view, piece } = self;
        let [mut start, two_end, end] = [piece.start, piece.two_end, piece.end].map(|x| x as usize / 8);
        let mut total = Sums::default();
        while start < end {
            let stop = end.min(start + BLOCK);
            let groups = &view.pack.groups[start..stop];
            // SAFETY: the piece's maker has promised that nobody else works on them; a pack's contacts name
            // rows that are there, of velocities, which nobody writes, and of forces; and there are as many
            // multipliers as groups.
            let pass = unsafe {
                Pass {
                    view,
                    first: start,
                    seen: OwnContacts::new(groups, Shared(view.velocity.as_ptr().cast_mut())),
                    pushed: OwnContacts::new(groups, view.force),
                    trial: view.trial.slice(start, groups.len()),
                }
            };
            add(
                &mut total,
                groups::run::<S::F32, _, 4>(pass, [two_end.clamp(start, stop) - start, stop - start]),
            );
            start = stop;
        }
        total
    }
}

/// Groups whose sums are added up in f32.
const BLOCK: usize = 32;

/// Groups of contacts that one thread works on, from the `first` of the pack's on.
struct Pass<'a> {
    view: &'a View<'a>,
    first: usize,
    /// With velocities as rows, and with forces.
    seen: OwnContacts<'a, Group>,
    pushed: OwnContacts<'a, Group>,
    trial: &'a mut [Vectors],
}

impl GroupPass<4> for Pass<'_> {
    type Ahead<V: F32Lanes> = ();
    const WORLD_IN_PAIRS: bool = true;

    #[inline(always)]
    fn read<V: F32Lanes, const TWO: bool>(&self, _: usize) {}

    #[inline(always)]
    fn group<V: F32Lanes, const TWO: bool>(&mut self, g: usize, _: Option<usize>, (): (), acc: &mut [V; 4]) {
        let Self { view, first, seen, pushed, trial } = self;
        let (pack, metric, at) = (view.pack, &view.metric, *first + g);
        let (trial, all) = (&mut trial[g..g + V::EIGHTS], at..at + V::EIGHTS);
        let contacts = seen.groups::<V>(g);
        let n: Vec3<V> = load3(contacts, |c| &c.n);
        let mut bias = scale(V::load(contacts, |c| &c.bias), n);
        if let Some(drift) = pack.each_drift(at) {
            bias = vec3::add(bias, drift);
        }
        // Adds D z to the forces: the arms are -r n and r n, so that both torques turn the same way.
        macro_rules! push {
            ($z:ident) => {
                V::exchange_both::<_, TWO>($z, cross($z, n), pushed, g)
            };
        }
        let now: Vec3<V> = load3(&view.now[all.clone()], |x| x);
        if view.what == What::Push {
            acc[WORK] = add_dot(acc[WORK], bias, now);
            return push!(now);
        }
        let [moved, turn] = V::relative::<_, TWO, false>(seen, g);
        let mut u = sub_cross(moved, turn, n);
        if view.what == What::Product {
            return store3(u, trial);
        }
        u = flushed(vec3::add(u, bias));
        let before = load3(&view.before[all.clone()], |x| x);
        let y = add_scaled(now, V::splat(view.beta), sub(now, before));
        let eta = V::splat(view.t) * V::load(contacts, |c| &c.step);
        // Along the normal the step is κ times as long as across.
        let (un, more) = (dot(u, n), V::splat(metric.kappa - 1.0));
        let z = scaled_step(y, [u, n], un, eta, more, metric.friction(pack, at));
        let d = sub(z, y);
        let along = dot(d, n);
        let (sq, weight) = (dot(d, d), V::load(&view.weights[all], |x| x));
        let length = sq.sub_product(V::splat(1.0 - 1.0 / metric.kappa), along * along) * weight;
        acc[MEASURE] = acc[MEASURE].larger(metric.square(sq, along) * weight * weight);
        if view.what == What::Measure {
            return;
        }
        acc[LENGTH] = acc[LENGTH] + length;
        acc[DESCENT] = add_dot(acc[DESCENT], u, sub(z, now));
        acc[WORK] = add_dot(acc[WORK], bias, z);
        store3(z, trial);
        push!(z);
    }
}

/// Over bodies: ⟨F - F_y, M⁻¹ (F - F_y)⟩ with F_y = F_now + β (F_now - F_before), and ⟨F, 2 v_free + M⁻¹ F⟩.
/// In the same pass what [`Velocities`] says of F and F_now, where the next β is known.
pub(super) struct Settle<'a> {
    pub force: &'a [Row32],
    pub now: &'a [Row32],
    pub before: &'a [Row32],
    pub beta: f32,
    pub free: &'a [Row32],
    pub inverse: &'a [Row32],
    pub ahead: Option<(f32, &'a mut [Row32])>,
}

impl Kernel for Settle<'_> {
    type Out = [f64; 2];

    #[inline(always)]
    fn run<S: Simd>(mut self) -> [f64; 2] {
        let mut total = [0.0; 2];
        let n = self.force.len();
        let mut start = 0;
        while start < n {
            let end = (start + CHUNK).min(n);
            // Two rows at a time: sums wait for each other.
            let (mut acc, mut wide) = ([S::F32::zero(); 2], [Pair::<S::F32>::zero(); 2]);
            let mut i = start;
            while i + 2 <= end {
                self.row::<Pair<S::F32>>(i, &mut wide);
                i += 2;
            }
            if i < end {
                self.row::<S::F32>(i, &mut acc);
            }
            for k in 0..2 {
                let mut seen = [Packed::default()];
                (acc[k] + wide[k].sum()).store(&mut seen, |x| x);
                total[k] += seen[0].0.iter().map(|x| f64::from(*x)).sum::<f64>();
            }
            start = end;
        }
        total
    }
}

impl Settle<'_> {
    /// Row `i`, and the next where `V` is two.
    #[inline(always)]
    fn row<V: F32Lanes>(&mut self, i: usize, [change, kinetic]: &mut [V; 2]) {
        let range = i..i + V::EIGHTS;
        macro_rules! load {
            ($field:ident) => {
                V::load(&self.$field[range.clone()], |row| row)
            };
        }
        let (f, now, before, m) = (load!(force), load!(now), load!(before), load!(inverse));
        let step = f - now;
        let d = step.sub_product(V::splat(self.beta), now - before);
        *change = change.add_product(d, m * d);
        let free = load!(free);
        let v = free.add_product(m, f);
        *kinetic = kinetic.add_product(f, free + v);
        if let Some((beta, to)) = &mut self.ahead {
            v.add_product(m, V::splat(*beta) * step).store(&mut to[range], |row| row);
        }
    }
}

/// v = v_free + M⁻¹ (F + β (F - F_before)).
pub(super) struct Velocities<'a> {
    pub force: &'a [Row32],
    pub before: &'a [Row32],
    pub beta: f32,
    pub free: Option<&'a [Row32]>,
    pub inverse: &'a [Row32],
    pub to: &'a mut [Row32],
}

impl Kernel for Velocities<'_> {
    type Out = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        macro_rules! load {
            ($rows:expr, $i:ident) => {
                S::F32::load(&$rows[$i..], |row| row)
            };
        }
        for i in 0..self.to.len() {
            let (f, before) = (load!(self.force, i), load!(self.before, i));
            let y = f + S::F32::splat(self.beta) * (f - before);
            let mut v = load!(self.inverse, i) * y;
            if let Some(free) = self.free {
                v = load!(free, i) + v;
            }
            v.store(&mut self.to[i..], |row| row);
        }
    }
}
