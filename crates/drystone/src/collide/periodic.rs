//! Periodic boxes: what leaves through one face comes back through the opposite one, and bodies touch across
//! the faces.
//!
//! Centres of mass are kept inside the box. For the broad phase every shape near a lower face gets a ghost
//! one period further up (and one for each combination of axes); pairs that involve ghosts are real pairs
//! between periodic images.

use glam::DVec3;
use serde::{Deserialize, Serialize};

use super::Aabb;

/// A box that repeats along some of its axes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Periodic {
    /// Smallest corner, m. What it says along other axes does not matter.
    pub min: DVec3,
    /// Largest corner, m.
    pub max: DVec3,
    /// Along which axes it repeats.
    pub axes: [bool; 3],
}

/// Where the second of two colliders is taken, in periods relative to the first: -1, 0 or 1 along each axis.
pub(crate) type Image = [i8; 3];

impl Periodic {
    /// The length of a period along an axis, m.
    pub fn length(&self, axis: usize) -> f64 {
        self.max[axis] - self.min[axis]
    }

    /// Says what is wrong with the box.
    pub fn check(&self) -> Result<(), String> {
        for k in 0..3 {
            let length = self.length(k);
            if self.axes[k] && !(length.is_finite() && length > 0.0) {
                return Err(format!(
                    "periodic: min[{k}] = {} and max[{k}] = {} leave no finite period",
                    self.min[k], self.max[k]
                ));
            }
        }
        Ok(())
    }

    /// Says whether a moving shape of this radius about its body's centre is small enough to have one nearest
    /// image.
    pub(crate) fn fits(&self, radius: f64) -> Result<(), String> {
        let too_big = |k: &usize| self.axes[*k] && 4.0 * radius > self.length(*k);
        match (0..3).find(too_big) {
            Some(k) => Err(format!(
                "a moving body of radius {radius} m needs a period of at least {} m along axis {k}, not {}",
                4.0 * radius,
                self.length(k)
            )),
            None => Ok(()),
        }
    }

    /// Brings a point into the box; how many periods up it was taken along each axis.
    pub(crate) fn wrap(&self, x: &mut DVec3) -> [i32; 3] {
        let mut taken = [0; 3];
        for k in 0..3 {
            if self.axes[k] && (x[k] < self.min[k] || x[k] >= self.max[k]) {
                let length = self.length(k);
                let n = -((x[k] - self.min[k]) / length).floor();
                x[k] += n * length;
                // Rounding may leave it on the far face.
                if x[k] >= self.max[k] {
                    x[k] = self.min[k];
                }
                taken[k] = n as i32;
            }
        }
        taken
    }

    /// The translation of an image, m.
    pub(crate) fn shift(&self, image: Image) -> DVec3 {
        DVec3::from_array(std::array::from_fn(|k| {
            f64::from(image[k]) * if image[k] == 0 { 0.0 } else { self.length(k) }
        }))
    }
}

/// An image as a number below 27, 0 for none: what a contact's key keeps.
pub(crate) fn code(image: Image) -> u32 {
    let digit = |k: usize| (image[k] + 3) as u32 % 3;
    digit(0) + 3 * digit(1) + 9 * digit(2)
}

/// The image of a code.
pub(crate) fn image(code: u32) -> Image {
    [code % 3, code / 3 % 3, code / 9 % 3].map(|digit| if digit == 2 { -1 } else { digit as i8 })
}

/// Two colliders, the lower slot first, and where the second is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WrappedPair {
    pub colliders: [u32; 2],
    pub image: Image,
}

/// Ghosts behind the real boxes: whose they are and along which axes they are shifted.
#[derive(Default)]
pub(crate) struct Ghosts {
    of: Vec<(u32, [bool; 3])>,
}

impl Ghosts {
    /// Appends the ghosts of all boxes to `boxes`, and whether they move to `movable`. `spans` tells along
    /// which axes a shape is as long as the period: it needs no copy beside it. The box of a small body that
    /// moves far in a step may be as long, and does need copies.
    pub fn add(
        &mut self,
        periodic: &Periodic,
        spans: impl Fn(usize) -> [bool; 3],
        boxes: &mut Vec<Aabb>,
        movable: &mut Vec<bool>,
    ) {
        self.of.clear();
        let n = boxes.len();
        let mut over = [0.0f64; 3];
        for (i, b) in boxes.iter().enumerate() {
            let spans = spans(i);
            for k in 0..3 {
                if periodic.axes[k] && !spans[k] {
                    over[k] = over[k].max(b.max[k] - periodic.max[k]);
                }
            }
        }
        for i in 0..n {
            let b = boxes[i];
            let spans = spans(i);
            let near = |k: usize| periodic.axes[k] && !spans[k] && b.min[k] < periodic.min[k] + over[k];
            let near = [near(0), near(1), near(2)];
            for subset in 1..8u8 {
                let axes = [0, 1, 2].map(|k| subset >> k & 1 == 1);
                if (0..3).any(|k| axes[k] && !near[k]) {
                    continue;
                }
                let shift = periodic.shift(axes.map(i8::from));
                boxes.push(Aabb { min: b.min + shift, max: b.max + shift });
                movable.push(movable[i]);
                self.of.push((i as u32, axes));
            }
        }
    }

