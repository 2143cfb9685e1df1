//! Debug drawing shows what there is, where it is.

use std::sync::Arc;

use drystone::debug::{Colour, DebugDraw, DebugOptions, outline};
use drystone::{
    BodyDef, Collider, HeightField, Hull, JointDef, Pose, Settings, Shape, Sleep, TriMesh, World,
};
use glam::{DQuat, DVec3};

#[derive(Default)]
struct Drawn {
    lines: Vec<(DVec3, DVec3, Colour)>,
    points: Vec<DVec3>,
}

impl DebugDraw for Drawn {
    fn line(&mut self, from: DVec3, to: DVec3, colour: Colour) {
        self.lines.push((from, to, colour));
    }
    fn point(&mut self, at: DVec3, _size: f64, _colour: Colour) {
        self.points.push(at);
    }
}

impl Drawn {
    fn of(world: &World, what: DebugOptions) -> Self {
        let mut drawn = Self::default();
        world.debug_draw(&mut drawn, &what);
        drawn
    }

    fn count(&self, colour: Colour) -> usize {
        self.lines.iter().filter(|l| l.2 == colour).count()
    }
}

const NOTHING: DebugOptions = DebugOptions {
    shapes: false,
    boxes: false,
    contacts: false,
    forces: None,
    joints: false,
    axes: None,
    velocities: None,
    size: 0.05,
};

/// A cube at rest on a floor, and one that hangs on a hinge.
fn scene() -> World {
    let mut w = World::new(Settings::default()).unwrap();
    w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.5)).unwrap();
    let cube = || BodyDef::dynamic(Shape::cuboid(DVec3::splat(0.1)), 1.0).friction(0.5);
    w.add_body(cube().at(DVec3::Z * 0.1)).unwrap();
    let hung = w.add_body(cube().at(DVec3::new(1.0, 0.0, 1.0))).unwrap();
    w.add_joint(JointDef::revolute(None, hung, DVec3::new(1.0, 0.0, 1.5), DVec3::Y)).unwrap();
    (0..20).for_each(|_| drop(w.step().unwrap()));
    w
}

#[test]
fn each_option_draws_its_own() {
    let w = scene();
    let none = Drawn::of(&w, NOTHING);
    assert!(none.lines.is_empty() && none.points.is_empty());
    let shapes = Drawn::of(&w, DebugOptions { shapes: true, ..NOTHING });
    assert_eq!(shapes.count(Colour::DYNAMIC), 24, "two cubes of twelve edges");
    assert!(shapes.count(Colour::STATIC) > 10 && shapes.points.is_empty());
    let boxes = Drawn::of(&w, DebugOptions { boxes: true, ..NOTHING });
    assert_eq!(boxes.count(Colour::BOX), 24, "a half-space has none");
    let contacts = Drawn::of(&w, DebugOptions { contacts: true, ..NOTHING });
    assert_eq!((contacts.points.len(), contacts.count(Colour::CONTACT)), (4, 4));
    assert!(contacts.points.iter().all(|p| p.z.abs() < 1e-3), "where the cube stands");
    let joints = Drawn::of(&w, DebugOptions { joints: true, ..NOTHING });
    assert_eq!(joints.count(Colour::JOINT), 2);
    let axes = Drawn::of(&w, DebugOptions { axes: Some(0.3), ..NOTHING });
    assert_eq!(axes.lines.len(), 9);
    assert!(axes.lines.iter().all(|l| ((l.1 - l.0).length() - 0.3).abs() < 1e-12));
}

#[test]
fn forces_have_their_length() {
    let w = scene();
    let forces = Drawn::of(&w, DebugOptions { forces: Some(0.01), ..NOTHING });
    // One cube's weight in four contacts, the other's in the joint.
    let up: f64 = forces.lines.iter().map(|l| l.1.z - l.0.z).sum();
    assert!((up - 0.01 * 2.0 * 9.81).abs() < 1e-5, "{up}");
}

#[test]
fn sleepers_and_sensors_have_colours_of_their_own() {
    let mut w = World::new(Settings { sleep: Some(Sleep::default()), ..Settings::default() }).unwrap();
    w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.5)).unwrap();
    let mut cube = BodyDef::dynamic(Shape::cuboid(DVec3::splat(0.1)), 1.0).at(DVec3::Z * 0.1).friction(0.5);
    cube.colliders.push(Collider::sensor(Shape::cuboid(DVec3::splat(0.2))));
    w.add_body(cube).unwrap();
    let what = DebugOptions { shapes: true, ..NOTHING };
    let awake = Drawn::of(&w, what);
    assert_eq!((awake.count(Colour::DYNAMIC), awake.count(Colour::SENSOR)), (12, 12));
    (0..300).for_each(|_| drop(w.step().unwrap()));
    assert_eq!(w.asleep(), 1);
    assert_eq!(Drawn::of(&w, what).count(Colour::ASLEEP), 12);
}

#[test]
fn outlines_lie_on_their_shapes() {
    let corners = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
    let pose = Pose::new(DVec3::new(1.0, -2.0, 0.5), DQuat::from_euler(glam::EulerRot::XYZ, 0.3, -0.8, 1.9));
    let hull = Shape::Hull(Arc::new(Hull::new(&corners).unwrap()));
    let ground = HeightField::new(3, 2, [0.5, 0.5], vec![0.0, 0.1, 0.2, 0.0, 0.3, 0.1]).unwrap();
    let faces = vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
    let mesh = TriMesh::new(corners.to_vec(), faces).unwrap();
    let pair =
        vec![(Pose::at(DVec3::X), Shape::sphere(0.2)), (Pose::at(-DVec3::X), Shape::cuboid(DVec3::ONE))];
    for (shape, lines) in [
        (Shape::sphere(0.7), 72),
        (Shape::ellipsoid(DVec3::new(0.2, 0.5, 0.9)), 72),
        (Shape::cuboid(DVec3::new(0.2, 0.5, 0.9)), 12),
        (Shape::capsule(0.2, 0.5), 100),
        (Shape::cylinder(0.2, 0.5), 52),
        (Shape::cone(0.2, 0.5), 28),
        (hull.clone(), 6),
        (Shape::Mesh(Arc::new(mesh)), 6),
        (Shape::HeightField(Arc::new(ground)), 7),
        (Shape::compound(pair).unwrap(), 84),
    ] {
        let mut ends = Vec::new();
        outline(&shape, &pose, &mut |a, b| ends.extend([a, b]));
        assert_eq!(ends.len(), 2 * lines, "{}", shape.name());
        for x in ends {
            let near = drystone::collide::query::project(&shape, &pose, x).distance;
            assert!(near.abs() < 1e-9, "{}: {x} is {near} m off the surface", shape.name());
        }
    }
}
