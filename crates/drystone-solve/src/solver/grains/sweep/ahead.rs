//! Sweeps under Nesterov's momentum, with two steps for each contact.

use crate::colour::{self, Span};
use crate::crew::{self, Shared};
use crate::model::Model;
use crate::problem::Bodies;
use crate::solver::fixed_point::PassStats;

use super::super::eight::{
    Eight, Kernel, Octet, Row, Two, Vectors, along, apart, cross, dot, less_cross, load3, minus, plus,
    project_parts, store3, times, widest,
};
use super::super::metric::Metric;
use super::super::pack::{GROUP, Pack, VECTORS};
use super::rows::Beyond;
use super::{GrainSweeper, PIECE, in_si};

/// Velocities below this share of the problem's largest are none.
const TINY: f32 = 1e-13;

/// Multipliers that are extrapolated are rounded otherwise than their rows: after so many sweeps the rows are made anew.
const REFRESH: u32 = 64;

/// All a sweep needs; the pointers are to arrays as long as the pack says.
struct View<'a> {
    pack: &'a Pack,
    /// γ, γ_last, and where the result goes: the place of γ_last, unless that is to be kept.
    now: *const Vectors,
    last: *const Vectors,
    to: *mut Vectors,
    rows: *mut Row,
    beta: f32,
    metric: Metric,
    coulomb: bool,
}

impl View<'_> {
    /// See [`group`].
    fn is_plain(&self) -> bool {
        !self.coulomb && self.pack.drift.is_empty() && self.pack.each_mu.is_empty()
    }
}

// SAFETY: threads write only rows and multipliers of places in their own piece of one colour.
unsafe impl Sync for View<'_> {}

struct Piece<'a> {
    view: &'a View<'a>,
    piece: Span,
}

impl Kernel for Piece<'_> {
    type Out = PassStats;

    #[inline(always)]
    unsafe fn run<V: Eight>(self) -> PassStats {
        let (view, s) = (self.view, self.piece);
        let [start, two_end, end] = [s.start, s.two_end, s.end].map(|x| x as usize / 8);
        unsafe {
            let (mut acc, mut wide) = ([V::splat(0.0); 4], [Two::<V>::splat(0.0); 4]);
            // A macro, not a closure: that would not be compiled for the instructions of V.
            macro_rules! groups {
                ($plain:literal, $moves:literal) => {{
                    let mut g = start;
                    if g + 2 <= two_end {
                        let mut seen = relative::<Two<V>, true>(view, g);
                        while g + 2 <= two_end {
                            let next = if g + 4 <= two_end { Some(g + 2) } else { None };
                            seen = group::<Two<V>, true, $plain, $moves>(view, g, next, seen, &mut wide);
                            g += 2;
                        }
                    }
                    if g < two_end {
                        let seen = relative::<V, true>(view, g);
                        group::<V, true, $plain, $moves>(view, g, None, seen, &mut acc);
                    }
                    for g in two_end..end {
                        let seen = relative::<V, false>(view, g);
                        group::<V, false, $plain, $moves>(view, g, None, seen, &mut acc);
                    }
                }};
            }
            match (view.is_plain(), view.beta != 0.0) {
                (true, true) => groups!(true, true),
                (true, false) => groups!(true, false),
                (false, true) => groups!(false, true),
                (false, false) => groups!(false, false),
            }
            let most = wide[0].most();
            acc[0] = most.select_le(acc[0], acc[0], most);
            let mut seen = [Octet::default(); 4];
            for k in 0..4 {
                if k > 0 {
                    acc[k] = acc[k].add(wide[k].sum());
                }
                acc[k].store(&mut seen[k], 0);
            }
            let sum = |k: usize| seen[k].0.iter().map(|x| f64::from(*x)).sum::<f64>();
            // Not max, which would hide a NaN.
            let most = seen[0].0.iter().fold(0.0, |m, x| if *x <= m { m } else { *x });
            PassStats {
                residual: f64::from(most).sqrt(),
                delta_sq: sum(1),
                turn: sum(2),
                squares: sum(3),
                ..PassStats::default()
            }
        }
    }
}

/// v_A - v_B and w_A + w_B of eight points.
#[inline(always)]
unsafe fn relative<V: Eight, const TWO: bool>(view: &View, g: usize) -> [[V; 3]; 2] {
    unsafe {
        let points = view.pack.groups.get_unchecked(g);
        V::relative::<TWO, true>(view.rows, [&raw const points.a, &raw const points.b], GROUP)
    }
}

