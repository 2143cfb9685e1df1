//! The scalar equations that joints are made of, with their exact Jacobians.
//!
//! A joint relates a frame A (origin o_A, axes a_k) fixed to its first body and a frame B (o_B, b_k) fixed to
//! its second; either body may be the world. With d = o_B - o_A, arms r from the centres of mass to the
//! origins, and the relative velocity of rotation ω = ω_B - ω_A, every equation Ψ(q, t) = 0 is built from
//!
//! ```text
//!     along     Ψ = a·d       Ψ̇ = a·(v_B + ω_B × r_B) - a·v_A - ω_A·((r_A + d) × a)        a fixed in A
//!     align     Ψ = a·b       Ψ̇ = ω·(b × a)                                               a fixed in A, b in B
//!     length    Ψ = |d|       Ψ̇ = n·(v_B + ω_B × r_B - v_A - ω_A × r_A),   n = d/|d|
//! ```
//!
//! A row is (v_A, ω_A, v_B, ω_B) coefficients, the column of D of [TasoraAnitescu2011, eq. 7-8]. Rows about
//! angles are multiplied by the joint's length L, so that all rows are in m and m/s, and their multipliers in
//! N s.

use glam::{DMat3, DVec3};

use crate::shape::Pose;

/// Most equations that a joint has.
pub const MOST_ROWS: usize = 6;
/// Most free coordinates that a joint names.
pub const MOST_COORDINATES: usize = 3;

/// Where the two frames of a joint are now.
#[derive(Clone, Copy, Debug)]
pub struct Placed<'a> {
    /// Origins of the frames, m, world.
    pub origin: [DVec3; 2],
    /// Their axes as columns, world.
    pub axes: [DMat3; 2],
    /// From the centres of mass to the origins, m; zero for the world.
    pub arm: [DVec3; 2],
    /// L, m.
    pub length: f64,
    /// Start and end of the step, s.
    pub time: [f64; 2],
    /// The frames when the joint was made, world.
    pub reference: &'a [Pose; 2],
    /// Last known values of angles, rad: what tells one turn from the next.
    pub angle: [f64; MOST_COORDINATES],
}

/// One equation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Row {
    /// Coefficients of (v_A, ω_A, v_B, ω_B).
    pub jacobian: [f64; 12],
    /// Ψ at the start of the step, m.
    pub error: f64,
    /// (Ψ(q, t + h) - Ψ(q, t)) / h: what the equation does by itself, m/s. The difference quotient and not
    /// ∂Ψ/∂t, so that a command is met at the end of the step and not only in the limit.
    pub rate: f64,
    /// Whether it is about angles (and so multiplied by L).
    pub angular: bool,
    /// Its nature.
    pub sort: Sort,
}

/// What kind of equation a row is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Sort {
    /// Ψ = 0.
    #[default]
    Holonomic,
    /// Ψ ≥ 0.
    Unilateral,
    /// About velocities only: nothing to correct.
    Nonholonomic,
    /// A spring and damper along Ψ: N/m and N s/m, in the units of the row.
    Elastic {
        /// Force per Ψ.
        stiffness: f64,
        /// Force per Ψ̇.
        damping: f64,
    },
}

/// A coordinate that a joint leaves free, in its own unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Coordinate {
    /// Coefficients of (v_A, ω_A, v_B, ω_B): m or rad per s.
    pub jacobian: [f64; 12],
    /// m or rad.
    pub value: f64,
    /// Whether it is an angle.
    pub angular: bool,
}

/// What a joint demands and what it leaves.
#[derive(Clone, Copy, Debug)]
pub struct Equations {
    rows: [Row; MOST_ROWS],
    count: usize,
    coordinates: [Coordinate; MOST_COORDINATES],
    free: usize,
    angle: [f64; MOST_COORDINATES],
}

impl Default for Equations {
    fn default() -> Self {
        Self {
            rows: [Row::default(); MOST_ROWS],
            count: 0,
            coordinates: [Coordinate::default(); MOST_COORDINATES],
            free: 0,
            angle: [0.0; MOST_COORDINATES],
        }
    }
}

