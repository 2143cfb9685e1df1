//! Compounds, and what bodies make of shapes: mass, centre, refusals.

use std::f64::consts::PI;

use drystone::random::Random;
use drystone::shape::{Compound, Pose, Shape};
use drystone::{BodyDef, MassProperties, Motion, Settings, World};
use glam::{DMat3, DQuat, DVec3};

fn assorted(random: &mut Random) -> Vec<Shape> {
    let points: Vec<DVec3> = (0..12).map(|_| random.in_ball() + DVec3::X).collect();
    vec![
        Shape::sphere(0.4),
        Shape::cuboid(DVec3::new(0.3, 0.4, 0.5)),
        Shape::capsule(0.2, 0.5),
        Shape::cylinder(0.5, 0.2),
        Shape::cone(0.5, 0.9),
        Shape::hull(&points).unwrap(),
        Shape::rounded(Shape::cone(0.3, 0.4), 0.1).unwrap(),
    ]
}

fn scattered(random: &mut Random) -> Vec<(Pose, Shape)> {
    let mut parts = Vec::new();
    for shape in assorted(random) {
        parts.push((Pose::new(3.0 * random.in_ball(), random.rotation()), shape));
    }
    parts
}

/// A box cut into eight unequal boxes, some of them turned by right angles, is the box.
#[test]
fn the_parts_of_a_box_weigh_what_the_box_weighs() {
    let half = DVec3::new(0.5, 0.8, 1.1);
    let cut = DVec3::new(0.1, -0.3, 0.4);
    let mut parts = Vec::new();
    for k in 0..8 {
        let (mut low, mut high) = (-half, half);
        for axis in 0..3 {
            if k >> axis & 1 == 0 { high[axis] = cut[axis] } else { low[axis] = cut[axis] }
        }
        let (mut h, mut turn) = (0.5 * (high - low), DQuat::IDENTITY);
        if k % 2 == 1 {
            h = DVec3::new(h.y, h.x, h.z);
            turn = DQuat::from_rotation_z(0.5 * PI);
        }
        parts.push((Pose::new(0.5 * (low + high), turn), Shape::cuboid(h)));
    }
    let place = Pose::new(DVec3::new(5.0, -3.0, 2.0), DQuat::from_rotation_y(0.7));
    let whole = Shape::compound(vec![(place, Shape::compound(parts).unwrap())]).unwrap();
    let m = whole.moments();
    let exact = Shape::cuboid(half).moments().placed(&place);
    assert!((m.volume - exact.volume).abs() < 1e-13);
    assert!(m.centroid.distance(exact.centroid) < 1e-13);
    assert!(whole.inertia(2.0).abs_diff_eq(exact.inertia(2.0), 1e-13));
}

#[test]
fn nested_compounds_are_flattened() {
    let mut random = Random::new(1);
    let inner = Compound::new(scattered(&mut random)).unwrap();
    let place = Pose::new(random.in_ball(), random.rotation());
    let mut parts = scattered(&mut random);
    parts.insert(2, (place, Shape::from(inner.clone())));
    let outer = Compound::new(parts.clone()).unwrap();
    assert_eq!(outer.parts().len(), 14);
    assert!(outer.parts().iter().all(|(_, s)| s.is_convex()));
    for (k, (pose, shape)) in inner.parts().iter().enumerate() {
        let (there, same) = &outer.parts()[2 + k];
        assert_eq!(same, shape);
        let p = DVec3::new(0.3, -0.2, 0.7);
        assert!(there.point(p).distance(place.point(pose.point(p))) < 1e-14);
    }
    assert_eq!(outer.bvh().len(), 14);
}

/// The furthest points of the parts, found one by one in many directions.
#[test]
fn bounds_and_support_are_those_of_the_parts() {
    let mut random = Random::new(2);
    for _ in 0..20 {
        let compound = Compound::new(scattered(&mut random)).unwrap();
        let shape = Shape::from(compound.clone());
        let mut reach = 0.0f64;
        for _ in 0..300 {
            let d = random.unit_vector();
            let best = compound
                .parts()
                .iter()
                .map(|(p, s)| p.point(s.support(p.rotation.conjugate() * d)).dot(d))
                .fold(f64::NEG_INFINITY, f64::max);
            assert!((shape.support(d).dot(d) - best).abs() < 1e-13);
            reach = reach.max(best);
        }
        assert!(reach <= shape.bounding_radius() + 1e-12);
        // In 300 directions, one is within 0.2 rad of the furthest point, whose height it shows to 2 %.
        assert!(reach > 0.97 * shape.bounding_radius(), "{reach} of {}", shape.bounding_radius());
        let pose = Pose::new(random.in_ball(), random.rotation());
        let bounds = shape.aabb(&pose);
        for k in 0..3 {
            let back = pose.rotation.conjugate();
            let high = pose.point(shape.support(back * DVec3::AXES[k]))[k];
            let low = pose.point(shape.support(back * -DVec3::AXES[k]))[k];
            assert!((bounds.max[k] - high).abs() < 1e-12 && (bounds.min[k] - low).abs() < 1e-12);
        }
    }
}

#[test]
fn overlap_counts_twice() {
    let ball = || (Pose::IDENTITY, Shape::sphere(1.0));
    let two = Shape::compound(vec![ball(), ball()]).unwrap();
    assert!((two.volume() / Shape::sphere(1.0).volume() - 2.0).abs() < 1e-15);
}

