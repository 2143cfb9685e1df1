//! Sweeps under Nesterov's momentum, with two steps for each contact.

use crate::colour::{self, Span};
use crate::friction_law::FrictionLaw;
use crate::parallel::{self, Shared};
use crate::problem::Bodies;
use crate::simd::vec3::{Vec3, add, cross, dot, scale, sub};
use crate::simd::{F32Lanes, Kernel, OwnContacts, Row32, Simd, Vectors, dispatch, load3, store3};
use crate::solver::fixed_point::PassStats;

use super::super::super::contact::update::{Friction, add_slip, scaled_step};
use super::super::groups::{self, GroupPass};
use super::super::metric::Metric;
use super::super::pack::{Group, Pack};
use super::points::Relative;
use super::rows::Beyond;
use super::{PIECE, SphereSweeper, groups_of, in_si};

/// Multipliers that are extrapolated are rounded otherwise than their rows: after so many sweeps the rows are
/// made anew.
const REFRESH: u32 = 64;

/// All a sweep needs; what is shared is as long as the pack says.
pub(super) struct View<'a> {
    pub pack: &'a Pack,
    /// γ, γ_last where that is to be kept, and where the result goes: else the place of γ_last.
    pub now: &'a [Vectors],
    pub last: Option<&'a [Vectors]>,
    pub to: Shared<Vectors>,
    pub rows: Shared<Row32>,
    pub beta: f32,
    pub metric: Metric,
    pub coulomb: bool,
    /// What terms of the last two sums are rounded to, where these are not to depend on the order of
    /// contacts.
    pub rounded: Option<[Rounding; 2]>,
}

/// Numbers of up to 2^17 units are rounded to whole ones: as long as no more than 2^7 of them are added up in
/// a lane, sums are exact.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounding {
    /// 2^17 units.
    most: f32,
    /// Where f32 has numbers a unit apart.
    middle: f32,
}

impl Rounding {
    /// Groups whose numbers may be added up in a lane.
    pub const GROUPS: usize = 1 << 7;

    /// With a unit, which is a power of two.
    pub fn new(unit: f32) -> Self {
        Self { most: unit * 131_072.0, middle: unit * 12_582_912.0 }
    }

    #[inline(always)]
    fn round<V: F32Lanes>(self, x: V) -> V {
        let middle = V::splat(self.middle);
        (x.clamp(V::splat(-self.most), V::splat(self.most)) + middle) - middle
    }
}

impl View<'_> {
    /// See [`Update`].
    fn is_plain(&self) -> bool {
        !self.coulomb && self.pack.drift.is_empty() && self.pack.each_mu.is_empty()
    }
}

/// A piece of a colour. Whoever makes one promises that nobody else works on its bodies and multipliers.
pub(super) struct Piece<'a> {
    pub view: &'a View<'a>,
    pub piece: Span,
}

impl Kernel for Piece<'_> {
    type Out = PassStats;

    #[inline(always)]
    fn run<S: Simd>(self) -> PassStats {
        let Self { view, piece } = self;
        let range = groups_of(piece);
        let (ends, groups) =
            ([range[1] - range[0], range[2] - range[0]], &view.pack.groups[range[0]..range[2]]);
        // SAFETY: the piece's maker has promised that nobody else works on them; a pack's contacts name rows
        // that are there, and there are as many multipliers as groups.
        let (contacts, to) =
            unsafe { (OwnContacts::new(groups, view.rows), view.to.slice(range[0], groups.len())) };
        let own = Own { view, first: range[0], contacts, to };
        let [most, delta_sq, turn, squares] = match (view.rounded, view.is_plain(), view.beta != 0.0) {
            (None, true, true) => groups::run::<S::F32, _, SUMS>(Update::<true, true>(own), ends),
            (None, true, false) => groups::run::<S::F32, _, SUMS>(Update::<true, false>(own), ends),
            (None, false, true) => groups::run::<S::F32, _, SUMS>(Update::<false, true>(own), ends),
            (None, false, false) => groups::run::<S::F32, _, SUMS>(Update::<false, false>(own), ends),
            (Some(to), true, _) => groups::run::<S::F32, _, SUMS>(Rounded::<true>(own, to), ends),
            (Some(to), false, _) => groups::run::<S::F32, _, SUMS>(Rounded::<false>(own, to), ends),
        };
        PassStats { residual: most.sqrt(), delta_sq, turn, squares, ..PassStats::default() }
    }
}

