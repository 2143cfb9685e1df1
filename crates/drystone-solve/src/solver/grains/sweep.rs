//! Gauss-Seidel sweeps over the compact form.

use crate::colour::{self, Span};
use crate::crew::{self, Shared};
use crate::model::Model;
use crate::problem::{Bodies, Problem};
use crate::solver::fixed_point::{Pass, PassStats, Sweeper};

use super::FLOOR;
use super::eight::{
    Eight, Kernel, Octet, Row, Two, Vectors, along, apart, cross, dot, less_cross, load3, minus, plus,
    project, store3, times, widest,
};
use super::pack::{GROUP, Pack, Steps, VECTORS};

/// Velocities below this share of the problem's largest are none.
const TINY: f32 = 1e-13;

/// Rows that are worked on at a time.
const PIECE: usize = 1024;

/// See the module. Multipliers and rows are in the pack's units.
///
/// The conjugate gradient's direction p is y - y_before, where sweeps start from y: with Δ = S(y) - y,
/// p_next = β p + Δ = (S(y) + β p) - y = y_next - y. So two starting points are kept, and the next one,
/// y_next = S(y) + β (y - y_before), is made where the next sweep comes by.
#[derive(Debug, Default)]
pub(in crate::solver) struct GrainSweeper {
    pack: Pack,
    now: Iterate,
    /// y, where the last sweep started from, and y_before.
    starts: [Iterate; 2],
    /// β of the next sweep; None where no starting points are kept.
    ahead: Option<f32>,
    /// Whether p is zero.
    straight: bool,
    /// The best multipliers so far, unless they are those of `now`.
    best: Vec<Vectors>,
    now_is_best: bool,
    parts: Vec<PassStats>,
    nothing: Vec<()>,
}

#[derive(Debug, Default)]
struct Iterate {
    gamma: Vec<Vectors>,
    rows: Vec<Row>,
}

fn bodies(problem: &Problem) -> &Bodies {
    let Problem::Bodies(p) = problem else { unreachable!("chosen by the form of the problem") };
    p
}

