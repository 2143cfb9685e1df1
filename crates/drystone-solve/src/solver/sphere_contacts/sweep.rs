//! Gauss-Seidel sweeps over the compact form.

mod ahead;
mod by_colour;
mod points;
mod rows;

use crate::colour::{self, Span};
use crate::friction_law::FrictionLaw;
use crate::parallel::{self, Shared};
use crate::problem::{Bodies, Problem};
use crate::simd::vec3::{Vec3, sub};
use crate::simd::{F32Lanes, Kernel, OwnContacts, Row32, Simd, Vectors, dispatch, load3, store3};
use crate::solver::fixed_point::{Pass, PassStats, Sweeper};

use super::pack::{Group, Pack, Steps};
use super::{FLOOR, groups, metric};
pub use by_colour::{BallSweeps, Seen};
use points::{Push, SUMS, Update, UpdateNormal};
use rows::Extrapolate;

/// How much further rows that are made anew now and then follow f64.
const LOWER: f64 = 0.2;
/// Rows that are worked on at a time.
const PIECE: usize = 1024;

/// See the module. Multipliers and rows are in the pack's units.
///
/// The conjugate gradient's direction p is y - y_before, where sweeps start from y: with Δ = S(y) - y,
/// p_next = β p + Δ = (S(y) + β p) - y = y_next - y. So two starting points are kept, and the next one,
/// y_next = S(y) + β (y - y_before), is made where the next sweep comes by.
#[derive(Debug, Default)]
pub(in crate::solver) struct SphereSweeper {
    pack: Pack,
    now: Iterate,
    /// y, where the last sweep started from, and y_before.
    starts: [Iterate; 2],
    /// β of the next sweep; None where no starting points are kept.
    ahead: Option<f32>,
    /// Whether p is zero.
    straight: bool,
    /// β of the next sweep under Nesterov's momentum: `starts[0]` is the result before `now` then.
    nesterov: Option<f32>,
    /// Whether that momentum is used at all; with η_n / η_t.
    form: Form,
    kappa: f64,
    /// Sweeps since the rows were made of the multipliers.
    since: u32,
    /// The best multipliers so far, unless they are those of `now`.
    best: Vec<Vectors>,
    now_is_best: bool,
    /// Under Nesterov's momentum: the best is `starts[0]`.
    last_is_best: bool,
    parts: Vec<PassStats>,
    nothing: Vec<()>,
}

/// What sweeps are asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::solver) struct Form {
    /// Nesterov's momentum: world vectors for multipliers even where there is no friction, and steps that
    /// solve no contact for more than it asks.
    pub beyond: bool,
    /// Two steps for each contact, along the normal and across.
    pub cone: bool,
}

#[derive(Debug, Default)]
struct Iterate {
    gamma: Vec<Vectors>,
    rows: Vec<Row32>,
}

fn bodies(problem: &Problem) -> &Bodies {
    let Problem::Bodies(p) = problem else { unreachable!("chosen by the form of the problem") };
    p
}

impl SphereSweeper {
    /// Takes the problem and the guess; false if it is not of this kind. `steps` says what ω is to be.
    pub fn begin(
        &mut self,
        problem: &Problem,
        guess: Option<&[f64]>,
        [omega, lambda]: [f64; 2],
        safeguard: bool,
        form: Form,
    ) -> bool {
        let Problem::Bodies(p) = problem else { return false };
        if !self.pack.fill(
            p,
            Steps { omega, lambda, safeguard, vectors: form.beyond, bounded: form.beyond, repeats: false },
        ) {
            return false;
        }
        (self.form, self.kappa) = (form, if form.cone { self.pack.kappa } else { 1.0 });
        (self.nesterov, self.last_is_best, self.since) = (None, false, 0);
        self.pack.read(p, guess, &mut self.now.gamma);
        (self.ahead, self.straight, self.now_is_best) = (None, true, false);
        match guess {
            Some(_) => self.find_rows(p),
            None => self.rows_at_rest(),
        }
        true
    }

    /// The rows without any multipliers.
    fn rows_at_rest(&mut self) {
        let free = &self.pack.free;
        parallel::resize(&mut self.now.rows, free.len(), Row32::default());
        parallel::map_chunks(&mut self.now.rows, PIECE, &mut self.nothing, |first, rows| {
            rows.copy_from_slice(&free[first..first + rows.len()]);
        });
    }

    /// The rows that belong to the multipliers.
    fn find_rows(&mut self, p: &Bodies) {
        self.rows_at_rest();
        self.walk(p, What::Push, false, 1.0);
    }

    /// The smallest ω of all blocks.
    pub fn omega(&self) -> f64 {
        self.pack.omega
    }