impl Equations {
    /// The equations.
    pub fn rows(&self) -> &[Row] {
        &self.rows[..self.count]
    }

    /// The free coordinates.
    pub fn coordinates(&self) -> &[Coordinate] {
        &self.coordinates[..self.free]
    }

    /// Takes the Jacobians (and those alone) from the same joint elsewhere.
    pub(crate) fn take_jacobians(&mut self, other: &Equations) {
        for k in 0..self.count {
            self.rows[k].jacobian = other.rows[k].jacobian;
        }
        for k in 0..self.free {
            self.coordinates[k].jacobian = other.coordinates[k].jacobian;
        }
    }

    /// Angles with their turns, to be handed back as [`Placed::angle`] next time.
    pub fn angles(&self) -> [f64; MOST_COORDINATES] {
        self.angle
    }

    /// Nothing demanded, nothing left.
    fn clear(&mut self) {
        (self.count, self.free, self.angle) = (0, 0, [0.0; MOST_COORDINATES]);
    }
}

/// Takes what a joint demands and leaves, piece by piece. All of it is inlined, so that what is not kept is
/// not worked out.
pub(super) trait Sink {
    fn push(&mut self, row: Row);
    fn leave(&mut self, coordinate: impl FnOnce() -> Coordinate);
    fn remember(&mut self, k: usize, angle: f64);
}

/// All of it.
pub(super) struct Full<'a>(&'a mut Equations);

impl<'a> Full<'a> {
    pub fn new(into: &'a mut Equations) -> Self {
        into.clear();
        Self(into)
    }
}

impl Sink for Full<'_> {
    #[inline(always)]
    fn push(&mut self, row: Row) {
        self.0.rows[self.0.count] = row;
        self.0.count += 1;
    }

    #[inline(always)]
    fn leave(&mut self, coordinate: impl FnOnce() -> Coordinate) {
        let coordinate = coordinate();
        if coordinate.angular {
            self.0.angle[self.0.free] = coordinate.value;
        }
        self.0.coordinates[self.0.free] = coordinate;
        self.0.free += 1;
    }

    #[inline(always)]
    fn remember(&mut self, k: usize, angle: f64) {
        self.0.angle[k] = angle;
    }
}

/// The equations without the free coordinates.
pub(super) struct Demands<'a>(&'a mut Equations);

impl<'a> Demands<'a> {
    pub fn new(into: &'a mut Equations) -> Self {
        into.clear();
        Self(into)
    }
}

impl Sink for Demands<'_> {
    #[inline(always)]
    fn push(&mut self, row: Row) {
        self.0.rows[self.0.count] = row;
        self.0.count += 1;
    }

    #[inline(always)]
    fn leave(&mut self, _: impl FnOnce() -> Coordinate) {}

    #[inline(always)]
    fn remember(&mut self, _: usize, _: f64) {}
}

/// Errors and rates, and with `VALUES` the values of free coordinates; Jacobians are those of whatever was
/// there before.
pub(super) struct Errors<'a, const VALUES: bool>(&'a mut Equations);

impl<'a, const VALUES: bool> Errors<'a, VALUES> {
    pub fn new(into: &'a mut Equations) -> Self {
        into.clear();
        Self(into)
    }
}

impl<const VALUES: bool> Sink for Errors<'_, VALUES> {
    #[inline(always)]
    fn push(&mut self, row: Row) {
        let to = &mut self.0.rows[self.0.count];
        (to.error, to.rate, to.angular, to.sort) = (row.error, row.rate, row.angular, row.sort);
        self.0.count += 1;
    }

    #[inline(always)]
    fn leave(&mut self, coordinate: impl FnOnce() -> Coordinate) {
        if VALUES {
            let (from, to) = (coordinate(), &mut self.0.coordinates[self.0.free]);
            (to.value, to.angular) = (from.value, from.angular);
            self.0.free += 1;
        }
    }

    #[inline(always)]
    fn remember(&mut self, _: usize, _: f64) {}
}