    /// Takes the pairs that involve ghosts out of `pairs` (of which the first `real` boxes are real) and puts
    /// what they mean into `wrapped`, sorted.
    pub fn resolve(&self, real: usize, pairs: &mut Vec<(u32, u32)>, wrapped: &mut Vec<WrappedPair>) {
        wrapped.clear();
        let whose = |k: u32| match (k as usize).checked_sub(real) {
            None => (k, [false; 3]),
            Some(g) => self.of[g],
        };
        pairs.retain(|&(p, q)| {
            if (q as usize) < real && (p as usize) < real {
                return true;
            }
            let ((i, up), (j, down)) = (whose(p), whose(q));
            // Shifted along one axis together they are a pair that is found without that shift.
            if i == j || (0..3).any(|k| up[k] && down[k]) {
                return false;
            }
            let image: Image = std::array::from_fn(|k| i8::from(down[k]) - i8::from(up[k]));
            wrapped.push(if i < j {
                WrappedPair { colliders: [i, j], image }
            } else {
                WrappedPair { colliders: [j, i], image: image.map(|x| -x) }
            });
            false
        });
        wrapped.sort_unstable();
        wrapped.dedup();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOX: Periodic = Periodic {
        min: DVec3::new(-1.0, 0.0, 0.0),
        max: DVec3::new(3.0, 2.0, 5.0),
        axes: [true, true, false],
    };

    #[test]
    fn images_and_codes_are_the_same_thing() {
        for c in 0..27 {
            assert_eq!(code(image(c)), c);
        }
        assert_eq!(code([0, 0, 0]), 0);
        assert_eq!(BOX.shift([1, -1, 0]), DVec3::new(4.0, -2.0, 0.0));
    }

    #[test]
    fn points_come_back_inside() {
        for (from, to, taken) in [
            (DVec3::new(0.0, 1.0, 9.0), DVec3::new(0.0, 1.0, 9.0), [0, 0, 0]),
            (DVec3::new(3.0, -0.5, -9.0), DVec3::new(-1.0, 1.5, -9.0), [-1, 1, 0]),
            (DVec3::new(-9.5, 6.5, 0.0), DVec3::new(2.5, 0.5, 0.0), [3, -3, 0]),
            (DVec3::new(-1.0 - 1e-17, -1e-18, 0.0), DVec3::new(-1.0, 0.0, 0.0), [0, 1, 0]),
        ] {
            let mut x = from;
            assert_eq!(BOX.wrap(&mut x), taken, "{from}");
            assert!((x - to).length() < 1e-12, "{from}: {x}");
            assert!(x.x >= -1.0 && x.x < 3.0 && x.y >= 0.0 && x.y < 2.0);
        }
    }

    /// Every pair of images that overlap is found exactly once, and nothing else.
    #[test]
    fn ghosts_find_what_all_images_would() {
        let mut random = crate::random::Random::new(3);
        let mut found = 0;
        for _ in 0..50 {
            let boxes: Vec<Aabb> = (0..40)
                .map(|k| {
                    let x = random.in_box(BOX.min, BOX.max);
                    // Some are longer than a period: small bodies that move far in a step.
                    let long = if k % 16 == 0 { 12.0 } else { 1.0 };
                    Aabb::around(x, long * (DVec3::splat(0.1) + 0.2 * random.unit_vector().abs()))
                })
                .collect();
            let mut expected = Vec::new();
            for i in 0..boxes.len() {
                for j in i + 1..boxes.len() {
                    for c in 1..27 {
                        let image = image(c);
                        let s = BOX.shift([image[0], image[1], 0]);
                        let moved = Aabb { min: boxes[j].min + s, max: boxes[j].max + s };
                        if image[2] == 0 && boxes[i].overlaps(&moved) {
                            expected.push(WrappedPair { colliders: [i as u32, j as u32], image });
                        }
                    }
                }
            }
            expected.sort_unstable();
            let (mut all, mut movable) = (boxes.clone(), vec![true; boxes.len()]);
            let mut ghosts = Ghosts::default();
            ghosts.add(&BOX, |_| [false; 3], &mut all, &mut movable);
            let (mut pairs, mut wrapped) = (Vec::new(), Vec::new());
            crate::collide::broadphase::make(crate::collide::broadphase::Kind::Brute)
                .pairs(&all, &movable, &mut pairs);
            ghosts.resolve(boxes.len(), &mut pairs, &mut wrapped);
            found += expected.len();
            assert_eq!(wrapped, expected);
            assert!(pairs.iter().all(|&(i, j)| (i as usize) < boxes.len() && (j as usize) < boxes.len()));
        }
        assert!(found > 30, "{found}");
    }
}
