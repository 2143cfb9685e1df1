//! Static equilibrium on request, by dynamic relaxation with kinetic damping \[Barnes1999\].
//!
//! The world moves from rest under its own forces; when its kinetic energy has passed a peak, the bodies are
//! near to where the forces balance, and all velocities are set to zero. From there it goes on, until the
//! first step from rest gains next to nothing: until the forces that are left are as small as was asked.
//! Steps are made longer while the energy rises for long, and shorter where it peaks soon. Every step is one
//! of the world's own, so that joints, limits, ropes, springs and contacts take part; time stands still, and
//! commands of motors and guides keep the value they have now.

use glam::DVec3;

use crate::error::WorldError;
use crate::settings::{Integrator, Settings};
use crate::world::World;

/// Acceleration at which the forces count as balanced, over that of gravity (or over the first one, without
/// gravity).
const RESIDUAL_FORCE: f64 = 1e-9;
/// Steps after which the search is given up.
const MAX_STEPS: usize = 50_000;
/// Steps of one rise of the energy after which nothing seems to hold the bodies.
const MAX_RISING_STEPS: usize = 2_000;

/// How a state of rest was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settled {
    /// Steps of the relaxation.
    pub steps: usize,
    /// What the bodies would still accelerate by, m/s² (root mean square, weighted by mass).
    pub acceleration: f64,
}

impl World {
    /// Moves the bodies to a nearby state of rest in which all forces balance: time and commands stay as they
    /// are, velocities become zero, and the joints' reactions are those of the equilibrium. The error says
    /// why none was found, and the world is then as it was.
    ///
    /// An equilibrium that the bodies are in already is found whether it is stable or not. Hooks are not
    /// called. It is for mechanisms: a heap without joints is refused.
    pub fn settle(&mut self) -> Result<Settled, WorldError> {
        let (before, settings) = (self.state.clone(), self.settings.clone());
        self.moved();
        let found = if self.loose { self.assemble_joints() } else { Ok(()) };
        self.settings = Settings {
            integrator: Integrator::Rattle { order: 2 },
            tolerance: settings.tolerance.min(1e-12),
            iterations: settings.iterations.max(5000),
            ..settings.clone()
        };
        let found = found.and_then(|()| self.relax(&before.force, &before.torque));
        self.settings = settings;
        match found {
            Ok(settled) => {
                (self.state.time, self.state.step) = (before.time, before.step);
                (self.state.force, self.state.torque) = (before.force, before.torque);
                self.stop();
                Ok(settled)
            }
            Err(e) => {
                self.loose |= before.step == 0;
                self.state = before;
                Err(e)
            }
        }
    }

    /// All dynamic bodies at rest.
    fn stop(&mut self) {
        for i in 0..self.model.bodies.len() {
            if self.model.bodies[i].inv_mass > 0.0 {
                (self.state.velocity[i], self.state.omega[i]) = (DVec3::ZERO, DVec3::ZERO);
            }
        }
    }

    fn relax(&mut self, force: &[DVec3], torque: &[DVec3]) -> Result<Settled, WorldError> {
        let refuse = |text: String| WorldError::Unsettled(format!("no equilibrium was found: {text}"));
        let (time, h) = (self.state.time, self.settings.h);
        let mass = self.total_mass();
        if mass == 0.0 {
            return Ok(Settled { steps: 0, acceleration: 0.0 });
        }
        let mut scale = self.settings.gravity.length();
        let (mut last, mut since) = (0.0, 0);
        self.stop();
        for steps in 1..=MAX_STEPS {
            self.state.force.copy_from_slice(force);
            self.state.torque.copy_from_slice(torque);
            // Commands are those of the end of the step: now.
            self.state.time = time - self.settings.h;
            crate::world::step::whole_step(self).map_err(|e| refuse(e.to_string()))?;
            if steps == 1
                && !self.work.collision.contacts.is_empty()
                && self.model.joint_slots().next().is_none()
            {
                return Err(refuse("a heap without joints comes to rest by running it".into()));
            }
            since += 1;
            let kinetic = self.energy().kinetic;
            if since == 1 {
                let acceleration = (2.0 * kinetic / mass).sqrt() / self.settings.h;
                if scale == 0.0 {
                    scale = acceleration;
                }
                if acceleration <= RESIDUAL_FORCE * scale {
                    return Ok(Settled { steps, acceleration });
                }
            }
            if kinetic < last {
                self.stop();
                if since < 5 {
                    self.settings.h = (0.5 * self.settings.h).max(1e-6 * h);
                }
                (last, since) = (0.0, 0);
                continue;
            }
            last = kinetic;
            if since % 10 == 0 {
                self.settings.h = (1.5 * self.settings.h).min(10.0 * h);
            }
            if since == MAX_RISING_STEPS {
                return Err(refuse(format!("{} keeps moving, and nothing stops it", self.fastest())));
            }
        }
        Err(refuse(format!("after {MAX_STEPS} steps {} still moves", self.fastest())))
    }

    /// The body that moves most, in words.
    fn fastest(&self) -> String {
        let s = &self.state;
        let speed = |i: &usize| s.velocity[*i].length_squared();
        let most = self.model.dynamic().max_by(|a, b| speed(a).total_cmp(&speed(b)));
        most.map_or("nothing".into(), |i| self.model.describe(i as u32))
    }
}
