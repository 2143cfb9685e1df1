//! What ends up in which pixel: silhouettes, order in depth, edges, glass, shadows, text, files.

use std::f64::consts::PI;

use drystone_record::picture::{
    Camera, ColourMap, Image, Item, Legend, Picture, PngError, Rgb, Solid, View, render,
};
use glam::{DQuat, DVec3};

const RED: Rgb = Rgb::hex(0xD02020);
const BLUE: Rgb = Rgb::hex(0x2040D0);
const WHITE: Rgb = Rgb::grey(1.0);

/// A picture on white from the front, one sample a pixel: a pixel is covered exactly when its centre is.
fn from_front(items: Vec<Item>, distance: f64, fov: f64, width: usize, height: usize) -> Picture {
    let mut picture = Picture::of(items, View::Front, width, height);
    picture.camera = Camera { from: DVec3::NEG_Y * distance, at: DVec3::ZERO, up: DVec3::Z, fov };
    picture.background = WHITE;
    picture.samples = 1;
    picture
}

fn sphere(radius: f64, position: DVec3, colour: Rgb) -> Item {
    Item::new(Solid::Sphere { radius }, position, colour)
}

/// Number and mean place of the pixels that are not background.
fn silhouette(image: &Image) -> (f64, f64, f64) {
    let (mut n, mut x, mut y) = (0.0, 0.0, 0.0);
    for row in 0..image.height {
        for column in 0..image.width {
            if image.pixel(column, row) != [255; 3] {
                n += 1.0;
                x += column as f64 + 0.5;
                y += row as f64 + 0.5;
            }
        }
    }
    (n, x / n, y / n)
}

fn is_reddish(p: [u8; 3]) -> bool {
    p[0] / 2 > p[1].max(p[2])
}

fn is_bluish(p: [u8; 3]) -> bool {
    p[2] / 2 > p[0].max(p[1])
}

#[test]
fn a_sphere_covers_the_disc_of_its_tangent_cone() {
    let (radius, distance, fov, height) = (1.0, 5.0, 40.0_f64, 400);
    let image = render(&from_front(vec![sphere(radius, DVec3::ZERO, RED)], distance, fov, 600, height));
    let pixels_per_slope = 0.5 * height as f64 / (0.5 * fov.to_radians()).tan();
    let disc_radius = (radius / distance).asin().tan() * pixels_per_slope;
    let (area, x, y) = silhouette(&image);
    assert!(
        (area / (PI * disc_radius * disc_radius) - 1.0).abs() < 2e-3,
        "{area} pixels, radius {disc_radius}"
    );
    assert!((x - 300.0).abs() < 0.1 && (y - 200.0).abs() < 0.1, "centre at {x}, {y}");
    assert!(is_reddish(image.pixel(300, 200)));
}

#[test]
fn a_sphere_to_the_right_and_up_shows_there() {
    let place = DVec3::new(1.0, 0.0, 0.7);
    let picture = from_front(vec![sphere(0.05, place, BLUE)], 8.0, 30.0, 640, 480);
    let expected = picture.camera.project(place, 640, 480).unwrap();
    let (_, x, y) = silhouette(&render(&picture));
    assert!(expected.x > 320.0 && expected.y < 240.0);
    assert!((x - expected.x).abs() < 0.3 && (y - expected.y).abs() < 0.3, "{x}, {y} instead of {expected}");
}

#[test]
fn the_nearer_body_hides_the_farther_in_any_order() {
    let near = sphere(0.3, DVec3::new(0.0, -1.0, 0.0), BLUE);
    let far = sphere(0.9, DVec3::new(0.0, 1.0, 0.0), RED);
    let image = render(&from_front(vec![near.clone(), far.clone()], 6.0, 30.0, 200, 200));
    assert!(is_bluish(image.pixel(100, 100)));
    let beside = (0..100).map(|x| image.pixel(x, 100)).filter(|p| is_reddish(*p)).count();
    assert!(beside > 15, "{beside}");
    assert_eq!(image, render(&from_front(vec![far, near], 6.0, 30.0, 200, 200)));
}

