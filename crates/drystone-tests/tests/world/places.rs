//! Rays, moving shapes, overlaps, closest points and projections in worlds of many bodies, against looking at
//! every shape.

use drystone::collide::query;
use drystone::random::Random;
use drystone::{
    BodyDef, Collider, Compound, Filter, Found, HeightField, Motion, Pose, QueryFilter, Settings, Shape,
    TriMesh, World,
};
use glam::{DQuat, DVec3};

fn still() -> World {
    World::new(Settings { gravity: DVec3::ZERO, ..Settings::default() }).unwrap()
}

fn turn(random: &mut Random) -> DQuat {
    DQuat::from_axis_angle(random.unit_vector(), random.range(0.0, 3.0))
}

fn any_shape(random: &mut Random, k: usize) -> Shape {
    let mut size = || random.range(0.1, 0.5);
    let (x, y, z) = (size(), size(), size());
    match k % 7 {
        0 => Shape::Sphere { radius: x },
        1 => Shape::cuboid(DVec3::new(x, y, z)),
        2 => Shape::Capsule { radius: x, half_length: y },
        3 => Shape::Cylinder { radius: x, half_length: y },
        4 => Shape::Cone { radius: x, height: y },
        5 => Shape::Ellipsoid { half: DVec3::new(x, y, z) },
        _ => {
            let two = vec![
                (Pose::at(DVec3::X * x), Shape::Sphere { radius: y }),
                (Pose::at(DVec3::NEG_X * x), Shape::cuboid(DVec3::splat(z))),
            ];
            Shape::Compound(Compound::new(two).unwrap().into())
        }
    }
}

/// Bodies of all kinds anywhere in a box, a floor, and some ground.
fn crowd(random: &mut Random, n: usize) -> World {
    let mut w = still();
    for k in 0..n {
        let shape = any_shape(random, k);
        let (x, q) = (random.in_box(DVec3::splat(-3.0), DVec3::splat(3.0)), turn(random));
        let layers = 1 << (k % 3);
        let body = BodyDef::dynamic(shape, 1.0).at(x).turned(q).filter(Filter { layers, mask: u32::MAX });
        w.add_body(body).unwrap();
    }
    w.add_body(BodyDef::fixed(Shape::HalfSpace).at(DVec3::NEG_Z * 3.0)).unwrap();
    w
}

/// (slot, shape, place) of all colliders.
fn every(w: &World) -> Vec<(u32, Shape, Pose)> {
    let all = w.model().colliders.iter().enumerate();
    all.filter_map(|(k, c)| Some((k as u32, c.shape.clone(), w.model().collider_pose(w.state(), k)?)))
        .collect()
}

#[test]
fn the_tree_finds_what_looking_at_all_finds() {
    let mut random = Random::new(5);
    let mut w = crowd(&mut random, 80);
    let mut rays = 0;
    for round in 0..60 {
        if round % 20 == 10 {
            // Boxes move, and the tree with them.
            let ids: Vec<_> = (0..80).map(|k| w.model().id(k).unwrap()).collect();
            for id in ids {
                let x = random.in_box(DVec3::splat(-3.0), DVec3::splat(3.0));
                w.set_pose(id, x, turn(&mut random)).unwrap();
            }
        }
        let origin = 6.0 * random.unit_vector();
        // Aimed at the crowd.
        let direction = (random.in_ball() - 0.2 * origin).normalize();
        let all = QueryFilter::default();
        let mut slow: Vec<(f64, u32)> = every(&w)
            .iter()
            .filter_map(|(k, s, p)| Some((query::ray(s, p, origin, direction, 20.0)?.distance, *k)))
            .collect();
        slow.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let fast = w.ray_all(origin, direction, 20.0, &all);
        let fast: Vec<(f64, u32)> = fast.iter().map(|f| (f.hit.distance, f.collider.slot)).collect();
        let same = |a: &(f64, u32), b: &(f64, u32)| a.1 == b.1 && (a.0 - b.0).abs() < 1e-12;
        assert!(
            fast.len() == slow.len() && fast.iter().zip(&slow).all(|(a, b)| same(a, b)),
            "{fast:?} {slow:?}"
        );
        rays += fast.len();
        let first = w.ray_first(origin, direction, 20.0, &all);
        assert_eq!(first.map(|f| (f.hit.distance, f.collider.slot)), fast.first().copied());

        let (probe, pose) = (any_shape(&mut random, round % 6), Pose::new(origin * 0.4, turn(&mut random)));
        let slow: Vec<u32> =
            every(&w).iter().filter(|(_, s, p)| query::overlap(&probe, &pose, s, p)).map(|e| e.0).collect();
        let fast: Vec<u32> = w.overlapping(&probe, &pose, &all).iter().map(|f| f.1.slot).collect();
        assert_eq!(fast, slow, "{probe:?}");

        let slow = every(&w).iter().map(|(_, s, p)| query::distance(&probe, &pose, s, p)).fold(9.0, f64::min);
        let fast = w.closest(&probe, &pose, 9.0, &all).unwrap();
        assert!((fast.hit.distance - slow).abs() < 1e-9, "{probe:?}: {} {slow}", fast.hit.distance);

        let slow =
            every(&w).iter().map(|(_, s, p)| query::project(s, p, origin).distance).fold(99.0, f64::min);
        let fast: Found<query::Projection> = w.project_point(origin, 99.0, &all).unwrap();
        assert_eq!(fast.hit.distance, slow);
        let off = origin - fast.hit.point - fast.hit.normal * fast.hit.distance;
        assert!(off.length() < 1e-9, "{fast:?}");
    }
    assert!(rays > 50, "{rays}");
}

