//! Scene files with every shape: what they make, that it runs, and every way to get one wrong.

use std::path::Path;
use std::sync::Arc;

use crate::solids::{BRACKET, Folder, beaker, binary_stl, data, prism, ring};
use drystone::{BodyDef, Motion, Shape};
use drystone_scene::mesh::write_obj;
use drystone_scene::{Scene, SceneError, load};
use glam::{DMat3, DVec3};

/// The example files, in a folder of their own: parts of meshes are kept beside them.
fn examples() -> Folder {
    let folder = Folder::new();
    for name in ["shapes.toml", "bracket.obj", "ring.obj", "beaker.stl", "hills.txt"] {
        folder.write(name, std::fs::read(data(name)).unwrap());
    }
    folder
}

fn open(path: &Path) -> Result<Scene, SceneError> {
    load(&path.to_string_lossy(), &[])
}

fn body<'a>(scene: &'a Scene, name: &str) -> &'a BodyDef {
    scene.bodies.iter().find(|b| b.name.as_deref() == Some(name)).unwrap()
}

/// The meshes of the examples are not drawn by hand.
#[test]
fn example_meshes_are_what_code_makes() {
    for (name, made) in [
        ("bracket.obj", prism(BRACKET, 1.0).into_bytes()),
        ("ring.obj", write_obj([("ring", &ring(20, 8))]).into_bytes()),
        ("beaker.stl", binary_stl(&beaker(20))),
    ] {
        if std::env::var_os("DRYSTONE_WRITE_EXAMPLES").is_some() {
            std::fs::write(data(name), &made).unwrap();
        }
        assert!(std::fs::read(data(name)).unwrap() == made, "{name} differs");
    }
}

#[test]
fn every_shape_is_made() {
    let folder = examples();
    let scene = open(&folder.0.join("shapes.toml")).unwrap();
    let shape = |name: &str| &body(&scene, name).colliders[0].shape;
    assert_eq!(*shape("cylinder"), Shape::Cylinder { radius: 0.12, half_length: 0.15 });
    assert_eq!(*shape("cone"), Shape::Cone { radius: 0.16, height: 0.32 });
    assert_eq!(*shape("ellipsoid"), Shape::Ellipsoid { half: DVec3::new(0.18, 0.13, 0.1) });
    let Shape::Rounded { core, radius } = shape("rounded box") else { panic!() };
    assert_eq!((core.as_ref(), *radius), (&Shape::Box { half: DVec3::new(0.12, 0.09, 0.07) }, 0.04));
    assert!(
        matches!(shape("rounded cone"), Shape::Rounded { core, .. } if matches!(**core, Shape::Cone { .. }))
    );
    assert!(matches!(shape("pebble"), Shape::Rounded { core, .. } if matches!(**core, Shape::Hull(_))));
    let Shape::Hull(wedge) = shape("wedge") else { panic!() };
    assert_eq!((wedge.vertices().len(), wedge.faces().len()), (6, 5));
    let Shape::Mesh(bowl) = shape("beaker") else { panic!() };
    assert_eq!(bowl.triangles().len(), 160);
    let Shape::Compound(hammer) = shape("hammer") else { panic!() };
    assert_eq!(hammer.parts().len(), 2);
    assert_eq!(body(&scene, "hammer").mass.mass, 1.2);
    let Shape::Compound(parts) = shape("ring") else { panic!() };
    assert!((4..=16).contains(&parts.parts().len()));
    // The far row of the file is at the largest y.
    let Shape::HeightField(steps) = shape("steps") else { panic!() };
    assert_eq!((steps.columns(), steps.rows(), steps.spacing()), (3, 3, [0.2, 0.4]));
    assert_eq!(steps.point(2, 0), DVec3::new(0.2, -0.4, 0.0));
    assert_eq!(steps.point(0, 2), DVec3::new(-0.2, 0.4, 0.5));
    let Shape::HeightField(hills) = shape("hills") else { panic!() };
    assert_eq!((hills.columns(), hills.rows()), (15, 9));
    assert!((hills.point(10, 3).z - 0.6 * 0.729).abs() < 1e-15);
    // Copies of a file's shape are one in memory.
    let again = folder.write("twice.toml", two_brackets());
    let scene = open(&again).unwrap();
    let [Shape::Compound(a), Shape::Compound(b)] = [0, 1].map(|i| scene.bodies[i].colliders[0].shape.clone())
    else {
        panic!()
    };
    assert!(Arc::ptr_eq(&a, &b));
}