#[test]
fn the_edges_of_a_box_fall_on_their_pixels() {
    let half = DVec3::new(1.0, 0.5, 0.6);
    let picture = from_front(vec![Item::new(Solid::Box { half }, DVec3::ZERO, RED)], 7.0, 30.0, 500, 400);
    let image = render(&picture);
    let corner = |x: f64, z: f64| picture.camera.project(DVec3::new(x, -half.y, z), 500, 400).unwrap();
    let (low, high) = (corner(-1.0, 0.6), corner(1.0, -0.6));
    let in_row: Vec<usize> = (0..500).filter(|&x| image.pixel(x, 200) != [255; 3]).collect();
    let in_column: Vec<usize> = (0..400).filter(|&y| image.pixel(250, y) != [255; 3]).collect();
    let ends = [in_row[0], in_row[in_row.len() - 1] + 1, in_column[0], in_column[in_column.len() - 1] + 1];
    for (found, expected) in ends.into_iter().zip([low.x, high.x, low.y, high.y]) {
        assert!((found as f64 - expected).abs() <= 0.51, "{ends:?}, expected {low} and {high}");
    }
}

#[test]
fn a_turned_capsule_covers_its_stadium() {
    let (radius, half_length) = (0.4, 1.0);
    let item = Item::new(Solid::Capsule { radius, half_length }, DVec3::ZERO, RED);
    // From far away the view is nearly parallel, and a turn in the picture plane keeps the area.
    let (distance, fov, height) = (400.0, 0.6_f64, 400);
    let pixel = 2.0 * distance * (0.5 * fov.to_radians()).tan() / height as f64;
    let expected = (PI * radius * radius + 4.0 * radius * half_length) / (pixel * pixel);
    for angle in [0.0, 0.7, 1.6] {
        let turned = item.clone().rotated(DQuat::from_rotation_y(angle));
        let (area, ..) = silhouette(&render(&from_front(vec![turned], distance, fov, 400, height)));
        assert!((area / expected - 1.0).abs() < 5e-3, "at {angle}: {area} pixels instead of {expected}");
    }
}

#[test]
fn a_mesh_of_a_cube_looks_like_the_box() {
    let half = DVec3::splat(0.7);
    let vertices = (0..8)
        .map(|k| half * DVec3::new((k & 1) as f64, (k >> 1 & 1) as f64, (k >> 2 & 1) as f64) * 2.0 - half)
        .collect();
    let faces = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]];
    let triangles = faces.iter().flat_map(|f| [[f[0], f[1], f[2]], [f[0], f[2], f[3]]]).collect();
    let turn = DQuat::from_euler(glam::EulerRot::XYZ, 0.4, 0.3, 0.5);
    let draw = |solid: Solid| {
        render(&from_front(vec![Item::new(solid, DVec3::ZERO, BLUE).rotated(turn)], 6.0, 30.0, 200, 200))
    };
    let (mesh, cube) = (draw(Solid::Mesh { vertices, triangles, crease: 0.0 }), draw(Solid::Box { half }));
    let different = mesh.rgb.iter().zip(&cube.rgb).filter(|(a, b)| a.abs_diff(**b) > 2).count();
    assert!(silhouette(&cube).0 > 5000.0);
    assert!(different < 30, "{different} bytes differ");
}