/// A ray along an axis divides by zero, and one along a face has nothing to divide; both ways of zero.
#[test]
fn rays_along_axes_and_faces_are_not_lost() {
    let mut w = still();
    let boxes: Vec<_> = (0..40)
        .map(|k| {
            let place = DVec3::new((k % 8) as f64, (k / 8 % 5) as f64, 0.0);
            w.add_body(BodyDef::dynamic(Shape::cuboid(DVec3::splat(0.25)), 1.0).at(2.0 * place)).unwrap()
        })
        .collect();
    let all = QueryFilter::default();
    for along in [DVec3::X, DVec3::NEG_X] {
        for zero in [0.0, -0.0] {
            let towards = DVec3::new(along.x, zero, zero);
            // In the middle, on faces, on edges; beside them.
            for (y, z, hits) in [
                (0.0, 0.0, 8),
                (0.25, 0.0, 8),
                (-0.25, 0.25, 8),
                (8.25, -0.25, 8),
                (0.26, 0.0, 0),
                (0.0, -0.26, 0),
                (1.0, 0.0, 0),
            ] {
                let from = DVec3::new(7.0 - 20.0 * along.x, y, z);
                let found = w.ray_all(from, towards, f64::INFINITY, &all);
                assert_eq!(found.len(), hits, "{from} {towards}");
                let first = w.ray_first(from, towards, f64::INFINITY, &all);
                assert_eq!(first.map(|f| f.body), found.first().map(|f| f.body));
                assert_eq!(hits > 0, first.is_some_and(|f| (f.hit.distance - 12.75).abs() < 1e-12));
            }
        }
    }
    let up = w.ray_first(DVec3::new(4.25, 2.0, -3.0), DVec3::Z, 10.0, &all).unwrap();
    assert_eq!((up.body, up.hit.distance), (boxes[10], 2.75));
    let tiny = DVec3::new(1e-310, 0.0, 1.0);
    assert_eq!(w.ray_first(DVec3::new(4.0, 2.0, -3.0), tiny, 10.0, &all).unwrap().body, boxes[10]);
    assert!(w.ray_first(DVec3::NAN, DVec3::Z, 10.0, &all).is_none(), "nowhere");
    assert!(w.ray_first(DVec3::ZERO, DVec3::NAN, 10.0, &all).is_none(), "to nowhere");
}

