//! The matrix-free form: constraint blocks that touch at most two bodies, and M⁻¹ body by body.
//!
//! A body's velocity is six numbers (v, ω), both in world axes; its M⁻¹ is 1/m and the world-frame inverse
//! inertia. [TasoraAnitescu2011] keeps ω in body axes, which makes M constant; world axes make every contact
//! Jacobian the same three vectors for both bodies, and the change of frame is a congruence that leaves N as it is.
//!
//! Two kinds of blocks:
//!
//! - [`Points`]: a contact point with the round friction cone, given by its normal and the arms from the
//!   centres of mass. Its D = [n | t₁ | t₂] is never stored:
//!
//!   ```text
//!       u = v_A + ω_A × r_A - v_B - ω_B × r_B + bias          (a world vector, n from B to A)
//!   ```
//!
//!   and since the cone is round, a sweep can work on the world vector without choosing tangents. Only the
//!   multipliers handed in and out are in the frame (n, t₁, t₂) with [`basis`].
//! - [`General`]: one to five rows with 12 Jacobian entries each (joints, motors, limits, rolling contacts).
//!
//! Bodies that do not move (or move as prescribed) are no bodies here: their velocity is part of the bias,
//! and the block's second body is [`WORLD`].

use std::ops::Range;

use crate::colour::{self, Span};
use crate::cone::{AdmissibleSet, MAX_ROWS, Set};
use crate::crew::{self, Shared};
use crate::model::Model;
use crate::room;

use super::{columns, trace_and_bound};

/// In place of a second body: the block acts on one body only.
pub const WORLD: u32 = u32::MAX;

/// Contact points, one array per quantity and component, in coloured order.
#[derive(Clone, Debug, Default)]
pub struct Points {
    /// First body.
    pub a: Vec<u32>,
    /// Second body, or [`WORLD`].
    pub b: Vec<u32>,
    /// Unit normal from B to A; x, y, z.
    pub normal: [Vec<f64>; 3],
    /// From the centre of mass of A to the contact point, m.
    pub arm_a: [Vec<f64>; 3],
    /// From the centre of mass of B to the contact point, m; zero for [`WORLD`].
    pub arm_b: [Vec<f64>; 3],
    /// Added to the relative velocity along the normal: gap/h, walls' own motion; m/s.
    pub bias: Vec<f64>,
    /// Added to the relative velocity across the normal: belts, walls' own motion; m/s, world axes; empty where nothing
    /// slides by itself.
    pub drift: [Vec<f64>; 3],
    /// Coefficient of friction; 0 leaves the normal row alone.
    pub mu: Vec<f64>,
    /// Compliance C of the normal row and of the tangential rows, (m/s)/(N s); empty where all is rigid.
    pub compliance: [Vec<f64>; 2],
    /// The colours.
    pub spans: Vec<Span>,
    /// The first span of each region, and of what joins them; empty where there are no regions.
    pub regions: Vec<u32>,
}

/// A contact point, as [`Points::fill`] takes it.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// First body, second body or [`WORLD`].
    pub bodies: (u32, u32),
    /// Unit normal from B to A.
    pub normal: [f64; 3],
    /// From the centre of mass of A to the contact point, m.
    pub arm_a: [f64; 3],
    /// The same of B; zero for [`WORLD`].
    pub arm_b: [f64; 3],
    /// Added to the relative velocity, m/s, world axes.
    pub bias: [f64; 3],
    /// Coefficient of friction.
    pub mu: f64,
    /// Of the normal row, (m/s)/(N s).
    pub compliance: f64,
}

/// Blocks with explicit rows, in coloured order.
#[derive(Clone, Debug, Default)]
pub struct General {
    /// First body.
    pub a: Vec<u32>,
    /// Second body, or [`WORLD`].
    pub b: Vec<u32>,
    /// Admissible set.
    pub set: Vec<Set>,
    /// First row of each block, and the number of rows at the end.
    pub first_row: Vec<u32>,
    /// Per row: (v_A, ω_A, v_B, ω_B) coefficients, scaled so that the row's velocity is in m/s.
    pub jacobian: Vec<[f64; 12]>,
    /// Per row, m/s.
    pub bias: Vec<f64>,
    /// Per row, (m/s)/(N s); empty where all is rigid.
    pub compliance: Vec<f64>,
    /// The colours.
    pub spans: Vec<Span>,
}

