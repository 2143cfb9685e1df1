//! Eight islands at once against each by itself.

use super::*;
use crate::colour::Span;
use crate::problem::General;

/// Numbers that look like chance.
fn some(k: usize) -> f64 {
    ((k * k + 7 * k) as f64 * 12.9898).sin()
}

/// Carts that carry a box each: a frame on two points, an arm on a hinge with a motor and an end stop, a
/// wheel on a hinge, and the box with four points on the arm. Every cart has its own speeds and masses; the
/// `odd` one's box lies on three points.
fn carts(count: usize, mu: f64, odd: usize) -> Bodies {
    let mut p = Bodies::default();
    let mut g = General { first_row: vec![0], ..General::default() };
    let mut points = Vec::new();
    for cart in 0..count {
        let b = (4 * cart) as u32;
        for k in 0..4 {
            let m = [100.0, 20.0, 5.0, 30.0][k] * (1.0 + 0.2 * some(4 * cart + k));
            p.inv_mass.push(1.0 / m);
            p.inv_inertia.push([6.0, 5.0, 4.0, 0.5, 0.3, -0.2].map(|x| x / m));
            let v = |x: usize| some(40 * cart + 10 * k + x);
            p.v_free.push([0.3 * v(0), 0.1 * v(1), -0.05, 0.05 * v(2), 0.05 * v(3), 0.1 * v(4)]);
        }
        let up = [0.0, 0.0, 1.0];
        let corners = [[0.3, 0.2], [-0.3, 0.2], [0.3, -0.2], [-0.3, -0.2]];
        for c in &corners[..if cart == odd { 3 } else { 4 }] {
            points.push(((b + 3, b + 1), up, [c[0], c[1], -0.1], [c[0], c[1], 0.05], cart));
        }
        for (body, arm) in [(b, [-0.5, 0.3, -0.4]), (b, [-0.5, -0.3, -0.4]), (b + 2, [0.0, 0.0, -0.2])] {
            points.push(((body, WORLD), up, arm, [0.0; 3], cart));
        }
        for (other, arm_a, arm_b) in [(1, [0.6, 0.0, 0.2], [-0.4, 0.0, 0.0]), (2, [0.5, 0.0, -0.2], [0.0; 3])]
        {
            let mut hinge = |axis: [f64; 3], turn: bool, set: Set, bias: f64| {
                let (a, b) = if turn {
                    (axis, axis)
                } else {
                    (crate::problem::cross(arm_a, axis), crate::problem::cross(arm_b, axis))
                };
                let mut row = [0.0; 12];
                for k in 0..3 {
                    if !turn {
                        (row[k], row[6 + k]) = (-axis[k], axis[k]);
                    }
                    (row[3 + k], row[9 + k]) = (-a[k], b[k]);
                }
                g.push((p.inv_mass.len() as u32 - 4, b_of(other, p.inv_mass.len())), set, &[row], &[bias]);
            };
            for axis in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] {
                hinge(axis, false, Set::Free, 0.01 * some(cart));
            }
            hinge([1.0, 0.0, 0.0], true, Set::Free, 0.0);
            hinge([0.0, 0.0, 1.0], true, Set::Free, 0.0);
            if other == 1 {
                hinge([0.0, 1.0, 0.0], true, Set::Interval { lo: -4.0, hi: 4.0 }, 0.2 * some(cart + 3));
                hinge([0.0, -1.0, 0.0], true, Set::NonNegative, 0.1);
            }
        }
    }
    // Points between two bodies come first.
    points.sort_by_key(|point| point.0.1 == WORLD);
    let two_end = points.iter().filter(|point| point.0.1 != WORLD).count() as u32;
    for (pair, n, a, b, cart) in &points {
        p.points.push(*pair, *n, *a, *b, [0.0, 0.0, 0.01 * some(*cart)], mu);
    }
    p.points.spans = vec![Span { start: 0, two_end, end: points.len() as u32, serial: true }];
    let rows = g.a.len() as u32;
    g.spans = vec![Span { start: 0, two_end: rows, end: rows, serial: true }];
    p.general = g;
    p
}

fn b_of(place: u32, bodies: usize) -> u32 {
    bodies as u32 - 4 + place
}