#[test]
fn a_translucent_wall_tints_what_is_behind_and_not_what_is_in_front() {
    let ball = |y: f64| sphere(0.5, DVec3::new(0.0, y, 0.0), RED);
    let half = DVec3::new(2.0, 0.01, 2.0);
    let wall = |opacity: f32| Item::new(Solid::Box { half }, DVec3::ZERO, BLUE).with_opacity(opacity);
    let middle = |items: Vec<Item>| render(&from_front(items, 8.0, 30.0, 120, 120)).pixel(60, 60);
    let bare = middle(vec![ball(1.5)]);
    let behind = middle(vec![ball(1.5), wall(0.2)]);
    assert!(behind[0] < bare[0] && behind[0] > 80, "{behind:?} against {bare:?}");
    assert!(behind[2] > bare[2] + 20, "{behind:?} against {bare:?}");
    let thick = middle(vec![ball(1.5), wall(0.6)]);
    assert!(thick[0] < behind[0] && thick[2] > behind[2], "{thick:?} against {behind:?}");
    assert!(is_bluish(middle(vec![ball(1.5), wall(1.0)])));
    assert_eq!(middle(vec![ball(-1.5), wall(0.2)]), middle(vec![ball(-1.5)]));
}

#[test]
fn a_body_shades_the_ground_and_the_ground_fades_into_the_background() {
    let ground = Item::new(Solid::Ground, DVec3::ZERO, Rgb::grey(0.8));
    let ball = sphere(0.4, DVec3::new(0.0, 0.0, 1.0), RED);
    let mut picture = from_front(vec![ground.clone(), ball], 1.0, 40.0, 300, 300);
    picture.camera.from = DVec3::new(0.0, -6.0, 5.0);
    picture.light = Some(DVec3::new(0.8, 0.0, 1.0));
    let image = render(&picture);
    let at = |p: DVec3| {
        let q = picture.camera.project(p, 300, 300).unwrap();
        image.pixel(q.x as usize, q.y as usize)
    };
    // The light comes from +x at a slope of 1 : 0.8, so the shadow of a ball at height 1 falls at x = -0.8.
    let (shadow, lit) = (at(DVec3::new(-0.8, 0.0, 0.0)), at(DVec3::new(1.2, 0.0, 0.0)));
    assert!(shadow[1] + 40 < lit[1], "shadow {shadow:?}, lit {lit:?}");

    picture.camera.from = DVec3::new(0.0, -6.0, 1.0);
    picture.items.truncate(1);
    let level = render(&picture);
    assert_eq!(level.pixel(150, 0), [255; 3]);
    let far = picture.camera.project(DVec3::new(0.0, 300.0, 0.0), 300, 300).unwrap();
    assert_eq!(level.pixel(150, far.y as usize), [255; 3]);
    assert_ne!(level.pixel(150, 160), [255; 3]);

    picture.camera.from = DVec3::new(0.0, -6.0, -1.0);
    assert_eq!(silhouette(&render(&picture)).0, 0.0, "a ground is not seen from below");
}

/// Bodies of every kind, some translucent, with everything written on top.
fn mixed_scene() -> Picture {
    let mut items = vec![Item::new(Solid::Ground, DVec3::ZERO, Rgb::grey(0.85))];
    for k in 0..60 {
        let place = DVec3::new((k % 5) as f64 * 0.4, (k / 5 % 4) as f64 * 0.4, 0.2 + (k / 20) as f64 * 0.4);
        let colour = ColourMap::Sequential.at(k as f64 / 60.0);
        let solid = match k % 3 {
            0 => Solid::Sphere { radius: 0.2 },
            1 => Solid::Box { half: DVec3::splat(0.15) },
            _ => Solid::Capsule { radius: 0.1, half_length: 0.1 },
        };
        let turn = DQuat::from_rotation_x(k as f64);
        items.push(Item::new(solid, place, colour).rotated(turn).with_opacity(if k % 7 == 0 {
            0.4
        } else {
            1.0
        }));
    }
    let mut picture = Picture::of(items, View::Iso, 240, 150);
    picture.title = Some("mixed".to_string());
    picture.legend = Some(Legend::new("speed", 0.0, 2.0, "m/s"));
    picture
}

#[test]
fn the_bytes_do_not_depend_on_the_number_of_threads() {
    let picture = mixed_scene();
    let with = |threads: usize| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| render(&picture))
    };
    let one = with(1);
    assert!(one == with(3) && one == with(2));
}

