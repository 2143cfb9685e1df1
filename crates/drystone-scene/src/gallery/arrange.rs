//! Random arrangements of bodies in a box, without overlaps, at a given solid fraction.
//!
//! Bodies are strewn uniformly, overlaps and all, and then pushed apart: every pair that is closer than a
//! small clearance is moved and turned along its contact normal by what is lacking, pair after pair, until
//! none overlaps. Dropping bodies one by one where there is room would stop near a fraction of 0.38; this
//! goes well beyond. Only sums, products and roots of numbers drawn from the seed are used, so a seed means
//! the same scene on every machine.
//!
//! Where there are thousands, they are put in the order of a curve through their places first, so that
//! neighbours lie together in memory, and pushed further than to the clearance, as in successive
//! over-relaxation: a third as many sweeps.

use drystone::collide::Aabb;
use drystone::collide::broadphase::{self, BroadPhase};
use drystone::collide::midphase::Finder;
use drystone::random::Random;
use drystone::{Pose, Shape};
use glam::{DQuat, DVec3};

/// A body to be placed.
pub(crate) struct Grain {
    pub shape: Shape,
    pub pose: Pose,
}

/// Sweeps over all pairs before giving up.
const MOST_SWEEPS: usize = 4000;

/// From so many bodies on they are sorted, and pushed by `FURTHER` times what is lacking.
const MIN_SORTED: usize = 4096;
const FURTHER: f64 = 1.8;
/// Sweeps that pairs are then kept for at least: in the first ones all bodies move far, and what is missed
/// comes next.
const KEPT: usize = 4;

/// Clearance to aim at, over the smallest inner radius.
const CLEARANCE: f64 = 0.02;

/// Places `shapes`, randomly turned, in |x| <= size.x/2, |y| <= size.y/2, 0 <= z <= size.z, the lowest on the
/// floor and the highest at the top. Where there are many they come back in the order of a curve. Says what
/// went wrong if they do not fit.
pub(crate) fn strew(shapes: Vec<Shape>, size: DVec3, random: &mut Random) -> Result<Vec<Grain>, String> {
    let place = |shape: Shape| {
        let round = matches!(shape, Shape::Sphere { .. });
        let turn = if round { DQuat::IDENTITY } else { random.rotation() };
        Grain { shape, pose: Pose::new(DVec3::ZERO, turn) }
    };
    let mut grains: Vec<Grain> = shapes.into_iter().map(place).collect();
    let mut pile = Pile::new(&grains, size)?;
    for (grain, reach) in grains.iter_mut().zip(&pile.reach) {
        grain.pose.position = random.in_box(pile.floor + *reach, pile.lid - *reach);
    }
    if grains.len() >= MIN_SORTED {
        pile.sort(&mut grains);
    }
    for _ in 0..10 {
        pile.push_apart(&mut grains)?;
        pile.stretch(&mut grains);
        if pile.least_gap(&grains) > 0.0 {
            return Ok(grains);
        }
    }
    Err("the bodies cannot be placed without overlap: lower 'fraction'".into())
}

struct Pile {
    floor: DVec3,
    lid: DVec3,
    /// Half the size of each grain's bounds.
    reach: Vec<DVec3>,
    clearance: f64,
    /// What is lacking is made up for so many times.
    further: f64,
    /// Sweeps that pairs are kept for at least.
    kept: usize,
    broadphase: Option<Box<dyn BroadPhase>>,
    bounds: Vec<Aabb>,
    movable: Vec<bool>,
    /// Pairs closer than `margin` when they were last collected.
    pairs: Vec<(u32, u32)>,
    margin: f64,
    /// By grain: where it was then, and how far its surface has turned since, m.
    start: Vec<DVec3>,
    turned: Vec<f64>,
    /// Counts sweeps; in which each grain was last moved, and in which each pair was last found to be far
    /// enough apart.
    sweep: u32,
    shifted: Vec<u32>,
    apart: Vec<u32>,
    finder: Finder,
}

