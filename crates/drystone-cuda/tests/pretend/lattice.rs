//! Balls on a cubic lattice between walls: a problem of any size that no scene's change of mind changes.

use drystone_solve::Problem;
use drystone_solve::colour::Span;
use drystone_solve::problem::{Bodies, WORLD};

/// As [`lattice`], and a plate that touches all balls of one face.
#[allow(dead_code)]
pub fn plated(side: usize) -> (Problem, Vec<f64>) {
    build(side, true)
}

/// `side`³ balls of 0.1 m, each in contact with those before it along the three axes or with a wall, some of
/// them a little apart; and a guess.
pub fn lattice(side: usize) -> (Problem, Vec<f64>) {
    build(side, false)
}

fn build(side: usize, plate: bool) -> (Problem, Vec<f64>) {
    let mut p = Bodies::default();
    let j = 2.5 * 0.75 / 0.01;
    p.inv_mass = vec![0.75; side.pow(3)];
    p.inv_inertia = vec![[j, j, j, 0.0, 0.0, 0.0]; side.pow(3)];
    p.v_free = vec![[0.0, 0.0, -0.04905, 0.0, 0.0, 0.0]; side.pow(3)];
    let number = |at: [usize; 3]| (at[0] * side * side + at[1] * side + at[2]) as u32;
    if plate {
        p.inv_mass.push(0.1);
        p.inv_inertia.push([0.2, 0.3, 0.4, 0.01, 0.0, 0.02]);
        p.v_free.push([0.0, 0.0, -0.1, 0.0, 0.0, 0.0]);
        for i in 0..side * side {
            let (x, y) = (i / side, i % side);
            let off = [x, y].map(|k| 0.2 * k as f64 - 0.1 * (side - 1) as f64);
            let pair = (side.pow(3) as u32, number([x, y, side - 1]));
            let arm = [off[0], off[1], -0.05];
            p.points.push(pair, [0.0, 0.0, 1.0], arm, [0.0, 0.0, 0.1], [0.0; 3], 0.4);
        }
    }
    // Those with two balls first, then those with walls.
    for walls in [false, true] {
        for axis in 0..3 {
            let mut n = [0.0; 3];
            n[axis] = 1.0;
            let arm = n.map(|x| 0.1 * x);
            for i in 0..side.pow(3) {
                let at = [i / (side * side), i / side % side, i % side];
                if (at[axis] == 0) != walls {
                    continue;
                }
                let mut below = at;
                below[axis] = below[axis].saturating_sub(1);
                let (other, back) = if walls { (WORLD, [0.0; 3]) } else { (number(below), arm) };
                let apart = 1e-3 * ((at[0] + 2 * at[1] + 3 * at[2]) % 5) as f64;
                let bias = n.map(|x| x * apart);
                let mu = 0.25 + 0.125 * (at[2] % 3) as f64;
                p.points.push((number(at), other), n, arm.map(|x| -x), back, bias, mu);
            }
        }
    }
    let count = p.points.len();
    let two_end = (3 * side * side * (side - 1) + if plate { side * side } else { 0 }) as u32;
    p.points.spans.push(Span { start: 0, two_end, end: count as u32, serial: true });
    let guess = (0..3 * count).map(|i| if i % 3 == 0 { 0.01 } else { 0.001 }).collect();
    (Problem::Bodies(p), guess)
}
