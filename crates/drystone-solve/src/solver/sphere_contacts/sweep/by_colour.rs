//! Sweeps colour by colour, for a caller who has a part of a problem and shares bodies with others: what
//! comes of a contact, and every sum, is the same whatever else is in the part.

use crate::colour::Span;
use crate::parallel::{self, Shared};
use crate::simd::{Vectors, dispatch};
use crate::solver::fixed_point::PassStats;

use super::super::FLOOR;
use super::super::metric::{self, Metric};
use super::super::pack::{Ball, BallContact, Pack, Units};
use super::ahead::{self, Rounding};
use super::rows::Beyond;
use super::{Iterate, LOWER, PIECE, Piece, View, What};

/// Sweeps over contacts of balls in f32, one colour at a time. Multipliers are impulses in world axes.
#[derive(Debug, Default)]
pub struct BallSweeps {
    pack: Pack,
    /// Places of contacts.
    places: Vec<u32>,
    now: Iterate,
    /// γ before the last sweep.
    last: Iterate,
    momentum: bool,
    /// Units of the sums of a sweep, in those of the pack.
    units: [f64; 2],
    parts: Vec<PassStats>,
    nothing: Vec<()>,
}

/// What a sweep saw of a colour. Sums are of terms that are rounded to multiples of one number, so that they
/// are exact.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// The largest residual a contact had when it was visited, m/s.
    pub largest: f64,
    /// The largest size of a term of `turn`, in no matter which unit.
    pub size: f64,
    /// Σ ⟨Δγ, γ - γ_last⟩ in the metric of the steps, and Σ of squares of residuals, as whole numbers of the
    /// units asked for.
    pub sums: [i64; 2],
}

impl Seen {
    /// Of two parts.
    pub fn join(&mut self, other: &Self) {
        (self.largest, self.size) = (self.largest.max(other.largest), self.size.max(other.size));
        (0..2).for_each(|k| self.sums[k] += other.sums[k]);
    }
}

/// The power of two of which 2^17 are at least `most`.
fn unit(most: f64) -> f64 {
    2f64.powi(most.clamp(1e-30, 1e30).log2().ceil() as i32 - 17)
}

impl BallSweeps {
    /// Takes contacts `order` in `spans`, which are runs of colours: contacts of one span share no body that
    /// moves. With friction there must be `momentum`, without it none.
    pub fn new(
        balls: &[Ball],
        contact: impl Fn(u32) -> BallContact + Sync,
        order: &[u32],
        spans: &[Span],
        units: &Units,
    ) -> Self {
        let mut out = Self { momentum: units.friction, units: [1.0; 2], ..Self::default() };
        out.pack.give(balls, contact, order, spans, units, &mut out.places);
        let (groups, free) = (out.pack.groups.len(), &out.pack.free);
        for to in [&mut out.now, &mut out.last].into_iter().take(if units.friction { 2 } else { 1 }) {
            to.gamma.resize(groups, Vectors::default());
            to.rows.clone_from(free);
        }
        out
    }

    /// Takes multipliers, by place in the order of contacts: impulses in world axes, N s, or without friction
    /// those along normals as the first of three. Bodies are as without any of them until they are pushed.
    pub fn set(&mut self, gamma: impl Fn(usize) -> [f64; 3]) {
        let unit = 1.0 / (self.pack.speed * self.pack.mass);
        for (i, place) in self.places.iter().map(|place| *place as usize).enumerate() {
            let (x, to) = (gamma(i), &mut self.now.gamma[place / 8]);
            (0..3).for_each(|c| to[c].0[place % 8] = (unit * x[c]) as f32);
        }
        self.rest();
    }

    /// The multiplier of a contact, as [`BallSweeps::set`] takes it.
    pub fn impulse(&self, i: usize) -> [f64; 3] {
        let (unit, place) = (self.pack.speed * self.pack.mass, self.places[i] as usize);
        self.now.gamma[place / 8].map(|c| unit * f64::from(c.0[place % 8]))
    }

    /// Bodies as without any multipliers.
    pub fn rest(&mut self) {
        self.now.rows.copy_from_slice(&self.pack.free);
    }

    /// Lets the multipliers of a colour push their bodies.
    pub fn push(&mut self, colour: usize) {
        self.walk(colour, What::Push);
    }

    /// Swaps γ and what was γ before the last sweep, with the rows of both.
    pub fn swap(&mut self) {
        std::mem::swap(&mut self.now, &mut self.last);
    }

    /// The largest residual of contacts of a colour, m/s.
    pub fn measure(&mut self, colour: usize) -> f64 {
        self.walk(colour, What::Measure)
    }

    /// A sweep over a colour without momentum; the largest residual that a contact had, m/s.
    pub fn sweep(&mut self, colour: usize) -> f64 {
        self.walk(colour, What::Sweep)
    }