/// Who is not wanted hides nobody, and is asked only where it is hit.
#[test]
fn what_is_not_accepted_is_looked_through() {
    let mut w = still();
    let row: Vec<_> = (0..9)
        .map(|k| w.add_body(BodyDef::dynamic(Shape::sphere(0.3), 1.0).at(DVec3::X * k as f64)).unwrap())
        .collect();
    w.add_body(BodyDef::dynamic(Shape::sphere(0.3), 1.0).at(DVec3::Y * 5.0)).unwrap();
    let asked = std::cell::RefCell::new(Vec::new());
    let accept = |body, _| {
        asked.borrow_mut().push(body);
        body == row[4]
    };
    let only = QueryFilter { accept: Some(&accept), ..QueryFilter::default() };
    let from = DVec3::NEG_X * 3.0;
    assert_eq!(w.ray_first(from, DVec3::X, 50.0, &only).unwrap().body, row[4]);
    assert!(asked.borrow().len() <= 9 && asked.borrow().iter().all(|b| row.contains(b)));
    assert_eq!(w.ray_all(from, DVec3::X, 50.0, &only).len(), 1);
    let probe = Shape::sphere(0.2);
    assert_eq!(w.cast_shape(&probe, &Pose::at(from), DVec3::X, 50.0, &only).unwrap().body, row[4]);
    assert_eq!(w.closest(&probe, &Pose::at(from), 50.0, &only).unwrap().body, row[4]);
    assert_eq!(w.project_point(from, 50.0, &only).unwrap().body, row[4]);
    let wide = Shape::cuboid(DVec3::new(20.0, 0.1, 0.1));
    assert_eq!(w.overlapping(&wide, &Pose::IDENTITY, &only), [(row[4], w.colliders_of(row[4]).unwrap()[0])]);
    let others = QueryFilter { exclude: &row[..3], ..QueryFilter::default() };
    assert_eq!(w.ray_first(from, DVec3::X, 50.0, &others).unwrap().body, row[3]);
}

/// A cast is where the shape has come up to the target: there they touch, and before that they do not.
#[test]
fn casts_stop_where_shapes_touch() {
    let mut random = Random::new(9);
    let w = crowd(&mut random, 60);
    let mut hits = 0;
    for round in 0..80 {
        let probe = any_shape(&mut random, round);
        let pose = Pose::new(5.5 * random.unit_vector(), turn(&mut random));
        if !w.overlapping(&probe, &pose, &QueryFilter::default()).is_empty() {
            continue;
        }
        let direction = (0.3 * random.unit_vector() - pose.position.normalize()).normalize();
        let found = w.cast_shape(&probe, &pose, direction, 30.0, &QueryFilter::default());
        let way = found.map_or(30.0, |f| f.hit.distance);
        let least = |t: f64| {
            let here = Pose { position: pose.position + t * direction, ..pose };
            every(&w)
                .iter()
                .map(|(_, s, p)| query::distance(&probe, &here, s, p))
                .fold(f64::INFINITY, f64::min)
        };
        for share in [0.2, 0.5, 0.9, 0.99] {
            assert!(
                least(share * way) > 0.0,
                "{probe:?} from {pose:?} along {direction} at {share} of {way}"
            );
        }
        if let Some(f) = found {
            hits += 1;
            assert!(least(way).abs() < 1e-6, "{}", least(way));
            let to = w.collider(f.collider).unwrap();
            let surface = query::project(&to.shape, &w.collider_pose(f.collider).unwrap(), f.hit.point);
            assert!(surface.distance.abs() < 1e-6 && f.hit.normal.dot(direction) < 1e-6, "{f:?} {surface:?}");
        }
    }
    assert!(hits > 40, "{hits}");
}

#[test]
fn closest_points_lie_on_both_surfaces() {
    let mut random = Random::new(3);
    for round in 0..400 {
        let (a, b) = (any_shape(&mut random, round), any_shape(&mut random, round / 7));
        let (p, q) =
            (Pose::new(random.in_ball(), turn(&mut random)), Pose::new(random.in_ball(), turn(&mut random)));
        let found = query::closest_points(&a, &p, &b, &q).unwrap();
        let context = format!("{a:?} {p:?} {b:?} {q:?} {found:?}");
        assert!((found.distance - query::distance(&a, &p, &b, &q)).abs() < 1e-9, "{context}");
        assert!((found.on_a - found.on_b - found.distance * found.normal).length() < 1e-9, "{context}");
        if found.distance > 0.0 {
            assert!(query::project(&a, &p, found.on_a).distance.abs() < 1e-8, "{context}");
            assert!(query::project(&b, &q, found.on_b).distance.abs() < 1e-8, "{context}");
        }
        let back = query::closest_points(&b, &q, &a, &p).unwrap();
        assert!((back.distance - found.distance).abs() < 1e-12, "{context}");
    }
}

