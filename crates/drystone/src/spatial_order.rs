//! Bodies in the order of a space-filling curve.
//!
//! Slots say when a body was added, not where it is. Where there are thousands, pairs, contacts and problems
//! are put in the order of a curve through the centres [Morton1966], so that what is worked on together lies
//! together in memory, and runs of it are regions that the solver visits one at a time with all their
//! velocities in the cache.
//!
//! Bodies drift slowly through such an order, so it is renewed only now and then. It is part of the state: a
//! run that is resumed goes on in the same order, bit for bit.

use drystone_solve::parallel;
use glam::DVec3;
use rayon::slice::ParallelSliceMut;
use serde::{Deserialize, Serialize};

use crate::model::{ColliderSlot, Model};

/// Bodies in a region, about: their velocities take 64 bytes each.
const REGION: usize = 2048;
/// Fewer bodies stay in the order of their slots.
const MIN_BODIES: usize = 2 * REGION;
/// Steps after which the order is renewed.
const RENEWAL_INTERVAL: u64 = 64;
/// The largest coordinate along the curve: one body far away leaves enough steps for the rest.
const MAX_COORDINATE: u64 = (1 << 21) - 1;

/// The place of every body along the curve.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// By body slot, each number once, dynamic bodies first; empty where bodies are few.
    rank: Vec<u32>,
    /// How many were dynamic.
    dynamic: u32,
    /// Equal only for equal ranks, up to chance.
    stamp: u64,
    /// Steps since it was renewed.
    #[serde(default)]
    age: u64,
}

/// What contacts are sorted by before their features: the places of the two bodies, the lower first, then the
/// colliders.
pub(crate) type Place = ([u32; 2], [u32; 2]);

impl Order {
    /// Brings the order up to date at the start of a step. True if bodies have changed places, so that what
    /// was sorted is not any more.
    pub(crate) fn renew(&mut self, model: &Model, position: &[DVec3]) -> bool {
        if model.facts().dynamic < MIN_BODIES {
            let was = !self.rank.is_empty();
            *self = Self::default();
            return was;
        }
        let known = self.rank.len();
        self.age += 1;
        if known > 0 && self.age < RENEWAL_INTERVAL {
            // Newcomers come last until then.
            self.rank.extend(known as u32..model.bodies.len() as u32);
            if known < self.rank.len() {
                self.stamp = hash(self.stamp, self.rank.len() as u32);
            }
            return false;
        }
        self.age = 0;
        let mut along = curve(model.dynamic(), position);
        along.par_sort_unstable();
        self.dynamic = along.len() as u32;
        self.rank.clear();
        self.rank.resize(model.bodies.len(), u32::MAX);
        for (rank, &(_, slot)) in along.iter().enumerate() {
            self.rank[slot as usize] = rank as u32;
        }
        let others = self.rank.iter_mut().filter(|rank| **rank == u32::MAX);
        others.enumerate().for_each(|(k, rank)| *rank = (along.len() + k) as u32);
        self.stamp = self.rank.iter().fold(0xcbf2_9ce4_8422_2325, |h, rank| hash(h, *rank));
        true
    }

    /// Whether this is an order of so many bodies, or of the first of them: every place one body's.
    pub(crate) fn is_sound(&self, bodies: usize) -> bool {
        let n = self.rank.len();
        let mut taken = vec![false; n];
        n <= bodies
            && self.dynamic as usize <= n
            && self.rank.iter().all(|&k| (k as usize) < n && !std::mem::replace(&mut taken[k as usize], true))
    }

    /// Changes whenever the order does.
    pub(crate) fn stamp(&self) -> u64 {
        self.stamp
    }

    /// The place of a body: its slot where bodies are few.
    #[inline]
    pub(crate) fn rank(&self, slot: u32) -> u32 {
        self.rank.get(slot as usize).copied().unwrap_or(slot)
    }

