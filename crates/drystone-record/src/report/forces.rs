//! Forces of the last step's contacts.

use drystone::World;
use serde::Serialize;

/// The smallest contact forces that give the last step's velocities.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct ContactForces {
    /// Contacts that press, and how many of their forces could not be others.
    pub pressed: usize,
    pub determined: usize,
    /// Contacts of islands too large to tell.
    pub unknown: usize,
    /// Largest change of a velocity by them, m/s.
    pub velocity_off_m_s: f64,
    pub contacts: Vec<ContactForce>,
}

/// One of them.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct ContactForce {
    pub bodies: [u32; 2],
    pub point_m: [f64; 3],
    /// On the first body, world axes.
    pub force_n: [f64; 3],
    /// Whether it could not be another one; null where that is not known.
    pub determined: Option<bool>,
    pub normal_determined: Option<bool>,
}

impl ContactForces {
    /// Of a world whose last solution was kept; None where there is none.
    pub fn of(world: &World) -> Option<Self> {
        let found = world.smallest_forces()?;
        let most = found.force.iter().map(|f| f.length()).fold(0.0, f64::max);
        let mut all =
            Self { pressed: 0, determined: 0, unknown: 0, velocity_off_m_s: found.off, contacts: Vec::new() };
        for (i, c) in world.contacts().iter().enumerate() {
            let (force, determined) = (found.force[i], found.determined[i]);
            // What carries nothing, and could carry nothing, is not worth a line.
            if force.length() <= 1e-9 * most && determined == Some(true) {
                continue;
            }
            all.pressed += 1;
            all.determined += usize::from(determined == Some(true));
            all.unknown += usize::from(determined.is_none());
            all.contacts.push(ContactForce {
                bodies: c.bodies,
                point_m: c.point.to_array(),
                force_n: force.to_array(),
                determined,
                normal_determined: found.normal_determined[i],
            });
        }
        Some(all)
    }
}