/// The matrix-free problem.
#[derive(Clone, Debug, Default)]
pub struct Bodies {
    /// 1/m, 1/kg.
    pub inv_mass: Vec<f64>,
    /// Inverse inertia in world axes: xx, yy, zz, xy, xz, yz; 1/(kg m²).
    pub inv_inertia: Vec<[f64; 6]>,
    /// v + h M⁻¹ f, what the bodies would do without constraints: (v, ω), m/s and rad/s, world axes.
    pub v_free: Vec<[f64; 6]>,
    /// Contact points: blocks `0..points.len()`, three rows each.
    pub points: Points,
    /// All other blocks, after the points.
    pub general: General,
    /// The contact law.
    pub model: Model,
}

/// Two unit vectors that complete `n` to a right-handed frame, without branches \[Duff2017\].
#[inline(always)]
pub fn basis(n: [f64; 3]) -> [[f64; 3]; 2] {
    let sign = 1f64.copysign(n[2]);
    let a = -1.0 / (sign + n[2]);
    let b = n[0] * n[1] * a;
    [[1.0 + sign * n[0] * n[0] * a, sign * b, -sign * n[0]], [b, sign + n[1] * n[1] * a, -n[1]]]
}

#[inline(always)]
pub(crate) fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline(always)]
pub(crate) fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Symmetric 3x3 (xx, yy, zz, xy, xz, yz) times a vector.
#[inline(always)]
pub(crate) fn symmetric(m: &[f64; 6], x: [f64; 3]) -> [f64; 3] {
    [
        m[0] * x[0] + m[3] * x[1] + m[4] * x[2],
        m[3] * x[0] + m[1] * x[1] + m[5] * x[2],
        m[4] * x[0] + m[5] * x[1] + m[2] * x[2],
    ]
}

/// Bodies, or points, that are worked on at a time.
const PIECE: usize = 2048;

fn add(to: &mut [f64; 6], f: [f64; 3], turn: [f64; 3]) {
    (0..3).for_each(|k| {
        to[k] += f[k];
        to[3 + k] += turn[k];
    });
}

fn take(from: &mut [f64; 6], f: [f64; 3], turn: [f64; 3]) {
    (0..3).for_each(|k| {
        from[k] -= f[k];
        from[3 + k] -= turn[k];
    });
}

/// Whether all are finite, several at a time: x · 0 is zero for those that are.
pub(crate) fn all_finite(x: &[f64]) -> bool {
    // Nothing times a number is nothing.
    let (eights, rest) = x.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for eight in eights {
        (0..8).for_each(|k| sums[k] += 0.0 * eight[k]);
    }
    rest.iter().fold(sums.iter().sum::<f64>(), |sum, x| sum + 0.0 * x) == 0.0
}

fn at(field: &[Vec<f64>; 3], i: usize) -> [f64; 3] {
    [field[0][i], field[1][i], field[2][i]]
}

impl Points {
    /// Number of points.
    pub fn len(&self) -> usize {
        self.a.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.a.is_empty()
    }

    /// (n, t₁, t₂) of point `i`.
    pub fn frame(&self, i: usize) -> [[f64; 3]; 3] {
        let n = at(&self.normal, i);
        let [t1, t2] = basis(n);
        [n, t1, t2]
    }

    /// Forgets all points, keeps the memory.
    pub fn clear(&mut self) {
        self.a.clear();
        self.b.clear();
        self.bias.clear();
        for field in [&mut self.normal, &mut self.arm_a, &mut self.arm_b, &mut self.drift] {
            field.iter_mut().for_each(Vec::clear);
        }
        self.mu.clear();
        self.compliance.iter_mut().for_each(Vec::clear);
        self.spans.clear();
        self.regions.clear();
    }

    /// The columns of numbers that all points have.
    fn numbers_mut(&mut self) -> impl Iterator<Item = &mut Vec<f64>> {
        let vectors = self.normal.iter_mut().chain(&mut self.arm_a).chain(&mut self.arm_b);
        vectors.chain([&mut self.bias, &mut self.mu])
    }