    /// Where contacts of two colliders stand.
    #[inline]
    pub(crate) fn place(&self, model: &Model, colliders: [u32; 2]) -> Place {
        if self.rank.is_empty() {
            return ([0; 2], colliders);
        }
        let [a, b] = colliders.map(|k| self.rank(model.colliders[k as usize].body));
        ([a.min(b), a.max(b)], colliders)
    }

    /// The region of every body, by rank: runs of equal length. None where bodies are few.
    pub(crate) fn regions(&self, to: &mut Vec<u32>) {
        to.clear();
        if !self.rank.is_empty() {
            let (bodies, count) = (self.dynamic as usize, self.dynamic as usize / REGION);
            to.resize(self.rank.len(), 0);
            parallel::map_chunks(to, REGION, &mut Vec::<()>::new(), |first, run| {
                (first..)
                    .zip(run)
                    .for_each(|(rank, to)| *to = (rank.min(bodies - 1) * count / bodies) as u32);
            });
        }
    }
}

/// Colliders in the order of their bodies: pairs that are found among them in this order are sorted already.
#[derive(Default)]
pub(crate) struct Line {
    /// Collider slots; empty where they stand in line as they are.
    along: Vec<u32>,
    starts: Vec<u32>,
    /// Whether a body has several: their pairs with those of another body go by slots.
    several: bool,
}

impl Line {
    /// Lines them up.
    pub fn up(&mut self, model: &Model, order: Option<&Order>) {
        self.along.clear();
        let Some(order) = order.filter(|order| order.stamp() != 0) else { return };
        let Self { along, starts, several } = self;
        // Those of removed bodies come last.
        let last = model.bodies.len();
        let rank = |c: &ColliderSlot| (order.rank(c.body) as usize).min(last);
        starts.clear();
        starts.resize(last + 2, 0);
        model.colliders.iter().for_each(|c| starts[rank(c) + 1] += 1);
        *several = starts[..=last].iter().any(|count| *count > 1);
        (1..starts.len()).for_each(|k| starts[k] += starts[k - 1]);
        along.resize(model.colliders.len(), 0);
        for (k, c) in model.colliders.iter().enumerate() {
            let place = &mut starts[rank(c)];
            along[*place as usize] = k as u32;
            *place += 1;
        }
    }

    /// The `p`-th.
    #[inline]
    pub fn collider(&self, p: usize) -> usize {
        self.along.get(p).map_or(p, |k| *k as usize)
    }

    /// Puts pairs of colliders that were found in line in the order of their places.
    pub fn order(&self, model: &Model, order: &Order, pairs: &mut [(u32, u32)]) {
        if self.along.is_empty() || !self.several {
            return;
        }
        let place = |&(i, j): &(u32, u32)| order.place(model, [i, j]);
        for run in pairs.chunk_by_mut(|p, q| place(p).0[0] == place(q).0[0]) {
            run.sort_unstable_by_key(place);
        }
    }
}

/// Sorts pairs of colliders by place, in time proportional to their number.
#[derive(Default)]
pub(crate) struct PairSort {
    /// By collider.
    ranks: Vec<u32>,
    /// By the lower of the two ranks, where its pairs begin.
    starts: Vec<u32>,
    sorted: Vec<(u32, u32)>,
}

impl PairSort {
    pub fn sort(&mut self, model: &Model, order: &Order, pairs: &mut Vec<(u32, u32)>) {
        let Self { ranks, starts, sorted } = self;
        ranks.clear();
        ranks.extend(model.colliders.iter().map(|c| order.rank(c.body)));
        let both = |&(i, j): &(u32, u32)| {
            let (a, b) = (ranks[i as usize], ranks[j as usize]);
            (a.min(b), a.max(b))
        };
        starts.clear();
        starts.resize(model.bodies.len() + 1, 0);
        pairs.iter().for_each(|p| starts[both(p).0 as usize + 1] += 1);
        for k in 1..starts.len() {
            starts[k] += starts[k - 1];
        }
        sorted.clear();
        sorted.resize(pairs.len(), (0, 0));
        for p in pairs.iter() {
            let to = &mut starts[both(p).0 as usize];
            sorted[*to as usize] = *p;
            *to += 1;
        }
        for run in sorted.chunk_by_mut(|p, q| both(p).0 == both(q).0) {
            run.sort_unstable_by_key(|p| (both(p).1, *p));
        }
        std::mem::swap(pairs, sorted);
    }
}