    /// Memory over blocks, bytes.
    pub fn bytes(&self) -> usize {
        let all = [&self.now.gamma, &self.starts[0].gamma, &self.starts[1].gamma, &self.best];
        self.pack.bytes() + all.iter().map(|x| size_of_val(x.as_slice())).sum::<usize>()
    }

    /// f(γ) = ½ |v|²_M - ½ |v_free|²_M + ⟨b, γ⟩, J.
    fn energy(&self) -> f64 {
        let (pack, rows) = (&self.pack, &self.now.rows);
        let mut parts = Vec::new();
        parallel::map_ranges(rows.len(), PIECE, &mut parts, |range| {
            let mut sum = 0.0;
            for (now, free) in rows[range.clone()].iter().zip(&pack.free[range]) {
                let (now, free) = (now.0.map(f64::from), free.0.map(f64::from));
                for half in [0, 4] {
                    let twice =
                        |k: usize| (now[half + k] - free[half + k]) * (now[half + k] + free[half + k]);
                    sum += 0.5 * (twice(0) + twice(1) + twice(2)) * now[half + 3];
                }
            }
            sum
        });
        let work = pack.fold(|g, sum: &mut f64| {
            let (group, gamma) = (&pack.groups[g], &self.now.gamma[g]);
            for k in 0..8 {
                let x: [f64; 3] = std::array::from_fn(|c| f64::from(gamma[c].0[k]));
                let along = match pack.frictionless {
                    true => x[0],
                    false => (0..3).map(|c| x[c] * f64::from(group.n[c].0[k])).sum(),
                };
                *sum += along * f64::from(group.bias.0[k]);
            }
            if let Some(drift) = pack.drift.get(g) {
                let products = drift.iter().flat_map(|o| o.0).zip(gamma.iter().flat_map(|o| o.0));
                *sum += products.map(|(d, x)| f64::from(d) * f64::from(x)).sum::<f64>();
            }
        });
        (parts.iter().sum::<f64>() + work.iter().sum::<f64>()) * pack.mass * pack.speed * pack.speed
    }

    /// Makes room for what sweeps with a momentum keep.
    fn keep_starts(&mut self) {
        for start in &mut self.starts {
            parallel::resize(&mut start.gamma, self.pack.groups.len(), Vectors::default());
            parallel::resize(&mut start.rows, self.now.rows.len(), Row32::default());
        }
    }

    /// One sweep from S + β (y - y_before), which becomes y.
    fn sweep_ahead(&mut self, p: &Bodies, backward: bool, lambda: f64, beta: f32) -> PassStats {
        self.keep_starts();
        let [last, before] = &mut self.starts;
        let (now, n) = (&mut self.now, self.pack.free.len());
        let (rows, y, x) = (Shared(now.rows.as_mut_ptr()), &last.rows, Shared(before.rows.as_mut_ptr()));
        let extrapolate = |range: std::ops::Range<usize>| {
            // SAFETY: no two tasks share a row.
            let [rows, to] = [rows, x].map(|all| unsafe { all.slice(range.start, range.len()) });
            dispatch(Extrapolate { rows, last: &y[range], before: to, beta });
        };
        let ranges = if backward { &[] } else { self.pack.ranges.as_slice() };
        if ranges.is_empty() {
            parallel::for_each(n.div_ceil(PIECE), |k| extrapolate(k * PIECE..n.min((k + 1) * PIECE)));
        }
        let momentum = Some(Momentum { last: &last.gamma, before: Shared(before.gamma.as_mut_ptr()), beta });
        let enter = |k: usize| {
            if let [first, end] = ranges.get(k..k + 2).unwrap_or_default() {
                extrapolate(*first as usize..*end as usize);
            }
        };
        let view = View {
            pack: &self.pack,
            from: if self.now_is_best { Some(&self.best) } else { None },
            gamma: Shared(now.gamma.as_mut_ptr()),
            rows,
            what: What::Sweep,
            lambda: lambda as f32,
            coulomb: p.model == FrictionLaw::Coulomb,
            wider: 1.0,
            momentum,
        };
        let stats = walk(&view, backward, &mut self.parts, enter);
        self.starts.swap(0, 1);
        stats
    }

    fn walk(&mut self, p: &Bodies, what: What, backward: bool, lambda: f64) -> PassStats {
        let kept = self.now_is_best && what == What::Sweep;
        let view = View {
            pack: &self.pack,
            from: if kept { Some(&self.best) } else { None },
            gamma: Shared(self.now.gamma.as_mut_ptr()),
            rows: Shared(self.now.rows.as_mut_ptr()),
            what,
            lambda: lambda as f32,
            coulomb: p.model == FrictionLaw::Coulomb,
            wider: if self.form.beyond { (1.0 / metric::across(self.pack.kappa)) as f32 } else { 1.0 },
            momentum: None,
        };
        walk(&view, backward, &mut self.parts, |_| ())
    }
}