impl Pile {
    fn new(grains: &[Grain], size: DVec3) -> Result<Self, String> {
        let half = DVec3::new(0.5 * size.x, 0.5 * size.y, 0.0);
        let least = grains.iter().map(|g| g.shape.inner_radius()).fold(f64::INFINITY, f64::min);
        let reach: Vec<DVec3> = grains.iter().map(reach).collect();
        if reach.iter().any(|r| (2.0 * *r).cmpgt(size).any()) {
            return Err(format!(
                "a body is larger than the {:.3} x {:.3} x {:.3} m it is to lie in",
                size.x, size.y, size.z
            ));
        }
        Ok(Self {
            floor: -half,
            lid: half.with_z(size.z),
            reach,
            clearance: CLEARANCE * least,
            further: 1.0,
            kept: 1,
            broadphase: None,
            bounds: Vec::new(),
            movable: vec![true; grains.len()],
            pairs: Vec::new(),
            margin: 0.5 * least,
            start: Vec::new(),
            turned: Vec::new(),
            sweep: 0,
            shifted: Vec::new(),
            apart: Vec::new(),
            finder: Finder::default(),
        })
    }

    /// Puts neighbours next to each other, and takes longer strides.
    fn sort(&mut self, grains: &mut Vec<Grain>) {
        let places: Vec<DVec3> = grains.iter().map(|g| g.pose.position).collect();
        let order = drystone::along_curve(&places);
        let mut unsorted: Vec<Option<Grain>> = std::mem::take(grains).into_iter().map(Some).collect();
        grains.extend(order.iter().filter_map(|&k| unsorted[k as usize].take()));
        self.reach = order.iter().map(|&k| self.reach[k as usize]).collect();
        (self.further, self.kept) = (FURTHER, KEPT);
    }

    fn collect(&mut self, grains: &[Grain]) {
        let Self { reach, margin, bounds, movable, .. } = self;
        bounds.clear();
        let reaches = |(g, reach): (&Grain, &DVec3)| {
            Aabb::around(g.pose.position, *reach + DVec3::splat(0.5 * *margin))
        };
        bounds.extend(grains.iter().zip(reach.iter()).map(reaches));
        let broadphase =
            self.broadphase.get_or_insert_with(|| broadphase::make(broadphase::choose(bounds, movable)));
        broadphase.pairs(bounds, movable, &mut self.pairs);
        self.start.clear();
        self.start.extend(grains.iter().map(|g| g.pose.position));
        self.turned.clear();
        self.turned.resize(grains.len(), 0.0);
        self.sweep = 1;
        self.shifted.clear();
        self.shifted.resize(grains.len(), 1);
        self.apart.clear();
        self.apart.resize(self.pairs.len(), 0);
    }

    /// How far any grain has come since pairs were collected, m.
    fn way(&self, grains: &[Grain]) -> f64 {
        let ways = grains.iter().zip(&self.start).zip(&self.turned);
        ways.map(|((g, start), turned)| g.pose.position.distance(*start) + turned).fold(0.0, f64::max)
    }

    /// Until no pair overlaps.
    fn push_apart(&mut self, grains: &mut [Grain]) -> Result<(), String> {
        self.collect(grains);
        let mut since = 0;
        for _ in 0..MOST_SWEEPS {
            // Pairs stay complete until two bodies have come nearer by the margin together; half of that is
            // left for the sweep to come. Should one be missed, it is found before all is said to be well.
            since += 1;
            if since > self.kept && self.way(grains) > 0.25 * (self.margin - self.clearance) {
                self.collect(grains);
                since = 1;
            }
            self.sweep += 1;
            let mut worst = 0.0f64;
            let pairs = std::mem::take(&mut self.pairs);
            for (p, &(i, j)) in pairs.iter().enumerate() {
                let (i, j) = (i as usize, j as usize);
                // After the first sweeps most pairs are apart and stay where they are.
                if self.apart[p] > self.shifted[i].max(self.shifted[j]) {
                    continue;
                }
                self.apart[p] = self.sweep;
                let Some(near) = near(&mut self.finder, &grains[i], &grains[j], self.clearance) else {
                    continue;
                };
                let lacking = self.clearance - near.gap;
                if lacking <= 0.0 {
                    continue;
                }
                worst = worst.max(lacking);
                self.apart[p] = 0;
                let arms =
                    [(i, near.normal), (j, -near.normal)].map(|(k, n)| Arm::new(&grains[k], near.point, n));
                let push = self.further * lacking / (arms[0].give + arms[1].give);
                for (k, arm) in [i, j].into_iter().zip(arms) {
                    self.shift(k, &mut grains[k], &arm, push);
                }
            }
            self.pairs = pairs;
            if worst < 0.9 * self.clearance && self.least_gap(grains) > 0.0 {
                return Ok(());
            }
        }
        Err("the bodies cannot be placed without overlap: lower 'fraction'".into())
    }

