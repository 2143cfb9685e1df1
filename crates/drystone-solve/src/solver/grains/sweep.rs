//! Gauss-Seidel sweeps over the compact form.

use crate::colour::{self, Span};
use crate::model::Model;
use crate::problem::{Bodies, Problem};
use crate::solver::fixed_point::{Pass, PassStats, Sweeper};

use super::FLOOR;
use super::eight::{
    Eight, Kernel, Octet, Row, Two, Vectors, cross, dot, load3, minus, plus, project, store3, times, widest,
};
use super::pack::{GROUP, Pack, Steps, VECTORS};

/// Velocities below this share of the problem's largest are none.
const TINY: f32 = 1e-13;

/// See the module. Multipliers and rows are in the pack's units.
#[derive(Debug, Default)]
pub(in crate::solver) struct GrainSweeper {
    pack: Pack,
    now: Iterate,
    /// Where the last pass started from.
    before: Iterate,
    /// p of the conjugate gradient, and what it does to the velocities.
    direction: Iterate,
    best: Iterate,
    /// Whether `before` is `now`.
    marked: bool,
    parts: Vec<PassStats>,
}

#[derive(Debug, Default)]
struct Iterate {
    gamma: Vec<Vectors>,
    rows: Vec<Row>,
}

impl Iterate {
    fn copy(&mut self, from: &Self) {
        self.gamma.clone_from(&from.gamma);
        self.rows.clone_from(&from.rows);
    }
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
        self.now.rows.clone_from(&self.pack.free);
        self.marked = false;
        if guess.is_some() {
            self.walk(p, What::Push, false, 1.0);
        }
        true
    }

    /// The smallest ω of all blocks.
    pub fn omega(&self) -> f64 {
        self.pack.omega
    }

    /// Memory over blocks, bytes.
    pub fn bytes(&self) -> usize {
        let all = [&self.now, &self.before, &self.direction, &self.best];
        self.pack.bytes() + all.iter().map(|x| size_of_val(x.gamma.as_slice())).sum::<usize>()
    }

    /// f(γ) = ½ |v|²_M - ½ |v_free|²_M + ⟨b, γ⟩, J.
    fn energy(&self) -> f64 {
        let (pack, mut sum) = (&self.pack, 0.0);
        for (now, free) in self.now.rows.iter().zip(&pack.free) {
            let (now, free) = (now.0.map(f64::from), free.0.map(f64::from));
            for half in [0, 4] {
                let twice = |k: usize| (now[half + k] - free[half + k]) * (now[half + k] + free[half + k]);
                sum += 0.5 * (twice(0) + twice(1) + twice(2)) * now[half + 3];
            }
        }
        for (g, gamma) in pack.groups.iter().zip(&self.now.gamma) {
            for k in 0..8 {
                let x: [f64; 3] = std::array::from_fn(|c| f64::from(gamma[c].0[k]));
                let along = match pack.frictionless {
                    true => x[0],
                    false => (0..3).map(|c| x[c] * f64::from(g.n[c].0[k])).sum(),
                };
                sum += along * f64::from(g.bias.0[k]);
            }
        }
        for (drift, gamma) in pack.drift.iter().zip(&self.now.gamma) {
            let products = drift.iter().flat_map(|o| o.0).zip(gamma.iter().flat_map(|o| o.0));
            sum += products.map(|(d, x)| f64::from(d) * f64::from(x)).sum::<f64>();
        }
        sum * pack.mass * pack.speed * pack.speed
    }

    fn walk(&mut self, p: &Bodies, what: What, backward: bool, lambda: f64) -> PassStats {
        let pack = &self.pack;
        let view = View {
            pack,
            gamma: self.now.gamma.as_mut_ptr(),
            rows: self.now.rows.as_mut_ptr(),
            what,
            lambda: lambda as f32,
            coulomb: p.model == Model::Coulomb,
        };
        // SAFETY: the problem was checked: no two points of a span share a body, no two regions do, every place that
        // is left over has a row of its own, and pieces do not overlap.
        let visit = |piece: Span| widest(Piece { view: &view, piece });
        let mut stats =
            colour::walk(&pack.spans, &pack.regions, backward, &mut self.parts, visit, PassStats::add);
        let impulse = pack.speed * pack.mass;
        stats.residual *= pack.speed;
        stats.delta_sq *= impulse * impulse;
        stats.weighted *= impulse * pack.speed;
        stats
    }
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
    gamma: *mut Vectors,
    rows: *mut Row,
    what: What,
    lambda: f32,
    coulomb: bool,
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
                (_, false) => groups!(group, &mut wide, &mut acc),
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