fn walk(view: &View, backward: bool, parts: &mut Vec<PassStats>, enter: impl Fn(usize) + Sync) -> PassStats {
    let pack = view.pack;
    // SAFETY: the problem was checked: no two points of a span share a body, no two regions do, every place
    // that is left over has a row of its own, and pieces do not overlap.
    let visit = |piece: Span| dispatch(Piece { view, piece });
    let mut stats =
        colour::walk_after(&pack.spans, &pack.regions, backward, parts, enter, visit, PassStats::add);
    in_si(&mut stats, pack);
    stats
}

/// From the pack's units.
fn in_si(stats: &mut PassStats, pack: &Pack) {
    let impulse = pack.speed * pack.mass;
    stats.residual *= pack.speed;
    stats.delta_sq *= impulse * impulse;
    stats.weighted *= impulse * pack.speed;
    stats.turn *= impulse * pack.speed;
    stats.squares *= pack.speed * pack.speed;
}

/// What a pass does.
#[derive(Clone, Copy, PartialEq)]
enum What {
    Sweep,
    /// Looks, and writes nothing.
    Measure,
    /// Adds what the multipliers do to the rows.
    Push,
}

struct View<'a> {
    pack: &'a Pack,
    /// Multipliers before a sweep, where they are to be kept, and where it leaves those after it: else the
    /// same place.
    from: Option<&'a [Vectors]>,
    gamma: Shared<Vectors>,
    rows: Shared<Row32>,
    what: What,
    lambda: f32,
    coulomb: bool,
    /// The certificate's η over a contact's step, where a pass looks.
    wider: f32,
    momentum: Option<Momentum<'a>>,
}

/// See [`SphereSweeper`]; y takes the place of y_before.
struct Momentum<'a> {
    last: &'a [Vectors],
    before: Shared<Vectors>,
    beta: f32,
}

/// Changes of multipliers of this size are none.
const TINY: f32 = 1e-30;

impl View<'_> {
    /// See [`Update`].
    fn is_plain(&self) -> bool {
        self.what == What::Sweep
            && self.lambda == 1.0
            && !self.coulomb
            && self.pack.drift.is_empty()
            && self.pack.each_mu.is_empty()
    }

    /// The groups of a piece.
    ///
    /// # Safety
    /// Nobody else works on the bodies or multipliers of these contacts as long as the result is there.
    #[inline(always)]
    unsafe fn own(&self, [first, _, end]: [usize; 3]) -> Own<'_> {
        let groups = &self.pack.groups[first..end];
        // SAFETY: as the caller promises. A pack's contacts name rows that are there, and there are as many
        // multipliers as groups.
        unsafe {
            Own {
                first,
                contacts: OwnContacts::new(groups, self.rows),
                gamma: self.gamma.slice(first, groups.len()),
                before: self.momentum.as_ref().map(|m| m.before.slice(first, groups.len())),
            }
        }
    }
}

/// Groups of contacts that one thread works on.
struct Own<'a> {
    /// Of the pack's.
    first: usize,
    contacts: OwnContacts<'a, Group>,
    /// See [`View`] and [`Momentum`].
    gamma: &'a mut [Vectors],
    before: Option<&'a mut [Vectors]>,
}

