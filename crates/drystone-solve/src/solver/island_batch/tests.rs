use super::*;
use crate::simd::every_width;
use crate::solver::sweep::BodySweeper;

#[path = "../../../tests/problems/common/carts.rs"]
mod carts;
use carts::{Numbers, carts};

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
            let (mut batch, mut one) = (BatchSweeper::default(), BodySweeper::default());
            assert!(batch.begin(&problem, guess, [omega, lambda], 30));
            one.start(&problem, guess, step);
            let (mut x, mut y) = (Vec::new(), Vec::new());
            for k in 1..=30 {
                let a = batch.pass(&problem, Pass::Jacobi, lambda);
                let b = one.pass(&problem, Pass::Jacobi, lambda);
                assert!(near(a.residual, b.residual, b.residual), "{k}: {a:?} {b:?}");
                assert!(near(a.delta_sq, b.delta_sq, b.delta_sq), "{k}: {a:?} {b:?}");
                assert!(near(a.weighted, b.weighted, b.weighted), "{k}: {a:?} {b:?}");
                assert!(near(a.curvature, b.curvature, b.curvature), "{k}: {a:?} {b:?}");
                if [1, 9, 10, 23].contains(&k) {
                    batch.reject();
                    one.reject();
                    batch.rescale(0.5);
                    one.rescale(0.5);
                }
                if k % 4 == 3 || k == 30 {
                    batch.gamma(&problem, &mut x);
                    one.gamma(&problem, &mut y);
                    let most = y.iter().fold(0.0f64, |m, y| m.max(y.abs()));
                    assert!(most > 0.0 && x.len() == y.len());
                    for (i, (x, y)) in x.iter().zip(&y).enumerate() {
                        assert!(near(*x, *y, most), "{k}: row {i} {x} {y}");
                    }
                    let a = batch.pass(&problem, Pass::Measure, lambda);
                    let b = one.pass(&problem, Pass::Measure, lambda);
                    assert!(near(a.residual, b.residual, b.residual), "{k}: {a:?} {b:?}");
                }
            }
        }
    }
}

/// What the batches do ahead of their time must not be seen: a solve that is looked at after every pass ends
/// with the same bits, and so does one on several threads.
#[test]
fn passes_made_ahead_leave_no_trace() {
    let problem = carts(50, false, false);
    let run = |looks: bool, sweeper: &mut BatchSweeper| {
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
    let mut sweeper = BatchSweeper::default();
    let alone = run(false, &mut sweeper);
    assert_eq!(run(true, &mut sweeper), alone);
    assert_eq!(run(false, &mut sweeper), alone);
    for threads in [2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(pool.install(|| parallel::with_team(|| run(false, &mut BatchSweeper::default()))), alone);
    }
}

/// One cart fills no lanes, and contacts without joints have colours for that.
#[test]
fn what_is_no_fleet_is_left_alone() {
    assert!(!BatchSweeper::default().begin(&carts(1, false, false), None, [0.2, 1.0], 10));
    let Problem::Bodies(mut p) = carts(20, false, false) else { unreachable!() };
    p.general.clear();
    assert!(!BatchSweeper::default().begin(&Problem::Bodies(p), None, [0.2, 1.0], 10));
    let mut sweeper = BatchSweeper::default();
    // A plan is made anew for another problem, and kept for the same.
    for count in [20, 1, 33, 33, 20] {
        assert_eq!(sweeper.begin(&carts(count, false, false), None, [0.2, 1.0], 10), count > 1);
    }
}

/// Packs a batch and makes a few passes over it.
struct Batches<'a> {
    p: &'a Bodies,
    plan: &'a Plan,
}

impl Kernel for Batches<'_> {
    type Out = Vec<u64>;

    #[inline(always)]
    fn run<S: Simd>(self) -> Vec<u64> {
        let Self { p, plan } = self;
        let mut bits = Vec::new();
        for batch in &plan.batches {
            let (mut numbers, mut seen) = (pack::Numbers::default(), [PassStats::default(); 12]);
            pack(On::<S::F64>::new(), p, plan, batch, None, &mut numbers);
            let mut passes = Passes {
                plan,
                batch,
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
    let all = every_width(|| Batches { p: &p, plan: &plan });
    assert!(all.iter().all(|bits| *bits == all[0]));
}