    /// Replaces all points by `count` new ones, in coloured order; the colours are the caller's. Pieces are made by several
    /// threads where there are many.
    pub fn fill(&mut self, count: usize, point: impl Fn(usize) -> Point + Sync) {
        self.drift.iter_mut().chain(&mut self.compliance).for_each(Vec::clear);
        // Nothing is written that is written once more below.
        for field in self.numbers_mut() {
            field.clear();
            room::more(field, count);
        }
        for field in [&mut self.a, &mut self.b] {
            field.clear();
            room::more(field, count);
        }
        let to = columns::Columns::of(self);
        let [slides, gives] = columns::pieces(count, |i| {
            let p = point(i);
            // SAFETY: every number below the count is visited once, and there is room for as many in all columns.
            unsafe { to.put(i, &p) }
        });
        // SAFETY: all have been written.
        unsafe {
            self.numbers_mut().for_each(|field| field.set_len(count));
            self.a.set_len(count);
            self.b.set_len(count);
        }
        if slides {
            for k in 0..3 {
                self.drift[k].extend((0..count).map(|i| columns::split(&point(i)).1[k]));
            }
        }
        if gives {
            self.compliance[0].extend((0..count).map(|i| point(i).compliance));
            self.compliance[1].resize(count, 0.0);
        }
    }

    /// Appends a point with a bias as a world vector; the caller keeps the coloured order.
    pub fn push(
        &mut self,
        (a, b): (u32, u32),
        normal: [f64; 3],
        arm_a: [f64; 3],
        arm_b: [f64; 3],
        bias: [f64; 3],
        mu: f64,
    ) {
        self.a.push(a);
        self.b.push(b);
        for k in 0..3 {
            self.normal[k].push(normal[k]);
            self.arm_a[k].push(arm_a[k]);
            self.arm_b[k].push(arm_b[k]);
        }
        let point = Point { bodies: (a, b), normal, arm_a, arm_b, bias, mu, compliance: 0.0 };
        let (along, across, slides) = columns::split(&point);
        self.bias.push(along);
        if !self.drift[0].is_empty() || slides {
            for (field, x) in self.drift.iter_mut().zip(across) {
                field.resize(self.mu.len(), 0.0);
                field.push(x);
            }
        }
        self.mu.push(mu);
    }

    /// Memory of the points, bytes.
    pub fn bytes(&self) -> usize {
        let fields = [&self.normal, &self.arm_a, &self.arm_b, &self.drift];
        let numbers =
            fields.iter().flat_map(|f| f.iter()).chain([&self.bias, &self.mu]).chain(&self.compliance);
        numbers.map(|v| size_of_val(v.as_slice())).sum::<usize>()
            + size_of_val(self.a.as_slice())
            + size_of_val(self.b.as_slice())
    }

    /// The bias of point `i` as a world vector, m/s.
    pub fn world_bias(&self, i: usize) -> [f64; 3] {
        let n = at(&self.normal, i).map(|x| x * self.bias[i]);
        if self.drift[0].is_empty() {
            return n;
        }
        let across = at(&self.drift, i);
        [n[0] + across[0], n[1] + across[1], n[2] + across[2]]
    }

    /// Multipliers `gamma` of point `i` as a world vector.
    #[inline]
    pub(crate) fn world(&self, i: usize, gamma: &[f64]) -> [f64; 3] {
        let [n, t1, t2] = self.frame(i);
        std::array::from_fn(|k| gamma[0] * n[k] + gamma[1] * t1[k] + gamma[2] * t2[k])
    }

    /// Multipliers `gamma` of point `i` as a world vector, and its moments about A and B.
    #[inline]
    fn impulse(&self, i: usize, gamma: &[f64]) -> [[f64; 3]; 3] {
        let f = self.world(i, gamma);
        [f, cross(at(&self.arm_a, i), f), cross(at(&self.arm_b, i), f)]
    }

    fn compliance_of(&self, i: usize) -> [f64; 3] {
        if self.compliance[0].is_empty() {
            [0.0; 3]
        } else {
            [self.compliance[0][i], self.compliance[1][i], self.compliance[1][i]]
        }
    }
}

impl General {
    /// Forgets all blocks, keeps the memory.
    pub fn clear(&mut self) {
        self.a.clear();
        self.b.clear();
        self.set.clear();
        self.first_row.clear();
        self.jacobian.clear();
        self.bias.clear();
        self.compliance.clear();
        self.spans.clear();
    }

