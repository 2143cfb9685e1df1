//! Which four corners of a patch carry it.
//!
//! The first is the deepest, then the one furthest from it, then twice the one that adds most area. In a
//! level patch the first is the outermost in a fixed direction instead, so that what lies at rest keeps its
//! points although noise decides which corner is deepest.
//!
//! Where corners are about equally good, as in regular or round patches, the least motion would still change
//! the choice, and with it what the solver knows from the last step. So the four that carried the patch last
//! time stay as long as they span nearly as much as the best.

use glam::DVec2;

use super::{MAX_POINTS, sign};

/// A patch is level when its gaps differ by at most this part of its extent.
const LEVEL: f64 = 5e-4;

/// Gaps that differ by less than this part of the extent say nothing about which corner is deepest.
const NOISE: f64 = 3e-5;

/// The last four stay while they span at least this part of the area of the best.
const LASTING: f64 = 0.9;

/// Skew to the axes of the plane.
const OUTWARD: DVec2 = DVec2::new(0.955, 0.296);

/// A corner of a patch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Corner {
    /// Across the normal, m.
    pub place: DVec2,
    pub gap: f64,
    /// Whether its name was among the last.
    pub known: bool,
}

impl Corner {
    pub(crate) const NONE: Self = Self { place: DVec2::ZERO, gap: f64::INFINITY, known: false };
}

/// One of the four: what it is called after, where it is, and its gap, which is that of the place up to
/// noise.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pick {
    pub name: usize,
    pub at: usize,
    pub gap: f64,
}

/// The chosen ones: four, or fewer where the corners lie on a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Picks {
    picks: [Pick; MAX_POINTS],
    len: usize,
}

impl Picks {
    pub(crate) fn as_slice(&self) -> &[Pick] {
        &self.picks[..self.len]
    }
}

/// At most four of some corners, well spread, and the deepest gap among them.
///
/// If the deepest corner is none of the four, the nearest of them speaks for it: it takes its gap, or, where
/// that differs by more than noise, its place too, and keeps its own name.
pub(crate) fn four(corners: &[Corner]) -> Picks {
    let deepest = best(corners, |c| -c.gap);
    let most = corners.iter().fold(f64::NEG_INFINITY, |most, c| most.max(c.gap));
    let outermost = best(corners, |c| OUTWARD.dot(c.place));
    let middle = corners[outermost].place;
    let extent = corners.iter().fold(0.0_f64, |most, c| most.max(c.place.distance_squared(middle))).sqrt();
    let level = most - corners[deepest].gap <= LEVEL * extent;

    let mut four = widest(corners, if level { outermost } else { deepest });
    if let Some(last) = last(corners) {
        let enough = LASTING * area(corners, four);
        let as_deep = |k: &usize| corners[*k].gap <= corners[deepest].gap + NOISE * extent;
        if area(corners, last) >= enough && (level || last.iter().any(as_deep)) {
            four = last;
        }
    }

    let mut out = Picks { picks: [Pick { name: 0, at: 0, gap: 0.0 }; MAX_POINTS], len: 0 };
    for (i, k) in four.into_iter().enumerate() {
        if !four[..i].contains(&k) {
            out.picks[out.len] = Pick { name: k, at: k, gap: corners[k].gap };
            out.len += 1;
        }
    }
    if !four.contains(&deepest) {
        let Corner { place, gap, .. } = corners[deepest];
        let mut near = 0;
        for k in 1..out.len {
            let away = |k: usize| corners[out.picks[k].at].place.distance_squared(place);
            if away(k) < away(near) {
                near = k;
            }
        }
        let near = &mut out.picks[near];
        if near.gap - gap > NOISE * extent {
            near.at = deepest;
        }
        near.gap = near.gap.min(gap);
    }
    out
}

/// The four with the first given.
fn widest(corners: &[Corner], first: usize) -> [usize; MAX_POINTS] {
    let twice = |p: &Corner, q: &Corner, r: &Corner| (q.place - p.place).perp_dot(r.place - p.place);
    let a = corners[first];
    let second = best(corners, |p| p.place.distance_squared(a.place));
    let b = corners[second];
    // Patches are often symmetric about that diagonal: one side is preferred a little, so that noise has no
    // say.
    let third = best(corners, |p| twice(&a, &b, p).max(-0.95 * twice(&a, &b, p)));
    let c = corners[third];
    let turn = sign(twice(&a, &b, &c));
    let fourth = best(corners, |p| {
        -(turn * twice(&a, &b, p)).min(turn * twice(&b, &c, p)).min(turn * twice(&c, &a, p))
    });
    [first, second, third, fourth]
}

