//! What acts along the free coordinates of a joint: motors, limits, friction and springs.

use drystone_solve::cone::Set;

use super::joint::Stage;
use super::purpose::Purpose;
use crate::joint::WORLD_BODY;
use crate::joint::equation::{Coordinate, MOST_COORDINATES, MOST_ROWS};
use crate::joint::law::{Command, Law};
use crate::joint::slot::LAW_ROWS;

const MOTOR: usize = 0;
const LIMIT: usize = 1;
const FRICTION: usize = 2;
const SPRING: usize = 3;

/// Whether this row of a joint is that of a motor.
pub(super) fn is_motor(row: u8) -> bool {
    usize::from(row).checked_sub(MOST_ROWS).is_some_and(|law| law % LAW_ROWS == MOTOR)
}

impl Stage<'_> {
    /// All that acts along free coordinate `k`. Rows of angles are multiplied by L, their forces divided by
    /// it.
    pub(super) fn law(&mut self, k: usize, c: &Coordinate, law: &Law) {
        let scale = if c.angular { self.joint.length } else { 1.0 };
        let jacobian = c.jacobian.map(|x| scale * x);
        let place = MOST_ROWS + k * LAW_ROWS;
        debug_assert!(k < MOST_COORDINATES);
        match self.purpose {
            Purpose::Velocity { h, stabilisation, bounce, follow, .. } => {
                self.motor(place + MOTOR, c, law, scale, &jacobian, [h, follow]);
                if let Some(limits) = &law.limits {
                    self.rows.bounces |= limits.restitution > 0.0;
                    for (gap, upper) in [(c.value - limits.lower, false), (limits.upper - c.value, true)] {
                        if gap == f64::INFINITY {
                            continue;
                        }
                        self.note((-scale * gap).max(0.0));
                        let sign = if upper { -scale } else { scale };
                        let jacobian = c.jacobian.map(|x| sign * x);
                        let own = stabilisation.bias(scale * gap, h);
                        let mut bias = own;
                        let before = self.joint.rate(&jacobian, |i| self.state.twist(i));
                        let hits = limits.restitution > 0.0 && scale * gap + h * before <= 0.0;
                        if hits && bounce.is_some_and(|least| -before > least) {
                            bias = bias.min(limits.restitution * before);
                        }
                        let both = (bias, bias - own.min(0.0));
                        self.push(place + LIMIT, Set::NonNegative, &jacobian, both, 0.0, upper);
                    }
                }
                if law.friction > 0.0 {
                    let most = law.friction * h / scale;
                    let set = Set::Interval { lo: -most, hi: most };
                    self.push(place + FRICTION, set, &jacobian, (0.0, f64::NAN), 0.0, false);
                }
                if let Some(s) = &law.spring {
                    let (stiffness, damping) = (s.stiffness / (scale * scale), s.damping / (scale * scale));
                    self.elastic(place + SPRING, &jacobian, scale * (c.value - s.rest), stiffness, damping);
                }
            }
            Purpose::Position { share, h, .. } => {
                let most = share * self.joint.length;
                if let Some(motor) = law.motor.as_ref().filter(|m| m.commands_motion()) {
                    let holds =
                        self.memory.impulse[place + MOTOR].abs() < motor.limit * h / scale * (1.0 - 1e-9);
                    // What is corrected is what the step's tangent left. What the motor missed it asks for
                    // again in the next step: here it would drive through limits and contacts.
                    let error = match &motor.command {
                        Command::Position(f) if motor.is_rigid() => {
                            scale * (c.value - f.value(self.time[1]))
                                + h * self.rows.missed(self.j, place + MOTOR)
                        }
                        _ => 0.0,
                    };
                    if holds {
                        self.note(error.abs());
                        let error = error.clamp(-most, most);
                        self.push(place + MOTOR, Set::Free, &jacobian, (error, 0.0), 0.0, false);
                    }
                }
                if let Some(limits) = &law.limits {
                    for (gap, upper) in [(c.value - limits.lower, false), (limits.upper - c.value, true)] {
                        if gap == f64::INFINITY {
                            continue;
                        }
                        self.note((-scale * gap).max(0.0));
                        let sign = if upper { -scale } else { scale };
                        let jacobian = c.jacobian.map(|x| sign * x);
                        let bias = ((scale * gap).max(-most), 0.0);
                        self.push(place + LIMIT, Set::NonNegative, &jacobian, bias, 0.0, upper);
                    }
                }
            }
        }
    }

    /// The motor of a coordinate: an imposed speed, a position that is driven at with brakes, or a force.
    fn motor(
        &mut self,
        row: usize,
        c: &Coordinate,
        law: &Law,
        scale: f64,
        jacobian: &[f64; 12],
        [h, follow]: [f64; 2],
    ) {
        let Some(motor) = &law.motor else { return };
        let end = self.time[1];
        let most = motor.limit * h / scale;
        let set = if most == f64::INFINITY { Set::Free } else { Set::Interval { lo: -most, hi: most } };
        match &motor.command {
            Command::Speed(f) => self.push(row, set, jacobian, (-scale * f.value(end), f64::NAN), 0.0, false),
            Command::Position(f) => {
                if self.memory.impulse[row].abs() < most * (1.0 - 1e-9) && motor.is_rigid() {
                    self.note((scale * (c.value - f.value(self.time[0]))).abs());
                }
                let way = scale * (f.value(end) - c.value);
                // What the command does in the step, and a share of the error at its start
                // [TasoraAnitescu2008, eq. 4a].
                let late = (1.0 - follow) * scale * (f.value(self.time[0]) - c.value);
                let mut speed = if follow == 1.0 { way / h } else { (way - late) / h };
                if motor.limit.is_finite() {
                    let brakes = (0.25 * motor.limit / scale * self.mobility(jacobian) * way.abs()).sqrt();
                    // The command's own motion comes on top: following it is not a matter of braking.
                    let own = (scale * f.derivative(end)).abs();
                    speed = speed.clamp(-brakes - own, brakes + own);
                }
                self.push(row, set, jacobian, (-speed, f64::NAN), 0.0, false);
            }
            Command::Force(f) => {
                let x = (f.value(end) * h / scale).clamp(-most, most);
                let set = Set::Interval { lo: x, hi: x };
                self.push(row, set, jacobian, (0.0, f64::NAN), 0.0, false);
            }
        }
    }

    /// J M⁻¹ Jᵀ of a row.
    fn mobility(&self, jacobian: &[f64; 12]) -> f64 {
        let mut sum = 0.0;
        for (body, part) in self.joint.bodies.into_iter().zip([0, 6]) {
            if body == WORLD_BODY {
                continue;
            }
            let rank = self.state.order.rank(body) as usize;
            let (m, i) = (self.p.inv_mass[rank], &self.p.inv_inertia[rank]);
            let row = &jacobian[part..part + 6];
            let (x, y, z) = (row[3], row[4], row[5]);
            sum += m * (row[0] * row[0] + row[1] * row[1] + row[2] * row[2])
                + i[0] * x * x
                + i[1] * y * y
                + i[2] * z * z
                + 2.0 * (i[3] * x * y + i[4] * x * z + i[5] * y * z);
        }
        sum
    }
}