    /// Appends a rigid block with one Jacobian row and one bias for each row of its set; the caller keeps the coloured
    /// order.
    pub fn push(&mut self, (a, b): (u32, u32), set: Set, jacobian: &[[f64; 12]], bias: &[f64]) {
        if self.first_row.is_empty() {
            self.first_row.push(0);
        }
        self.a.push(a);
        self.b.push(b);
        self.set.push(set);
        self.jacobian.extend_from_slice(jacobian);
        self.bias.extend_from_slice(bias);
        self.first_row.push(self.jacobian.len() as u32);
    }

    /// Declares that no two blocks share a body, and that each joins one body to the world.
    pub fn one_colour(&mut self) {
        self.spans.clear();
        if !self.a.is_empty() {
            self.spans.push(Span { start: 0, two_end: 0, end: self.a.len() as u32, serial: false });
        }
    }
}

impl Bodies {
    /// Number of bodies.
    pub fn bodies(&self) -> usize {
        self.inv_mass.len()
    }

    pub(crate) fn blocks(&self) -> usize {
        self.points.len() + self.general.a.len()
    }

    pub(crate) fn rows(&self) -> usize {
        3 * self.points.len() + self.general.jacobian.len()
    }

    /// The rows of block `i`.
    pub fn block(&self, i: usize) -> Range<usize> {
        match i.checked_sub(self.points.len()) {
            None => 3 * i..3 * i + 3,
            Some(g) => {
                let base = 3 * self.points.len();
                base + self.general.first_row[g] as usize..base + self.general.first_row[g + 1] as usize
            }
        }
    }

    pub(crate) fn set(&self, i: usize) -> Set {
        match i.checked_sub(self.points.len()) {
            None => Set::Friction3 { mu: self.points.mu[i] },
            Some(g) => self.general.set[g],
        }
    }

    pub(crate) fn compliance(&self, block: usize, row: usize) -> f64 {
        match row.checked_sub(3 * self.points.len()) {
            None => self.points.compliance_of(block)[row - 3 * block],
            Some(j) => self.general.compliance.get(j).copied().unwrap_or(0.0),
        }
    }

    fn is_compliant(&self) -> bool {
        !self.points.compliance[0].is_empty() || !self.general.compliance.is_empty()
    }

    /// The same of contact point `i` as a world vector, m/s.
    pub(crate) fn point_relative(&self, i: usize, v: &[[f64; 6]]) -> [f64; 3] {
        let half = |v: &[f64; 6]| ([v[0], v[1], v[2]], [v[3], v[4], v[5]]);
        let p = &self.points;
        let mut w = p.world_bias(i);
        let (va, wa) = half(&v[p.a[i] as usize]);
        let ca = cross(wa, at(&p.arm_a, i));
        for k in 0..3 {
            w[k] += va[k] + ca[k];
        }
        if p.b[i] != WORLD {
            let (vb, wb) = half(&v[p.b[i] as usize]);
            let cb = cross(wb, at(&p.arm_b, i));
            for k in 0..3 {
                w[k] -= vb[k] + cb[k];
            }
        }
        w
    }

    /// u = Dᵀ v + b of one block for given velocities.
    pub fn block_relative(&self, block: usize, v: &[[f64; 6]], u: &mut [f64; MAX_ROWS]) {
        let Some(i) = block.checked_sub(self.points.len()) else {
            let w = self.point_relative(block, v);
            let frame = self.points.frame(block);
            for k in 0..3 {
                u[k] = dot(frame[k], w);
            }
            return;
        };
        let g = &self.general;
        for (k, j) in (g.first_row[i] as usize..g.first_row[i + 1] as usize).enumerate() {
            let row = &g.jacobian[j];
            let mut sum = g.bias[j];
            for (body, part) in [(g.a[i], 0), (g.b[i], 6)] {
                if body != WORLD {
                    for (c, x) in row[part..part + 6].iter().zip(&v[body as usize]) {
                        sum += c * x;
                    }
                }
            }
            u[k] = sum;
        }
    }