fn two_brackets() -> String {
    let body = "[[body]]\ndensity = 1\nshape = { type = \"decomposed\", file = \"bracket.obj\" }\n";
    format!("[settings]\nT = 1\n{body}{body}")
}

#[test]
fn mass_is_that_of_the_solid_not_of_its_parts() {
    let folder = examples();
    let scene = open(&folder.0.join("shapes.toml")).unwrap();
    let bracket = body(&scene, "bracket").mass;
    assert!((bracket.mass - 2700.0 * 4e-3).abs() < 1e-12);
    assert!((bracket.centre - 0.1 * DVec3::new(0.75, 1.25, 0.5)).length() < 1e-15);
    // The ring's parts are a few per cent larger than the ring: mass and inertia are the ring's.
    let solid = ring(20, 8).scaled(DVec3::splat(0.15)).unwrap().moments();
    let found = body(&scene, "ring").mass;
    assert!((found.mass / (2700.0 * solid.volume) - 1.0).abs() < 1e-12);
    assert!(found.inertia.abs_diff_eq(solid.inertia(found.mass), 1e-12 * found.mass));
    let Shape::Compound(parts) = &body(&scene, "ring").colliders[0].shape else { panic!() };
    let parts: f64 = parts.parts().iter().map(|(_, s)| s.volume()).sum();
    assert!(parts > 1.001 * solid.volume && parts < 1.05 * solid.volume, "{}", parts / solid.volume);
    // A compound of a decomposed part and another has the mass of both, each in its place.
    let text = "[settings]\nT = 1\n[[body]]\ndensity = 1000\n[body.shape]\ntype = \"compound\"\nshapes = [\n\
        { type = \"decomposed\", file = \"bracket.obj\", position = [1, 0, 0] },\n\
        { type = \"box\", half = [0.5, 0.5, 0.5], position = [-1, 0.5, 0.5] } ]\n";
    let made = open(&folder.write("both.toml", text)).unwrap().bodies[0].mass;
    assert!((made.mass - 5000.0).abs() < 1e-9);
    let centre = (4.0 * DVec3::new(1.75, 1.25, 0.5) + DVec3::new(-1.0, 0.5, 0.5)) / 5.0;
    assert!((made.centre - centre).length() < 1e-14);
}

#[test]
fn hulls_off_their_origin_have_their_mass_where_they_are() {
    let folder = Folder::new();
    let text = "[settings]\nT = 1\n[[body]]\nmass = 6\nshape = { type = \"hull\", points = [[1,1,1],[3,1,1],[1,2,1],[3,2,1],\
        [1,1,4],[3,1,4],[1,2,4],[3,2,4]] }\n";
    let made = open(&folder.write("h.toml", text)).unwrap().bodies[0].mass;
    assert!((made.centre - DVec3::new(2.0, 1.5, 2.5)).length() < 1e-14);
    let block = Shape::Box { half: DVec3::new(1.0, 0.5, 1.5) }.inertia(6.0);
    assert!(made.inertia.abs_diff_eq(block, 1e-12), "{:?}", made.inertia - block);
    let _: DMat3 = made.inertia;
}

