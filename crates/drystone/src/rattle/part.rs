//! One part of a step: half a kick, the drift, and the other half.

use glam::DVec3;

use super::Around;
use super::gather::{Goal, Link, Motion, Slack, way};
use super::mechanism::{Mechanism, Part};
use crate::field::Field;
use crate::joint::equation::MOST_ROWS;
use crate::joint::slot::LAW_ROWS;
use crate::model::Model;
use crate::motion::{free_rotation_cut, is_ball, rotate};

/// Most angle of a piece of free rotation, rad.
const MAX_ANGLE: f64 = 0.1;

impl Mechanism {
    /// One part; None if Broyden's method does not arrive.
    pub(super) fn part(&mut self, w: Around, part: Part) -> Option<usize> {
        let half = 0.5 * part.dt;
        self.damped_pushes(w.model, half);
        self.push(w, half);
        self.record(w, false);
        self.pieces.clear();
        self.pieces.extend(self.now.w.iter().map(|w| (w.length() * part.dt.abs() / MAX_ANGLE).max(1.0)));
        self.start.copy(&self.now);
        self.lead(w, part.to);
        self.target.clear();
        for e in &self.rows.equations {
            self.target.push(match e.goal {
                Goal::Speed { k } => {
                    e.error + {
                        let joint = self.links[e.joint as usize].slot as usize;
                        way(&w.model.joints[joint], k, part.from, part.to)
                    }
                }
                _ => 0.0,
            });
        }
        let rounds = self.meet_positions(w, part)?;
        self.record(w, true);

        self.rows.at(w.model, &self.links, self.count, &self.now, &mut self.memory, part.to);
        self.act(w, part.to);
        self.direct.factor(&self.rows.rows, &self.rows.weighted);
        self.start.copy(&self.now);
        let by_speed = w.fields.iter().any(|f| matches!(f, Field::Callback { .. }));
        let damped = by_speed || self.rows.pushes.iter().any(|p| p.damping > 0.0);
        for round in 0..40 {
            self.damped_pushes(w.model, half);
            if by_speed && round > 0 {
                self.act(w, part.to);
            }
            self.middle.copy(&self.now);
            self.now.copy(&self.start);
            self.push(w, half);
            self.meet_velocities(w.model);
            if !damped || self.is_settled(1e-15) {
                break;
            }
        }
        // Dampers are known to be slow enough; a function of the user's is not.
        if by_speed && !self.is_settled(1e-10) {
            return None;
        }
        self.record(w, false);
        self.record(w, true);
        Some(rounds)
    }

    /// From `start` with λ to the end of the part.
    pub(super) fn drift(&mut self, model: &Model, dt: f64) {
        let Self { now, start, rows, lambda, links, slots, count, .. } = self;
        for i in 0..*count {
            (now.x[i], now.q[i]) = (start.x[i], start.q[i]);
            (now.v[i], now.w[i]) = (start.v[i], start.w[i]);
        }
        for ((e, weighted), l) in rows.equations.iter().zip(&rows.weighted).zip(&*lambda) {
            kick(&links[e.joint as usize], *count, now, weighted, *l);
        }
        if self.rolls {
            self.middle.copy(now);
            fly(model, &slots[..*count], &mut self.middle, &self.pieces, 0.5 * dt);
        }
        fly(model, &slots[..*count], now, &self.pieces, dt);
    }

    /// μ with J v⁺ + ∂Ψ/∂t = 0.
    fn meet_velocities(&mut self, model: &Model) {
        self.lambda.clear();
        self.lambda.resize(self.rows.equations.len(), 0.0);
        let mut last = f64::INFINITY;
        for _ in 0..6 {
            let worst = self.speeds(model);
            if !(worst < 0.5 * last) {
                return;
            }
            last = worst;
            self.direct.solve(&mut self.error);
            for (k, (e, weighted)) in self.rows.equations.iter().zip(&self.rows.weighted).enumerate() {
                let link = &self.links[e.joint as usize];
                kick(link, self.count, &mut self.now, weighted, -self.error[k]);
                self.lambda[k] -= self.error[k];
            }
        }
    }

    /// J v + ∂Ψ/∂t by row, into `error`; the largest of them.
    pub(super) fn speeds(&mut self, model: &Model) -> f64 {
        self.error.clear();
        let mut worst = 0.0f64;
        for e in &self.rows.equations {
            let link = &self.links[e.joint as usize];
            let u = self.now.rate(link, &model.joints[link.slot as usize], &e.jacobian) + e.rate;
            worst = worst.max(u.abs());
            self.error.push(u);
        }
        worst
    }

    /// Whether a round changed velocities by nothing that counts.
    fn is_settled(&self, share: f64) -> bool {
        let most = share * share;
        let same = |a: &[DVec3], b: &[DVec3]| {
            a.iter().zip(b).all(|(a, b)| (*a - *b).length_squared() <= most * (1e-6 + a.length_squared()))
        };
        same(&self.now.v, &self.middle.v) && same(&self.now.w, &self.middle.w)
    }

