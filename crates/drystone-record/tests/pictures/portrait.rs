//! What shapes look like, held against the engine's own idea of them: the outline of a picture is where the
//! support function says that the shape ends.

use drystone::{BodyDef, Pose, Settings, Shape, World};
use drystone_record::picture::{Image, Picture, Rgb, Solid, View, render};
use drystone_record::portrait::{Colouring, Portrait, portrait, solids};
use glam::{DQuat, DVec3};

fn shapes() -> Vec<Shape> {
    let points: Vec<DVec3> = (0..30)
        .map(|k| {
            let a = f64::from(k);
            DVec3::new(0.5 * (2.4 * a).cos(), 0.3 * (1.7 * a).sin(), 0.4 * (0.9 * a).sin()) + 0.1
        })
        .collect();
    let cores = [
        Shape::Box { half: DVec3::new(0.3, 0.2, 0.4) },
        Shape::Cylinder { radius: 0.25, half_length: 0.4 },
        Shape::Cone { radius: 0.3, height: 0.7 },
        Shape::hull(&points).unwrap(),
    ];
    let rounded = cores.clone().map(|core| Shape::rounded(core, 0.12).unwrap());
    let dumbbell = Shape::compound(vec![
        (Pose::at(DVec3::Z * 0.4), cores[0].clone()),
        (Pose::at(DVec3::Z * -0.4), rounded[1].clone()),
    ]);
    let heights = (0..20).map(|k| 0.3 * f64::from(k).sin()).collect();
    let tetrahedron = vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
    let mut all = vec![
        Shape::Sphere { radius: 0.4 },
        Shape::Capsule { radius: 0.2, half_length: 0.3 },
        Shape::Ellipsoid { half: DVec3::new(0.2, 0.5, 0.35) },
        dumbbell.unwrap(),
        Shape::mesh(tetrahedron, vec![[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]).unwrap(),
        Shape::height_field(5, 4, [0.3, 0.2], heights).unwrap(),
    ];
    all.extend(cores);
    all.extend(rounded);
    all
}

fn draw(shape: &Shape, turn: DQuat) -> (Picture, Image) {
    let mut world = World::new(Settings::default()).unwrap();
    world.add_body(BodyDef::fixed(shape.clone()).turned(turn)).unwrap();
    let how = Portrait {
        view: View::Iso,
        colouring: Colouring::Kind,
        width: 240,
        height: 200,
        title: None,
        glass: &[],
        shown: None,
        cut: None,
    };
    let mut picture = portrait(&world, &how);
    picture.samples = 1;
    picture.background = Rgb::grey(1.0);
    let image = render(&picture);
    (picture, image)
}

#[test]
fn outlines_are_where_the_support_function_says() {
    for shape in shapes() {
        for turn in [DQuat::IDENTITY, DQuat::from_euler(glam::EulerRot::XYZ, 0.5, -0.8, 0.3)] {
            // A height field is solid below: its picture reaches further down than its surface.
            let all_round = !matches!(shape, Shape::HeightField(_));
            let (picture, image) = draw(&shape, turn);
            let covered = |x: i64, y: i64| {
                let inside = x >= 0 && y >= 0 && (x as usize) < image.width && (y as usize) < image.height;
                inside && image.pixel(x as usize, y as usize) != [255; 3]
            };
            let (eye, axis) = (picture.camera.from, (picture.camera.from - picture.camera.at).normalize());
            let right = picture.camera.up.cross(axis).normalize();
            let up = axis.cross(right);
            let mut checked = 0;
            for k in 0..64 {
                let (sin, cos) = (std::f64::consts::TAU * f64::from(k) / 64.0).sin_cos();
                let out = right * cos + up * sin;
                if !all_round && sin < 0.5 {
                    continue;
                }
                // The outline seen from a point: the support in the direction that is perpendicular to the
                // line of sight there. A few rounds find it.
                let mut edge = turn * shape.support(turn.conjugate() * out);
                for _ in 0..20 {
                    let sight = (edge - eye).normalize();
                    let across = (out - sight * out.dot(sight)).normalize();
                    edge = turn * shape.support(turn.conjugate() * across);
                }
                let p = picture.camera.project(edge, image.width, image.height).unwrap();
                let (dx, dy) = (cos, -sin);
                let at = |d: f64| ((p.x + d * dx).floor() as i64, (p.y + d * dy).floor() as i64);
                // Nothing beyond it in that direction.
                for step in 2..40 {
                    let (x, y) = at(f64::from(step));
                    assert!(!covered(x, y), "{}: covered {step} pixels beyond its edge at {k}", shape.name());
                }
                // Something within two pixels of it.
                let (x, y) = at(-0.5);
                let near = (-2..=2).any(|i| (-2..=2).any(|j| covered(x + i, y + j)));
                assert!(near, "{}: nothing at its edge at {k}, {p}", shape.name());
                checked += 1;
            }
            assert!(checked > 10);
        }
    }
}

#[test]
fn many_kinds_have_colours_of_their_own() {
    let mut world = World::new(Settings::default()).unwrap();
    for (k, shape) in shapes().into_iter().enumerate() {
        if !matches!(shape, Shape::Mesh(_) | Shape::HeightField(_)) {
            let at = DVec3::X * 3.0 * k as f64;
            world.add_body(BodyDef::dynamic(shape.clone(), 1.0).at(at)).unwrap();
            world.add_body(BodyDef::dynamic(shape, 1.0).at(at + DVec3::Y * 3.0)).unwrap();
        }
    }
    let how = Portrait {
        view: View::Iso,
        colouring: Colouring::Kind,
        width: 64,
        height: 64,
        title: None,
        glass: &[],
        shown: None,
        cut: None,
    };
    let picture = portrait(&world, &how);
    let firsts: Vec<_> = picture.items.iter().filter(|i| i.piece_of.is_none()).collect();
    for (a, first) in firsts.iter().enumerate() {
        for (b, other) in firsts.iter().enumerate().skip(a + 1) {
            let twin = a / 2 == b / 2;
            assert_eq!(first.colour == other.colour, twin, "{a} {b}");
        }
    }
    // Pieces of a compound look like one.
    let pieces = picture.items.iter().filter(|i| i.piece_of.is_some()).count();
    assert_eq!(pieces, 2);
}

#[test]
fn what_is_in_front_of_a_cut_is_left_out() {
    let mut world = World::new(Settings::default()).unwrap();
    world.add_body(BodyDef::fixed(Shape::HalfSpace)).unwrap();
    for y in [-1.5, -0.5, 0.5, 1.5] {
        let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.4 }, 1.0);
        world.add_body(ball.at(DVec3::new(0.0, y, 1.0))).unwrap();
    }
    let how = |cut: Option<(usize, f64)>| Portrait {
        view: View::Front,
        colouring: Colouring::Kind,
        width: 64,
        height: 64,
        title: None,
        glass: &[],
        shown: None,
        cut,
    };
    let drawn = |cut| portrait(&world, &how(cut)).items.iter().map(|i| i.position.y).collect::<Vec<_>>();
    assert_eq!(drawn(None), [0.0, -1.5, -0.5, 0.5, 1.5]);
    // The ground has no middle: it stays.
    assert_eq!(drawn(Some((1, 0.1))), [0.0, 0.5, 1.5]);
    assert_eq!(drawn(Some((2, 0.5))).len(), 5);
}

#[test]
fn a_height_field_is_drawn_with_the_diagonals_that_bodies_feel() {
    let field = Shape::height_field(3, 2, [1.0, 1.0], vec![0.0, 1.0, 0.0, 1.0, 0.0, 3.0]).unwrap();
    let Shape::HeightField(ground) = &field else { panic!() };
    let drawn = solids(&field);
    let [(_, Solid::Mesh { vertices, triangles, .. })] = drawn.as_slice() else { panic!() };
    for (k, triangle) in triangles.iter().enumerate().take(ground.triangle_count()) {
        assert_eq!(triangle.map(|i| vertices[i as usize]), ground.triangle(k));
    }
    // The skirt goes all round, outwards.
    let skirt = &triangles[ground.triangle_count()..];
    assert_eq!(skirt.len(), 2 * 6);
    for t in skirt {
        let [a, b, c] = t.map(|i| vertices[i as usize]);
        assert!((b - a).cross(c - a).dot((a + b + c).with_z(0.0)) > 0.0);
    }
}
