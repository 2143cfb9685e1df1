//! How a state knows whose it is.
//!
//! A state carries a sum over the living bodies (id, centre of mass), their shapes (slot, kind, size) and the
//! joints (id, kind, bodies) of the world that it was taken from. Worlds that were made alike, loaded or
//! copied have the same sum, and so has a world where somebody came and went.

use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::body::Motion;
use crate::joint::Joint;
use crate::model::{Body, ColliderSlot, Model, NOBODY};

/// Of which bodies, shapes and joints a state is. Motion is compared without it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Whose(pub(crate) u64);

impl PartialEq for Whose {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Words stirred into one (the finaliser of SplitMix64 after each).
pub(crate) fn stirred(words: &[u64]) -> u64 {
    words.iter().fold(0x9e37_79b9_7f4a_7c15, |h, word| {
        let mut x = (h ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    })
}

/// A name as a number (FNV-1a).
pub(crate) fn spelled(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

impl Whose {
    /// Nobody's.
    pub const EMPTY: Self = Self(1);

    /// States of files that do not say it have 0.
    pub(crate) fn is_known(self) -> bool {
        self.0 != 0
    }

    pub fn add_body(&mut self, slot: u32, b: &Body) {
        // Shapes are placed from the centre, and a state has its place. In single precision: another machine
        // may have rounded it otherwise.
        let centre = if b.motion == Motion::Dynamic { b.mass.centre } else { DVec3::ZERO };
        let [x, y, z] = centre.to_array().map(|x| u64::from((x as f32 + 0.0).to_bits()));
        self.add(&[1, u64::from(slot), u64::from(b.generation), x, y, z]);
    }

    pub fn add_collider(&mut self, slot: u32, c: &ColliderSlot) {
        // In single precision, as centres are.
        let size = [c.shape.bounding_radius(), c.shape.inner_radius()];
        let [outer, inner] = size.map(|x| u64::from((x as f32).to_bits()));
        self.add(&[2, u64::from(slot), u64::from(c.body), spelled(c.shape.name()), outer, inner]);
    }

    pub fn add_joint(&mut self, slot: u32, j: &Joint) {
        self.0 = self.0.wrapping_add(Self::of_joint(slot, j));
    }

    pub fn take_joint(&mut self, slot: u32, j: &Joint) {
        self.0 = self.0.wrapping_sub(Self::of_joint(slot, j));
    }

    fn of_joint(slot: u32, j: &Joint) -> u64 {
        let [a, b] = j.bodies.map(u64::from);
        stirred(&[3, u64::from(slot), u64::from(j.generation), spelled(j.kind.name()), a, b])
    }

    fn add(&mut self, words: &[u64]) {
        self.0 = self.0.wrapping_add(stirred(words));
    }
}

impl Model {
    /// What a state of these bodies, shapes and joints carries.
    pub(crate) fn whose(&self) -> Whose {
        let mut all = Whose::EMPTY;
        for i in self.slots() {
            all.add_body(i as u32, &self.bodies[i]);
        }
        for (k, c) in self.colliders.iter().enumerate().filter(|(_, c)| c.body != NOBODY) {
            all.add_collider(k as u32, c);
        }
        for j in self.joint_slots() {
            all.add_joint(j as u32, &self.joints[j]);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use crate::body::{BodyDef, Collider, MassProperties, Motion};
    use crate::joint::JointDef;
    use crate::settings::Settings;
    use crate::shape::{Pose, Shape};
    use crate::world::World;

    fn ball(x: f64) -> BodyDef {
        BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 1.0).at(DVec3::X * x)
    }

    fn agrees(w: &World, what: &str) {
        assert_eq!(w.state.whose.0, w.model.whose().0, "after {what}");
    }

    #[test]
    fn a_state_knows_whose_it_is_after_every_change() {
        let mut w = World::new(Settings::default()).unwrap();
        agrees(&w, "nothing");
        let [a, b] = [0.0, 1.0].map(|x| w.add_body(ball(x)).unwrap());
        agrees(&w, "adding");
        let c = w.add_collider(a, Collider::new(Shape::Sphere { radius: 0.2 }, 0.0)).unwrap();
        agrees(&w, "a collider");
        w.set_collider_shape(c, Shape::Box { half: DVec3::ONE }).unwrap();
        agrees(&w, "a shape");
        let joint = w.add_joint(JointDef::ball(a, b, DVec3::ZERO)).unwrap();
        agrees(&w, "a joint");
        let heavy = MassProperties { centre: DVec3::X * 0.3, ..MassProperties::principal(2.0, DVec3::ONE) };
        w.set_mass(a, heavy).unwrap();
        agrees(&w, "a mass");
        w.remove_joint(joint).unwrap();
        agrees(&w, "removing the joint");
        w.set_motion(a, Motion::Static).unwrap();
        agrees(&w, "a motion");
        w.remove_collider(c).unwrap();
        agrees(&w, "removing the collider");
        w.add_joint(JointDef::ball(a, b, DVec3::ZERO)).unwrap();
        w.remove_body(b).unwrap();
        agrees(&w, "removing");
        w.add_body(ball(3.0)).unwrap();
        agrees(&w, "adding into a free slot");
        w = World::load(&w.save().unwrap()).unwrap();
        agrees(&w, "loading");
        w.set_collider_place(w.colliders_of(a).unwrap()[0], Pose::at(DVec3::Z)).unwrap();
        w.step().unwrap();
        agrees(&w, "a step");
    }

    #[test]
    fn a_state_is_of_the_same_bodies_and_no_others() {
        let make = || {
            let mut w = World::new(Settings::default()).unwrap();
            let ids = [0.0, 1.0].map(|x| w.add_body(ball(x)).unwrap());
            (w, ids)
        };
        let (mut w, [a, b]) = make();
        let before = w.state().clone();
        // Somebody comes, and goes: also where the slot was another's.
        let guest = w.add_body(ball(2.0)).unwrap();
        let told = w.restore(before.clone()).unwrap_err().to_string();
        assert!(told.contains("the state has 2 bodies, the world 3"), "{told}");
        w.remove_body(guest).unwrap();
        w.step().unwrap();
        w.restore(before.clone()).unwrap();
        assert_eq!((w.state().step, w.state().position.len()), (0, 3));
        w.step().unwrap();
        // A world that was made in the same way, and one that was not.
        let (mut twin, _) = make();
        twin.restore(before.clone()).unwrap();
        let mut other = World::new(Settings::default()).unwrap();
        other.add_body(ball(0.0)).unwrap();
        other.add_body(BodyDef::dynamic(Shape::Box { half: DVec3::ONE }, 1.0)).unwrap();
        let told = other.restore(before.clone()).unwrap_err().to_string();
        assert!(told.contains("the state is of other bodies"), "{told}");
        // The same shape in another size.
        let mut other = World::new(Settings::default()).unwrap();
        other.add_body(ball(0.0)).unwrap();
        other.add_body(BodyDef::dynamic(Shape::Sphere { radius: 0.5 }, 1.0).at(DVec3::X)).unwrap();
        assert!(other.check_state(&before).unwrap_err().to_string().contains("other shapes (kind or size)"));
        assert!(twin.check_state(&before).is_ok());
        // The slot of one who is gone is another's.
        w.remove_body(b).unwrap();
        let c = w.add_body(ball(5.0)).unwrap();
        let d = w.add_body(ball(7.0)).unwrap();
        w.remove_body(d).unwrap();
        assert!(w.restore(before).is_err() && w.position(c).unwrap().x == 5.0 && w.position(a).is_ok());
    }

    #[test]
    fn who_is_static_by_now_stands() {
        let mut w = World::new(Settings::default()).unwrap();
        let a = w.add_body(ball(0.0).moving(DVec3::X, DVec3::Z)).unwrap();
        let before = w.state().clone();
        w.set_motion(a, Motion::Static).unwrap();
        w.restore(before).unwrap();
        assert_eq!((w.velocity(a).unwrap(), w.angular_velocity(a).unwrap()), (DVec3::ZERO, DVec3::ZERO));
    }
}