    /// Moves and turns a grain, and keeps it inside.
    fn shift(&mut self, k: usize, grain: &mut Grain, arm: &Arm, push: f64) {
        let before = grain.pose.position;
        let turn = push * arm.turn;
        if turn != DVec3::ZERO {
            let half = 0.5 * turn;
            grain.pose.rotation =
                (DQuat::from_xyzw(half.x, half.y, half.z, 1.0) * grain.pose.rotation).normalize();
            self.reach[k] = reach(grain);
        }
        let wanted = before + push * arm.normal;
        let reach = self.reach[k];
        grain.pose.position = wanted.max(self.floor + reach).min(self.lid - reach);
        self.turned[k] += turn.length() * grain.shape.bounding_radius();
        self.shifted[k] = self.sweep;
    }

    fn least_gap(&mut self, grains: &[Grain]) -> f64 {
        self.collect(grains);
        let Self { pairs, finder, .. } = self;
        let nearest = |&(i, j): &(u32, u32)| near(finder, &grains[i as usize], &grains[j as usize], 0.0);
        pairs.iter().filter_map(nearest).map(|near| near.gap).fold(f64::INFINITY, f64::min)
    }

    /// Lets the pile reach from the floor to the lid: centres move apart vertically, never together.
    fn stretch(&self, grains: &mut [Grain]) {
        let z = |i: usize| grains[i].pose.position.z;
        let low = |i: &usize| z(*i) - self.reach[*i].z;
        let high = |i: &usize| z(*i) + self.reach[*i].z;
        let all = || 0..grains.len();
        let Some(lowest) = all().min_by(|a, b| low(a).total_cmp(&low(b))) else { return };
        let Some(highest) = all().max_by(|a, b| high(a).total_cmp(&high(b))) else { return };
        let (from, to) = (self.reach[lowest].z, self.lid.z - self.reach[highest].z);
        let (z_low, z_high) = (z(lowest), z(highest));
        if z_high <= z_low || to - from <= z_high - z_low {
            return;
        }
        let scale = (to - from) / (z_high - z_low);
        for (g, reach) in grains.iter_mut().zip(&self.reach) {
            let z = from + (g.pose.position.z - z_low) * scale;
            g.pose.position.z = z.clamp(reach.z, self.lid.z - reach.z);
        }
    }
}

/// How far a grain reaches from its middle along the axes, to the further side.
fn reach(grain: &Grain) -> DVec3 {
    let bounds = grain.shape.aabb(&grain.pose);
    (bounds.max - grain.pose.position).max(grain.pose.position - bounds.min)
}

/// How a grain gives way to a push at a point, as if of unit mass and with the inertia of a ball.
struct Arm {
    /// Direction of the push.
    normal: DVec3,
    /// Rotation for a unit push, rad/m.
    turn: DVec3,
    /// Motion of the point along the normal for a unit push.
    give: f64,
}