impl Own<'_> {
    /// The multipliers that a sweep of groups `g .. g + EIGHTS` starts from.
    #[inline(always)]
    fn start<V: F32Lanes>(&mut self, view: &View, g: usize) -> Vec3<V> {
        let (own, all) = (g..g + V::EIGHTS, self.first + g..self.first + g + V::EIGHTS);
        let mut x: Vec3<V> = match view.from {
            Some(from) => load3(&from[all.clone()], |x| x),
            None => load3(&self.gamma[own.clone()], |x| x),
        };
        if let (Some(Momentum { last, beta, .. }), Some(before)) = (&view.momentum, &mut self.before) {
            let before = &mut before[own];
            if *beta != 0.0 {
                let p = sub(load3(&last[all], |x| x), load3(before, |x| x));
                let (beta, tiny) = (V::splat(*beta), V::splat(TINY));
                let mut k = 0;
                while k < 3 {
                    x[k] = x[k] + (beta * p[k]).flush(tiny);
                    k += 1;
                }
            }
            store3(x, before);
        }
        x
    }

    /// The same without friction, where there is one number.
    #[inline(always)]
    fn start_along<V: F32Lanes>(&mut self, view: &View, g: usize) -> V {
        let (own, all) = (g..g + V::EIGHTS, self.first + g..self.first + g + V::EIGHTS);
        let mut x = match view.from {
            Some(from) => V::load(&from[all.clone()], |x| &x[0]),
            None => V::load(&self.gamma[own.clone()], |x| &x[0]),
        };
        if let (Some(Momentum { last, beta, .. }), Some(before)) = (&view.momentum, &mut self.before) {
            let before = &mut before[own];
            if *beta != 0.0 {
                let p = V::load(&last[all], |x| &x[0]) - V::load(before, |x| &x[0]);
                x = x + (V::splat(*beta) * p).flush(V::splat(TINY));
            }
            x.store(before, |x| &mut x[0]);
        }
        x
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
        let ends = [range[1] - range[0], range[2] - range[0]];
        // SAFETY: the piece's maker has promised that.
        let own = unsafe { view.own(range) };
        let [most, delta_sq, weighted] = match (view.what, view.pack.frictionless) {
            (What::Push, true) => groups::run::<S::F32, _, SUMS>(Push::<true>(own), ends),
            (What::Push, false) => groups::run::<S::F32, _, SUMS>(Push::<false>(own), ends),
            (_, true) => groups::run::<S::F32, _, SUMS>(UpdateNormal(view, own), ends),
            (_, false) if view.is_plain() => groups::run::<S::F32, _, SUMS>(Update::<true>(view, own), ends),
            (_, false) => groups::run::<S::F32, _, SUMS>(Update::<false>(view, own), ends),
        };
        PassStats { residual: most.sqrt(), delta_sq, weighted, ..PassStats::default() }
    }
}

/// The groups of a piece: the first, the first of contacts with the world, the end.
fn groups_of(piece: Span) -> [usize; 3] {
    [piece.start, piece.two_end, piece.end].map(|x| x as usize / 8)
}

impl Sweeper for SphereSweeper {
    fn start(&mut self, _: &Problem, _: Option<&[f64]>, _: Vec<f64>) {
        unreachable!("begun by `begin`")
    }

    fn pass(&mut self, problem: &Problem, pass: Pass, lambda: f64) -> PassStats {
        let (p, backward) = (bodies(problem), pass == Pass::Backward);
        if pass == Pass::Measure {
            return self.walk(p, What::Measure, backward, lambda);
        }
        if let Some(beta) = self.nesterov.take() {
            return self.sweep_beyond(p, beta);
        }
        if self.now_is_best {
            // What is kept stays where it is, and the sweep writes elsewhere.
            parallel::resize(&mut self.best, self.now.gamma.len(), Vectors::default());
            std::mem::swap(&mut self.best, &mut self.now.gamma);
        }
        let stats = match self.ahead.take() {
            Some(beta) => self.sweep_ahead(p, backward, lambda, beta),
            None => self.walk(p, What::Sweep, backward, lambda),
        };
        self.now_is_best = false;
        stats
    }

    fn reject(&mut self) {
        unreachable!("only Jacobi passes are rejected")
    }

    fn rescale(&mut self, _: f64) {
        unreachable!("only Jacobi passes are rejected")
    }

    fn gamma(&mut self, problem: &Problem, out: &mut Vec<f64>) {
        self.pack.write(bodies(problem), &self.now.gamma, out);
    }

    fn mark(&mut self, restart: bool) {
        match restart {
            true if self.form.beyond => self.nesterov = Some(0.0),
            true => (self.ahead, self.straight) = (Some(0.0), true),
            false => {}
        }
    }

    fn conjugate(&mut self, beta: f64) {
        self.ahead = Some(if self.straight { 0.0 } else { beta as f32 });
        self.straight = false;
    }

    fn extrapolate(&mut self, beta: f64) {
        self.nesterov = Some(beta as f32);
    }

    fn keep(&mut self) {
        (self.now_is_best, self.last_is_best) = (true, false);
    }

    fn restore(&mut self, problem: &Problem) {
        if !self.now_is_best {
            let best = if self.last_is_best { &mut self.starts[0].gamma } else { &mut self.best };
            std::mem::swap(&mut self.now.gamma, best);
            (self.now_is_best, self.last_is_best) = (true, false);
            self.find_rows(bodies(problem));
        }
    }

    fn objective(&self, _: &Problem) -> f64 {
        self.energy()
    }

    fn rounding(&self) -> f64 {
        1e-6
    }

    fn refresh(&mut self, problem: &Problem) {
        self.refresh_rows(bodies(problem));
    }

    fn floor(&self) -> f64 {
        let share = if self.form.beyond { LOWER } else { 1.0 };
        share * FLOOR * (self.pack.speed + self.pack.pressed(&self.now.gamma))
    }
}