    pub(crate) fn block_bias(&self, block: usize, b: &mut [f64; MAX_ROWS]) {
        match block.checked_sub(self.points.len()) {
            None => {
                let world = self.points.world_bias(block);
                for (k, axis) in self.points.frame(block).into_iter().enumerate() {
                    b[k] = dot(axis, world);
                }
            }
            Some(i) => {
                let rows = self.general.first_row[i] as usize..self.general.first_row[i + 1] as usize;
                b[..rows.len()].copy_from_slice(&self.general.bias[rows]);
            }
        }
    }

    pub(super) fn block_velocity(&self, i: usize, v: &[[f64; 6]], gamma: &[f64], u: &mut [f64; MAX_ROWS]) {
        self.block_relative(i, v, u);
        if self.is_compliant() {
            for (k, row) in self.block(i).enumerate() {
                u[k] += self.compliance(i, row) * gamma[row];
            }
        }
    }

    /// v = v_free + M⁻¹ D γ [TasoraAnitescu2011, eq. 36].
    pub fn velocities(&self, gamma: &[f64], v: &mut Vec<[f64; 6]>) {
        // D γ first, and M⁻¹ once for each body.
        crew::zeros(v, self.bodies(), [0.0; 6]);
        self.push_points(gamma, v);
        self.push_general(&gamma[3 * self.points.len()..], v);
        crew::chunks(v, PIECE, &mut Vec::new(), |first, run| {
            for (i, v) in (first..).zip(run) {
                let (f, free) = (*v, &self.v_free[i]);
                let turn = symmetric(&self.inv_inertia[i], [f[3], f[4], f[5]]);
                for k in 0..3 {
                    v[k] = free[k] + self.inv_mass[i] * f[k];
                    v[3 + k] = free[3 + k] + turn[k];
                }
            }
        });
    }

    /// Adds D γ of the points, by body.
    pub(crate) fn push_points(&self, gamma: &[f64], impulse: &mut [[f64; 6]]) {
        let p = &self.points;
        let many = p.len() >= 2 * PIECE && rayon::current_num_threads() > 1;
        if !(many && colour::sound(impulse.len(), &p.a, &p.b, &p.spans, &p.regions)) {
            for i in 0..p.len() {
                let [f, turn_a, turn_b] = p.impulse(i, &gamma[3 * i..3 * i + 3]);
                add(&mut impulse[p.a[i] as usize], f, turn_a);
                if p.b[i] != WORLD {
                    take(&mut impulse[p.b[i] as usize], f, turn_b);
                }
            }
            return;
        }
        let to = Shared(impulse.as_mut_ptr());
        let visit = |piece: Span| {
            for i in piece.start as usize..piece.end as usize {
                let [f, turn_a, turn_b] = p.impulse(i, &gamma[3 * i..3 * i + 3]);
                // SAFETY: the colours are sound: bodies are there, and what is visited at a time shares none.
                unsafe {
                    add(&mut *to.at(p.a[i] as usize), f, turn_a);
                    if p.b[i] != WORLD {
                        take(&mut *to.at(p.b[i] as usize), f, turn_b);
                    }
                }
            }
        };
        colour::walk(&p.spans, &p.regions, false, &mut Vec::new(), visit, |_, _| ());
    }

    /// Adds D γ of the general blocks, by body.
    pub(crate) fn push_general(&self, gamma: &[f64], impulse: &mut [[f64; 6]]) {
        self.push_joints(gamma, |body, f| {
            let into = &mut impulse[body as usize];
            (0..6).for_each(|k| into[k] += f[k]);
        });
    }

    /// D γ of the general blocks: what each run of them between the same bodies does to either.
    #[inline(always)]
    pub(crate) fn push_joints(&self, gamma: &[f64], mut push: impl FnMut(u32, &[f64])) {
        let g = &self.general;
        let mut i = 0;
        while i < g.a.len() {
            let (from, a, b) = (i, g.a[i], g.b[i]);
            while i < g.a.len() && (g.a[i], g.b[i]) == (a, b) {
                i += 1;
            }
            let rows = g.first_row[from] as usize..g.first_row[i] as usize;
            let mut sum = [0.0; 12];
            for (row, x) in g.jacobian[rows.clone()].iter().zip(&gamma[rows]) {
                (0..12).for_each(|k| sum[k] += row[k] * x);
            }
            push(a, &sum[..6]);
            if b != WORLD {
                push(b, &sum[6..]);
            }
        }
    }

