//! Regions of neighbouring bodies, which the solver visits one at a time with all their velocities in the cache.
//!
//! Bodies are put in the order of a space-filling curve [Morton1966] through their centres and cut into runs of equal
//! length. The curve follows from the positions alone, so a run that is resumed has the same regions.

use glam::DVec3;
use rayon::slice::ParallelSliceMut;

use crate::model::Model;
use crate::state::State;

/// Bodies in a region, about: their velocities take 64 bytes each.
const SIZE: usize = 2048;

/// The region of every body, and the memory to find it.
#[derive(Default)]
pub(crate) struct Regions {
    /// (place along the curve, slot).
    along: Vec<(u64, u32)>,
    region: Vec<u32>,
}

impl Regions {
    /// By body slot; `None` where there are too few bodies to part.
    pub fn get(&self) -> Option<&[u32]> {
        (!self.region.is_empty()).then_some(&self.region)
    }

    /// Parts the dynamic bodies.
    pub fn part(&mut self, model: &Model, state: &State) {
        self.region.clear();
        let count = model.dynamic().count() / SIZE;
        if count < 2 {
            return;
        }
        let (mut min, mut max) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        for i in model.dynamic() {
            min = min.min(state.position[i]);
            max = max.max(state.position[i]);
        }
        // 2²¹ steps along the longest side: one body far away leaves enough of them for the rest.
        let scale = (MOST as f64 / (max - min).max_element()).min(f64::MAX);
        self.along.clear();
        self.along.extend(model.dynamic().map(|i| {
            let [x, y, z] =
                ((state.position[i] - min) * scale).to_array().map(|x| spread((x as u64).min(MOST)));
            (x | y << 1 | z << 2, i as u32)
        }));
        self.along.par_sort_unstable();
        self.region.resize(model.bodies.len(), 0);
        let bodies = self.along.len();
        for (rank, &(_, slot)) in self.along.iter().enumerate() {
            self.region[slot as usize] = (rank * count / bodies) as u32;
        }
    }
}

/// The largest coordinate.
const MOST: u64 = (1 << 21) - 1;

/// Two zeros between the bits of a number below 2²¹.
fn spread(x: u64) -> u64 {
    let x = (x | x << 32) & 0x001f_0000_0000_ffff;
    let x = (x | x << 16) & 0x001f_0000_ff00_00ff;
    let x = (x | x << 8) & 0x100f_00f0_0f00_f00f;
    let x = (x | x << 4) & 0x10c3_0c30_c30c_30c3;
    (x | x << 2) & 0x1249_2492_4924_9249
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

    /// A cube of 16³ balls, 2 regions: which two are neighbours in space is what counts, not the order of adding them.
    #[test]
    fn regions_are_compact_and_of_equal_size() {
        let mut world = World::new(Settings::default()).unwrap();
        let mut places = Vec::new();
        for i in 0..4096u32 {
            // 4095 and 1387 have no common factor: a shuffle.
            let k = (i * 1387) % 4096;
            let x = DVec3::new(f64::from(k % 16), f64::from(k / 16 % 16), f64::from(k / 256));
            places.push(x);
            world.add_body(BodyDef::dynamic(Shape::Sphere { radius: 0.4 }, 1.0).at(x)).unwrap();
        }
        let mut regions = Regions::default();
        regions.part(world.model(), world.state());
        let region = regions.get().unwrap();
        assert_eq!(region.iter().filter(|r| **r == 0).count(), 2048);
        assert_eq!(region.iter().max(), Some(&1));
        // The curve ends with z: the lower half is one region.
        for (x, r) in places.iter().zip(region) {
            assert_eq!(*r, u32::from(x.z >= 8.0), "{x}");
        }
    }

    #[test]
    fn few_bodies_are_not_parted() {
        let mut world = World::new(Settings::default()).unwrap();
        world.add_body(BodyDef::dynamic(Shape::Sphere { radius: 0.4 }, 1.0)).unwrap();
        let mut regions = Regions::default();
        regions.part(world.model(), world.state());
        assert!(regions.get().is_none());
    }
}
