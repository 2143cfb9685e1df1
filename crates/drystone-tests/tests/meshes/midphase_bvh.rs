//! The tree of boxes against looking at every box.

use drystone::collide::Aabb;
use drystone::collide::midphase::Bvh;
use drystone::random::Random;
use drystone::shape::Pose;
use glam::{DMat3, DQuat, DVec3};

/// Sets of boxes that are easy, flat, all alike, in a row, of very different sizes.
fn sets() -> Vec<(&'static str, Vec<Aabb>)> {
    let mut random = Random::new(3);
    let mut boxes = |n: usize, place: DVec3, small: f64, large: f64| -> Vec<Aabb> {
        (0..n)
            .map(|_| {
                let reach = random.in_box(DVec3::ZERO, DVec3::ONE) * random.range(small, large);
                Aabb::around(random.in_box(-place, place), reach)
            })
            .collect()
    };
    vec![
        ("none", vec![]),
        ("one", boxes(1, DVec3::ONE, 0.1, 0.2)),
        ("five", boxes(5, DVec3::ONE, 0.1, 0.2)),
        ("spread", boxes(700, DVec3::splat(10.0), 0.1, 1.0)),
        ("flat", boxes(600, DVec3::new(10.0, 10.0, 0.0), 0.0, 1.0)),
        ("line", boxes(300, DVec3::new(10.0, 0.0, 0.0), 0.0, 0.0)),
        ("alike", vec![Aabb::around(DVec3::ONE, DVec3::ONE); 100]),
        ("sizes", boxes(400, DVec3::splat(5.0), 1e-6, 20.0)),
        (
            "doubling",
            (0..200)
                .map(|k| Aabb::around(DVec3::X * 2f64.powi(k - 100), DVec3::splat(2f64.powi(k - 102))))
                .collect(),
        ),
    ]
}

#[test]
fn overlapping_finds_what_brute_force_finds() {
    let mut random = Random::new(4);
    for (name, boxes) in sets() {
        let tree = Bvh::new(&boxes);
        assert_eq!(tree.len(), boxes.len());
        let mut found = 0;
        for _ in 0..300 {
            let sought = Aabb::around(
                random.in_box(-DVec3::splat(10.0), DVec3::splat(10.0)),
                random.in_box(DVec3::ZERO, DVec3::splat(2.0)),
            );
            let mut got = Vec::new();
            tree.overlapping(&sought, |k| got.push(k));
            got.sort_unstable();
            let expected: Vec<u32> =
                (0..boxes.len() as u32).filter(|&k| boxes[k as usize].overlaps(&sought)).collect();
            assert_eq!(got, expected, "{name}");
            found += got.len();
        }
        assert!(found > 0 || boxes.is_empty() || name == "one", "{name}: the queries say nothing");
    }
}

#[test]
fn a_query_looks_at_few_boxes() {
    let mut random = Random::new(9);
    let boxes: Vec<Aabb> = (0..20_000)
        .map(|_| Aabb::around(random.in_box(-DVec3::splat(100.0), DVec3::splat(100.0)), DVec3::splat(0.5)))
        .collect();
    let tree = Bvh::new(&boxes);
    let looked = std::cell::Cell::new(0);
    for _ in 0..100 {
        let p = random.in_box(-DVec3::splat(100.0), DVec3::splat(100.0));
        let bound = |b: &Aabb| {
            looked.set(looked.get() + 1);
            p.distance(p.clamp(b.min, b.max))
        };
        tree.nearest(bound, f64::INFINITY, |k, limit| {
            limit.min(p.distance(p.clamp(boxes[k as usize].min, boxes[k as usize].max)))
        });
    }
    assert!(looked.get() < 100 * 600, "{} boxes looked at in 100 queries of 20000", looked.get());
}

/// Whether boxes A, and B at `relative`, are separated along none of their six face axes, by the projections
/// of corners.
fn near(a: &Aabb, b: &Aabb, relative: &Pose, margin: f64) -> bool {
    let corners = |x: &Aabb| -> [DVec3; 8] {
        std::array::from_fn(|k| {
            DVec3::select(glam::BVec3::new(k & 1 == 1, k & 2 == 2, k & 4 == 4), x.max, x.min)
        })
    };
    let (ca, cb) = (corners(a), corners(b).map(|p| relative.point(p)));
    let m = DMat3::from_quat(relative.rotation);
    [DVec3::X, DVec3::Y, DVec3::Z, m.x_axis, m.y_axis, m.z_axis].iter().all(|n| {
        let range = |c: &[DVec3; 8]| {
            c.iter()
                .map(|p| p.dot(*n))
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), x| (lo.min(x), hi.max(x)))
        };
        let ((a0, a1), (b0, b1)) = (range(&ca), range(&cb));
        a0 <= b1 + margin + 1e-9 && b0 <= a1 + margin + 1e-9
    })
}