/// v and w of the bodies at `places`.
#[inline(always)]
unsafe fn velocities<V: Eight>(view: &View, places: *const Octet<u32>) -> [[V; 3]; 2] {
    unsafe {
        let (v, w) = (V::gather(view.rows, places, GROUP, 0), V::gather(view.rows, places, GROUP, 1));
        [times(v[3], [v[0], v[1], v[2]]), times(w[3], [w[0], w[1], w[2]])]
    }
}

/// Adds what an impulse `d` does to the bodies of eight points.
#[inline(always)]
unsafe fn push<V: Eight, const TWO: bool>(view: &View, g: usize, n: [V; 3], d: [V; 3]) {
    unsafe {
        let points = view.pack.groups.get_unchecked(g);
        let (twist, zero) = (cross(d, n), V::splat(0.0));
        let places = [&raw const points.a, &raw const points.b];
        V::exchange::<TWO, false>([d[0], d[1], d[2], zero], view.rows, places, GROUP, 0);
        V::exchange::<TWO, true>([twist[0], twist[1], twist[2], zero], view.rows, places, GROUP, 1);
    }
}

/// Updates eight points [TasoraAnitescu2011, Algorithm 2 (23)-(26)].
#[inline(always)]
unsafe fn group<V: Eight, const TWO: bool>(view: &View, g: usize, acc: &mut [V; 3]) {
    unsafe {
        let pack = view.pack;
        let points = pack.groups.get_unchecked(g);
        let n: [V; 3] = load3(&points.n, GROUP);
        let bias = V::load(&points.bias, GROUP);
        let [mut u, mut turn] = velocities(view, &points.a);
        if TWO {
            let [v, w] = velocities(view, &points.b);
            (u, turn) = (minus(u, v), plus(turn, w));
        }
        u = plus(minus(u, cross(turn, n)), times(bias, n));
        if !pack.drift.is_empty() {
            u = plus(u, load3(pack.drift.get_unchecked(g), VECTORS));
        }
        let tiny = V::splat(TINY);
        u = [u[0].flush(tiny), u[1].flush(tiny), u[2].flush(tiny)];
        let mu = pack.friction::<V>(g);
        if view.coulomb {
            let slip = minus(u, times(dot(u, n), n));
            u = plus(u, times(mu[0].mul(dot(slip, slip).sqrt()), n));
        }
        let gamma = view.gamma.add(g);
        let (old, step): ([V; 3], V) = (load3(gamma, VECTORS), V::load(&points.step, GROUP));
        let mut new = project(minus(old, times(step, u)), n, mu);
        let mut delta = minus(new, old);
        if view.lambda != 1.0 {
            delta = times(V::splat(view.lambda), delta);
            new = plus(old, delta);
        }
        see(view, dot(delta, delta), step, acc);
        if view.what == What::Measure {
            return;
        }
        store3(new, gamma, VECTORS);
        push::<V, TWO>(view, g, n, delta);
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
        V::exchange::<TWO, false>([d[0], d[1], d[2], V::splat(0.0)], view.rows, places, GROUP, 0);
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
        let gamma = view.gamma.add(g).cast::<Octet>();
        let (old, step) = (V::load(gamma, VECTORS), V::load(&points.step, GROUP));
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
        new.store(gamma, VECTORS);
        shift::<V, TWO>(view, g, times(delta, n));
    }
}

impl Sweeper for GrainSweeper {
    fn start(&mut self, _: &Problem, _: Option<&[f64]>, _: Vec<f64>) {
        unreachable!("begun by `begin`")
    }