/// How many of the islands were solved eight at a time; all of them are judged.
fn solved_together(p: Bodies, model: FrictionLaw) -> usize {
    let mut problem = Problem::Bodies(p);
    problem.set_model(model);
    problem.check().unwrap();
    let Problem::Bodies(p) = &problem else { unreachable!() };
    let stop = Stop { tolerance: 1e-7, iterations: 2000, ..Stop::default() };
    let mut s = Schur::default();
    s.tree.load(p);
    assert!(s.find_islands(&problem, p));
    s.groups.find(&problem, p, &s.tree, &s.islands[..s.used]);
    let begun = Instant::now();
    // From nearby: what takes many sweeps is not for this.
    let mut near = Solution::start(&problem, None).gamma;
    for island in 0..s.used {
        s.one(&problem, p, island, &mut near, &stop, begun);
    }
    near.iter_mut().enumerate().for_each(|(k, x)| *x *= 1.0 + 3e-6 * some(k));
    let (mut at, mut done, mut out) = (0, 0, vec![f64::NAN; problem.rows()]);
    for run in s.groups.runs.clone() {
        for which in s.groups.order.clone()[at..at + run as usize].chunks(LANES) {
            let mut together = Solution::start(&problem, Some(&near)).gamma;
            let mut alone = together.clone();
            let Schur { tree, islands, groups, pool, .. } = &mut s;
            let (Place { several: work, single }, start, stop) = (&mut pool[0], together.clone(), &stop);
            let (problem, gamma) = (&problem, &start[..]);
            dispatch(SolveBatch { problem, p, tree, work: &mut *work, which, islands, groups, gamma, stop });
            let ended = work.ended;
            work.hand_back(problem, p, tree, which, islands, &mut together);
            // An island by itself has the bits that it has among others.
            let mut one_by_one = start.clone();
            for (l, which) in which.chunks(1).enumerate() {
                dispatch(SolveBatch {
                    problem,
                    p,
                    tree,
                    work: &mut *single,
                    which,
                    islands,
                    groups,
                    gamma,
                    stop,
                });
                assert_eq!(single.ended[0].map(|e| e.sweeps), ended[l].map(|e| e.sweeps), "lane {l}");
                single.hand_back(problem, p, tree, which, islands, &mut one_by_one);
            }
            assert!(one_by_one.iter().zip(&together).all(|(x, y)| x.to_bits() == y.to_bits()));
            for (l, island) in which.iter().enumerate() {
                let one = s.one(problem, p, *island as usize, &mut alone, stop, begun);
                let Some(ended) = &ended[l] else { continue };
                assert_eq!((one.status, one.dropped), (ended.status, ended.dropped));
                done += 1;
            }
            // What was left to others takes their word; then the judge has the last one.
            for (l, island) in which.iter().enumerate().filter(|(l, _)| ended[*l].is_none()) {
                let one = s.one(problem, p, *island as usize, &mut together, stop, begun);
                assert_eq!(one.status, Status::Converged, "lane {l}");
            }
            for island in which {
                let (blocks, mechanisms) = &s.islands[*island as usize];
                let free =
                    mechanisms.iter().flat_map(|m| &s.tree.nodes[s.tree.mechanisms[*m as usize].clone()]);
                let free = free.flat_map(|node| node.first..node.first + node.rows);
                let free = free.map(|k| p.points.len() as u32 + k);
                for block in blocks.iter().copied().chain(free) {
                    let rows = problem.block(block as usize);
                    out[rows.clone()].copy_from_slice(&together[rows]);
                }
            }
        }
        at += run as usize;
    }
    let residual = crate::certificate::certificate(&problem, &out).residual_max;
    assert!(residual <= 1.001 * stop.tolerance, "{residual}");
    done
}

#[test]
fn islands_that_are_alike_are_solved_together() {
    for (model, mu) in [
        (FrictionLaw::Ccp, 0.6),
        (FrictionLaw::Ccp, 0.05),
        (FrictionLaw::Ccp, 0.0),
        (FrictionLaw::Coulomb, 0.6),
    ] {
        // Eight, two, and one that is like no other.
        let done = solved_together(carts(11, mu, 4), model);
        assert!(done >= 10, "{model:?}, mu {mu}: {done} of 11");
    }
}

#[test]
fn what_gives_way_and_what_is_said_twice_is_alike_too() {
    let mut p = carts(9, 0.4, 99);
    p.general.compliance = (0..p.general.bias.len()).map(|k| if k % 5 == 1 { 1e-3 } else { 0.0 }).collect();
    assert!(solved_together(p, FrictionLaw::Ccp) >= 8);
    let p = carts(9, 0.4, 99);
    let mut twice = Bodies { general: General { first_row: vec![0], ..General::default() }, ..p.clone() };
    for i in 0..p.general.a.len() {
        let again = if p.general.set[i] == Set::Free && i % 12 == 7 { 2 } else { 1 };
        for _ in 0..again {
            let g = &p.general;
            twice.general.push((g.a[i], g.b[i]), g.set[i], &[g.jacobian[i]], &[g.bias[i]]);
        }
    }
    let rows = twice.general.a.len() as u32;
    twice.general.spans = vec![Span { start: 0, two_end: rows, end: rows, serial: true }];
    assert!(solved_together(twice, FrictionLaw::Ccp) >= 8);
}