#[test]
fn the_examples_run_for_a_second() {
    let folder = examples();
    let scene = open(&folder.0.join("shapes.toml")).unwrap();
    let mut world = scene.world(scene.settings.clone()).unwrap();
    while world.state().time < scene.duration - 1e-9 {
        world.step().unwrap();
    }
    let state = world.state();
    for (i, b) in scene.bodies.iter().enumerate().filter(|(_, b)| b.motion == Motion::Dynamic) {
        let name = b.name.as_deref().unwrap_or("?");
        let shape = &b.colliders[0].shape;
        let low = world.model().collider_aabb(state, i).min.z;
        assert!(low > -2e-3, "{name} ({}) is {low} m in the floor", shape.name());
        assert!(state.velocity[i].length() < 3.0, "{name} flies: {}", state.velocity[i]);
    }
    // What stood upright on the floor still stands where it was.
    for name in ["box", "cylinder", "cone", "rounded box", "rounded cylinder", "wedge", "bracket", "ring"] {
        let i = scene.bodies.iter().position(|b| b.name.as_deref() == Some(name)).unwrap();
        let moved = world.position(world.model().id(i as u32).unwrap()).unwrap() - scene.bodies[i].position;
        assert!(
            moved.truncate().length() < 0.02 && moved.z > -0.04 && moved.z < 1e-3,
            "{name} moved by {moved}"
        );
        assert!(state.velocity[i].length() < 0.02, "{name} has {}", state.velocity[i]);
    }
    // The ball is in the beaker, on its bottom; the peg inside of the ring, on the floor.
    let place = |name: &str| {
        state.position[scene.bodies.iter().position(|b| b.name.as_deref() == Some(name)).unwrap()]
    };
    let ball = place("ball in the beaker");
    assert!((ball - DVec3::new(0.0, 1.2, 0.15 * 0.18 + 0.07)).length() < 0.12, "{ball}");
    assert!((ball.z - (0.15 * 0.18 + 0.07)).abs() < 2e-3, "{ball}");
    assert!((place("peg").z - 0.12).abs() < 2e-3, "{}", place("peg"));
    // What lies on the turntable is carried round with it.
    let rider = place("rider") - DVec3::new(2.5, 1.2, 0.0);
    let began = DVec3::new(-0.02, -0.08, 0.0);
    let turned = began.truncate().angle_to(rider.truncate());
    assert!((turned - 0.5).abs() < 0.1, "turned by {turned}");
}

const HEAD: &str = "[settings]\nT = 1\n\n[[body]]\n";

fn with(shape: &str) -> String {
    format!("{HEAD}mass = 1.0\nshape = {shape}\n")
}

fn fixed(shape: &str) -> String {
    format!("{HEAD}motion = \"static\"\nshape = {shape}\n")
}

/// Refused at `needle` in the text, for this field, saying this.
#[track_caller]
fn check(text: &str, needle: &str, field: &str, message: &str) {
    let folder = examples();
    folder.write("bad.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n");
    folder.write("open.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\n");
    folder.write("bad.txt", "1 2 3\n4 5\n");
    let e = match open(&folder.write("s.toml", text)) {
        Ok(_) => panic!("must be refused:\n{text}"),
        Err(e) => e,
    };
    assert_eq!(e.field.as_deref().unwrap_or(""), field, "{e}");
    assert!(e.message.contains(message), "{e}");
    let at = text.find(needle).unwrap();
    let line = text[..at].matches('\n').count() + 1;
    let column = at - text[..at].rfind('\n').map_or(0, |i| i + 1) + 1;
    assert_eq!(e.place, Some((line, column)), "{e}");
}