/// |S⁻¹ Δ|² (the largest), and the sums of |Δ|², if β is not zero of ⟨Δ, S⁻¹ (γ_new - γ)⟩, and of |S⁻¹ Δ|².
const SUMS: usize = 4;

/// Updates contacts from γ + β (γ - γ_last); β is not zero where it MOVES. PLAIN: nothing drifts, friction is
/// one number for all, and the law is the relaxed one.
struct Update<'a, const PLAIN: bool, const MOVES: bool>(Own<'a>);

/// The same, always as if it moved; its second number is the largest size of a term of the third, and terms
/// of the third and the fourth are rounded.
struct Rounded<'a, const PLAIN: bool>(Own<'a>, [Rounding; 2]);

/// Groups of contacts that one thread works on, from the `first` of the pack's on, and where the results go.
struct Own<'a> {
    view: &'a View<'a>,
    first: usize,
    contacts: OwnContacts<'a, Group>,
    to: &'a mut [Vectors],
}

impl<const PLAIN: bool, const MOVES: bool> GroupPass<SUMS> for Update<'_, PLAIN, MOVES> {
    type Ahead<V: F32Lanes> = Relative<V>;

    #[inline(always)]
    fn read<V: F32Lanes, const TWO: bool>(&self, g: usize) -> Relative<V> {
        V::relative::<_, TWO, true>(&self.0.contacts, g)
    }

    #[inline(always)]
    fn group<V: F32Lanes, const TWO: bool>(
        &mut self,
        g: usize,
        next: Option<usize>,
        seen: Relative<V>,
        acc: &mut [V; SUMS],
    ) -> Relative<V> {
        let (ahead, [sq, turn, weight, measure]) = self.0.update::<V, TWO, PLAIN, MOVES>(g, next, seen);
        acc[0] = acc[0].larger(measure);
        acc[1] = acc[1] + sq;
        if MOVES {
            acc[2] = acc[2].add_product(turn, weight);
        }
        acc[3] = acc[3] + measure;
        ahead
    }
}

impl<const PLAIN: bool> GroupPass<SUMS> for Rounded<'_, PLAIN> {
    type Ahead<V: F32Lanes> = Relative<V>;
    const MAXIMA: usize = 2;

    #[inline(always)]
    fn read<V: F32Lanes, const TWO: bool>(&self, g: usize) -> Relative<V> {
        V::relative::<_, TWO, true>(&self.0.contacts, g)
    }

    #[inline(always)]
    fn group<V: F32Lanes, const TWO: bool>(
        &mut self,
        g: usize,
        next: Option<usize>,
        seen: Relative<V>,
        acc: &mut [V; SUMS],
    ) -> Relative<V> {
        let Self(own, [turns, squares]) = self;
        let (ahead, [_, turn, weight, measure]) = own.update::<V, TWO, PLAIN, true>(g, next, seen);
        let turn = turn * weight;
        acc[0] = acc[0].larger(measure);
        acc[1] = acc[1].larger(turn).larger(V::zero() - turn);
        acc[2] = acc[2] + turns.round(turn);
        acc[3] = acc[3] + squares.round(measure);
        ahead
    }
}

