//! Energies, momenta, overlaps.

use super::World;
use crate::diagnostics::{Energy, Figures, Penetration};
use drystone_solve::solver::Solver;
use glam::DVec3;

impl World {
    /// What is told of it as a whole.
    #[doc(hidden)]
    pub fn figures(&self) -> Figures {
        Figures {
            time: self.state.time,
            dynamic: self.model.dynamic().count(),
            mass: self.total_mass(),
            energy: self.energy(),
            joint_error: self.joint_error(),
        }
    }

    /// Energy now.
    pub fn energy(&self) -> Energy {
        let mut e = Energy::default();
        for i in self.model.dynamic() {
            let b = &self.model.bodies[i];
            let (v, w) = (self.state.velocity[i], self.state.omega[i]);
            e.kinetic += 0.5 * b.mass.mass * v.length_squared() + 0.5 * w.dot(b.mass.inertia * w);
            e.potential -= b.mass.mass * self.settings.gravity.dot(self.state.position[i]);
        }
        e.potential += self.field_energy();
        e
    }

    /// Total mass of the dynamic bodies, kg.
    pub fn total_mass(&self) -> f64 {
        self.model.dynamic().map(|i| self.model.bodies[i].mass.mass).sum()
    }

    /// Overlaps at the positions as they are now (the contacts of the last step are older by one step).
    pub fn penetration(&mut self) -> Penetration {
        let rest = vec![[0.0; 6]; self.model.bodies.len()];
        let mut contacts = Vec::new();
        self.work.collision.detector.find_pairs(&self.model, &self.state, &rest, 0.0, 0.0);
        self.work.collision.detector.find_contacts(&self.model, &self.state, &rest, 0.0, 0.0, &mut contacts);
        let mut p = Penetration::default();
        for c in contacts.iter().filter(|c| c.gap <= 0.0) {
            p.touching += 1;
            p.max = p.max.max(-c.gap);
            p.mean -= c.gap;
        }
        p.mean /= p.touching.max(1) as f64;
        p
    }

    /// Memory that the last step's contacts take (detection, both problems, solver, warm start), bytes.
    #[doc(hidden)]
    pub fn contact_bytes(&self) -> usize {
        size_of_val(self.work.collision.contacts.as_slice())
            + size_of_val(self.state.multipliers.as_slice())
            + self.work.velocity.assembler.bytes()
            + self.work.velocity.solver.bytes()
            + self.work.position.solver.bytes()
            + self.work.position.stabiliser.bytes()
    }

    /// Force that bodies which are not dynamic put on the dynamic ones against gravity in the last step, over
    /// their weight: 1 for anything at rest. None without gravity.
    pub fn support_over_weight(&self) -> Option<f64> {
        let g = self.settings.gravity;
        let up = -g.try_normalize()?;
        let weight = self.total_mass() * g.length();
        let impulse: f64 = self
            .work
            .collision
            .contacts
            .iter()
            .filter(|c| self.model.bodies[c.bodies[1] as usize].inv_mass == 0.0)
            .map(|c| c.impulse.dot(up))
            .sum();
        (weight > 0.0).then(|| impulse / self.settings.h / weight)
    }

    /// Contact force on each body in the last step, by slot, N.
    pub fn contact_forces(&self) -> Vec<DVec3> {
        let mut f = vec![DVec3::ZERO; self.model.bodies.len()];
        for c in &self.work.collision.contacts {
            f[c.bodies[0] as usize] += c.impulse / self.settings.h;
            f[c.bodies[1] as usize] -= c.impulse / self.settings.h;
        }
        f
    }

    /// Largest and mean speed of the dynamic bodies' centres, m/s.
    pub fn speeds(&self) -> (f64, f64) {
        let (mut max, mut sum, mut n) = (0.0f64, 0.0, 0usize);
        for i in self.model.dynamic() {
            let v = self.state.velocity[i].length();
            max = max.max(v);
            sum += v;
            n += 1;
        }
        (max, sum / n.max(1) as f64)
    }
}