    fn walk(&mut self, colour: usize, what: What) -> f64 {
        let Self { pack, now, parts, momentum, .. } = self;
        let gamma = Shared(now.gamma.as_mut_ptr());
        let wider = if *momentum { (1.0 / metric::across(pack.kappa)) as f32 } else { 1.0 };
        let view = View {
            pack,
            from: None,
            gamma,
            rows: Shared(now.rows.as_mut_ptr()),
            what,
            lambda: 1.0,
            coulomb: false,
            wider,
            momentum: None,
        };
        each_piece(pack.spans[colour], parts, |piece| dispatch(Piece { view: &view, piece }));
        largest(parts, pack.speed)
    }

    /// Rows of γ + β (γ - γ_last) in place of those of γ, and those of γ for γ_last.
    pub fn lead(&mut self, beta: f64) {
        let Self { now, last, nothing, .. } = self;
        let last = Shared(last.rows.as_mut_ptr());
        parallel::map_chunks(&mut now.rows, PIECE, nothing, |first, rows| {
            // SAFETY: there are as many, and no two tasks share one.
            let last = unsafe { last.slice(first, rows.len()) };
            dispatch(Beyond { rows, last, beta: beta as f32 });
        });
    }

    /// What the sums of the next sweeps are counted in: terms of `turn` up to `size` (see [`Seen`]) and
    /// squares up to `squares`, (m/s)², are counted exactly, larger ones as these.
    pub fn count_in(&mut self, size: f64, squares: f64) {
        self.units = [unit(size), unit(squares / (self.pack.speed * self.pack.speed))];
    }

    /// What a unit of the second sum is, (m/s)².
    pub fn square(&self) -> f64 {
        self.units[1] * self.pack.speed * self.pack.speed
    }

    /// A sweep over a colour, from γ + β (γ - γ_last) whose rows [`BallSweeps::lead`] has made. After all
    /// colours [`BallSweeps::swept`] is called.
    pub fn sweep_beyond(&mut self, colour: usize, beta: f64) -> Seen {
        let Self { pack, now, last, parts, units, .. } = self;
        let last = Shared(last.gamma.as_mut_ptr());
        let view = ahead::View {
            pack,
            now: &now.gamma,
            last: None,
            to: last,
            rows: Shared(now.rows.as_mut_ptr()),
            beta: beta as f32,
            metric: Metric::new(pack.kappa, pack.mu),
            coulomb: false,
            rounded: Some(units.map(|unit| Rounding::new(unit as f32))),
        };
        each_piece(pack.spans[colour], parts, |piece| dispatch(ahead::Piece { view: &view, piece }));
        let mut seen = Seen { largest: largest(parts, pack.speed), ..Seen::default() };
        for part in parts.iter() {
            seen.size = seen.size.max(part.delta_sq);
            let sums = [part.turn / units[0], part.squares / units[1]];
            (0..2).for_each(|k| seen.sums[k] += sums[k] as i64);
        }
        seen
    }

    /// What a sweep under momentum has come to is γ.
    pub fn swept(&mut self) {
        std::mem::swap(&mut self.now.gamma, &mut self.last.gamma);
    }

    /// What moves a body, for [`BallSweeps::put`] elsewhere.
    pub fn row(&self, body: usize) -> [f32; 6] {
        let [a, b, c, _, d, e, f, _] = self.now.rows[body].0;
        [a, b, c, d, e, f]
    }

    /// Takes over what moves a body.
    pub fn put(&mut self, body: usize, [a, b, c, d, e, f]: [f32; 6]) {
        let row = &mut self.now.rows[body].0;
        row[..3].copy_from_slice(&[a, b, c]);
        row[4..7].copy_from_slice(&[d, e, f]);
    }

    /// The largest multiplier over the masses it moves, m/s: see [`BallSweeps::floor`].
    pub fn pressed(&self) -> f64 {
        self.pack.pressed(&self.now.gamma)
    }

    /// A residual, m/s, below which f32 has nothing to say where multipliers press with that speed at most.
    pub fn floor(&self, pressed: f64) -> f64 {
        let share = if self.momentum { LOWER } else { 1.0 };
        share * FLOOR * (self.pack.speed + pressed)
    }
}

/// Visits a colour in pieces over which sums are exact.
fn each_piece(span: Span, parts: &mut Vec<PassStats>, visit: impl Fn(Span) -> PassStats + Sync) {
    let groups = (span.end - span.start) as usize / 8;
    parallel::map_ranges(groups, Rounding::GROUPS, parts, |range| {
        let [start, end] = [range.start, range.end].map(|g| span.start + 8 * g as u32);
        visit(Span { start, two_end: span.two_end.clamp(start, end), end, serial: false })
    });
}

/// The largest residual of all parts; infinite if one is no number.
fn largest(parts: &[PassStats], speed: f64) -> f64 {
    let of = |part: &PassStats| if part.residual.is_finite() { part.residual * speed } else { f64::INFINITY };
    parts.iter().map(of).fold(0.0, f64::max)
}