#[test]
fn dimensions_are_checked_in_place() {
    let s = "body[0].shape";
    check(&with("{ type = \"cylinder\", r = 1 }"), "{ type", s, "'half_length' is missing");
    check(
        &with("{ type = \"cylinder\", r = 1, half_length = 0.0 }"),
        "0.0",
        "body[0].shape.half_length",
        "above 0 m",
    );
    check(&with("{ type = \"cone\", r = -2, height = 1 }"), "-2", "body[0].shape.r", "above 0 m");
    check(&with("{ type = \"cone\", r = 2, hieght = 1 }"), "hieght", s, "did you mean 'height'");
    check(
        &with("{ type = \"ellipsoid\", half = [1, 2] }"),
        "[1, 2]",
        "body[0].shape.half",
        "must have 3 numbers",
    );
    check(&with("{ type = \"ellipsoid\", half = [1, -3, 2] }"), "-3", "body[0].shape.half[1]", "above 0 m");
    check(
        &with("{ type = \"box\", half = [1, 1, 1], rounding = -0.5 }"),
        "-0.5",
        "body[0].shape.rounding",
        "below 0 m",
    );
    check(&with("{ type = \"sphere\", r = 1, rounding = 0.5 }"), "rounding", s, "unknown field 'rounding'");
    check(
        &with("{ type = \"cilinder\", r = 1 }"),
        "\"cilinder\"",
        "body[0].shape.type",
        "did you mean 'cylinder'",
    );
    check(&with("{ type = \"hull\" }"), "{ type", s, "needs 'points' (m) or the 'file'");
    check(
        &with("{ type = \"hull\", points = [[0, 0, 0], [1, 0, 0], [0, 1]] }"),
        "[0, 1]]",
        "body[0].shape.points[2]",
        "3 numbers",
    );
    check(
        &with("{ type = \"hull\", points = [[0, 0, 0], [1, 0, 0]] }"),
        "[[0",
        "body[0].shape.points",
        "at least 4 points, got 2",
    );
    check(
        &with("{ type = \"hull\", points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [2, 1, 0]] }"),
        "[[0",
        "body[0].shape.points",
        "in one plane",
    );
    check(
        &with("{ type = \"hull\", points = [[0, 0, 0]], file = \"ring.obj\" }"),
        "\"ring.obj\"",
        "body[0].shape.file",
        "not both",
    );
}

#[test]
fn files_are_checked_in_place() {
    let f = "body[0].shape.file";
    check(&fixed("{ type = \"mesh\" }"), "{ type", "body[0].shape", "'file' is missing");
    check(&fixed("{ type = \"mesh\", file = \"none.obj\" }"), "\"none.obj\"", f, "none.obj: cannot be read");
    check(
        &fixed("{ type = \"mesh\", file = \"bad.obj\" }"),
        "\"bad.obj\"",
        f,
        "bad.obj:4: there is no vertex 4",
    );
    check(&fixed("{ type = \"mesh\", file = \"\" }"), "\"\"", f, "name of a file is missing");
    check(
        &fixed("{ type = \"mesh\", file = \"ring.obj\", scale = 0 }"),
        "0 }",
        "body[0].shape.scale",
        "must not be 0",
    );
    check(
        &fixed("{ type = \"mesh\", file = \"ring.obj\", scale = [1, 0, 2] }"),
        "[1, 0, 2]",
        "body[0].shape.scale",
        "must not be 0",
    );
    check(
        &with("{ type = \"mesh\", file = \"ring.obj\" }"),
        "{ type",
        "body[0].shape",
        "type = \"decomposed\"",
    );
    check(
        &with("{ type = \"decomposed\", file = \"open.obj\" }"),
        "\"open.obj\"",
        f,
        "the surface is not closed",
    );
    // An open surface is good enough to wrap, or to stand on.
    let folder = examples();
    folder.write("open.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\n");
    open(&folder.write("a.toml", fixed("{ type = \"mesh\", file = \"open.obj\" }"))).unwrap();
    open(&folder.write("b.toml", with("{ type = \"hull\", file = \"open.obj\" }"))).unwrap();
    check(
        &with("{ type = \"decomposed\", file = \"ring.obj\", parts = 0 }"),
        "0 }",
        "body[0].shape.parts",
        "whole number from 1 to 256",
    );
    check(
        &with("{ type = \"decomposed\", file = \"ring.obj\", threshold = -1 }"),
        "-1",
        "body[0].shape.threshold",
        "below 0",
    );
}

