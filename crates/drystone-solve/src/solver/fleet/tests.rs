use super::*;
use crate::colour::{Colouring, Span};
use crate::cone::Set;
use crate::problem::{Point, WORLD};
use crate::simd::every_width;
use crate::solver::sweep::BodySweeper;
use crate::solver::{Stop, make};

/// Numbers between -1 and 1 that look random.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn three(&mut self) -> [f64; 3] {
        [self.next(), self.next(), self.next()]
    }
}

/// Carts of a frame, two wheels and a box: wheels on axles with a limited drive, the frame on a rail, some
/// boxes on the frame and some beside it. `soft` has compliant rows, `belt` a ground that slides.
fn carts(count: usize, soft: bool, belt: bool) -> Problem {
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
                let (a, b) = (crate::problem::cross(arm, axis), crate::problem::cross(at, axis));
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

fn near(a: f64, b: f64, scale: f64) -> bool {
    (a - b).abs() <= 1e-10 * scale
}

/// The same passes by `sweep`, block by block; with some rejected, and looks in between.
#[test]
fn a_fleet_goes_where_its_islands_go_one_by_one() {
    for (soft, belt, lambda) in [(false, false, 1.0), (true, false, 0.7), (false, true, 1.0)] {
        let problem = carts(37, soft, belt);
        let omega = 0.2;
        let mut r = Numbers(3);
        let guess: Vec<f64> = (0..problem.rows()).map(|_| 0.1 * r.next()).collect();
        for guess in [None, Some(guess.as_slice())] {
            let step = (0..problem.blocks()).map(|i| omega / problem.block_diagonal(i)[0]).collect();
            let (mut fleet, mut one) = (FleetSweeper::default(), BodySweeper::default());
            assert!(fleet.begin(&problem, guess, [omega, lambda], 30));
            one.start(&problem, guess, step);
            let (mut x, mut y) = (Vec::new(), Vec::new());
            for k in 1..=30 {
                let a = fleet.pass(&problem, Pass::Jacobi, lambda);
                let b = one.pass(&problem, Pass::Jacobi, lambda);
                assert!(near(a.residual, b.residual, b.residual), "{k}: {a:?} {b:?}");
                assert!(near(a.delta_sq, b.delta_sq, b.delta_sq), "{k}: {a:?} {b:?}");
                assert!(near(a.weighted, b.weighted, b.weighted), "{k}: {a:?} {b:?}");
                assert!(near(a.curvature, b.curvature, b.curvature), "{k}: {a:?} {b:?}");
                if [1, 9, 10, 23].contains(&k) {
                    fleet.reject();
                    one.reject();
                    fleet.rescale(0.5);
                    one.rescale(0.5);
                }
                if k % 4 == 3 || k == 30 {
                    fleet.gamma(&problem, &mut x);
                    one.gamma(&problem, &mut y);
                    let most = y.iter().fold(0.0f64, |m, y| m.max(y.abs()));
                    assert!(most > 0.0 && x.len() == y.len());
                    for (i, (x, y)) in x.iter().zip(&y).enumerate() {
                        assert!(near(*x, *y, most), "{k}: row {i} {x} {y}");
                    }
                    let a = fleet.pass(&problem, Pass::Measure, lambda);
                    let b = one.pass(&problem, Pass::Measure, lambda);
                    assert!(near(a.residual, b.residual, b.residual), "{k}: {a:?} {b:?}");
                }
            }
        }
    }
}

/// What the octets do ahead of their time must not be seen: a solve that is looked at after every pass ends
/// with the same bits, and so does one on several threads.
#[test]
fn passes_made_ahead_leave_no_trace() {
    let problem = carts(50, false, false);
    let run = |looks: bool, sweeper: &mut FleetSweeper| {
        assert!(sweeper.begin(&problem, None, [0.2, 1.0], 40));
        let mut gamma = Vec::new();
        for k in 1..=40 {
            sweeper.pass(&problem, Pass::Jacobi, 1.0);
            if k % 11 == 0 {
                sweeper.reject();
                sweeper.rescale(0.5);
            }
            if looks {
                sweeper.gamma(&problem, &mut gamma);
            }
        }
        sweeper.gamma(&problem, &mut gamma);
        gamma.into_iter().map(f64::to_bits).collect::<Vec<_>>()
    };
    let mut sweeper = FleetSweeper::default();
    let alone = run(false, &mut sweeper);
    assert_eq!(run(true, &mut sweeper), alone);
    assert_eq!(run(false, &mut sweeper), alone);
    for threads in [2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(pool.install(|| crew::with(|| run(false, &mut FleetSweeper::default()))), alone);
    }
}

/// One cart fills no lanes, and contacts without joints have colours for that.
#[test]
fn what_is_no_fleet_is_left_alone() {
    assert!(!FleetSweeper::default().begin(&carts(1, false, false), None, [0.2, 1.0], 10));
    let Problem::Bodies(mut p) = carts(20, false, false) else { unreachable!() };
    p.general.clear();
    assert!(!FleetSweeper::default().begin(&Problem::Bodies(p), None, [0.2, 1.0], 10));
    let mut sweeper = FleetSweeper::default();
    // A plan is made anew for another problem, and kept for the same.
    for count in [20, 1, 33, 33, 20] {
        assert_eq!(sweeper.begin(&carts(count, false, false), None, [0.2, 1.0], 10), count > 1);
    }
}

/// Packs an octet and makes a few passes over it.
struct Octets<'a> {
    p: &'a Bodies,
    plan: &'a Plan,
}