#[test]
fn pairs_miss_none_and_add_none() {
    let mut random = Random::new(5);
    let sets: Vec<_> = sets()
        .into_iter()
        .filter(|(name, _)| *name != "doubling")
        .map(|(n, b)| (n, Bvh::new(&b), b))
        .collect();
    let mut total = 0;
    for (na, ta, a) in &sets {
        for (nb, tb, b) in &sets {
            let relative = Pose::new(random.in_box(-DVec3::splat(8.0), DVec3::splat(8.0)), random.rotation());
            let margin = 0.1 * random.range(0.0, 1.0);
            let mut got = Vec::new();
            ta.pairs(tb, &relative, margin, |i, j| got.push((i, j)));
            got.sort_unstable();
            let before = got.len();
            got.dedup();
            assert_eq!(before, got.len(), "{na} {nb}: a pair came twice");
            let mut expected = Vec::new();
            for (i, x) in a.iter().enumerate() {
                for (j, y) in b.iter().enumerate() {
                    if near(x, y, &relative, margin) {
                        expected.push((i as u32, j as u32));
                    }
                }
            }
            assert_eq!(got, expected, "{na} against {nb}");
            total += got.len();
        }
    }
    assert!(total > 1000);
}

#[test]
fn rays_find_the_first_box() {
    let mut random = Random::new(6);
    for (name, boxes) in sets() {
        let tree = Bvh::new(&boxes);
        // Entry distance by clipping the ray at each of six planes in turn, written apart from the tree's own
        // test.
        let enter = |b: &Aabb, o: DVec3, d: DVec3| -> Option<f64> {
            let (mut from, mut to) = (0.0f64, f64::INFINITY);
            for (n, offset) in [(DVec3::X, b.max.x), (DVec3::Y, b.max.y), (DVec3::Z, b.max.z)]
                .into_iter()
                .chain([(-DVec3::X, -b.min.x), (-DVec3::Y, -b.min.y), (-DVec3::Z, -b.min.z)])
            {
                let (height, rate) = (n.dot(o) - offset, n.dot(d));
                if rate == 0.0 {
                    if height > 0.0 {
                        return None;
                    }
                } else if rate < 0.0 {
                    from = from.max(-height / rate);
                } else {
                    to = to.min(-height / rate);
                }
            }
            (from <= to).then_some(from)
        };
        for k in 0..300 {
            let o = random.in_box(-DVec3::splat(15.0), DVec3::splat(15.0));
            let d = match k % 3 {
                0 => DVec3::X,
                1 => random.in_box(-DVec3::splat(5.0), DVec3::splat(5.0)) - o,
                _ => random.unit_vector(),
            };
            let max = if k % 2 == 0 { f64::INFINITY } else { 5.0 };
            let mut best: Option<(f64, u32)> = None;
            tree.ray(o, d, max, |part, max| {
                if let Some(s) = enter(&boxes[part as usize], o, d).filter(|s| *s <= max)
                    && best.is_none_or(|b| (s, part) < b)
                {
                    best = Some((s, part));
                    return s;
                }
                max
            });
            let expected = boxes
                .iter()
                .enumerate()
                .filter_map(|(i, b)| Some((enter(b, o, d).filter(|s| *s <= max)?, i as u32)))
                .min_by(|a, b| a.partial_cmp(b).unwrap());
            assert_eq!(best, expected, "{name}");
        }
    }
}

#[test]
fn the_same_boxes_give_the_same_tree() {
    for (name, boxes) in sets() {
        assert_eq!(Bvh::new(&boxes), Bvh::new(&boxes), "{name}");
    }
    let q = DQuat::IDENTITY;
    let a = Bvh::new(&[Aabb::around(DVec3::ZERO, DVec3::ONE)]);
    let mut met = 0;
    a.pairs(&a, &Pose::new(DVec3::X * 2.0, q), 0.0, |_, _| met += 1);
    assert_eq!(met, 1, "boxes that touch are a pair");
}
