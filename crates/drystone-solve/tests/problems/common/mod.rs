//! Problems for tests.

#![allow(dead_code)]

pub mod carts;

use drystone_solve::colour::Colouring;
use drystone_solve::cone::AdmissibleSet;
use drystone_solve::problem::{Bodies, Csr, Explicit, General, WORLD};
use drystone_solve::{Problem, Set};

/// A small deterministic generator, enough for test data.
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
    pub fn range(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * self.next()
    }
    pub fn unit(&mut self) -> [f64; 3] {
        loop {
            let x = [self.range(-1.0, 1.0), self.range(-1.0, 1.0), self.range(-1.0, 1.0)];
            let n = (x[0] * x[0] + x[1] * x[1] + x[2] * x[2]).sqrt();
            if n > 0.1 && n < 1.0 {
                return x.map(|x| x / n);
            }
        }
    }
}

/// A loose heap: bodies of uneven mass, contacts with the floor and with neighbours, a few joints and motors.
pub fn heap(bodies: usize, seed: u64, joints: bool) -> Bodies {
    let mut d = Dice(seed);
    let mut p = Bodies::default();
    for _ in 0..bodies {
        let m = d.range(0.5, 2.0);
        p.inv_mass.push(1.0 / m);
        let i: [f64; 3] = [d.range(2.0, 4.0) / m, d.range(2.0, 4.0) / m, d.range(2.0, 4.0) / m];
        p.inv_inertia.push([i[0], i[1], i[2], 0.1, -0.2, 0.15]);
        p.v_free.push([
            d.range(-0.3, 0.3),
            d.range(-0.3, 0.3),
            d.range(-1.0, 0.0),
            0.1,
            -0.2,
            d.range(-0.5, 0.5),
        ]);
    }
    let mut pairs = Vec::new();
    for i in 0..bodies as u32 {
        if i % 2 == 0 {
            pairs.push((i, WORLD));
        }
        for k in [1, 3] {
            if i + k < bodies as u32 {
                pairs.push((i + k, i));
            }
        }
    }
    let mut c = Colouring::default();
    c.run(bodies, pairs.iter().copied());
    for &i in &c.order {
        let (a, b) = pairs[i as usize];
        let n = if b == WORLD {
            [0.0, 0.0, 1.0]
        } else {
            let x = d.unit();
            [x[0], x[1], x[2].abs()]
        };
        let r = d.range(0.4, 0.6);
        let arm_b = if b == WORLD { [0.0; 3] } else { n.map(|x| x * r) };
        let gap = d.range(0.0, 0.1);
        let mu = if i % 7 == 0 { 0.0 } else { d.range(0.1, 0.9) };
        p.points.push((a, b), n, n.map(|x| -x * r), arm_b, n.map(|x| x * gap), mu);
    }
    p.points.spans = c.spans.clone();
    if joints {
        let mut g = General { first_row: vec![0], ..General::default() };
        let blocks = [
            ((0, 5), Set::Free),
            ((1, WORLD), Set::Interval { lo: -0.05, hi: 0.05 }),
            ((2, 7), Set::NonNegative),
            ((3, 8), Set::Friction2 { mu: 0.5 }),
            ((4, 9), Set::Rolling5 { mu: 0.5, mu_r: 0.1 }),
        ];
        c.run(bodies, blocks.iter().map(|b| b.0));
        for &i in &c.order {
            let ((a, b), set) = blocks[i as usize];
            g.a.push(a);
            g.b.push(b);
            g.set.push(set);
            for k in 0..set.rows() {
                let mut row: [f64; 12] = std::array::from_fn(|_| d.range(-0.5, 0.5));
                row[k % 3] += 1.0;
                if b != WORLD {
                    row[6 + k % 3] -= 1.0;
                }
                g.jacobian.push(row);
                g.bias.push(if k == 0 && set != Set::Free { d.range(0.0, 0.1) } else { 0.0 });
            }
            g.first_row.push(g.jacobian.len() as u32);
        }
        g.spans = c.spans;
        p.general = g;
    }
    p
}

