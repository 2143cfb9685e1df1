//! Islands that are alike, for unit tests of their kernels and for tests of solvers.

use drystone_solve::colour::{Colouring, Span};
use drystone_solve::problem::{Bodies, Point, WORLD};
use drystone_solve::{Problem, Set};

/// Numbers between -1 and 1 that look random.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn three(&mut self) -> [f64; 3] {
        [self.next(), self.next(), self.next()]
    }
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Carts of a frame, two wheels and a box: wheels on axles with a limited drive, the frame on a rail, some
/// boxes on the frame and some beside it. `soft` has compliant rows, `belt` a ground that slides.
pub fn carts(count: usize, soft: bool, belt: bool) -> Problem {
    let mut r = Numbers(7);
    let mut p = Bodies::default();
    let mut points = Vec::new();
    for cart in 0..count as u32 {
        let first = 4 * cart;
        for mass in [100.0, 5.0, 5.0, 30.0] {
            p.inv_mass.push(1.0 / mass);
            let i = 4.0 / mass;
            p.inv_inertia.push([i, 1.3 * i, 0.8 * i, 0.05 * i, -0.1 * i, 0.02 * i]);
            let [x, y, z] = r.three();
            p.v_free.push([x, 0.1 * y, -0.05, 0.1 * z, 0.2 * x, 0.0]);
        }
        for wheel in [1, 2] {
            let (arm, at) = (r.three(), r.three());
            for k in 0..3 {
                let mut axis = [0.0; 3];
                axis[k] = 1.0;
                let (a, b) = (cross(arm, axis), cross(at, axis));
                let mut row = [0.0; 12];
                (row[k], row[6 + k]) = (1.0, -1.0);
                (0..3).for_each(|k| (row[3 + k], row[9 + k]) = (a[k], -b[k]));
                p.general.push((first + wheel, first), Set::Free, &[row], &[0.01 * r.next()]);
            }
            for turn in [r.three(), r.three()] {
                let mut row = [0.0; 12];
                (0..3).for_each(|k| (row[3 + k], row[9 + k]) = (turn[k], -turn[k]));
                p.general.push((first + wheel, first), Set::Free, &[row], &[0.0]);
            }
            let mut row = [0.0; 12];
            let turn = r.three();
            // As gears: not the opposite.
            (0..3).for_each(|k| (row[3 + k], row[9 + k]) = (turn[k], -0.5 * f64::from(wheel) * turn[k]));
            let set = if wheel == 1 { Set::Interval { lo: -0.2, hi: 0.3 } } else { Set::NonNegative };
            p.general.push((first + wheel, first), set, &[row], &[0.3 * r.next()]);
        }
        let mut touch = |bodies: (u32, u32), mu: f64| {
            let [x, y, z] = r.three();
            let length = (1.0 + 0.01 * (x * x + y * y)).sqrt();
            points.push(Point {
                bodies,
                normal: [0.1 * x / length, 0.1 * y / length, 1.0 / length],
                arm_a: [0.3 * y, 0.3 * z, -0.3],
                arm_b: if bodies.1 == WORLD { [0.0; 3] } else { [0.3 * x, 0.2 * z, 0.1] },
                bias: [if belt { 0.4 } else { 0.0 } * (1.0 - 0.01 * x), 0.0, 0.01 * x],
                mu,
                compliance: 0.0,
            });
        };
        touch((first + 1, WORLD), 0.5);
        touch((first + 2, WORLD), 0.5);
        // Not all have the same contacts.
        (0..cart % 3).for_each(|_| touch((first + 3, if cart % 5 < 3 { first } else { WORLD }), 0.4));
        if cart % 7 == 0 {
            touch((first + 2, WORLD), 0.0);
        }
    }
    let mut colours = Colouring::default();
    colours.run(p.bodies(), points.iter().map(|p| p.bodies));
    p.points.fill(points.len(), |i| points[colours.order[i] as usize]);
    p.points.spans.clone_from(&colours.spans);
    let two_end = p.general.a.len() as u32;
    for frame in (0..4 * count as u32).step_by(4) {
        // Twice: the second row depends on the first.
        let mut rail = [0.0; 12];
        rail[..6].copy_from_slice(&[0.0, 1.0, 0.0, 0.3, 0.0, 0.1]);
        for row in [rail, rail.map(|x| 2.0 * x)] {
            p.general.push((frame, WORLD), Set::Free, &[row], &[0.0]);
        }
    }
    let n = p.general.a.len() as u32;
    p.general.spans = vec![Span { start: 0, two_end, end: n, serial: true }];
    if soft {
        p.general.compliance = (0..n).map(|_| 1e-3 * (1.0 + r.next())).collect();
    }
    let problem = Problem::Bodies(p);
    problem.check().unwrap();
    problem
}