#[test]
fn lanes_do_not_look_at_each_other() {
    let (all, stop) = (carts(7, 0.6, 99), Stop { tolerance: 1e-7, iterations: 200, ..Stop::default() });
    let mut s = Schur::default();
    let solve = |s: &mut Schur, p: Bodies| {
        let problem = Problem::Bodies(p);
        s.solve(&problem, None, &stop).unwrap().gamma
    };
    let whole = solve(&mut s, all.clone());
    // Without the last cart the others' multipliers are the same to the bit.
    let fewer = solve(&mut s, carts(6, 0.6, 99));
    let rows = |n: usize| carts(n, 0.6, 99).general.bias.len();
    let (of_whole, of_fewer) = (&whole[whole.len() - rows(7)..], &fewer[fewer.len() - rows(6)..]);
    assert_eq!(&of_whole[..rows(6)], of_fewer);
}

/// Chains of four bodies on three joints of three rows, the second body held to the world by two more rows
/// where it is `grounded`; the last one stands on the ground.
fn chains(count: usize, grounded: bool) -> Bodies {
    let mut p = Bodies::default();
    let mut g = General { first_row: vec![0], ..General::default() };
    for chain in 0..count {
        let own = |k: usize| some(17 * chain + k);
        for k in 0..4 {
            let m = [3.0, 40.0, 1.0, 10.0][k] * (1.0 + 0.2 * own(k));
            p.inv_mass.push(1.0 / m);
            p.inv_inertia.push([6.0, 5.0, 4.0, 0.5, 0.3, -0.2].map(|x| x / m));
            p.v_free.push(std::array::from_fn(|x| 0.1 * own(10 * k + x)));
        }
    }
    let mut rows = |chain: usize, pair: (u32, u32), count: usize, seed: usize| {
        let own = |k: usize| some(17 * chain + k);
        for r in 0..count {
            // The same for all chains, nearly.
            let row = std::array::from_fn(|x| match x < 6 || pair.1 != WORLD {
                true => some(100 * seed + 12 * r + x) + 0.1 * own(x + r),
                false => 0.0,
            });
            g.push(pair, Set::Free, &[row], &[0.1 * own(seed + r)]);
        }
    };
    for (chain, k) in (0..count).flat_map(|chain| (0..3).map(move |k| (chain, k))) {
        // Now the one body is named first, now the other.
        let b = 4 * chain as u32 + k;
        rows(chain, if k == 1 { (b + 1, b) } else { (b, b + 1) }, 3, k as usize);
    }
    for chain in 0..if grounded { count } else { 0 } {
        rows(chain, (4 * chain as u32 + 1, WORLD), 2, 7);
    }
    for chain in 0..count {
        let arm = [0.1 * some(chain), 0.2, -0.3];
        p.points.push((4 * chain as u32 + 3, WORLD), [0.0, 0.0, 1.0], arm, [0.0; 3], [0.0, 0.0, -0.1], 0.5);
    }
    let rows = g.a.len() as u32;
    p.points.spans = vec![Span { start: 0, two_end: 0, end: count as u32, serial: true }];
    let two_end = 9 * count as u32;
    g.spans = vec![Span { start: 0, two_end, end: rows, serial: true }];
    p.general = g;
    p
}

#[test]
fn bodies_between_others_are_eliminated_too() {
    for grounded in [false, true] {
        let p = chains(5, grounded);
        let mut s = Schur::default();
        assert!(s.tree.load(&p));
        assert!(s.tree.is_open(&[0]), "nothing closes a loop");
        assert!(!s.tree.load(&p), "the same again");
        assert_eq!(solved_together(p, FrictionLaw::Ccp), 5);
    }
    // No inertia to speak of in a plane: not by this way, but solved.
    let mut flat = chains(3, false);
    flat.inv_inertia.iter_mut().for_each(|i| *i = [0.0, 0.0, i[2], 0.0, 0.0, 0.0]);
    solved_together(flat, FrictionLaw::Ccp);
}