#[test]
fn ground_is_found_too() {
    let mut w = still();
    let heights = (0..25).map(|k| 0.1 * f64::from(k % 3)).collect();
    let field = HeightField::new(5, 5, [1.0, 1.0], heights).unwrap();
    let field = w.add_body(BodyDef::fixed(Shape::HeightField(field.into()))).unwrap();
    let corners = [DVec3::new(0.0, 0.0, 3.0), DVec3::new(1.0, 0.0, 3.0), DVec3::new(0.0, 1.0, 3.0)];
    let mesh = TriMesh::new(corners.to_vec(), vec![[0, 1, 2]]).unwrap();
    let mesh = w.add_body(BodyDef::fixed(Shape::Mesh(mesh.into()))).unwrap();
    let all = QueryFilter::default();
    let over = w.project_point(DVec3::new(0.2, 0.2, 4.0), 10.0, &all).unwrap();
    assert_eq!(over.body, mesh);
    assert!((over.hit.distance - 1.0).abs() < 1e-12 && (over.hit.normal - DVec3::Z).length() < 1e-12);
    let under = w.project_point(DVec3::new(0.3, 0.4, -0.5), 10.0, &all).unwrap();
    assert!(under.body == field && under.hit.distance < -0.4, "{under:?}");
    let ball = Shape::Sphere { radius: 0.25 };
    let start = Pose::at(DVec3::new(0.2, 0.2, 9.0));
    let hit = w.cast_shape(&ball, &start, DVec3::NEG_Z, 20.0, &all).unwrap();
    assert!(hit.body == mesh && (hit.hit.distance - 5.75).abs() < 1e-6, "{hit:?}");
    let only = QueryFilter { exclude: &[mesh], ..all };
    let hit = w.cast_shape(&ball, &start, DVec3::NEG_Z, 20.0, &only).unwrap();
    assert!(hit.body == field && hit.hit.distance > 8.4 && hit.hit.distance < 8.8, "{hit:?}");
    let near = w.closest(&ball, &start, 99.0, &all).unwrap();
    assert!(near.body == mesh && (near.hit.distance - 5.75).abs() < 1e-9, "{near:?}");
}

#[test]
fn filters_say_who_is_asked() {
    let mut w = still();
    let at = |x: f64, layers: u32| {
        let filter = Filter { layers, mask: u32::MAX };
        BodyDef::dynamic(Shape::Sphere { radius: 0.2 }, 1.0).at(DVec3::X * x).filter(filter)
    };
    let a = w.add_body(at(1.0, 1)).unwrap();
    let b = w.add_body(at(2.0, 2)).unwrap();
    let wall = BodyDef { motion: Motion::Static, ..at(3.0, 4) };
    let wall = w.add_body(wall).unwrap();
    let gate = w.add_collider(a, Collider::sensor(Shape::Sphere { radius: 0.9 })).unwrap();
    let first = |filter: &QueryFilter| w.ray_first(DVec3::ZERO, DVec3::X, 9.0, filter).map(|f| f.body);
    let all = QueryFilter::default();
    assert_eq!(first(&all), Some(a));
    let found = w.ray_first(DVec3::ZERO, DVec3::X, 9.0, &QueryFilter { sensors: true, ..all }).unwrap();
    assert!(found.collider == gate && (found.hit.distance - 0.1).abs() < 1e-12);
    assert_eq!(first(&QueryFilter { exclude: &[a], ..all }), Some(b));
    let second = Filter { layers: u32::MAX, mask: 2 };
    assert_eq!(first(&QueryFilter { filter: Some(second), ..all }), Some(b));
    assert_eq!(first(&QueryFilter { motion: Some(Motion::Static), ..all }), Some(wall));
    let odd = |body: drystone::BodyId, _| body == wall;
    assert_eq!(first(&QueryFilter { accept: Some(&odd), ..all }), Some(wall));
    assert_eq!(w.ray_all(DVec3::ZERO, DVec3::X, 2.5, &all).len(), 2, "the third is out of reach");
    assert!(w.closest_points(a, b).unwrap().is_some_and(|p| (p.distance - 0.6).abs() < 1e-12));
    w.remove_body(a).unwrap();
    assert_eq!(w.ray_first(DVec3::ZERO, DVec3::X, 9.0, &all).unwrap().body, b);
}