    /// Impulses of springs, dampers and motors over `dt` at the present velocities.
    fn damped_pushes(&mut self, model: &Model, dt: f64) {
        self.pushed.clear();
        for p in &self.rows.pushes {
            let mut force = p.value;
            if p.damping > 0.0 {
                let link = &self.links[p.joint as usize];
                let joint = &model.joints[link.slot as usize];
                force -= p.damping * self.now.rate(link, joint, &p.jacobian);
            }
            self.pushed.push(dt * force);
        }
    }

    /// Weight, applied forces, fields, and the impulses of [`Mechanism::damped_pushes`].
    fn push(&mut self, w: Around, dt: f64) {
        let (now, s) = (&mut self.now, &w.state);
        for (k, i) in self.slots[..self.count].iter().map(|i| *i as usize).enumerate() {
            let body = &w.model.bodies[i];
            let field = self.fields.on(k);
            let dv = dt * (w.settings.gravity + body.inv_mass * (s.force[i] + field.force));
            now.v[k] += body.planar.as_ref().map_or(dv, |plane| plane.within(dv));
            now.w[k] += dt * (*body.inv_inertia * (now.q[k].conjugate() * (s.torque[i] + field.torque)));
        }
        for ((p, moved), impulse) in self.rows.pushes.iter().zip(&self.rows.moved).zip(&self.pushed) {
            kick(&self.links[p.joint as usize], self.count, now, moved, *impulse);
        }
    }

    /// The impulse `p` of a slack, whose M⁻¹ Jᵀ is `own`, and those by which the equations hold against it,
    /// `held` for each unit.
    pub(super) fn strike(&mut self, w: Around, s: &Slack, own: &[f64; 12], p: f64, held: &[f64]) {
        kick(&self.links[s.joint as usize], self.count, &mut self.now, own, p);
        self.lambda.clear();
        self.lambda.extend(held.iter().map(|y| -p * y));
        for ((e, weighted), l) in self.rows.equations.iter().zip(&self.rows.weighted).zip(&self.lambda) {
            kick(&self.links[e.joint as usize], self.count, &mut self.now, weighted, *l);
        }
        self.record(w, true);
        // No load: the next step does not begin with it.
        self.react(w, s.joint, s.place, &s.jacobian.map(|x| s.sign * x), s.sign * p);
    }

    /// Adds impulses (of the equations, λ; or of the pushes) to what the joints did.
    fn record(&mut self, w: Around, equations: bool) {
        for k in 0..if equations { self.rows.equations.len() } else { self.rows.pushes.len() } {
            let (joint, place, jacobian, x) = if equations {
                let e = &self.rows.equations[k];
                (e.joint, e.place, e.jacobian, self.lambda[k])
            } else {
                let p = &self.rows.pushes[k];
                (p.joint, p.place, p.jacobian, self.pushed[k])
            };
            self.memory[joint as usize].impulse[place as usize] += x;
            self.react(w, joint, place, &jacobian, x);
        }
    }

    /// Adds an impulse to what a joint's reaction is on average.
    fn react(&mut self, w: Around, joint: u32, place: u8, jacobian: &[f64; 12], x: f64) {
        let (j, row, mean) = (joint as usize, place as usize, x / w.settings.h);
        let (r, slot) = (&mut self.reactions[j], &w.model.joints[self.links[j].slot as usize]);
        let force = DVec3::from_slice(&jacobian[6..9]) * mean;
        r.force += force;
        r.torque += DVec3::from_slice(&jacobian[9..12]) * mean - self.rows.arms[j].cross(force);
        match row.checked_sub(MOST_ROWS) {
            None => {
                let angular = jacobian[..3] == [0.0; 3] && jacobian[6..9] == [0.0; 3];
                r.equations[row] += mean * if angular { slot.length } else { 1.0 };
            }
            Some(law) => {
                let (k, what) = (law / LAW_ROWS, law % LAW_ROWS);
                let scale = if slot.kind.coordinates()[k] { slot.length } else { 1.0 };
                [&mut r.motor, &mut r.limit, &mut r.friction, &mut r.spring][what][k] += mean * scale;
            }
        }
    }
}

/// v += M⁻¹ Jᵀ x, for the bodies that are among the first `count`.
fn kick(link: &Link, count: usize, m: &mut Motion, weighted: &[f64; 12], x: f64) {
    for (side, i) in link.ends.into_iter().enumerate().filter(|(_, i)| *i < count) {
        let at = 6 * side;
        m.v[i] += x * DVec3::from_slice(&weighted[at..at + 3]);
        m.w[i] += x * (m.q[i].conjugate() * DVec3::from_slice(&weighted[at + 3..at + 6]));
    }
}

/// Free motion.
fn fly(model: &Model, slots: &[u32], m: &mut Motion, pieces: &[f64], dt: f64) {
    for (i, slot) in slots.iter().enumerate() {
        let body = &model.bodies[*slot as usize];
        m.x[i] += dt * m.v[i];
        if body.planar.is_some() || is_ball(&body.mass.inertia) {
            m.q[i] = rotate(m.q[i], m.w[i], dt);
        } else {
            let (w, turn) = free_rotation_cut(&body.mass.inertia, m.w[i], dt, pieces[i]);
            (m.q[i], m.w[i]) = ((m.q[i] * turn).normalize(), w);
        }
    }
}