impl Kernel for Octets<'_> {
    type Out = Vec<u64>;

    #[inline(always)]
    fn run<S: Simd>(self) -> Vec<u64> {
        let Self { p, plan } = self;
        let mut bits = Vec::new();
        for octet in &plan.octets {
            let (mut numbers, mut seen) = (pack::Numbers::default(), [PassStats::default(); 12]);
            pack(On::<S::F64>::new(), p, plan, octet, None, &mut numbers);
            let mut passes = Passes {
                plan,
                octet,
                numbers: &mut numbers,
                drift: true,
                soft: true,
                omega: 0.2,
                lambda: 0.9,
            };
            passes.make::<S::F64>(Do::Pass, &mut seen);
            bits.extend(numbers.state.iter().flat_map(|lane| lane.0.map(f64::to_bits)));
            bits.extend(seen.iter().flat_map(|s| [s.residual, s.delta_sq, s.curvature].map(f64::to_bits)));
        }
        bits
    }
}

#[test]
fn all_widths_give_the_same_bits() {
    let Problem::Bodies(p) = carts(20, true, true) else { unreachable!() };
    let mut plan = Plan::default();
    assert!(plan.make(&p));
    let all = every_width(|| Octets { p: &p, plan: &plan });
    assert!(all.iter().all(|bits| *bits == all[0]));
}

/// Passes alone would not see all of it: γ = max(0, NaN) is 0.
#[test]
fn what_is_no_number_is_refused() {
    let spoils: [fn(&mut Bodies); 3] =
        [|p| p.v_free[37][2] = f64::NAN, |p| p.general.bias[11] = f64::NAN, |p| p.points.mu[5] = f64::NAN];
    let stop = Stop { tolerance: 0.0, iterations: 20, ..Stop::default() };
    let solve = |problem: &Problem| make("pgj").unwrap().solve(problem, None, &stop);
    assert!(solve(&carts(24, false, false)).is_ok());
    for (k, spoil) in spoils.into_iter().enumerate() {
        let mut problem = carts(24, false, false);
        if let Problem::Bodies(p) = &mut problem {
            spoil(p);
        }
        assert!(solve(&problem).is_err(), "number {k}");
    }
}
