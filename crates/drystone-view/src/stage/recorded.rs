//! The stage of a recording: what its catalogue knows, in the order in which it was written down.

use drystone::{Motion, Pose};
use drystone_record::recording::{Catalogue, NOBODY};
use glam::DVec3;

use super::{Link, Stage, quantum_of};

/// Joints whose axis says nothing.
const WITHOUT_AXIS: [&str; 5] = ["fixed", "ball", "distance", "rope", "spring"];

impl Stage {
    /// The stage of what a catalogue has so far; `glass` are the slots of bodies that are not to hide others.
    pub fn of_catalogue(catalogue: &Catalogue, glass: &[usize], epoch: u32) -> Self {
        let moving: Vec<i64> =
            catalogue.bodies.iter().filter(|b| b.motion != Motion::Static).map(|b| b.id).collect();
        let moving: std::collections::HashSet<i64> = moving.into_iter().collect();
        let sizes = catalogue.colliders.iter().filter(|c| moving.contains(&c.body));
        let sizes = sizes.filter_map(|c| Some(catalogue.shapes.get(c.shape)?.inner_radius()));
        let quantum = quantum_of(sizes, catalogue.bodies.iter().map(|b| b.pose.position));
        let mut stage = Self { epoch, quantum, glass: glass.to_vec(), ..Self::default() };
        stage.follow_catalogue(catalogue, 0, 0);
        stage
    }

    /// Takes up what has come since the catalogue had so many shapes of bodies and so many joints.
    pub fn follow_catalogue(&mut self, catalogue: &Catalogue, colliders: usize, joints: usize) {
        let first = self.bodies();
        for body in &catalogue.bodies[first..] {
            self.recorded.insert(body.id, self.bodies() as u32);
            self.add_body(body.id as u32 as usize, body.motion, Some(&body.name));
        }
        for c in &catalogue.colliders[colliders..] {
            if let (Some(number), Some(shape)) = (self.of_id(c.body), catalogue.shapes.get(c.shape)) {
                self.add_shape(number, shape, &c.local);
            }
        }
        self.shapeless(first);
        for j in &catalogue.joints[joints..] {
            let side = |id: i64| match id {
                NOBODY => Some(-1),
                id => self.of_id(id).map(|n| n as i32),
            };
            let (Some(a), Some(b), Some(frames)) = (side(j.bodies[0]), side(j.bodies[1]), j.frames) else {
                continue;
            };
            let axis = frames[0].rotation * DVec3::Z;
            self.links.push(Link {
                bodies: [a, b],
                name: j.name.clone(),
                at: frames.map(|f: Pose| f.position),
                axis: if WITHOUT_AXIS.contains(&j.kind.as_str()) { DVec3::ZERO } else { axis },
                kind: j.kind.clone(),
            });
        }
    }

    /// The number of the body that a recording numbers so.
    pub fn of_id(&self, id: i64) -> Option<usize> {
        self.recorded.get(&id).map(|n| *n as usize)
    }
}