impl Arm {
    fn new(grain: &Grain, point: DVec3, normal: DVec3) -> Self {
        if matches!(grain.shape, Shape::Sphere { .. }) {
            return Self { normal, turn: DVec3::ZERO, give: 1.0 };
        }
        let inertia = 0.4 * grain.shape.inner_radius() * grain.shape.bounding_radius();
        let lever = (point - grain.pose.position).cross(normal);
        Self { normal, turn: lever / inertia, give: 1.0 + lever.length_squared() / inertia }
    }
}

/// Where two grains are nearest.
struct Near {
    gap: f64,
    point: DVec3,
    /// From the second to the first.
    normal: DVec3,
}

/// Nothing if they are further apart than `within`.
fn near(finder: &mut Finder, a: &Grain, b: &Grain, within: f64) -> Option<Near> {
    let d = a.pose.position - b.pose.position;
    let apart = d.length();
    if let (Shape::Sphere { radius: ra }, Shape::Sphere { radius: rb }) = (&a.shape, &b.shape) {
        let gap = apart - ra - rb;
        return (gap < within).then(|| Near {
            gap,
            point: b.pose.position,
            normal: d.normalize_or(DVec3::Z),
        });
    }
    if apart > a.shape.bounding_radius() + b.shape.bounding_radius() + within {
        return None;
    }
    let points = finder.find(&a.shape, &a.pose, &b.shape, &b.pose, within).iter().map(|c| &c.point);
    let deepest = points.min_by(|p, q| p.gap.total_cmp(&q.gap))?;
    Some(Near { gap: deepest.gap, point: 0.5 * (deepest.on_a + deepest.on_b), normal: deepest.normal })
}

#[cfg(test)]
mod tests {
    use drystone::Compound;

    use super::*;

    /// Those that are sorted and pushed further are as free as few are, all there, and a seed means one
    /// arrangement.
    #[test]
    fn many_are_strewn_without_overlap() {
        let shapes = || {
            (0..MIN_SORTED).map(|k| Shape::Sphere { radius: if k % 3 == 0 { 0.3 } else { 0.5 } }).collect()
        };
        let grains = strew(shapes(), DVec3::new(20.0, 20.0, 9.0), &mut Random::new(3)).unwrap();
        let small = grains.iter().filter(|g| matches!(g.shape, Shape::Sphere { radius: 0.3 })).count();
        assert_eq!((grains.len(), small), (MIN_SORTED, MIN_SORTED.div_ceil(3)));
        for (i, a) in grains.iter().enumerate() {
            let reach = DVec3::splat(a.shape.inner_radius());
            let half = DVec3::new(10.0, 10.0, 0.0);
            assert!((a.pose.position - reach + half).min_element() > -1e-12, "{}", a.pose.position);
            assert!(
                (a.pose.position + reach - half.with_z(9.0)).max_element() < 1e-12,
                "{}",
                a.pose.position
            );
            for b in &grains[..i] {
                let apart = a.shape.inner_radius() + b.shape.inner_radius();
                assert!(a.pose.position.distance_squared(b.pose.position) > apart * apart);
            }
        }
        let again = strew(shapes(), DVec3::new(20.0, 20.0, 9.0), &mut Random::new(3)).unwrap();
        assert!(grains.iter().zip(&again).all(|(a, b)| a.pose.position == b.pose.position));
    }

    /// Two balls a stick apart: what is between them is free.
    #[test]
    fn compounds_are_strewn_without_overlap() {
        let ball = |x: f64| (Pose::at(DVec3::X * x), Shape::Sphere { radius: 0.5 });
        let pair = Shape::Compound(Compound::new(vec![ball(-1.0), ball(1.0)]).unwrap().into());
        let grains = strew(vec![pair; 30], DVec3::splat(7.0), &mut Random::new(3)).unwrap();
        let balls: Vec<DVec3> =
            grains.iter().flat_map(|g| [-1.0, 1.0].map(|x| g.pose.point(DVec3::X * x))).collect();
        for (i, p) in balls.iter().enumerate() {
            for q in &balls[..i - i % 2] {
                assert!(p.distance(*q) > 1.0, "{p} {q}");
            }
        }
    }
}
