//! The reference: every pair is looked at. O(n²), with nothing in it that could go wrong.

use super::{BroadPhase, check, occupied};
use crate::collide::Aabb;

/// Looks at every pair.
#[derive(Clone, Copy, Debug, Default)]
pub struct Brute;

impl BroadPhase for Brute {
    fn name(&self) -> &'static str {
        "brute"
    }

    fn pairs(&mut self, boxes: &[Aabb], movable: &[bool], pairs: &mut Vec<(u32, u32)>) {
        check(boxes, movable);
        pairs.clear();
        for (i, a) in boxes.iter().enumerate().filter(|(_, a)| occupied(a)) {
            for (j, b) in boxes.iter().enumerate().skip(i + 1) {
                if (movable[i] || movable[j]) && a.overlaps(b) && occupied(b) {
                    pairs.push((i as u32, j as u32));
                }
            }
        }
    }
}