#[test]
fn edges_are_smooth_with_several_samples() {
    let shades = |samples: usize| {
        let mut picture = from_front(vec![sphere(1.0, DVec3::ZERO, RED)], 6.0, 30.0, 100, 100);
        picture.samples = samples;
        let image = render(&picture);
        (0..100)
            .flat_map(|y| (0..100).map(move |x| (x, y)))
            .filter(|&(x, y)| {
                let p = image.pixel(x, y);
                // Between the red of the body, at most 60 in green, and the white of the background.
                (100..250).contains(&p[1])
            })
            .count()
    };
    assert!(shades(1) < 40 && shades(2) > 100, "{} and {}", shades(1), shades(2));
}

#[test]
fn a_png_file_holds_the_same_pixels() {
    let image = render(&mixed_scene());
    let path = std::env::temp_dir().join(format!("drystone-record-{}.png", std::process::id()));
    image.write_png(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.width, info.height, info.color_type), (240, 150, png::ColorType::Rgb));
    assert_eq!(pixels, image.rgb);
}

#[test]
fn what_cannot_be_written_is_an_error_that_says_why() {
    let image = render(&from_front(vec![], 5.0, 30.0, 8, 8));
    let error = image.write_png("/dev/null/picture.png").unwrap_err();
    assert!(error.to_string().contains("/dev/null/picture.png"), "{error}");
    let nothing = render(&from_front(vec![], 5.0, 30.0, 0, 8));
    assert!(matches!(nothing.encode_png(Vec::new()), Err(PngError::Encode(_))));
}

#[test]
fn items_without_a_place_are_left_out_and_counted() {
    let good = sphere(0.5, DVec3::ZERO, RED);
    let lost = sphere(0.5, DVec3::new(f64::NAN, 0.0, 0.0), RED);
    let negative = sphere(-0.5, DVec3::ZERO, RED);
    let torn = Item::new(
        Solid::Mesh { vertices: vec![DVec3::ZERO], triangles: vec![[0, 1, 2]], crease: 0.0 },
        DVec3::ZERO,
        RED,
    );
    let image = render(&from_front(vec![lost, good.clone(), negative, torn], 5.0, 30.0, 80, 80));
    assert_eq!(image.left_out, 3);
    assert_eq!(image.rgb, render(&from_front(vec![good], 5.0, 30.0, 80, 80)).rgb);
}

#[test]
fn title_and_legend_are_drawn_in_their_corners() {
    let mut picture = from_front(vec![], 5.0, 30.0, 400, 250);
    assert_eq!(silhouette(&render(&picture)).0, 0.0);
    picture.title = Some("Title".to_string());
    let (ink, x, y) = silhouette(&render(&picture));
    assert!(ink > 50.0 && x < 100.0 && y < 40.0, "{ink} pixels about {x}, {y}");

    picture.title = None;
    picture.legend = Some(Legend::new("force", 0.0, 12.5, "N"));
    let image = render(&picture);
    let (ink, x, y) = silhouette(&image);
    assert!(ink > 500.0 && x > 340.0 && (y - 125.0).abs() < 25.0, "{ink} pixels about {x}, {y}");
    // The bar runs from the upper end of the map at its top to the lower end at its bottom.
    let near = |p: [u8; 3], c: Rgb| p.iter().zip(c.bytes()).all(|(a, b)| a.abs_diff(b) < 12);
    let rows_of = |t: f64| {
        let c = ColourMap::Sequential.at(t);
        (0..250).filter(|&row| (340..400).any(|x| near(image.pixel(x, row), c))).collect::<Vec<_>>()
    };
    let (top, bottom) = (rows_of(1.0), rows_of(0.0));
    assert!(!top.is_empty() && !bottom.is_empty() && top[0] + 80 < bottom[0], "{top:?} {bottom:?}");
}