/// The same problem with an explicit matrix, column by column.
pub fn explicit(bodies: &Bodies) -> Problem {
    let free = Problem::Bodies(bodies.clone());
    let n = free.rows();
    let mut q = Vec::new();
    free.rhs(&mut q);
    let mut columns = Vec::new();
    let mut u = Vec::new();
    for j in 0..n {
        let mut e = vec![0.0; n];
        e[j] = 1.0;
        free.apply(&e, &mut u);
        columns.push(u.iter().zip(&q).map(|(u, q)| u - q).collect::<Vec<_>>());
    }
    let mut w = Csr { columns: n, indptr: vec![0], ..Csr::default() };
    for i in 0..n {
        for (j, column) in columns.iter().enumerate() {
            if column[i].abs() > 1e-300 {
                w.indices.push(j as u32);
                w.data.push(column[i]);
            }
        }
        w.indptr.push(w.indices.len());
    }
    let sets = (0..free.blocks()).map(|i| free.set(i)).collect();
    Problem::Explicit(Explicit::new(w, q, sets))
}

/// Boxes on top of each other, four contact points to a face, falling for a hundredth of a second.
pub fn stack(height: usize) -> Bodies {
    let mut p = Bodies::default();
    let mut pairs = Vec::new();
    for i in 0..height as u32 {
        p.inv_mass.push(1.0);
        p.inv_inertia.push([6.0, 6.0, 6.0, 0.0, 0.0, 0.0]);
        p.v_free.push([0.0, 0.0, -0.0981, 0.0, 0.0, 0.0]);
        (0..4).for_each(|k| pairs.push((i, if i == 0 { WORLD } else { i - 1 }, k)));
    }
    let mut c = Colouring::default();
    c.run(height, pairs.iter().map(|p| (p.0, p.1)));
    for &i in &c.order {
        let (a, b, k) = pairs[i as usize];
        let at = [[0.5, 0.5], [0.5, -0.5], [-0.5, 0.5], [-0.5, -0.5]][k];
        let arm_b = if b == WORLD { [0.0; 3] } else { [at[0], at[1], 0.5] };
        p.points.push((a, b), [0.0, 0.0, 1.0], [at[0], at[1], -0.5], arm_b, [0.0; 3], 0.5);
    }
    p.points.spans = c.spans;
    p
}

/// Balls of 1 kg and 0.5 m in one plane, layer on layer, in their first step of 0.05 s: the published
/// pyramids. All places are off by up to `noise`, m, so that ties are ties up to that.
pub fn pyramid(layers: usize, mu: f64, noise: f64) -> Bodies {
    let mut p = Bodies::default();
    let mut centres: Vec<[f64; 3]> = Vec::new();
    for k in 0..layers {
        let edge = layers - k;
        let along = |i: usize| i as f64 - 0.5 * (edge - 1) as f64;
        centres.extend((0..edge).map(|i| [along(i), 0.0, 0.5 + k as f64 * 0.75f64.sqrt()]));
    }
    let mut d = Dice(layers as u64);
    for x in centres.iter_mut().flatten() {
        *x += noise * d.range(-1.0, 1.0);
    }
    for _ in &centres {
        p.inv_mass.push(1.0);
        p.inv_inertia.push([10.0, 10.0, 10.0, 0.0, 0.0, 0.0]);
        p.v_free.push([0.0, 0.0, -0.4905, 0.0, 0.0, 0.0]);
    }
    let mut pairs = Vec::new();
    for (i, x) in centres.iter().enumerate() {
        if x[2] < 0.6 {
            pairs.push((i as u32, WORLD, [0.0, 0.0, 1.0]));
        }
        for (j, y) in centres.iter().enumerate().skip(i + 1) {
            let n: [f64; 3] = std::array::from_fn(|k| y[k] - x[k]);
            if n.iter().map(|n| n * n).sum::<f64>() < 1.01 {
                pairs.push((j as u32, i as u32, n));
            }
        }
    }
    let mut c = Colouring::default();
    c.run(centres.len(), pairs.iter().map(|p| (p.0, p.1)));
    for &i in &c.order {
        let (a, b, n) = pairs[i as usize];
        let arm_b = if b == WORLD { [0.0; 3] } else { n.map(|n| 0.5 * n) };
        p.points.push((a, b), n, n.map(|n| -0.5 * n), arm_b, [0.0; 3], mu);
    }
    p.points.spans = c.spans;
    p
}