/// The numbers of `places` in the order of a curve through them \[Morton1966\]: neighbours in space are then
/// mostly neighbours in the list. Bodies that are added in such an order make fast worlds.
pub fn along_curve(places: &[DVec3]) -> Vec<u32> {
    let mut along = curve(0..places.len(), places);
    along.par_sort_unstable();
    along.into_iter().map(|(_, k)| k).collect()
}

/// (place along the curve, number) of those of the positions that are numbered.
fn curve(numbers: impl Iterator<Item = usize> + Clone, position: &[DVec3]) -> Vec<(u64, u32)> {
    let (mut min, mut max) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    for i in numbers.clone() {
        min = min.min(position[i]);
        max = max.max(position[i]);
    }
    let scale = (MAX_COORDINATE as f64 / (max - min).max_element()).min(f64::MAX);
    let key = |x: DVec3| {
        let [x, y, z] = ((x - min) * scale).to_array().map(|x| spread((x as u64).min(MAX_COORDINATE)));
        x | y << 1 | z << 2
    };
    numbers.map(|i| (key(position[i]), i as u32)).collect()
}

/// Two zeros between the bits of a number below 2²¹.
fn spread(x: u64) -> u64 {
    let x = (x | x << 32) & 0x001f_0000_0000_ffff;
    let x = (x | x << 16) & 0x001f_0000_ff00_00ff;
    let x = (x | x << 8) & 0x100f_00f0_0f00_f00f;
    let x = (x | x << 4) & 0x10c3_0c30_c30c_30c3;
    (x | x << 2) & 0x1249_2492_4924_9249
}

