//! A few points for many: where a body lies on much of a surface, four well-spread points carry it as well as a thousand.
//!
//! Points of nearly equal normals form a group; of each group at most four stay, chosen as the narrow phase chooses the
//! corners of a patch: the deepest, then the one furthest from it, then twice the one that adds most area.

use glam::DVec3;

use super::touch::Touch;

/// Cosine of 2°.
const ALIKE: f64 = 0.999_390_827_019_095_8;
/// A group is level when its gaps differ by at most this part of its extent.
const LEVEL: f64 = 1e-3;
/// So many points carry a flat contact.
const MOST: usize = 4;

/// Thins out `found`, which comes sorted by name and stays so; `marks` is scratch memory. Points closer together than
/// `near` with nearly equal normals count as one, of which the first stays.
pub(super) fn reduce(found: &mut Vec<Touch>, marks: &mut Vec<u32>, near: f64) {
    if found.len() < 2 {
        return;
    }
    // marks[i]: the first of i's group; then, whether i stays.
    marks.clear();
    let mut leaders = 0;
    for i in 0..found.len() {
        let n = found[i].point.normal;
        let leader = (0..i).find(|&k| marks[k] == k as u32 && found[k].point.normal.dot(n) > ALIKE);
        leaders += usize::from(leader.is_none());
        marks.push(leader.unwrap_or(i) as u32);
    }
    if leaders == found.len() {
        return;
    }
    for leader in 0..found.len() as u32 {
        if marks[leader as usize] == leader {
            thin(found, marks, leader, near);
        }
    }
    let mut at = 0;
    found.retain(|_| {
        at += 1;
        marks[at - 1] != GONE
    });
}

const GONE: u32 = u32::MAX;

fn thin(found: &[Touch], marks: &mut [u32], leader: u32, near: f64) {
    let members = |marks: &[u32]| marks.iter().filter(|m| **m == leader).count();
    if members(marks) > MOST {
        let kept = choose(found, marks, leader);
        for i in leader as usize..marks.len() {
            if marks[i] == leader && !kept.contains(&i) {
                marks[i] = GONE;
            }
        }
    }
    for i in leader as usize..marks.len() {
        let twin = |k: usize| {
            marks[k] == leader && found[k].point.on_b.distance_squared(found[i].point.on_b) < near * near
        };
        if marks[i] == leader && (leader as usize..i).any(twin) {
            marks[i] = GONE;
        }
    }
}

fn choose(found: &[Touch], marks: &[u32], leader: u32) -> [usize; MOST] {
    let normal = found[leader as usize].point.normal;
    let (u, v) = normal.any_orthonormal_pair();
    let origin = found[leader as usize].point.on_b;
    let flat = |i: usize| {
        let p: DVec3 = found[i].point.on_b - origin;
        [p.dot(u), p.dot(v)]
    };
    let best = |score: &dyn Fn(usize) -> f64| {
        let mut found = (f64::NEG_INFINITY, leader as usize);
        for i in (leader as usize..marks.len()).filter(|&i| marks[i] == leader) {
            let s = score(i);
            if s > found.0 {
                found = (s, i);
            }
        }
        found
    };
    let (deepest, highest) = (-best(&|i| -found[i].point.gap).0, best(&|i| found[i].point.gap).0);
    // In a level patch noise decides which is deepest; the outermost in a fixed direction stays the same.
    const OUTWARD: DVec3 = DVec3::new(0.955, 0.296, 0.016);
    let outermost = |i: usize| found[i].point.on_b.dot(OUTWARD);
    let extent = best(&outermost).0 + best(&|i| -outermost(i)).0;
    let level = highest - deepest <= LEVEL * extent;
    let first = best(&|i| if level { outermost(i) } else { -found[i].point.gap }).1;
    let a = flat(first);
    let second = best(&|i| {
        let p = flat(i);
        (p[0] - a[0]).powi(2) + (p[1] - a[1]).powi(2)
    })
    .1;
    let b = flat(second);
    let area =
        |a: [f64; 2], b: [f64; 2], c: [f64; 2]| (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
    let third = best(&|i| area(a, b, flat(i)).abs()).1;
    let c = flat(third);
    let turn = if area(a, b, c) < 0.0 { -1.0 } else { 1.0 };
    let fourth = best(&|i| {
        let p = flat(i);
        -(turn * area(a, b, p)).min(turn * area(b, c, p)).min(turn * area(c, a, p))
    })
    .1;
    [first, second, third, fourth]
}