impl GrainSweeper {
    /// Takes the problem and the guess; false if it is not of this kind. `steps` says what ω is to be.
    pub fn begin(
        &mut self,
        problem: &Problem,
        guess: Option<&[f64]>,
        [omega, lambda]: [f64; 2],
        safeguard: bool,
    ) -> bool {
        let Problem::Bodies(p) = problem else { return false };
        if !self.pack.fill(p, Steps { omega, lambda, safeguard, vectors: false }) {
            return false;
        }
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
        crew::resize(&mut self.now.rows, free.len(), Row::default());
        crew::chunks(&mut self.now.rows, PIECE, &mut self.nothing, |first, rows| {
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
        let mut parts = vec![0.0; rows.len().div_ceil(PIECE)];
        let to = Shared(parts.as_mut_ptr());
        crew::each(parts.len(), |k| {
            let mut sum = 0.0;
            let range = k * PIECE..rows.len().min((k + 1) * PIECE);
            for (now, free) in rows[range.clone()].iter().zip(&pack.free[range]) {
                let (now, free) = (now.0.map(f64::from), free.0.map(f64::from));
                for half in [0, 4] {
                    let twice =
                        |k: usize| (now[half + k] - free[half + k]) * (now[half + k] + free[half + k]);
                    sum += 0.5 * (twice(0) + twice(1) + twice(2)) * now[half + 3];
                }
            }
            // SAFETY: every piece once.
            unsafe { *to.at(k) = sum };
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
            crew::resize(&mut start.gamma, self.pack.groups.len(), Vectors::default());
            crew::resize(&mut start.rows, self.now.rows.len(), Row::default());
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
            let (rows, to) = unsafe {
                let cut =
                    |from: &Shared<Row>| std::slice::from_raw_parts_mut(from.at(range.start), range.len());
                (cut(&rows), cut(&x))
            };
            widest(Extrapolate { rows, last: &y[range], before: to, beta });
        };
        let ranges = if backward { &[] } else { self.pack.ranges.as_slice() };
        if ranges.is_empty() {
            crew::each(n.div_ceil(PIECE), |k| extrapolate(k * PIECE..n.min((k + 1) * PIECE)));
        }
        let momentum = Some(Momentum { last: last.gamma.as_ptr(), before: before.gamma.as_mut_ptr(), beta });
        let enter = |k: usize| {
            if let [first, end] = ranges.get(k..k + 2).unwrap_or_default() {
                extrapolate(*first as usize..*end as usize);
            }
        };
        let from = if self.now_is_best { self.best.as_ptr() } else { now.gamma.as_ptr() };
        let view = View {
            pack: &self.pack,
            from,
            gamma: now.gamma.as_mut_ptr(),
            rows: now.rows.as_mut_ptr(),
            what: What::Sweep,
            lambda: lambda as f32,
            coulomb: p.model == Model::Coulomb,
            momentum,
        };
        let stats = walk(&view, backward, &mut self.parts, enter);
        self.starts.swap(0, 1);
        stats
    }

    fn walk(&mut self, p: &Bodies, what: What, backward: bool, lambda: f64) -> PassStats {
        let gamma = self.now.gamma.as_mut_ptr();
        let view = View {
            pack: &self.pack,
            from: if self.now_is_best && what == What::Sweep { self.best.as_ptr() } else { gamma },
            gamma,
            rows: self.now.rows.as_mut_ptr(),
            what,
            lambda: lambda as f32,
            coulomb: p.model == Model::Coulomb,
            momentum: None,
        };
        walk(&view, backward, &mut self.parts, |_| ())
    }
}

fn walk(view: &View, backward: bool, parts: &mut Vec<PassStats>, enter: impl Fn(usize) + Sync) -> PassStats {
    let pack = view.pack;
    // SAFETY: the problem was checked: no two points of a span share a body, no two regions do, every place that
    // is left over has a row of its own, and pieces do not overlap.
    let visit = |piece: Span| widest(Piece { view, piece });
    let mut stats =
        colour::walk_after(&pack.spans, &pack.regions, backward, parts, enter, visit, PassStats::add);
    let impulse = pack.speed * pack.mass;
    stats.residual *= pack.speed;
    stats.delta_sq *= impulse * impulse;
    stats.weighted *= impulse * pack.speed;
    stats
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
    /// Multipliers before a sweep, and where it leaves those after it: the same place, unless the first are to be kept.
    from: *const Vectors,
    gamma: *mut Vectors,
    rows: *mut Row,
    what: What,
    lambda: f32,
    coulomb: bool,
    momentum: Option<Momentum>,
}

/// See [`GrainSweeper`]; y takes the place of y_before.
struct Momentum {
    last: *const Vectors,
    before: *mut Vectors,
    beta: f32,
}

impl View<'_> {
    /// See [`group`].
    fn is_plain(&self) -> bool {
        self.what == What::Sweep
            && self.lambda == 1.0
            && !self.coulomb
            && self.pack.drift.is_empty()
            && self.pack.each_mu.is_empty()
    }

    /// The multipliers that a sweep of group `g` starts from.
    #[inline(always)]
    unsafe fn start<V: Eight>(&self, g: usize) -> [V; 3] {
        unsafe {
            let mut x: [V; 3] = load3(self.from.add(g), VECTORS);
            if let Some(Momentum { last, before, beta }) = self.momentum {
                if beta != 0.0 {
                    let p = minus(load3(last.add(g), VECTORS), load3(before.add(g), VECTORS));
                    let (beta, tiny) = (V::splat(beta), V::splat(1e-30));
                    let mut k = 0;
                    while k < 3 {
                        x[k] = x[k].add(beta.mul(p[k]).flush(tiny));
                        k += 1;
                    }
                }
                store3(x, before.add(g), VECTORS);
            }
            x
        }
    }

    /// The same without friction, where there is one number.
    #[inline(always)]
    unsafe fn start_along<V: Eight>(&self, g: usize) -> V {
        unsafe {
            let mut x = V::load(self.from.add(g).cast(), VECTORS);
            if let Some(Momentum { last, before, beta }) = self.momentum {
                if beta != 0.0 {
                    let [last, before] = [last, before.cast_const()].map(|y| y.add(g).cast::<Octet>());
                    let p = V::load(last, VECTORS).sub(V::load(before, VECTORS));
                    x = x.add(V::splat(beta).mul(p).flush(V::splat(1e-30)));
                }
                x.store(before.add(g).cast(), VECTORS);
            }
            x
        }
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
            let (mut acc, mut wide) = ([V::splat(0.0); 3], [Two::<V>::splat(0.0); 3]);
            // Macros and loops, not closures: a closure would not be compiled for the instructions of V.
            macro_rules! groups {
                ($one:ident $(, $wide:expr, $acc:expr)?) => {{
                    let mut g = start;
                    while g + 2 <= two_end {
                        $one::<Two<V>, true>(view, g $(, $wide)?);
                        g += 2;
                    }
                    if g < two_end {
                        $one::<V, true>(view, g $(, $acc)?);
                    }
                    for g in two_end..end {
                        $one::<V, false>(view, g $(, $acc)?);
                    }
                }};
            }
            match (view.what, view.pack.frictionless) {
                (What::Push, true) => groups!(press),
                (What::Push, false) => groups!(load),
                (_, true) => groups!(frictionless, &mut wide, &mut acc),
                (_, false) if view.is_plain() => {
                    groups::<V, true>(view, [start, two_end, end], &mut wide, &mut acc);
                }
                (_, false) => groups::<V, false>(view, [start, two_end, end], &mut wide, &mut acc),
            }
            let most = wide[0].most();
            acc[0] = most.select_le(acc[0], acc[0], most);
            acc[1] = acc[1].add(wide[1].sum());
            acc[2] = acc[2].add(wide[2].sum());
            let mut seen = [Octet::default(); 3];
            for k in 0..3 {
                acc[k].store(&mut seen[k], 0);
            }
            let sum = |k: usize| seen[k].0.iter().map(|x| f64::from(*x)).sum::<f64>();
            // Not max, which would hide a NaN.
            let most = seen[0].0.iter().fold(0.0, |m, x| if *x <= m { m } else { *x });
            PassStats { residual: f64::from(most).sqrt(), delta_sq: sum(1), weighted: sum(2), curvature: 0.0 }
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

/// Adds what an impulse `d` does to the bodies of eight points.
#[inline(always)]
unsafe fn push<V: Eight, const TWO: bool>(view: &View, g: usize, n: [V; 3], d: [V; 3]) {
    unsafe {
        let points = view.pack.groups.get_unchecked(g);
        let places = [&raw const points.a, &raw const points.b];
        V::exchange_both::<TWO>(d, cross(d, n), view.rows, places, GROUP);
    }
}

/// Updates eight points [TasoraAnitescu2011, Algorithm 2 (23)-(26)], whose relative velocities are known. Where there is a `next`
/// group, its velocities are read before any are written: points of a colour share no body, and what is read after a write waits
/// for it. PLAIN: nothing drifts, friction is one number for all, and it is a whole sweep of the relaxed law.
#[inline(always)]
unsafe fn group<V: Eight, const TWO: bool, const PLAIN: bool>(
    view: &View,
    g: usize,
    next: Option<usize>,
    [seen, turn]: [[V; 3]; 2],
    acc: &mut [V; 3],
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
        let mu = if PLAIN { pack.same_friction::<V>() } else { pack.friction::<V>(g) };
        if !PLAIN && view.coulomb {
            let slip = apart(u, dot(u, n), n);
            u = along(u, mu[0].mul(dot(slip, slip).sqrt()), n);
        }
        let (old, step): ([V; 3], V) = (view.start(g), V::load(&points.step, GROUP));
        let mut new = project(apart(old, step, u), n, mu);
        let mut delta = minus(new, old);
        if !PLAIN && view.lambda != 1.0 {
            delta = times(V::splat(view.lambda), delta);
            new = plus(old, delta);
        }
        see(view, dot(delta, delta), step, acc);
        let ahead = match next {
            Some(next) => relative::<V, TWO>(view, next),
            None => [seen, turn],
        };
        if PLAIN || view.what != What::Measure {
            store3(new, view.gamma.add(g), VECTORS);
            push::<V, TWO>(view, g, n, delta);
        }
        ahead
    }
}

/// Updates the groups from `start` to `end`, of which those up to `two_end` have two bodies, two at a time.
#[inline(always)]
unsafe fn groups<V: Eight, const PLAIN: bool>(
    view: &View,
    [start, two_end, end]: [usize; 3],
    wide: &mut [Two<V>; 3],
    acc: &mut [V; 3],
) {
    unsafe {
        let mut g = start;
        if g + 2 <= two_end {
            let mut seen = relative::<Two<V>, true>(view, g);
            while g + 2 <= two_end {
                let next = if g + 4 <= two_end { Some(g + 2) } else { None };
                seen = group::<Two<V>, true, PLAIN>(view, g, next, seen, wide);
                g += 2;
            }
        }
        if g < two_end {
            let seen = relative::<V, true>(view, g);
            group::<V, true, PLAIN>(view, g, None, seen, acc);
        }
        for g in two_end..end {
            let seen = relative::<V, false>(view, g);
            group::<V, false, PLAIN>(view, g, None, seen, acc);
        }
    }
}

#[inline(always)]
unsafe fn see<V: Eight>(view: &View, sq: V, step: V, acc: &mut [V; 3]) {
    unsafe {
        let weight = V::splat(1.0).div(V::splat(view.lambda).mul(step));
        let weighted = sq.mul(weight);
        let measure = weighted.mul(weight);
        acc[0] = measure.select_le(acc[0], acc[0], measure);
        acc[1] = acc[1].add(sq);
        acc[2] = acc[2].add(weighted);
    }
}

/// Adds what the multipliers of eight points do to the rows.
#[inline(always)]
unsafe fn load<V: Eight, const TWO: bool>(view: &View, g: usize) {
    unsafe {
        let n = load3(&view.pack.groups.get_unchecked(g).n, GROUP);
        push::<V, TWO>(view, g, n, load3(view.gamma.add(g), VECTORS));
    }
}

/// The same without friction: multipliers lie along the normals, and so do the arms, so that nothing turns.
#[inline(always)]
unsafe fn press<V: Eight, const TWO: bool>(view: &View, g: usize) {
    unsafe {
        let n = load3(&view.pack.groups.get_unchecked(g).n, GROUP);
        shift::<V, TWO>(view, g, times(V::load(view.gamma.add(g).cast(), VECTORS), n));
    }
}

#[inline(always)]
unsafe fn shift<V: Eight, const TWO: bool>(view: &View, g: usize, d: [V; 3]) {
    unsafe {
        let points = view.pack.groups.get_unchecked(g);
        let places = [&raw const points.a, &raw const points.b];
        V::exchange::<TWO>(d, view.rows, places, GROUP);
    }
}

#[inline(always)]
unsafe fn frictionless<V: Eight, const TWO: bool>(view: &View, g: usize, acc: &mut [V; 3]) {
    unsafe {
        let points = view.pack.groups.get_unchecked(g);
        let n: [V; 3] = load3(&points.n, GROUP);
        let a = V::gather(view.rows, &points.a, GROUP, 0);
        let mut along = a[3].mul(dot([a[0], a[1], a[2]], n));
        if TWO {
            let b = V::gather(view.rows, &points.b, GROUP, 0);
            along = along.sub(b[3].mul(dot([b[0], b[1], b[2]], n)));
        }
        let u = along.add(V::load(&points.bias, GROUP)).flush(V::splat(TINY));
        let (old, step) = (view.start_along::<V>(g), V::load(&points.step, GROUP));
        let zero = V::splat(0.0);
        let moved = old.sub(step.mul(u));
        let mut new = moved.select_le(zero, zero, moved);
        let mut delta = new.sub(old);
        if view.lambda != 1.0 {
            delta = V::splat(view.lambda).mul(delta);
            new = old.add(delta);
        }
        see(view, delta.mul(delta), step, acc);
        if view.what == What::Measure {
            return;
        }
        new.store(view.gamma.add(g).cast(), VECTORS);
        shift::<V, TWO>(view, g, times(delta, n));
    }
}

impl Sweeper for GrainSweeper {
    fn start(&mut self, _: &Problem, _: Option<&[f64]>, _: Vec<f64>) {
        unreachable!("begun by `begin`")
    }

    fn pass(&mut self, problem: &Problem, pass: Pass, lambda: f64) -> PassStats {
        let (p, backward) = (bodies(problem), pass == Pass::Backward);
        if pass == Pass::Measure {
            return self.walk(p, What::Measure, backward, lambda);
        }
        if self.now_is_best {
            // What is kept stays where it is, and the sweep writes elsewhere.
            crew::resize(&mut self.best, self.now.gamma.len(), Vectors::default());
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
        if restart {
            (self.ahead, self.straight) = (Some(0.0), true);
        }
    }

    fn conjugate(&mut self, beta: f64) {
        self.ahead = Some(if self.straight { 0.0 } else { beta as f32 });
        self.straight = false;
    }

    fn keep(&mut self) {
        self.now_is_best = true;
    }

    fn restore(&mut self, problem: &Problem) {
        if !self.now_is_best {
            std::mem::swap(&mut self.now.gamma, &mut self.best);
            self.now_is_best = true;
            self.find_rows(bodies(problem));
        }
    }

    fn objective(&self, _: &Problem) -> f64 {
        self.energy()
    }

    fn rounding(&self) -> f64 {
        1e-6
    }

    fn floor(&self) -> f64 {
        FLOOR * (self.pack.speed + self.pack.pressed(&self.now.gamma))
    }
}

/// S + β (y - y_before) in place of S, and of y_before. (Masses are in the rows too, and do not change: their difference is
/// zero.)
struct Extrapolate<'a> {
    rows: &'a mut [Row],
    last: &'a [Row],
    before: &'a mut [Row],
    beta: f32,
}

impl Kernel for Extrapolate<'_> {
    type Out = ();

    #[inline(always)]
    unsafe fn run<V: Eight>(self) {
        let Self { rows, last, before, beta } = self;
        if beta == 0.0 {
            return before.copy_from_slice(rows);
        }
        unsafe {
            let (beta, tiny) = (V::splat(beta), V::splat(1e-30));
            for i in 0..rows.len() {
                let (row, y) = ((&raw mut rows[i]).cast::<Octet>(), (&raw mut before[i]).cast::<Octet>());
                let p = V::load((&raw const last[i]).cast(), 0).sub(V::load(y, 0));
                let x = V::load(row, 0).add(beta.mul(p).flush(tiny));
                x.store(row, 0);
                x.store(y, 0);
            }
        }
    }
}