impl Own<'_> {
    /// See [`Update`]; |Δ|², ⟨Δ, S⁻¹ (γ_new - γ)⟩ as two factors, and |S⁻¹ Δ|².
    #[inline(always)]
    fn update<V: F32Lanes, const TWO: bool, const PLAIN: bool, const MOVES: bool>(
        &mut self,
        g: usize,
        next: Option<usize>,
        seen: Relative<V>,
    ) -> (Relative<V>, [V; 4]) {
        let Own { view, first, contacts: own, to } = self;
        let (pack, metric, at) = (view.pack, &view.metric, *first + g);
        let (to, all) = (&mut to[g..g + V::EIGHTS], at..at + V::EIGHTS);
        let contacts = own.groups::<V>(g);
        let n: Vec3<V> = load3(contacts, |c| &c.n);
        let mut u = pack.velocity::<V, PLAIN>(at, contacts, n, seen);
        let friction: Friction<V> = if PLAIN { metric.same_friction() } else { metric.friction(pack, at) };
        let mut un = dot(u, n);
        if !PLAIN && view.coulomb {
            (u, un) = add_slip(u, un, n, friction.mu);
        }
        let now: Vec3<V> = load3(&view.now[all.clone()], |x| x);
        // What rounding takes from y is given to the rows, which know nothing of it.
        let (mut y, mut lost) = (now, [V::zero(); 3]);
        if MOVES {
            let last = load3(view.last.map_or(&*to, |last| &last[all]), |x| x);
            let ahead = scale(V::splat(view.beta), sub(now, last));
            y = add(now, ahead);
            lost = sub(ahead, sub(y, now));
        }
        // Along the normal the step is κ times as long as across.
        let (kappa, eta) = (metric.kappa, V::load(contacts, |c| &c.step));
        let new = scaled_step(y, [u, n], un, eta, V::splat(kappa - 1.0), friction);
        let delta = sub(new, y);
        let push = if MOVES { sub(delta, lost) } else { delta };
        let ahead = match next {
            Some(next) => V::relative::<_, TWO, true>(own, next),
            None => seen,
        };
        store3(new, to);
        V::exchange_both::<_, TWO>(push, cross(push, n), own, g);
        let weight = V::one() / eta;
        let (sq, part) = (dot(delta, delta), dot(delta, n));
        let measure = metric.square(sq, part) * weight * weight;
        let mut turn = V::zero();
        if MOVES {
            let change = sub(new, now);
            let softer = V::splat(1.0 - 1.0 / kappa) * part;
            turn = dot(delta, change).sub_product(softer, dot(change, n));
        }
        (ahead, [sq, turn, weight, measure])
    }
}

impl SphereSweeper {
    /// The rows of γ and of γ_last, anew: those of one alone would leave the other's rounding to the
    /// momentum, which makes it grow.
    pub(super) fn refresh_rows(&mut self, p: &Bodies) {
        self.since = 0;
        self.find_rows(p);
        if self.starts[0].gamma.len() == self.now.gamma.len() {
            std::mem::swap(&mut self.now, &mut self.starts[0]);
            self.find_rows(p);
            std::mem::swap(&mut self.now, &mut self.starts[0]);
        }
    }

    /// One sweep from γ + β (γ - γ_last); γ becomes γ_last.
    pub(super) fn sweep_beyond(&mut self, p: &Bodies, beta: f32) -> PassStats {
        let (groups, n) = (self.pack.groups.len(), self.pack.free.len());
        self.since += 1;
        if self.since > REFRESH {
            self.refresh_rows(p);
        }
        parallel::resize(&mut self.starts[0].gamma, groups, Vectors::default());
        parallel::resize(&mut self.starts[0].rows, n, Row32::default());
        let keep = self.last_is_best;
        if keep {
            // What is kept stays where it is, and the sweep writes elsewhere.
            parallel::resize(&mut self.best, groups, Vectors::default());
            std::mem::swap(&mut self.best, &mut self.starts[0].gamma);
        }
        let Self { pack, now, starts: [before, _], best, parts, .. } = self;
        let (rows, last) = (Shared(now.rows.as_mut_ptr()), Shared(before.rows.as_mut_ptr()));
        let extrapolate = |range: std::ops::Range<usize>| {
            // SAFETY: no two tasks share a row.
            let [rows, last] = [rows, last].map(|all| unsafe { all.slice(range.start, range.len()) });
            dispatch(Beyond { rows, last, beta });
        };
        let ranges = pack.ranges.as_slice();
        if ranges.is_empty() {
            parallel::for_each(n.div_ceil(PIECE), |k| extrapolate(k * PIECE..n.min((k + 1) * PIECE)));
        }
        let enter = |k: usize| {
            if let [first, end] = ranges.get(k..k + 2).unwrap_or_default() {
                extrapolate(*first as usize..*end as usize);
            }
        };
        let view = View {
            pack,
            now: &now.gamma,
            last: if keep { Some(best) } else { None },
            to: Shared(before.gamma.as_mut_ptr()),
            rows,
            beta,
            metric: Metric::new(self.kappa, pack.mu),
            coulomb: p.model == FrictionLaw::Coulomb,
            rounded: None,
        };
        // SAFETY: the problem was checked: no two points of a span share a body, no two regions do, every
        // place that is left over has a row of its own, and pieces do not overlap.
        let visit = |piece: Span| dispatch(Piece { view: &view, piece });
        let mut stats =
            colour::walk_after(&pack.spans, &pack.regions, false, parts, enter, visit, PassStats::add);
        in_si(&mut stats, pack);
        std::mem::swap(&mut self.now.gamma, &mut self.starts[0].gamma);
        (self.last_is_best, self.now_is_best) = (self.now_is_best, false);
        stats
    }
}
