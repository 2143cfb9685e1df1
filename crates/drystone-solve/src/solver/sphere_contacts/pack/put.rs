//! Contacts on their way into their places.

use crate::colour::{self, Span};
use crate::parallel::Shared;
use crate::problem::{Bodies, WORLD};
use crate::simd::Vectors;

use super::layout::Run;
use super::{Group, Pack, ROW, Steps, dot};

/// What contacts need to know of a body.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ball {
    /// Zero as long as no contact has been seen, m.
    pub radius: f64,
    pub inv_mass: f64,
    /// r²/I.
    pub turn: f64,
}

fn is_ball(i: &[f64; 6]) -> bool {
    i[0] == i[1] && i[1] == i[2] && i[3] == 0.0 && i[4] == 0.0 && i[5] == 0.0
}

impl Ball {
    /// Body `i` with a contact at `radius`; nothing where it is none of equal inertia about every axis.
    fn new(p: &Bodies, i: usize, radius: f64) -> Self {
        let (inertia, inv_mass) = (&p.inv_inertia[i], p.inv_mass[i]);
        if !(is_ball(inertia) && inertia[0] > 0.0 && inv_mass > 0.0) {
            return Self::default();
        }
        Self { radius, inv_mass, turn: radius * radius * inertia[0] }
    }
}

/// What came of putting points in their places.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Put {
    /// One is no contact of spheres.
    other: bool,
    /// How often ω was halved, at most.
    halved: i32,
    /// The largest 1/κ: what a push along a normal does, over what one across it does.
    stiffest: f64,
}

/// Where points are put, by several threads.
struct To {
    groups: Shared<Group>,
    balls: Shared<Ball>,
    drift: Shared<Vectors>,
    drifts: bool,
    /// One over the unit.
    speed: f64,
    mass: f64,
}

impl To {
    /// Puts the points of a piece of a run in their places.
    ///
    /// # Safety
    /// Nobody else works on their bodies or groups.
    unsafe fn put(&self, p: &Bodies, steps: Steps, run: &Run, piece: Span) -> Put {
        let points = &p.points;
        let (first, end) = (piece.start as usize, piece.end as usize);
        let place = (run.place + (piece.start - run.first)) as usize;
        let (skip, count) = (place % 8, (place + end - first).div_ceil(8) - place / 8);
        // SAFETY: these groups are this thread's, and drifts are as many where there are any.
        let (groups, drifts) = unsafe {
            let drifts = if self.drifts { self.drift.slice(place / 8, count) } else { &mut [] };
            (self.groups.slice(place / 8, count), drifts)
        };
        // Slices of one length: no index below needs a look.
        let [normal, arm_a, arm_b] = [&points.normal, &points.arm_a, &points.arm_b]
            .map(|field| field.each_ref().map(|f| &f[first..end]));
        let (bias, mu) = (&points.bias[first..end], &points.mu[first..end]);
        let (a, b) = (&points.a[first..end], &points.b[first..end]);
        let mut put = Put::default();
        for j in 0..end - first {
            let at = |f: &[&[f64]; 3]| [f[0][j], f[1][j], f[2][j]];
            let (n, slides) = (at(&normal), mu[j] != 0.0);
            let (mut g, mut bound, mut mass) = (0.0, 0.0, 0.0);
            let mut side = |body: u32, arm: [f64; 3], sign: f64| {
                let r = sign * dot(arm, n);
                let off = (0..3).map(|k| (arm[k] - sign * r * n[k]).abs()).fold(0.0, f64::max);
                // SAFETY: the problem was checked: there is such a body, and it is this thread's.
                let ball = unsafe { &mut *self.balls.at(body as usize) };
                if ball.radius == 0.0 {
                    *ball = Ball::new(p, body as usize, r);
                }
                g += ball.inv_mass + if slides { 2.0 / 3.0 * ball.turn } else { 0.0 };
                bound += ball.inv_mass + if slides { ball.turn } else { 0.0 };
                mass += ball.inv_mass;
                // To the digits of f32.
                off <= 1e-7 * r && (r - ball.radius).abs() <= 2e-7 * ball.radius
            };
            let spheres = side(a[j], at(&arm_a), -1.0) && (b[j] == WORLD || side(b[j], at(&arm_b), 1.0));
            if !spheres || !(g > 0.0) {
                return Put { other: true, ..put };
            }
            let (mut omega, mut halved) = (steps.omega, 0);
            while steps.safeguard && steps.lambda * omega * bound >= 2.0 * g {
                (omega, halved) = (0.5 * omega, halved + 1);
            }
            put.halved = put.halved.max(halved);
            put.stiffest = put.stiffest.max(mass / bound);
            let point = piece.start + j as u32;
            let place = (run.place + (point - run.first)) as usize;
            let (at, k) = ((skip + j) / 8, (skip + j) % 8);
            let group = &mut groups[at];
            for c in 0..3 {
                group.n[c].0[k] = n[c] as f32;
            }
            group.bias.0[k] = (bias[j] * self.speed) as f32;
            let (share, inverse) = if steps.bounded { (1.0, bound) } else { (omega, g) };
            group.step.0[k] = (share / (inverse * self.mass)) as f32;
            group.a.0[k] = a[j] * ROW;
            group.b.0[k] = ROW
                * match b[j] {
                    WORLD if place < run.alone as usize => run.still + (point - run.two_end),
                    WORLD => p.bodies() as u32,
                    body => body,
                };
            if let Some(drift) = drifts.get_mut(at) {
                for c in 0..3 {
                    drift[c].0[k] = (points.drift[c][first + j] * self.speed) as f32;
                }
            }
        }
        put
    }
}

impl Pack {
    /// Puts all points in their places; the smallest ω, or None if one is no contact of spheres.
    pub(super) fn put_all(&mut self, p: &Bodies, steps: Steps) -> Option<f64> {
        let points = &p.points;
        let (groups, balls) = (Shared(self.groups.as_mut_ptr()), Shared(self.balls.as_mut_ptr()));
        let to = To {
            groups,
            balls,
            drift: Shared(self.drift.as_mut_ptr()),
            drifts: !self.drift.is_empty(),
            speed: 1.0 / self.speed,
            mass: self.mass,
        };
        let runs = &self.runs;
        let add = |all: &mut Put, part: Put| {
            all.other |= part.other;
            all.halved = all.halved.max(part.halved);
            all.stiffest = all.stiffest.max(part.stiffest);
        };
        let visit = |piece: Span| {
            let (mut put, mut start) = (Put::default(), piece.start);
            while start < piece.end {
                let run = &runs[runs.partition_point(|run| run.first <= start) - 1];
                let end = piece.end.min(run.first + run.count);
                // SAFETY: the problem was checked: no two points of a piece, and no two pieces or regions
                // that are visited at a time, share a body; pieces begin with a group of their own, or are
                // visited one after the other.
                add(&mut put, unsafe { to.put(p, steps, run, Span { start, end, ..piece }) });
                start = end;
            }
            put
        };
        let put = match self.close {
            true => points.spans.iter().fold(Put::default(), |mut all, span| {
                add(&mut all, visit(*span));
                all
            }),
            false => colour::walk(&points.spans, &points.regions, false, &mut self.put, visit, add),
        };
        self.kappa = 1.0 / put.stiffest;
        (!put.other).then_some(steps.omega * 0.5f64.powi(put.halved))
    }
}