#[test]
fn what_is_known_is_known_of_the_same_contacts_alone() {
    let stop = Stop { tolerance: 1e-7, iterations: 200, ..Stop::default() };
    let mut kept = Schur::default();
    // Friction goes, a contact goes, a motor gets an end.
    let mut stopped = carts(3, 0.6, 99);
    let motor = stopped.general.set.iter().position(|set| matches!(set, Set::Interval { .. })).unwrap();
    stopped.general.set[motor] = Set::NonNegative;
    for p in [carts(3, 0.6, 99), carts(3, 0.0, 99), carts(3, 0.6, 1), carts(3, 0.6, 99), stopped] {
        let problem = Problem::Bodies(p);
        let solution = kept.solve(&problem, None, &stop).unwrap();
        let anew = Schur::default().solve(&problem, None, &stop).unwrap();
        assert_eq!(solution.gamma, anew.gamma);
    }
}

/// Carts whose arm and wheel are geared together: a loop, so that they are no lane's.
fn geared(count: usize, mu: f64) -> Bodies {
    let mut p = carts(count, mu, 9);
    let mut row = [0.0; 12];
    (row[4], row[10]) = (-0.3, 0.2);
    for cart in 0..count as u32 {
        p.general.push((4 * cart + 1, 4 * cart + 2), Set::Free, &[row], &[0.05]);
    }
    let rows = p.general.a.len() as u32;
    p.general.spans = vec![Span { start: 0, two_end: rows, end: rows, serial: true }];
    p
}

/// What is not for lanes is solved by itself also where several are alike.
#[test]
fn loops_have_the_same_bits_beside_their_like() {
    let stop = Stop { tolerance: 1e-7, iterations: 200, ..Stop::default() };
    let solve = |count: usize| {
        let gamma = Schur::default().solve(&Problem::Bodies(geared(count, 0.6)), None, &stop).unwrap().gamma;
        // Of the first cart: four points between bodies, three on the ground, its hinges, its gear.
        let hinges = 12;
        let points = (0..12).chain(12 * count..12 * count + 9);
        let rows = (0..hinges).chain(hinges * count..hinges * count + 1).map(move |row| 21 * count + row);
        points.chain(rows).map(|row| gamma[row].to_bits()).collect::<Vec<_>>()
    };
    let alone = solve(1);
    assert_eq!(alone.len(), 34);
    assert!(solve(2) == alone && solve(9) == alone);
}

/// What `auto` eliminates together it asks for as many digits, of as many sweeps, as of each by itself; and
/// what elimination has not solved goes on from where it was.
#[test]
fn eliminated_together_as_one_by_one() {
    for (tolerance, iterations) in [(1e-9, 4000), (1e-4, 4000), (1e-9, 1)] {
        let stop = Stop { tolerance, iterations, ..Stop::default() };
        let solve = |count: usize| {
            let mut auto = crate::solver::make("auto").unwrap();
            let gamma = auto.solve(&Problem::Bodies(geared(count, 0.6)), None, &stop).unwrap().gamma;
            let points = (0..12).chain(12 * count..12 * count + 9);
            let rows = (0..12).chain(12 * count..12 * count + 1).map(move |row| 21 * count + row);
            points.chain(rows).map(|row| gamma[row].to_bits()).collect::<Vec<_>>()
        };
        // Contacts of an island that is taken out of several are swept by colours, those of a problem in
        // their order: that leaves another point after one sweep.
        let few = solve(if iterations == 1 { 2 } else { 1 });
        assert!(solve(3) == few && solve(5) == few, "{tolerance} {iterations}");
    }
}

/// Seven points and two limits, more than the bodies have freedoms: quickly to many digits, from nothing and
/// from nearby.
#[test]
fn all_contacts_at_once_converge_fast() {
    for (model, mu) in [(FrictionLaw::Ccp, 0.6), (FrictionLaw::Ccp, 0.1), (FrictionLaw::Coulomb, 0.3)] {
        let mut problem = Problem::Bodies(geared(1, mu));
        problem.set_model(model);
        let stop = Stop { tolerance: 1e-10, iterations: 2000, ..Stop::default() };
        let mut s = Schur::default();
        let first = s.solve(&problem, None, &stop).unwrap();
        assert_eq!(first.status, Status::Converged, "{model:?} {mu}");
        let near: Vec<f64> = first.gamma.iter().map(|x| x * 1.01).collect();
        let second = s.solve(&problem, Some(&near), &stop).unwrap();
        assert_eq!(second.status, Status::Converged);
        assert!(second.iterations <= 6, "{model:?} {mu}: {} steps", second.iterations);
        let residual = crate::certificate::certificate(&problem, &second.gamma).residual_max;
        assert!(residual <= 1e-9, "{residual}");
    }
}