    /// v ← v + M⁻¹ D_i Δ for a change Δ of block i's multipliers.
    pub(crate) fn move_block(&self, block: usize, delta: &[f64], v: &mut [[f64; 6]]) {
        let p = &self.points;
        let Some(i) = block.checked_sub(p.len()) else {
            let (i, g) = (block, delta);
            let [n, t1, t2] = p.frame(i);
            let impulse: [f64; 3] = std::array::from_fn(|k| g[0] * n[k] + g[1] * t1[k] + g[2] * t2[k]);
            self.push(v, p.a[i], impulse, cross(at(&p.arm_a, i), impulse), 1.0);
            if p.b[i] != WORLD {
                self.push(v, p.b[i], impulse, cross(at(&p.arm_b, i), impulse), -1.0);
            }
            return;
        };
        let g = &self.general;
        for (j, x) in (g.first_row[i] as usize..g.first_row[i + 1] as usize).zip(delta) {
            let row = &g.jacobian[j];
            self.push(v, g.a[i], [row[0], row[1], row[2]], [row[3], row[4], row[5]], *x);
            if g.b[i] != WORLD {
                self.push(v, g.b[i], [row[6], row[7], row[8]], [row[9], row[10], row[11]], *x);
            }
        }
    }

    fn push(&self, v: &mut [[f64; 6]], body: u32, force: [f64; 3], torque: [f64; 3], scale: f64) {
        let i = body as usize;
        let turn = symmetric(&self.inv_inertia[i], torque);
        for k in 0..3 {
            v[i][k] += scale * self.inv_mass[i] * force[k];
            v[i][3 + k] += scale * turn[k];
        }
    }

    /// The diagonal block of a contact between bodies with the same inertia about every axis, where no products of
    /// inertia need to be worked out: Σ (1/m + (|r|² 1 - r rᵀ)/I), whose largest eigenvalue is at most Σ (1/m + |r|²/I).
    fn ball_diagonal(&self, i: usize) -> Option<[f64; 2]> {
        let p = &self.points;
        let (mut mean, mut bound, mut normal) = (0.0, 0.0, 0.0);
        let mut side = |body: u32, arm: [f64; 3]| {
            let [xx, yy, zz, xy, xz, yz] = self.inv_inertia[body as usize];
            let m = self.inv_mass[body as usize];
            let square = dot(arm, arm);
            let along = dot(arm, at(&p.normal, i));
            mean += m + 2.0 / 3.0 * xx * square;
            bound += m + xx * square;
            normal += m + xx * (square - along * along).max(0.0);
            xx == yy && yy == zz && xy == 0.0 && xz == 0.0 && yz == 0.0
        };
        let balls = side(p.a[i], at(&p.arm_a, i)) && (p.b[i] == WORLD || side(p.b[i], at(&p.arm_b, i)));
        if !balls || !p.compliance[0].is_empty() {
            return None;
        }
        Some(if p.mu[i] == 0.0 { [normal; 2] } else { [mean, bound] })
    }

    pub(super) fn block_diagonal(&self, block: usize) -> [f64; 2] {
        if let Some(i) = block.checked_sub(self.points.len()) {
            return match self.general.set[i].rows() {
                1 => [self.row_diagonal(i); 2],
                rows => trace_and_bound(rows, &self.block_matrix(block)),
            };
        }
        if let Some(g) = self.ball_diagonal(block) {
            return g;
        }
        let g = self.block_matrix(block);
        // Without friction only the normal row moves, and its own diagonal is the right scale.
        if self.points.mu[block] == 0.0 { [g[0][0]; 2] } else { trace_and_bound(3, &g) }
    }

    /// Of a general block with one row.
    fn row_diagonal(&self, i: usize) -> f64 {
        let g = &self.general;
        let row = g.first_row[i] as usize;
        let j = &g.jacobian[row];
        let mut sum = 0.0;
        for (body, s) in [(g.a[i], 0), (g.b[i], 6)].into_iter().filter(|(body, _)| *body != WORLD) {
            let (force, turn) = ([j[s], j[s + 1], j[s + 2]], [j[s + 3], j[s + 4], j[s + 5]]);
            sum += self.inv_mass[body as usize] * dot(force, force)
                + dot(turn, symmetric(&self.inv_inertia[body as usize], turn));
        }
        sum + g.compliance.get(row).copied().unwrap_or(0.0)
    }

