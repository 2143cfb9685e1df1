//! Contacts as the step knows them: geometry between two bodies, and what the solver found.

use glam::DVec3;
use serde::{Deserialize, Serialize};

/// A contact is the same contact from step to step while its key is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ContactKey {
    /// The lower and the higher collider slot.
    pub colliders: [u32; 2],
    /// Which features touch.
    pub feature: u32,
}

/// A contact between two bodies, of which the first is dynamic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// Identity over time.
    pub key: ContactKey,
    /// Body slots, A then B; n points from B to A.
    pub bodies: [u32; 2],
    /// Half-way between the two surfaces, m, world.
    pub point: DVec3,
    /// Unit normal from B to A.
    pub normal: DVec3,
    /// Signed distance, m.
    pub gap: f64,
    /// Coefficient of friction. A callback may change it.
    pub mu: f64,
    /// Impulse on A during the step, N s, world axes: before the solve the warm start, after it the solution.
    pub impulse: DVec3,
}

impl Contact {
    /// Normal part of the impulse, N s.
    pub fn normal_impulse(&self) -> f64 {
        self.impulse.dot(self.normal)
    }

    /// Tangential part of the impulse, N s.
    pub fn tangential_impulse(&self) -> DVec3 {
        self.impulse - self.normal_impulse() * self.normal
    }
}

/// What a contact leaves for the next step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remembered {
    /// Identity.
    pub key: ContactKey,
    /// Impulse, N s, world axes.
    pub impulse: DVec3,
}

/// Warm start: gives each contact the impulse its key had in the last step, and zero to new ones. Both lists are sorted
/// by key, so one walk does it. The impulse is turned back into the cone by the solver's first projection.
pub fn remember(contacts: &mut [Contact], last: &[Remembered]) {
    let mut at = 0;
    for c in contacts {
        while at < last.len() && last[at].key < c.key {
            at += 1;
        }
        c.impulse = if at < last.len() && last[at].key == c.key { last[at].impulse } else { DVec3::ZERO };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impulses_follow_their_keys() {
        let key = |a, b, feature| ContactKey { colliders: [a, b], feature };
        let blank = Contact {
            key: key(0, 0, 0),
            bodies: [0, 0],
            point: DVec3::ZERO,
            normal: DVec3::Z,
            gap: 0.0,
            mu: 0.0,
            impulse: DVec3::ONE,
        };
        let mut now: Vec<_> =
            [key(0, 1, 0), key(0, 1, 2), key(2, 3, 0)].map(|key| Contact { key, ..blank }).to_vec();
        let last = [(key(0, 1, 1), 1.0), (key(0, 1, 2), 2.0), (key(1, 3, 0), 3.0)]
            .map(|(key, x)| Remembered { key, impulse: DVec3::splat(x) });
        remember(&mut now, &last);
        assert_eq!(now.iter().map(|c| c.impulse.x).collect::<Vec<_>>(), [0.0, 2.0, 0.0]);
    }
}