    fn pass(&mut self, problem: &Problem, pass: Pass, lambda: f64) -> PassStats {
        let what = if pass == Pass::Measure { What::Measure } else { What::Sweep };
        if what == What::Sweep {
            self.marked = false;
        }
        self.walk(bodies(problem), what, pass == Pass::Backward, lambda)
    }

    fn reject(&mut self) {
        unreachable!("only Jacobi passes are rejected")
    }

    fn rescale(&mut self, _: f64) {
        unreachable!("only Jacobi passes are rejected")
    }

    fn gamma(&self, problem: &Problem, out: &mut Vec<f64>) {
        self.pack.write(bodies(problem), &self.now.gamma, out);
    }

    fn mark(&mut self, restart: bool) {
        if !self.marked {
            self.before.copy(&self.now);
        }
        if restart {
            self.direction.gamma.clear();
            self.direction.gamma.resize(self.now.gamma.len(), Vectors::default());
            self.direction.rows.clear();
            self.direction.rows.resize(self.now.rows.len(), Row::default());
        }
    }

    fn conjugate(&mut self, beta: f64) {
        let Self { now, before, direction: p, .. } = self;
        let beta = beta as f32;
        widest(Conjugate {
            x: flat(&mut now.gamma),
            before: flat(&mut before.gamma),
            p: flat(&mut p.gamma),
            beta,
        });
        widest(Conjugate {
            x: rows(&mut now.rows),
            before: rows(&mut before.rows),
            p: rows(&mut p.rows),
            beta,
        });
        self.marked = true;
    }

    fn keep(&mut self) {
        self.best.copy(&self.now);
    }

    fn restore(&mut self) {
        std::mem::swap(&mut self.now, &mut self.best);
        self.marked = false;
    }

    fn objective(&self, _: &Problem) -> f64 {
        self.energy()
    }

    fn rounding(&self) -> f64 {
        1e-6
    }

    fn growth(&mut self, problem: &Problem, lambda: f64) -> Option<[f64; 3]> {
        let residual = self.pass(problem, Pass::Measure, lambda).residual;
        let square = |x: &f32| f64::from(*x) * f64::from(*x);
        let multipliers = self.now.gamma.iter().flatten().flat_map(|o| &o.0).map(square).sum::<f64>();
        let mut curvature = 0.0;
        for (now, free) in self.now.rows.iter().zip(&self.pack.free) {
            for half in [0, 4] {
                let change = |k: usize| square(&(now.0[half + k] - free.0[half + k]));
                curvature += f64::from(now.0[half + 3]) * (change(0) + change(1) + change(2));
            }
        }
        let unit = self.pack.mass * self.pack.speed;
        Some([unit * multipliers.sqrt(), unit * self.pack.speed * curvature, residual])
    }

    fn floor(&self) -> f64 {
        FLOOR * (self.pack.speed + self.pack.pressed(&self.now.gamma))
    }
}

fn flat(x: &mut [Vectors]) -> &mut [Octet] {
    x.as_flattened_mut()
}

fn rows(x: &mut [Row]) -> &mut [Octet] {
    // SAFETY: both are eight aligned f32.
    unsafe { std::slice::from_raw_parts_mut(x.as_mut_ptr().cast(), x.len()) }
}

/// x ← x + β p, p ← β p + (x - x_before) with the old x, x_before ← x. (Masses are in the rows too, and do not change: their
/// difference is zero.)
struct Conjugate<'a> {
    x: &'a mut [Octet],
    before: &'a mut [Octet],
    p: &'a mut [Octet],
    beta: f32,
}

impl Kernel for Conjugate<'_> {
    type Out = ();

    #[inline(always)]
    unsafe fn run<V: Eight>(self) {
        unsafe {
            let beta = V::splat(self.beta);
            for i in 0..self.x.len() {
                let (x, p) = (&mut self.x[i], &mut self.p[i]);
                let (old, along) = (V::load(x, 0), beta.mul(V::load(p, 0)).flush(V::splat(1e-30)));
                let new = old.add(along);
                along.add(old.sub(V::load(&self.before[i], 0))).store(p, 0);
                new.store(x, 0);
                new.store(&mut self.before[i], 0);
            }
        }
    }
}