    /// The block's own part of N + C.
    pub(super) fn block_matrix(&self, block: usize) -> [[f64; 5]; 5] {
        let mut g = [[0.0; 5]; 5];
        let p = &self.points;
        let Some(i) = block.checked_sub(p.len()) else {
            let i = block;
            let axes = p.frame(i);
            let mut side = |body: u32, arm: [f64; 3]| {
                let (m, inertia) = (self.inv_mass[body as usize], &self.inv_inertia[body as usize]);
                let torques = axes.map(|axis| cross(arm, axis));
                let turns = torques.map(|t| symmetric(inertia, t));
                for r in 0..3 {
                    g[r][r] += m;
                    for c in 0..3 {
                        g[r][c] += dot(torques[r], turns[c]);
                    }
                }
            };
            side(p.a[i], at(&p.arm_a, i));
            if p.b[i] != WORLD {
                side(p.b[i], at(&p.arm_b, i));
            }
            let c = p.compliance_of(i);
            for k in 0..3 {
                g[k][k] += c[k];
            }
            return g;
        };
        let b = &self.general;
        let rows = b.first_row[i] as usize..b.first_row[i + 1] as usize;
        for (r, jr) in rows.clone().enumerate() {
            for (c, jc) in rows.clone().enumerate() {
                for (body, part) in [(b.a[i], 0), (b.b[i], 6)] {
                    if body == WORLD {
                        continue;
                    }
                    let three = |j: usize, k: usize| -> [f64; 3] {
                        std::array::from_fn(|x| b.jacobian[j][part + k + x])
                    };
                    let k = body as usize;
                    g[r][c] += self.inv_mass[k] * dot(three(jr, 0), three(jc, 0))
                        + dot(three(jr, 3), symmetric(&self.inv_inertia[k], three(jc, 3)));
                }
            }
            g[r][r] += b.compliance.get(jr).copied().unwrap_or(0.0);
        }
        g
    }

    pub(super) fn rest_is_feasible(&self) -> bool {
        let p = &self.points;
        let still = |x: f64| x == 0.0;
        let feasible = |i: usize| {
            let (bias, n) = (p.world_bias(i), at(&p.normal, i));
            let normal = dot(bias, n);
            let tangent = std::array::from_fn::<f64, 3, _>(|k| bias[k] - normal * n[k]);
            // Rounding of a pure normal bias leaves tangential dust that is not a slip velocity.
            normal - p.mu[i] * dot(tangent, tangent).sqrt() >= -1e-12 * (1.0 + normal.abs())
        };
        let points = match p.drift[0].is_empty() {
            true => crew::all(p.len(), |i| p.bias[i] >= -1e-12 * (1.0 + p.bias[i].abs())),
            false => crew::all(p.len(), feasible),
        };
        points
            && (0..self.general.a.len()).all(|i| {
                let g = &self.general;
                let rows = g.first_row[i] as usize..g.first_row[i + 1] as usize;
                let bias = &g.bias[rows.clone()];
                match g.set[i] {
                    Set::Free => bias.iter().copied().all(still),
                    set => {
                        let mut minus = [0.0; MAX_ROWS];
                        minus.iter_mut().zip(bias).for_each(|(m, b)| *m = -b);
                        set.support(&minus[..bias.len()]).is_finite()
                    }
                }
            })
    }