/// The corners that are known, if there are four.
fn last(corners: &[Corner]) -> Option<[usize; MAX_POINTS]> {
    let mut found = [0; MAX_POINTS];
    let mut count = 0;
    for (k, _) in corners.iter().enumerate().filter(|(_, c)| c.known) {
        *found.get_mut(count)? = k;
        count += 1;
    }
    (count == MAX_POINTS).then_some(found)
}

/// Of the quadrilateral of four corners in any order, m²: half the cross product of its diagonals, which of
/// all ways to pair the corners is the greatest.
fn area(corners: &[Corner], four: [usize; MAX_POINTS]) -> f64 {
    let [a, b, c, d] = four.map(|k| corners[k].place);
    let pairs = [(b - a).perp_dot(d - c), (c - a).perp_dot(d - b), (d - a).perp_dot(c - b)];
    0.5 * pairs.iter().fold(0.0_f64, |most, x| most.max(x.abs()))
}

/// Index of the first corner with the greatest score.
fn best(corners: &[Corner], score: impl Fn(&Corner) -> f64) -> usize {
    let mut found = (0, f64::NEG_INFINITY);
    for (i, p) in corners.iter().enumerate() {
        let s = score(p);
        if s > found.1 {
            found = (i, s);
        }
    }
    found.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A regular heptagon, whose best four corners are a matter of noise.
    fn heptagon(turn: f64) -> Vec<Corner> {
        (0..7)
            .map(|k| {
                let place = DVec2::from_angle(turn + std::f64::consts::TAU * f64::from(k) / 7.0);
                Corner { place, gap: 0.0, known: false }
            })
            .collect()
    }

    #[test]
    fn the_last_four_stay_while_the_patch_turns() {
        let mut known = [false; 7];
        let mut changes = 0;
        for step in 0..2000 {
            let mut corners = heptagon(1e-3 * f64::from(step));
            for (c, k) in corners.iter_mut().zip(known) {
                c.known = k;
            }
            let picks = four(&corners);
            let now: [bool; 7] = std::array::from_fn(|k| picks.as_slice().iter().any(|p| p.name == k));
            assert_eq!(now.iter().filter(|k| **k).count(), 4);
            changes += usize::from(now != known);
            known = now;
        }
        assert_eq!(changes, 1);
    }

    #[test]
    fn four_in_a_corner_make_way() {
        let mut corners = heptagon(0.0);
        // Four neighbours span half of what four well-spread corners do.
        (0..4).for_each(|k| corners[k].known = true);
        let picks = four(&corners);
        assert!(picks.as_slice().iter().any(|p| p.name > 3), "{picks:?}");
    }

    #[test]
    fn a_tilted_patch_takes_its_deepest_corner() {
        let mut corners = heptagon(0.0);
        corners.iter_mut().for_each(|c| c.gap = 0.01 * c.place.x);
        let deepest = best(&corners, |c| -c.gap);
        for known in 0..1 << 7 {
            (0..7).for_each(|k| corners[k].known = known >> k & 1 == 1);
            let picks = four(&corners);
            assert!(picks.as_slice().iter().any(|p| p.gap == corners[deepest].gap), "{known:b} {picks:?}");
        }
    }

    #[test]
    fn in_a_level_patch_a_neighbour_speaks_for_the_deepest() {
        let mut corners = heptagon(0.0);
        let names = |picks: &Picks| picks.as_slice().iter().map(|p| p.name).collect::<Vec<_>>();
        let chosen = names(&four(&corners));
        let left = (0..7).find(|k| !chosen.contains(k)).unwrap();
        for (depth, moved) in [(1e-5, false), (5e-4, true)] {
            corners[left].gap = -depth;
            let picks = four(&corners);
            assert_eq!(names(&picks), chosen);
            assert_eq!(picks.as_slice().iter().filter(|p| p.gap == -depth).count(), 1);
            assert_eq!(picks.as_slice().iter().any(|p| p.at == left), moved);
        }
    }

    #[test]
    fn corners_on_a_line_are_taken_once() {
        let on_line = |k: u32| Corner { place: DVec2::new(f64::from(k), 0.0), gap: 0.0, known: false };
        let corners: Vec<Corner> = (0..6).map(on_line).collect();
        let picks = four(&corners);
        let mut names: Vec<usize> = picks.as_slice().iter().map(|p| p.name).collect();
        names.sort_unstable();
        assert!(names.contains(&0) && names.contains(&5), "{names:?}");
        assert!(names.windows(2).all(|w| w[0] < w[1]), "{names:?}");
    }
}
