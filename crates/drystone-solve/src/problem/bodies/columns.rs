//! Contact points written column by column, by several threads.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::parallel;

use super::points::{Point, Points};

/// Points that one thread makes at a time.
const PIECE: usize = 2048;

impl Points {
    /// The columns of numbers that all points have.
    fn numbers_mut(&mut self) -> impl Iterator<Item = &mut Vec<f64>> {
        let vectors = self.normal.iter_mut().chain(&mut self.arm_a).chain(&mut self.arm_b);
        vectors.chain([&mut self.bias, &mut self.mu])
    }

    /// Replaces all points by `count` new ones, in coloured order; the colours are the caller's. Pieces are
    /// made by several threads where there are many.
    pub fn fill(&mut self, count: usize, point: impl Fn(usize) -> Point + Sync) {
        self.drift.iter_mut().chain(&mut self.compliance).for_each(Vec::clear);
        // What is new is written twice, what was there before once.
        self.numbers_mut().for_each(|field| parallel::resize(field, count, 0.0));
        for field in [&mut self.a, &mut self.b] {
            parallel::resize(field, count, 0);
        }
        let Self { a, b, normal, arm_a, arm_b, bias, mu, .. } = self;
        let vectors = [normal, arm_a, arm_b].map(|field| field.each_mut().map(Vec::as_mut_slice));
        let columns = (vectors, [bias, mu].map(Vec::as_mut_slice), [a, b].map(Vec::as_mut_slice));
        let seen = [false; 2].map(AtomicBool::new);
        parallel::for_each_run(count, columns, PIECE, |first, (vectors, [bias, mu], [a, b])| {
            let [normal, arm_a, arm_b] = vectors;
            let mut said = [false; 2];
            for (j, i) in (first..first + a.len()).enumerate() {
                let p = point(i);
                let (along, _, slides) = p.split();
                (a[j], b[j]) = p.bodies;
                for k in 0..3 {
                    (normal[k][j], arm_a[k][j], arm_b[k][j]) = (p.normal[k], p.arm_a[k], p.arm_b[k]);
                }
                (bias[j], mu[j]) = (along, p.mu);
                said = [said[0] | slides, said[1] | (p.compliance > 0.0)];
            }
            seen.iter().zip(said).filter(|(_, said)| *said).for_each(|(seen, _)| seen.store(true, Relaxed));
        });
        let [slides, gives] = seen.map(AtomicBool::into_inner);
        if slides {
            for k in 0..3 {
                self.drift[k].extend((0..count).map(|i| point(i).split().1[k]));
            }
        }
        if gives {
            self.compliance[0].extend((0..count).map(|i| point(i).compliance));
            self.compliance[1].resize(count, 0.0);
        }
    }
}