/// Updates eight points from γ + β (γ - γ_last); see `points::group` for `next`. Seen are |S⁻¹ Δ|² (the largest), and the sums of |Δ|²,
/// if β is not zero (MOVES) of ⟨Δ, S⁻¹ (γ_new - γ)⟩, and of |S⁻¹ Δ|². PLAIN: nothing drifts, friction is one number for all, and the law is the relaxed one.
#[inline(always)]
unsafe fn group<V: Eight, const TWO: bool, const PLAIN: bool, const MOVES: bool>(
    view: &View,
    g: usize,
    next: Option<usize>,
    [seen, turn]: [[V; 3]; 2],
    acc: &mut [V; 4],
) -> [[V; 3]; 2] {
    unsafe {
        let pack = view.pack;
        let points = pack.groups.get_unchecked(g);
        let n: [V; 3] = load3(&points.n, GROUP);
        let mut u = along(less_cross(seen, turn, n), V::load(&points.bias, GROUP), n);
        if !PLAIN && !pack.drift.is_empty() {
            u = plus(u, load3(pack.drift.get_unchecked(g), VECTORS));
        }
        let tiny = V::splat(TINY);
        u = [u[0].flush(tiny), u[1].flush(tiny), u[2].flush(tiny)];
        let friction: [V; 3] =
            if PLAIN { view.metric.same_friction() } else { view.metric.friction(pack, g) };
        let mut un = dot(u, n);
        if !PLAIN && view.coulomb {
            let slip = apart(u, un, n);
            let lift = friction[0].mul(dot(slip, slip).sqrt());
            u = along(u, lift, n);
            un = un.add(lift);
        }
        let now: [V; 3] = load3(view.now.add(g), VECTORS);
        // What rounding takes from y is given to the rows, which know nothing of it.
        let (mut y, mut lost) = (now, [V::splat(0.0); 3]);
        if MOVES {
            let ahead = times(V::splat(view.beta), minus(now, load3(view.last.add(g), VECTORS)));
            y = plus(now, ahead);
            lost = minus(ahead, minus(y, now));
        }
        // Along the normal the step is κ times as long as across.
        let kappa = view.metric.kappa;
        let step = V::load(&points.step, GROUP);
        let to = apart(y, step, u);
        let dn = dot(to, n);
        let pressed = dn.less(V::splat(kappa - 1.0).mul(step), un);
        let new = project_parts(pressed, apart(to, dn, n), n, friction);
        let delta = minus(new, y);
        let ahead = match next {
            Some(next) => relative::<V, TWO>(view, next),
            None => [seen, turn],
        };
        store3(new, view.to.add(g), VECTORS);
        let places = [&raw const points.a, &raw const points.b];
        let push = if MOVES { minus(delta, lost) } else { delta };
        V::exchange_both::<TWO>(push, cross(push, n), view.rows, places, GROUP);
        let weight = V::splat(1.0).div(step);
        let (sq, part) = (dot(delta, delta), dot(delta, n));
        let less = part.mul(part);
        let measure = sq.less(V::splat(1.0 - 1.0 / (kappa * kappa)), less).mul(weight).mul(weight);
        acc[0] = measure.select_le(acc[0], acc[0], measure);
        acc[1] = acc[1].add(sq);
        acc[3] = acc[3].add(measure);
        if MOVES {
            let change = minus(new, now);
            let softer = V::splat(1.0 - 1.0 / kappa).mul(part);
            acc[2] = acc[2].plus(dot(delta, change).less(softer, dot(change, n)), weight);
        }
        ahead
    }
}

impl GrainSweeper {
    /// The rows of γ and of γ_last, anew: those of one alone would leave the other's rounding to the momentum, which makes it grow.
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
        crew::resize(&mut self.starts[0].gamma, groups, Vectors::default());
        crew::resize(&mut self.starts[0].rows, n, Row::default());
        let keep = self.last_is_best;
        if keep {
            // What is kept stays where it is, and the sweep writes elsewhere.
            crew::resize(&mut self.best, groups, Vectors::default());
            std::mem::swap(&mut self.best, &mut self.starts[0].gamma);
        }
        let Self { pack, now, starts: [before, _], best, parts, .. } = self;
        let (rows, last) = (Shared(now.rows.as_mut_ptr()), Shared(before.rows.as_mut_ptr()));
        let extrapolate = |range: std::ops::Range<usize>| {
            let cut = |from: &Shared<Row>| {
                // SAFETY: no two tasks share a row.
                unsafe { std::slice::from_raw_parts_mut(from.at(range.start), range.len()) }
            };
            widest(Beyond { rows: cut(&rows), last: cut(&last), beta });
        };
        let ranges = pack.ranges.as_slice();
        if ranges.is_empty() {
            crew::each(n.div_ceil(PIECE), |k| extrapolate(k * PIECE..n.min((k + 1) * PIECE)));
        }
        let enter = |k: usize| {
            if let [first, end] = ranges.get(k..k + 2).unwrap_or_default() {
                extrapolate(*first as usize..*end as usize);
            }
        };
        let to = before.gamma.as_mut_ptr();
        let view = View {
            pack,
            now: now.gamma.as_ptr(),
            last: if keep { best.as_ptr() } else { to },
            to,
            rows: rows.0,
            beta,
            metric: Metric::new(self.kappa, pack.mu),
            coulomb: p.model == Model::Coulomb,
        };
        // SAFETY: the problem was checked: no two points of a span share a body, no two regions do, every place that
        // is left over has a row of its own, and pieces do not overlap.
        let visit = |piece: Span| widest(Piece { view: &view, piece });
        let mut stats =
            colour::walk_after(&pack.spans, &pack.regions, false, parts, enter, visit, PassStats::add);
        in_si(&mut stats, pack);
        std::mem::swap(&mut self.now.gamma, &mut self.starts[0].gamma);
        (self.last_is_best, self.now_is_best) = (self.now_is_best, false);
        stats
    }
}