    /// Says what is wrong. Without `numbers` those that are finite wherever their products with multipliers are, are not looked at.
    pub(super) fn check(&self, numbers: bool) -> Result<(), String> {
        let n = self.bodies();
        let finite = |x: &[f64]| !numbers || all_finite(x);
        if self.inv_inertia.len() != n || self.v_free.len() != n {
            return Err(format!(
                "{n} bodies, {} inertias, {} velocities",
                self.inv_inertia.len(),
                self.v_free.len()
            ));
        }
        let of_body = |i: usize| self.inv_inertia[i].iter().chain(&self.v_free[i]).chain([&self.inv_mass[i]]);
        let sound = crew::all_tasks(n.div_ceil(PIECE), |k| {
            let range = k * PIECE..n.min((k + 1) * PIECE);
            finite(self.inv_inertia[range.clone()].as_flattened())
                && finite(self.v_free[range.clone()].as_flattened())
                && all_finite(&self.inv_mass[range.clone()])
                && self.inv_mass[range].iter().all(|m| *m >= 0.0)
        });
        for i in 0..if sound { 0 } else { n } {
            if of_body(i).any(|x| !x.is_finite()) {
                return Err(format!("body {i} has a mass, inertia or velocity that is not finite"));
            }
            if self.inv_mass[i] < 0.0 {
                return Err(format!("body {i} has a negative mass"));
            }
        }
        let p = &self.points;
        let all = [&p.normal, &p.arm_a, &p.arm_b];
        let drifts = p.drift.iter().any(|f| !f.is_empty());
        if p.b.len() != p.len()
            || p.mu.len() != p.len()
            || p.bias.len() != p.len()
            || all.iter().any(|f| f.iter().any(|x| x.len() != p.len()))
            || (drifts && p.drift.iter().any(|f| f.len() != p.len()))
            || (p.compliance.iter().any(|c| !c.is_empty()) && p.compliance.iter().any(|c| c.len() != p.len()))
        {
            return Err("the arrays of the contact points differ in length".into());
        }
        let mut soft = p.compliance.iter().flatten().chain(&self.general.compliance);
        if soft.any(|c| !(c.is_finite() && *c >= 0.0)) {
            return Err("a compliance is negative or not finite".into());
        }
        let columns =
            || all.into_iter().chain([&p.drift]).flatten().chain([&p.bias]).filter(|f| !f.is_empty());
        let friction = |i: usize| Set::Friction3 { mu: p.mu[i] }.check();
        let runs = p.len().div_ceil(PIECE);
        let sound = crew::all_tasks(runs, |k| {
            let range = k * PIECE..p.len().min((k + 1) * PIECE);
            columns().all(|f| finite(&f[range.clone()])) && range.into_iter().all(|i| friction(i).is_ok())
        });
        for i in 0..if sound { 0 } else { p.len() } {
            if all.iter().any(|f| at(f, i).iter().any(|x| !x.is_finite()))
                || p.world_bias(i).iter().any(|x| !x.is_finite())
            {
                return Err(format!("contact point {i} has a normal, arm or bias that is not finite"));
            }
            friction(i).map_err(|e| format!("contact point {i}: {e}"))?;
        }
        if !colour::sound(n, &p.a, &p.b, &p.spans, &p.regions) {
            colour::verify(n, &p.a, &p.b, &p.spans, &p.regions)
                .map_err(|e| format!("contact points: {e}"))?;
        }
        let g = &self.general;
        if g.b.len() != g.a.len()
            || g.set.len() != g.a.len()
            || (!g.a.is_empty() && g.first_row.len() != g.a.len() + 1)
            || g.bias.len() != g.jacobian.len()
            || (!g.compliance.is_empty() && g.compliance.len() != g.bias.len())
        {
            return Err("the arrays of the general blocks differ in length".into());
        }
        let rows_of = |i: usize| g.first_row[i + 1].checked_sub(g.first_row[i]).map(|n| n as usize);
        let set = |s: &Set| *s == Set::Free || s.check().is_ok();
        let sound = g.first_row.last().is_none_or(|n| *n as usize <= g.jacobian.len())
            && (0..g.a.len()).all(|i| rows_of(i) == Some(g.set[i].rows()) && set(&g.set[i]))
            && finite(g.jacobian.as_flattened())
            && finite(&g.bias);
        for i in 0..if sound { 0 } else { g.a.len() } {
            let rows = g.first_row[i] as usize..g.first_row[i + 1] as usize;
            if rows.len() != g.set[i].rows() || rows.end > g.jacobian.len() {
                return Err(format!("block {i} has {} rows, its set wants {}", rows.len(), g.set[i].rows()));
            }
            g.set[i].check().map_err(|e| format!("block {i}: {e}"))?;
            // Nothing times a number is nothing.
            let nothing = |j: usize| g.jacobian[j].iter().fold(0.0 * g.bias[j], |sum, x| sum + 0.0 * x);
            if rows.clone().any(|j| nothing(j) != 0.0) {
                return Err(format!("block {i} has a Jacobian or bias that is not finite"));
            }
        }
        colour::verify(n, &g.a, &g.b, &g.spans, &[]).map_err(|e| format!("general blocks: {e}"))
    }
}
