//! Once it has seen a scene of meshes and compounds, the search for contacts takes no more memory.

use std::sync::Arc;

use crate::counting::TAKEN;
use crate::mesh_common::{field, irregular, mesh};
use drystone::collide::Detector;
use drystone::{BodyDef, Compound, Pose, Settings, Shape, World};
use glam::{DQuat, DVec3};

#[test]
fn no_allocation_once_the_buffers_are_there() {
    let bump = |x: f64, y: f64| 0.1 * (3.0 * x).sin() * (2.0 * y).cos();
    let frame = Compound::new(vec![
        (Pose::at(DVec3::X * 0.2), Shape::Box { half: DVec3::splat(0.1) }),
        (Pose::at(-DVec3::X * 0.2), Shape::Box { half: DVec3::splat(0.1) }),
        (
            Pose::new(DVec3::ZERO, DQuat::from_rotation_y(1.57)),
            Shape::Capsule { radius: 0.05, half_length: 0.2 },
        ),
    ]);
    let frame = Shape::Compound(Arc::new(frame.unwrap()));
    for ground in [mesh(irregular(5.0, 24, 3, bump)), field(26, 26, 0.2, bump), frame.clone()] {
        let mut w = World::new(Settings::default()).unwrap();
        w.add_body(BodyDef::fixed(ground.clone())).unwrap();
        let shapes = [
            frame.clone(),
            Shape::Sphere { radius: 0.2 },
            Shape::Box { half: DVec3::splat(0.2) },
            Shape::Capsule { radius: 0.1, half_length: 0.2 },
        ];
        for (k, shape) in shapes.into_iter().enumerate() {
            let at = DVec3::new(0.25 * k as f64 - 0.3, 0.1, 0.15);
            w.add_body(BodyDef::dynamic(shape, 1.0).at(at)).unwrap();
        }
        let states: Vec<_> = (0..5)
            .map(|k| {
                let mut state = w.state().clone();
                state.position.iter_mut().skip(1).for_each(|x| x.x += 0.07 * k as f64);
                state
            })
            .collect();
        let v = vec![[0.5, 0.2, -0.3, 1.0, 0.0, 0.5]; 5];
        let mut detector = Detector::new(None);
        let mut contacts = Vec::new();
        let mut all = || {
            let mut most = 0;
            for state in &states {
                detector.find_pairs(w.model(), state, &v, 0.01, 0.01);
                detector.find_contacts(w.model(), state, &v, 0.01, 0.01, &mut contacts);
                most = most.max(contacts.len());
            }
            most
        };
        let fresh = TAKEN.get();
        // Twice: the second time it comes back from the last place to the first.
        let most = all().max(all());
        let warm = TAKEN.get();
        (0..5).for_each(|_| {
            all();
        });
        assert_eq!(TAKEN.get() - warm, 0, "{}", ground.name());
        assert!(warm > fresh, "the allocator counts");
        assert!(most > 4, "{}: only {most} contacts", ground.name());
    }
}
