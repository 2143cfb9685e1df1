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
struct View<'a> {
    pack: &'a Pack,
    /// γ, γ_last where that is to be kept, and where the result goes: else the place of γ_last.
    now: &'a [Vectors],
    last: Option<&'a [Vectors]>,
    to: Shared<Vectors>,
    rows: Shared<Row32>,
    beta: f32,
    metric: Metric,
    coulomb: bool,
}

impl View<'_> {
    /// See [`Update`].
    fn is_plain(&self) -> bool {
        !self.coulomb && self.pack.drift.is_empty() && self.pack.each_mu.is_empty()
    }
}

/// A piece of a colour. Whoever makes one promises that nobody else works on its bodies and multipliers.
struct Piece<'a> {
    view: &'a View<'a>,
    piece: Span,
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
        let [most, delta_sq, turn, squares] = match (view.is_plain(), view.beta != 0.0) {
            (true, true) => groups::run::<S::F32, _, SUMS>(Update::<true, true>(own), ends),
            (true, false) => groups::run::<S::F32, _, SUMS>(Update::<true, false>(own), ends),
            (false, true) => groups::run::<S::F32, _, SUMS>(Update::<false, true>(own), ends),
            (false, false) => groups::run::<S::F32, _, SUMS>(Update::<false, false>(own), ends),
        };
        PassStats { residual: most.sqrt(), delta_sq, turn, squares, ..PassStats::default() }
    }
}

/// |S⁻¹ Δ|² (the largest), and the sums of |Δ|², if β is not zero of ⟨Δ, S⁻¹ (γ_new - γ)⟩, and of |S⁻¹ Δ|².
const SUMS: usize = 4;

/// Updates contacts from γ + β (γ - γ_last); β is not zero where it MOVES. PLAIN: nothing drifts, friction is
/// one number for all, and the law is the relaxed one.
struct Update<'a, const PLAIN: bool, const MOVES: bool>(Own<'a>);

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
        let Own { view, first, contacts: own, to } = &mut self.0;
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
        acc[0] = acc[0].larger(measure);
        acc[1] = acc[1] + sq;
        acc[3] = acc[3] + measure;
        if MOVES {
            let change = sub(new, now);
            let softer = V::splat(1.0 - 1.0 / kappa) * part;
            acc[2] = acc[2].add_product(dot(delta, change).sub_product(softer, dot(change, n)), weight);
        }
        ahead
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