#[test]
fn height_fields_are_checked_in_place() {
    let field = |rest: &str| fixed(&format!("{{ type = \"height_field\", {rest} }}"));
    let s = "body[0].shape";
    check(&field("heights = [[0, 0], [0, 0]]"), "{ type", s, "'spacing' is missing");
    check(&field("spacing = 1"), "{ type", s, "needs 'heights' (m) or a 'file'");
    check(
        &field("spacing = [1, -2], heights = [[0, 0], [0, 0]]"),
        "-2",
        "body[0].shape.spacing[1]",
        "above 0 m",
    );
    check(
        &field("spacing = 1, heights = [[0, 0], [5]]"),
        "[5]",
        "body[0].shape.heights[1]",
        "must have 2 heights, got 1",
    );
    check(
        &field("spacing = 1, heights = [[0, 0]]"),
        "[[0",
        "body[0].shape.heights",
        "rows must be at least 2",
    );
    check(&field("spacing = 1, heights = []"), "[]", "body[0].shape.heights", "got none");
    check(
        &field("spacing = 1, heights = [[0, nan], [0, 0]]"),
        "nan",
        "body[0].shape.heights[0][1]",
        "finite",
    );
    check(
        &field("spacing = 1, file = \"bad.txt\""),
        "\"bad.txt\"",
        "body[0].shape.file",
        "bad.txt:2: a row must have 3",
    );
    check(
        &field("spacing = 1, file = \"ring.obj\""),
        "\"ring.obj\"",
        "body[0].shape.file",
        ".txt, .csv or .png",
    );
    check(
        &with("{ type = \"height_field\", spacing = 1, heights = [[0, 0], [0, 0]] }"),
        "{ type",
        s,
        "cannot be dynamic",
    );
}

#[test]
fn compounds_are_checked_in_place() {
    let of = |inside: &str| with(&format!("{{ type = \"compound\", shapes = [{inside}] }}"));
    let s = "body[0].shape";
    check(&with("{ type = \"compound\" }"), "{ type", s, "'shapes' is missing");
    check(&of(""), "[]", "body[0].shape.shapes", "at least one part");
    check(&of("{ type = \"sphere\", r = 0 }"), "0 }", "body[0].shape.shapes[0].r", "above 0 m");
    check(&of("{ type = \"sphere\", r = 1, mu = 3 }"), "mu", "body[0].shape.shapes[0]", "unknown field 'mu'");
    check(&of("{ type = \"plane\" }"), "{ type = \"plane\"", "body[0].shape.shapes[0]", "cannot be dynamic");
    let still = of("{ type = \"plane\" }").replace("mass = 1.0", "motion = \"static\"");
    check(&still, "{ type = \"plane\"", "body[0].shape.shapes[0]", "several shapes instead");
}

/// A greyscale picture is a height field too.
#[test]
fn pictures_are_heights() {
    let folder = Folder::new();
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 3, 2);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().unwrap().write_image_data(&[255, 0, 51, 0, 0, 102]).unwrap();
    folder.write("hill.png", bytes);
    let text = fixed("{ type = \"height_field\", file = \"hill.png\", spacing = 0.5, scale = 2 }");
    let scene = open(&folder.write("p.toml", text)).unwrap();
    let Shape::HeightField(field) = &scene.bodies[0].colliders[0].shape else { panic!() };
    assert_eq!(field.heights(), [0.0, 0.0, 0.8, 2.0, 0.0, 0.4]);
}

#[test]
fn the_documented_shapes_load() {
    let text = include_str!("../../../../docs/guide/scene-files.md");
    let block = text.split("```toml\n").nth(6).unwrap().split("```").next().unwrap();
    let folder = examples();
    let scene = open(&folder.write("doc.toml", block)).unwrap();
    assert_eq!((scene.name.as_str(), scene.bodies.len()), ("ground and debris", 15 + 1 + 2));
    let mut world = scene.world(scene.settings.clone()).unwrap();
    for _ in 0..10 {
        world.step().unwrap();
    }
    // The table of shapes names every type.
    let e = open(&folder.write("x.toml", with("{ type = \"x\" }"))).err().unwrap().message;
    let valid = e.split("valid: ").nth(1).unwrap().trim_end_matches(')');
    for name in valid.split(", ") {
        assert!(text.contains(&format!("\n| `{name}` | ")), "{name} is not documented");
    }
}