/// (v_A, ω_A, v_B, ω_B) from its four parts.
#[inline(always)]
pub(super) fn jacobian(va: DVec3, wa: DVec3, vb: DVec3, wb: DVec3) -> [f64; 12] {
    [va.x, va.y, va.z, wa.x, wa.y, wa.z, vb.x, vb.y, vb.z, wb.x, wb.y, wb.z]
}

/// The same multiple of all entries.
#[inline(always)]
pub(super) fn scaled(row: [f64; 12], by: f64) -> [f64; 12] {
    row.map(|x| by * x)
}

/// `turn` brought within half a turn of `near` by whole turns.
pub fn unwrap(turn: f64, near: f64) -> f64 {
    use std::f64::consts::TAU;
    near + (turn - near) - TAU * ((turn - near) / TAU).round()
}

impl Placed<'_> {
    /// d = o_B - o_A.
    pub fn between(&self) -> DVec3 {
        self.origin[1] - self.origin[0]
    }

    /// Axis k of frame A.
    pub fn a(&self, k: usize) -> DVec3 {
        self.axes[0].col(k)
    }

    /// Axis k of frame B.
    pub fn b(&self, k: usize) -> DVec3 {
        self.axes[1].col(k)
    }

    /// The row of a·d, a fixed in A.
    #[inline(always)]
    pub(super) fn along_row(&self, a: DVec3) -> [f64; 12] {
        let reach = self.arm[0] + self.between();
        jacobian(-a, -reach.cross(a), a, self.arm[1].cross(a))
    }

    /// Ψ = a·d, a fixed in A.
    #[inline(always)]
    pub(super) fn along(&self, a: DVec3) -> Row {
        Row { jacobian: self.along_row(a), error: a.dot(self.between()), ..Row::default() }
    }

    /// Ψ = L a·b, a fixed in A, b fixed in B.
    #[inline(always)]
    pub(super) fn align(&self, a: DVec3, b: DVec3) -> Row {
        let turn = b.cross(a) * self.length;
        let jacobian = jacobian(DVec3::ZERO, -turn, DVec3::ZERO, turn);
        Row { jacobian, error: self.length * a.dot(b), angular: true, ..Row::default() }
    }

    /// The row of |d|.
    #[inline(always)]
    pub(super) fn length_row(&self) -> [f64; 12] {
        // Where the points coincide no direction is better than another.
        let n = self.between().try_normalize().unwrap_or(DVec3::Z);
        jacobian(-n, -self.arm[0].cross(n), n, self.arm[1].cross(n))
    }

    /// The row of a·ω.
    #[inline(always)]
    pub(super) fn spin_row(&self, a: DVec3) -> [f64; 12] {
        jacobian(DVec3::ZERO, -a, DVec3::ZERO, a)
    }

    /// The coordinate a·d, a fixed in A.
    #[inline(always)]
    pub(super) fn slide(&self, a: DVec3) -> Coordinate {
        Coordinate { jacobian: self.along_row(a), value: a.dot(self.between()), angular: false }
    }

    /// The angle by which B is turned about the common axis z, θ = atan2(a₂·b₁, a₁·b₁); `k` says where its
    /// last value is kept. θ̇ = ω·(b₁ × (a₁·b₁ a₂ - a₂·b₁ a₁))/((a₁·b₁)² + (a₂·b₁)²), which is a₃·ω where the
    /// axes agree.
    #[inline(always)]
    pub(super) fn angle_about_z(&self, k: usize) -> Coordinate {
        let (b, x, y) = (self.b(0), self.a(0).dot(self.b(0)), self.a(1).dot(self.b(0)));
        let gradient = b.cross(x * self.a(1) - y * self.a(0)) / (x * x + y * y).max(f64::MIN_POSITIVE);
        let value = unwrap(y.atan2(x), self.angle[k]);
        Coordinate { jacobian: self.spin_row(gradient), value, angular: true }
    }

    /// b₃ along a₃, and with `turn` also b₂ across a₁: two or three equations.
    #[inline(always)]
    pub(super) fn parallel(&self, turn: bool, out: &mut impl Sink) {
        out.push(self.align(self.a(0), self.b(2)));
        out.push(self.align(self.a(1), self.b(2)));
        if turn {
            out.push(self.align(self.a(0), self.b(1)));
        }
    }
}