#[test]
fn parts_that_cannot_be_are_named() {
    let ok = || (Pose::IDENTITY, Shape::sphere(1.0));
    let refuse = |part| Compound::new(vec![ok(), part]).unwrap_err();
    let square = vec![DVec3::ZERO, DVec3::X, DVec3::Y];
    let mesh = Shape::mesh(square, vec![[0, 1, 2]]).unwrap();
    let why = refuse((Pose::IDENTITY, mesh));
    assert!(why.contains("part 1") && why.contains("decompose"), "{why}");
    let field = Shape::height_field(2, 2, [1.0; 2], vec![0.0; 4]).unwrap();
    assert!(refuse((Pose::IDENTITY, field)).contains("part 1"));
    assert!(refuse((Pose::IDENTITY, Shape::HalfSpace)).contains("part 1: a half-space"));
    assert!(refuse((Pose::IDENTITY, Shape::sphere(-1.0))).contains("part 1: radius"));
    assert!(refuse((Pose::at(DVec3::NAN), Shape::sphere(1.0))).contains("part 1: position"));
    let crooked = Pose::new(DVec3::ZERO, DQuat::from_xyzw(0.0, 0.0, 0.0, 1.1));
    assert!(refuse((crooked, Shape::sphere(1.0))).contains("part 1: rotation"));
    assert!(Compound::new(Vec::new()).unwrap_err().contains("at least one part"));
}

/// Every shape through a text and back, equal to the last bit.
#[test]
fn shapes_come_back_from_text() {
    let mut random = Random::new(3);
    let mut shapes = assorted(&mut random);
    shapes.extend([Shape::HalfSpace, Shape::ellipsoid(DVec3::new(0.1, 0.2, 0.3))]);
    shapes.push(Shape::rounded(shapes[5].clone(), 0.25).unwrap());
    shapes.push(Shape::compound(scattered(&mut random)).unwrap());
    for shape in shapes {
        let text = serde_json::to_string(&shape).unwrap();
        let back: Shape = serde_json::from_str(&text).unwrap();
        assert_eq!(back, shape);
        assert_eq!(serde_json::to_string(&back).unwrap(), text);
        let d = random.unit_vector();
        assert_eq!(back.support(d), shape.support(d));
        assert_eq!(format!("{:?}", back.moments()), format!("{:?}", shape.moments()));
    }
    let bad = "{\"compound\":{\"parts\":[[{\"position\":[0,0,0],\"rotation\":[0,0,0,1]},\"half_space\"]]}}";
    assert!(serde_json::from_str::<Shape>(bad).unwrap_err().to_string().contains("part 0"));
}

#[test]
fn a_body_turns_about_the_centroid_of_its_shape() {
    let points = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z].map(|p| p + 2.0 * DVec3::X);
    let shape = Shape::hull(&points).unwrap();
    let centre = DVec3::new(2.25, 0.25, 0.25);
    let def = BodyDef::solid(shape.clone(), 6.0);
    assert!((def.mass.mass - 1.0).abs() < 1e-14);
    assert!(def.mass.centre.distance(centre) < 1e-14);
    // Of a tetrahedron with unit legs: ∫x² = 1/60, ∫xy = 1/120 about the corner; V = 1/6.
    let (square, product) = (1.0 / 60.0 - 1.0 / 96.0, 1.0 / 120.0 - 1.0 / 96.0);
    let [d, o] = [6.0 * 2.0 * square, -6.0 * product];
    let exact = DMat3::from_cols(DVec3::new(d, o, o), DVec3::new(o, d, o), DVec3::new(o, o, d));
    assert!(def.mass.inertia.abs_diff_eq(exact, 1e-14), "{}", def.mass.inertia);
    assert_eq!(MassProperties::of_shape(&shape, 1.0).centre, def.mass.centre);
    // Free, without gravity: the centroid stays where it is while the body turns.
    let mut world = World::new(Settings { gravity: DVec3::ZERO, ..Settings::default() }).unwrap();
    let turning = def.at(DVec3::new(1.0, 2.0, 3.0)).moving(DVec3::ZERO, DVec3::new(0.0, 0.0, 5.0));
    world.add_body(turning).unwrap();
    for _ in 0..100 {
        world.step().unwrap();
    }
    let there = DVec3::new(1.0, 2.0, 3.0) + centre;
    assert!(world.state().position[0].distance(there) < 1e-12);
}

#[test]
fn ground_cannot_be_dynamic() {
    let mesh = Shape::mesh(vec![DVec3::ZERO, DVec3::X, DVec3::Y], vec![[0, 1, 2]]).unwrap();
    let field = Shape::height_field(2, 2, [1.0; 2], vec![0.0; 4]).unwrap();
    for (shape, word) in [(mesh, "decompose it"), (field, "height field"), (Shape::HalfSpace, "half-space")] {
        let why = BodyDef::dynamic(shape.clone(), 1.0).check().unwrap_err();
        assert!(why.contains("collider 0") && why.contains(word), "{why}");
        assert!(BodyDef::fixed(shape.clone()).check().is_ok());
        assert!(BodyDef::kinematic(shape).check().is_ok());
    }
    let mut loose = BodyDef::dynamic(Shape::cone(1.0, 1.0), 1.0);
    assert!(loose.check().is_ok());
    loose.motion = Motion::Static;
    assert!(loose.check().is_ok());
    let wrong = BodyDef::dynamic(Shape::cylinder(1.0, 0.0), 1.0);
    assert!(wrong.check().unwrap_err().contains("collider 0: half_length"));
}
