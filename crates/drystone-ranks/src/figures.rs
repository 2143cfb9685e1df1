//! What is told of the whole world after a step, without anybody having all of it.

use drystone::joint::JointError;
use drystone::{Energy, Figures, Motion};

use crate::comm::Comm;
use crate::domain::Domain;
use crate::exact::{self, Exact};

/// Impulses of bodies that are not dynamic on own bodies against gravity, N s.
pub fn carried(domain: &Domain) -> Exact {
    let world = &domain.part.world;
    let mut sum = Exact::default();
    let Some(up) = (-world.settings().gravity).try_normalize() else { return sum };
    let bodies = &world.model().bodies;
    for c in world.contacts() {
        let [a, b] = c.bodies.map(|i| i as usize);
        if domain.own[a] && bodies[b].inv_mass == 0.0 {
            sum.add(c.impulse.dot(up));
        }
    }
    sum
}

/// Figures of the world, and what carries it over its weight; `carried` is of the step.
pub fn figures(comm: &dyn Comm, domain: &Domain, carried: Exact) -> (Figures, Option<f64>) {
    let world = &domain.part.world;
    let (bodies, state, settings) = (&world.model().bodies, world.state(), world.settings());
    let gravity = settings.gravity;
    let [mut count, mut mass, mut kinetic, mut potential] = [Exact::default(); 4];
    for (i, b) in bodies.iter().enumerate() {
        if !(domain.own[i] && b.alive && b.motion == Motion::Dynamic) {
            continue;
        }
        let (v, w) = (state.velocity[i], state.omega[i]);
        count.add(1.0);
        mass.add(b.mass.mass);
        kinetic.add(0.5 * b.mass.mass * v.length_squared() + 0.5 * w.dot(b.mass.inertia * w));
        potential.add(-b.mass.mass * gravity.dot(state.position[i]));
    }
    let [count, mass, kinetic, potential, carried] =
        exact::total(comm, [count, mass, kinetic, potential, carried]);
    // A joint is known to the owners of its bodies, who have both where they are.
    let mine = world.joint_error();
    let mut most = [mine.position, mine.velocity];
    comm.most(&mut most);
    let mut energy = Energy::default();
    (energy.kinetic, energy.potential) = (kinetic, potential);
    let joint_error = JointError { position: most[0], velocity: most[1] };
    let weight = mass * gravity.length();
    let support = (weight > 0.0).then(|| carried / settings.h / weight);
    (Figures { time: state.time, dynamic: count as usize, mass, energy, joint_error }, support)
}