/// FNV-1a, a number at a time.
fn hash(h: u64, x: u32) -> u64 {
    (h ^ u64::from(x)).wrapping_mul(0x0000_0100_0000_01b3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::BodyDef;
    use crate::settings::Settings;
    use crate::shape::Shape;
    use crate::world::World;

    #[test]
    fn bits_are_spread() {
        for x in [0, 1, 2, 0b1011, 0x1f_ffff, 0x15_5555] {
            let slow: u64 = (0..21).map(|k| (x >> k & 1) << (3 * k)).sum();
            assert_eq!(spread(x), slow, "{x:#b}");
        }
    }

    /// A cube of 16³ balls in a shuffled order, and a floor.
    fn cube() -> (World, Vec<DVec3>) {
        let mut world = World::new(Settings::default()).unwrap();
        world.add_body(BodyDef::fixed(Shape::HalfSpace)).unwrap();
        let mut places = vec![DVec3::ZERO];
        for i in 0..4096u32 {
            // 4096 and 1387 have no common factor.
            let k = (i * 1387) % 4096;
            let x = DVec3::new(f64::from(k % 16), f64::from(k / 16 % 16), f64::from(k / 256));
            places.push(x);
            world.add_body(BodyDef::dynamic(Shape::Sphere { radius: 0.4 }, 1.0).at(x)).unwrap();
        }
        (world, places)
    }

    #[test]
    fn regions_are_compact_and_of_equal_size() {
        let (world, places) = cube();
        let mut order = Order::default();
        assert!(order.renew(world.model(), &places));
        let mut regions = Vec::new();
        order.regions(&mut regions);
        assert_eq!(order.rank(0), 4096, "the floor is last");
        // The curve ends with z: the lower half is one region.
        for (slot, x) in places.iter().enumerate().skip(1) {
            assert_eq!(regions[order.rank(slot as u32) as usize], u32::from(x.z >= 8.0), "{x}");
        }
        let mut ranks = order.rank.clone();
        ranks.sort_unstable();
        assert!(ranks.iter().copied().eq(0..4097));
    }

    #[test]
    fn pairs_are_sorted_like_their_places() {
        let (world, places) = cube();
        let mut order = Order::default();
        order.renew(world.model(), &places);
        let mut random = crate::random::Random::new(3);
        let mut any = || (4097.0 * random.in_box(DVec3::ZERO, DVec3::ONE).x) as u32;
        let mut pairs: Vec<(u32, u32)> = (0..5000).map(|_| (any(), any())).filter(|(i, j)| i < j).collect();
        let mut slow = pairs.clone();
        slow.sort_by_key(|&(i, j)| order.place(world.model(), [i, j]));
        PairSort::default().sort(world.model(), &order, &mut pairs);
        assert_eq!(pairs, slow);
    }

    #[test]
    fn pairs_found_in_line_are_sorted_like_their_places() {
        for every in [1, 3] {
            let (mut world, mut places) = cube();
            // Some with a second shape, far from their first among the slots.
            for k in (0..300).step_by(every) {
                let ball = Shape::Sphere { radius: 0.2 };
                let x = places[13 * k + 1] + DVec3::splat(0.01);
                let mut def = BodyDef::dynamic(ball.clone(), 1.0).at(x);
                if every > 1 {
                    def.colliders.push(def.colliders[0].clone());
                }
                world.add_body(def).unwrap();
                places.push(x);
            }
            let mut order = Order::default();
            order.renew(world.model(), &places);
            let mut line = Line::default();
            line.up(world.model(), Some(&order));
            let n = world.model().colliders.len();
            let mut seen: Vec<usize> = (0..n).map(|p| line.collider(p)).collect();
            // Each with the next few, as a broad phase says it: the earlier first, in lexicographic order.
            let found = (0..n).flat_map(|p| (p + 1..n.min(p + 5)).map(move |q| (p, q)));
            let colliders = found.map(|(p, q)| (seen[p].min(seen[q]) as u32, seen[p].max(seen[q]) as u32));
            let mut pairs: Vec<(u32, u32)> = colliders.collect();
            let mut slow = pairs.clone();
            slow.sort_by_key(|&(i, j)| order.place(world.model(), [i, j]));
            assert_eq!(pairs == slow, every == 1, "one shape each: in order as they are found");
            line.order(world.model(), &order, &mut pairs);
            assert_eq!(pairs, slow);
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..n));
        }
    }

    #[test]
    fn newcomers_come_last_until_all_is_sorted_again() {
        let (mut world, mut places) = cube();
        let mut order = Order::default();
        order.renew(world.model(), &places);
        let (stamp, rank) = (order.stamp(), order.rank.clone());
        assert!(!order.renew(world.model(), &places));
        assert_eq!(order.stamp(), stamp);
        places.push(DVec3::ZERO);
        world.add_body(BodyDef::dynamic(Shape::Sphere { radius: 0.4 }, 1.0)).unwrap();
        assert!(!order.renew(world.model(), &places));
        assert_ne!(order.stamp(), stamp);
        assert_eq!(order.rank[..4097], rank);
        assert_eq!(order.rank(4097), 4097);
        for _ in 3..RENEWAL_INTERVAL {
            assert!(!order.renew(world.model(), &places));
        }
        assert!(order.renew(world.model(), &places));
        assert!(order.rank(4097) < 3, "it is in the lowest corner");
    }

    #[test]
    fn few_bodies_keep_the_order_of_their_slots() {
        let mut world = World::new(Settings::default()).unwrap();
        world.add_body(BodyDef::dynamic(Shape::Sphere { radius: 0.4 }, 1.0)).unwrap();
        let mut order = Order::default();
        assert!(!order.renew(world.model(), &[DVec3::ZERO]));
        assert_eq!((order.rank(7), order.stamp()), (7, 0));
        assert_eq!(order.place(world.model(), [3, 9]), ([0; 2], [3, 9]));
        let mut regions = vec![1];
        order.regions(&mut regions);
        assert!(regions.is_empty());
    }
}
