//! Stiff forces: M̂ against dense algebra, rows against the factored M̂, stability, and what is not positive.

use drystone::random::Random;
use drystone::{BodyDef, BodyId, JointDef, MassProperties, Settings, Shape, StiffForce, World};
use glam::DVec3;

/// B Bᵀ of size n, by rows.
fn positive(n: usize, size: f64, random: &mut Random) -> Vec<f64> {
    let b: Vec<f64> = (0..n * n).map(|_| random.range(-1.0, 1.0)).collect();
    (0..n * n).map(|k| size * (0..n).map(|m| b[k / n * n + m] * b[k % n * n + m]).sum::<f64>()).collect()
}

/// A force with these numbers over the first bodies; any further body feels nothing.
fn constant(ids: &[BodyId], k: Vec<f64>, stiffness: Vec<f64>, damping: Vec<f64>) -> StiffForce {
    StiffForce::new("constant", ids, move |views, _, out| {
        let (n, all) = (k.len(), 6 * views.len());
        out.force[..n].copy_from_slice(&k);
        for i in 0..n {
            out.stiffness[i * all..i * all + n].copy_from_slice(&stiffness[i * n..(i + 1) * n]);
            out.damping[i * all..i * all + n].copy_from_slice(&damping[i * n..(i + 1) * n]);
        }
    })
}

/// Gauss' method.
fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for k in 0..n {
        let p = (k..n).max_by(|i, j| a[*i][k].abs().total_cmp(&a[*j][k].abs())).unwrap();
        a.swap(k, p);
        b.swap(k, p);
        for i in k + 1..n {
            let f = a[i][k] / a[k][k];
            for j in k..n {
                a[i][j] -= f * a[k][j];
            }
            b[i] -= f * b[k];
        }
    }
    for k in (0..n).rev() {
        b[k] = (b[k] - (k + 1..n).map(|j| a[k][j] * b[j]).sum::<f64>()) / a[k][k];
    }
    b
}

fn exact(h: f64) -> Settings {
    Settings { h, tolerance: 1e-13, iterations: 20_000, ..Settings::default() }
}

fn ball(random: &mut Random, x: DVec3) -> BodyDef {
    let mass = random.range(0.5, 2.0);
    let body = BodyDef::bare(MassProperties::principal(mass, DVec3::splat(0.1 * mass)));
    body.at(x).moving(random.in_ball(), random.in_ball())
}

fn twists(w: &World) -> Vec<f64> {
    let s = w.state();
    let one = |i: usize| [s.velocity[i].to_array(), s.world_omega(i).to_array()].concat();
    (0..s.position.len()).flat_map(one).collect()
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// One step of two or three free bodies: (M + h²K + hC) v⁺ = M v + h (f + k + C v), by rows and by the
/// factor.
#[test]
fn a_step_solves_the_linear_equations() {
    let mut random = Random::new(2);
    for bodies in [1, 2, 3, 4] {
        for (size, rank) in [(1.0, 6 * bodies), (1e7, 6 * bodies), (1e5, 2)] {
            let (h, n) = (0.01, 6 * bodies);
            let mut w = World::new(exact(h)).unwrap();
            let ids: Vec<BodyId> = (0..bodies)
                .map(|k| w.add_body(ball(&mut random, 2.0 * k as f64 * DVec3::X)).unwrap())
                .collect();
            let (mut stiffness, mut damping) =
                (positive(n, size, &mut random), positive(n, 0.1 * size, &mut random));
            if rank < n {
                // Of low rank, so that part of k has no stiffness behind it.
                let keep = |k: usize| k / n < rank && k % n < rank;
                (0..n * n).filter(|k| !keep(*k)).for_each(|k| (stiffness[k], damping[k]) = (0.0, 0.0));
            }
            let k: Vec<f64> = (0..n).map(|_| size.sqrt() * random.range(-1.0, 1.0)).collect();
            let v = twists(&w);
            let mut hat = vec![vec![0.0; n]; n];
            let mut right = vec![0.0; n];
            for i in 0..n {
                let mass = w.model().bodies[i / 6].mass.mass;
                let inertia = if i % 6 < 3 { mass } else { 0.1 * mass };
                let weight = if i % 6 == 2 { -9.81 * mass } else { 0.0 };
                hat[i][i] = inertia;
                right[i] = inertia * v[i] + h * (weight + k[i]);
                for j in 0..n {
                    hat[i][j] += h * (h * stiffness[i * n + j] + damping[i * n + j]);
                    right[i] += h * damping[i * n + j] * v[j];
                }
            }
            w.add_stiff_force(constant(&ids, k, stiffness, damping)).unwrap();
            w.step().unwrap();
            let wanted = solve(hat, right);
            let off = largest_difference(&twists(&w), &wanted);
            let scale = wanted.iter().fold(1.0f64, |m, x| m.max(x.abs()));
            assert!(off < 1e-10 * scale, "{bodies} bodies, {size:.0e}, rank {rank}: {off:.2e}");
        }
    }
}

/// Two bricks on a floor with friction, one of them on a hinge too; a third body only makes the factor
/// necessary.
#[test]
fn rows_and_the_factored_matrix_agree_in_contact() {
    let mut random = Random::new(8);
    for case in 0..6 {
        let (stiffness, damping) = (positive(12, 1e5, &mut random), positive(12, 1e3, &mut random));
        let k: Vec<f64> = (0..12).map(|_| random.range(-20.0, 20.0)).collect();
        let (v, spin) = (0.3 * random.in_ball(), random.in_ball());
        let run = |third: bool| {
            let mut w =
                World::new(Settings { solver: "ipm".into(), tolerance: 1e-14, ..exact(0.005) }).unwrap();
            let half = DVec3::new(0.3, 0.2, 0.1);
            let brick = BodyDef::dynamic(Shape::Box { half }, 3.0).friction(0.4);
            let ids = [-0.6, 0.6].map(|x| {
                let at = DVec3::new(x, 0.0, 0.1);
                w.add_body(brick.clone().at(at).moving(v, spin)).unwrap()
            });
            let far = w.add_body(brick.clone().at(DVec3::new(9.0, 0.0, 5.0))).unwrap();
            w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.4)).unwrap();
            if case % 2 == 0 {
                w.add_joint(JointDef::revolute(None, ids[1], DVec3::new(0.6, 0.0, 0.1), DVec3::Z)).unwrap();
            }
            let all = [ids[0], ids[1], far];
            let force =
                constant(&all[..2 + usize::from(third)], k.clone(), stiffness.clone(), damping.clone());
            w.add_stiff_force(force).unwrap();
            let report = w.step().unwrap();
            assert!(
                report.contacts >= 8 && report.certificate.residual_max < 1e-10,
                "{:?}",
                report.certificate
            );
            twists(&w)
        };
        let (rows, factored) = (run(false), run(true));
        let off = largest_difference(&rows, &factored);
        assert!(off < 1e-10 && rows[0].abs() > 1e-6, "case {case}: {off:.2e}");
    }
}

/// The engine's own spring joint, and the same by a stiff force.
#[test]
fn a_spring_is_a_spring() {
    let run = |joint: bool| {
        let mut w = World::new(Settings { integrator: drystone::Integrator::Euler, ..exact(0.01) }).unwrap();
        let mut random = Random::new(6);
        let ids = [0.0, 1.0].map(|x| w.add_body(ball(&mut random, x * DVec3::X)).unwrap());
        if joint {
            let ends = [0, 1].map(|k| (Some(ids[k]), DVec3::ZERO));
            w.add_joint(JointDef::spring_between(ends[0], ends[1], 0.8, 1e6, 30.0)).unwrap();
        } else {
            w.add_stiff_force(StiffForce::new("spring", &ids, |b, _, out| {
                let d = b[1].position - b[0].position;
                let along = d.normalize();
                let force = 1e6 * (d.length() - 0.8) + 30.0 * along.dot(b[1].velocity - b[0].velocity);
                for i in 0..3 {
                    (out.force[i], out.force[6 + i]) = (force * along[i], -force * along[i]);
                    for j in 0..3 {
                        for (a, b, sign) in [(0, 0, 1.0), (6, 6, 1.0), (0, 6, -1.0), (6, 0, -1.0)] {
                            let at = (a + i) * 12 + b + j;
                            out.stiffness[at] = sign * 1e6 * along[i] * along[j];
                            out.damping[at] = sign * 30.0 * along[i] * along[j];
                        }
                    }
                }
            }))
            .unwrap();
        }
        (0..50).for_each(|_| drop(w.step().unwrap()));
        w.state().position.iter().flat_map(|x| x.to_array()).collect::<Vec<f64>>()
    };
    let off = largest_difference(&run(true), &run(false));
    assert!(off < 1e-9, "{off:.2e}");
}

/// Six masses in a ring, each pair joined by a spring that stiffens with its stretch, 1e9 N/m: one force over
/// all six bodies.
fn ring(w: &mut World, stiffness: f64) -> Vec<BodyId> {
    let place = |k: usize| {
        let angle = std::f64::consts::TAU * k as f64 / 6.0;
        DVec3::new(angle.cos(), 0.2 * (k % 2) as f64, 2.0 + angle.sin())
    };
    let ids: Vec<BodyId> = (0..6)
        .map(|k| {
            let body = BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 1.0).at(1.02 * place(k)).friction(0.3);
            w.add_body(body).unwrap()
        })
        .collect();
    w.add_stiff_force(StiffForce::by_differences("ring", &ids, move |b, _, out| {
        for i in 0..6 {
            for j in i + 1..6 {
                let d = b[j].position - b[i].position;
                let (length, rest) = (d.length(), (place(j) - place(i)).length());
                let stretch = length - rest;
                let force = stiffness * stretch * (1.0 + 4.0 * stretch * stretch) / length * d;
                out[i].force += force;
                out[j].force -= force;
            }
        }
    }))
    .unwrap();
    ids
}

#[test]
fn a_network_of_1e9_newton_a_metre_is_stable_at_ten_milliseconds() {
    let mut w =
        World::new(Settings { h: 0.01, tolerance: 1e-8, iterations: 2000, ..Settings::default() }).unwrap();
    let ids = ring(&mut w, 1e9);
    w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.3)).unwrap();
    let energy = w.energy();
    // In the air: the whole falls as a stone does, whatever its parts do, as far as differences know that the
    // stiffness does not mind where it is.
    let centre = |w: &World| ids.iter().map(|id| w.position(*id).unwrap()).sum::<DVec3>() / 6.0;
    let start = centre(&w);
    for _ in 0..30 {
        w.step().unwrap();
    }
    let fallen = 9.81 * 0.01 * 0.01 * (30.0 * 31.0 / 2.0);
    assert!((centre(&w) - start + fallen * DVec3::Z).length() < 1e-5, "{}", centre(&w));
    for _ in 0..400 {
        w.step().unwrap();
        let now = w.energy();
        assert!(now.kinetic + now.potential < energy.potential + 1.0, "{now:?}");
    }
    let stretch: f64 = (0..6)
        .map(|k| {
            let d = |a: usize, b: usize| (w.position(ids[a]).unwrap() - w.position(ids[b]).unwrap()).length();
            (d(k, (k + 3) % 6) - (4.0f64 + 0.04).sqrt()).abs()
        })
        .fold(0.0, f64::max);
    assert!(stretch < 1e-6, "{stretch}");
    assert!(w.speeds().0 < 0.05 && centre(&w).z < 1.2, "{:?} {}", w.speeds(), centre(&w));
}

/// What is not positive is left to the explicit force: bit by bit the step without derivatives.
#[test]
fn negative_and_unsymmetric_parts_are_left_out() {
    let mut random = Random::new(12);
    for bodies in [1, 2, 3] {
        let n = 6 * bodies;
        let k: Vec<f64> = (0..n).map(|_| random.range(-9.0, 9.0)).collect();
        let zero = vec![0.0; n * n];
        let negative: Vec<f64> = positive(n, 1e4, &mut random).iter().map(|x| -x).collect();
        let mut skew = zero.clone();
        for i in 0..n {
            for j in 0..i {
                let x = random.range(-1e4, 1e4);
                (skew[i * n + j], skew[j * n + i]) = (x, -x);
            }
        }
        let start = Random::new(40 + bodies as u64);
        let after = |stiffness: &[f64], damping: &[f64]| {
            let mut random = start.clone();
            let mut w = World::new(exact(0.01)).unwrap();
            let ids: Vec<BodyId> = (0..bodies)
                .map(|k| w.add_body(ball(&mut random, 2.0 * k as f64 * DVec3::X)).unwrap())
                .collect();
            w.add_stiff_force(constant(&ids, k.clone(), stiffness.to_vec(), damping.to_vec())).unwrap();
            w.step().unwrap();
            twists(&w)
        };
        let explicit = after(&zero, &zero);
        for (what, k, c) in [("negative", &negative, &negative), ("skew", &skew, &skew)] {
            let off = largest_difference(&after(k, c), &explicit);
            assert!(off < 1e-12, "{what}, {bodies} bodies: {off:.2e}");
        }
        // One of two directions is positive: the other does not spoil it.
        let mut mixed = zero.clone();
        (mixed[0], mixed[n + 1]) = (1e6, -1e6);
        let mut only = zero.clone();
        only[0] = 1e6;
        let off = largest_difference(&after(&mixed, &zero), &after(&only, &zero));
        assert!(off < 1e-12 && largest_difference(&after(&only, &zero), &explicit) > 1e-6, "{off:.2e}");
    }
}

/// A body led through the world pulls the other one by a stiff spring and damper: its velocity is known to
/// the matrix.
#[test]
fn a_led_body_pulls() {
    for others in [1, 3] {
        let mut w = World::new(Settings { gravity: DVec3::ZERO, ..exact(0.01) }).unwrap();
        let mut random = Random::new(1);
        let mut ids: Vec<BodyId> = (0..others)
            .map(|k| {
                w.add_body(ball(&mut random, k as f64 * DVec3::Y).moving(DVec3::ZERO, DVec3::ZERO)).unwrap()
            })
            .collect();
        let led =
            BodyDef::kinematic(Shape::Sphere { radius: 0.1 }).at(DVec3::X).moving(DVec3::X, DVec3::ZERO);
        ids.push(w.add_body(led).unwrap());
        w.add_stiff_force(StiffForce::by_differences("tow", &ids, move |b, _, out| {
            let (last, led) = (b.len() - 1, b[b.len() - 1]);
            for (k, b) in b[..last].iter().enumerate() {
                let d = led.position - DVec3::X + k as f64 * DVec3::Y - b.position;
                out[k].force = 1e8 * d + 1e6 * (led.velocity - b.velocity);
                out[last].force -= out[k].force;
            }
        }))
        .unwrap();
        for _ in 0..100 {
            w.step().unwrap();
        }
        let off = (w.position(ids[0]).unwrap() - DVec3::X).length();
        assert!(off < 1e-4, "{others}: {off}");
        assert!((w.velocity(ids[0]).unwrap() - DVec3::X).length() < 1e-4);
    }
}

#[test]
fn slips_are_named() {
    let mut w = World::new(Settings::default()).unwrap();
    let mut random = Random::new(1);
    let ids: Vec<BodyId> =
        (0..20).map(|k| w.add_body(ball(&mut random, k as f64 * DVec3::X)).unwrap()).collect();
    let nothing = |ids: &[BodyId]| StiffForce::new("net", ids, |_, _, _| {});
    let mut said = |f: StiffForce| w.add_stiff_force(f).unwrap_err().to_string();
    assert!(said(nothing(&[])).contains("one to 16 bodies"));
    assert!(said(nothing(&ids)).contains("got 20"));
    assert!(said(nothing(&[ids[0], ids[1], ids[0]])).contains("twice"));
    let gone = BodyId { slot: 99, generation: 0 };
    assert!(said(nothing(&[gone])).contains("net") && said(nothing(&[gone])).contains("body 99"));
    let flat = w.add_body(ball(&mut random, DVec3::Y).planar(DVec3::Z)).unwrap();
    let mut said = |f: StiffForce| w.add_stiff_force(f).unwrap_err().to_string();
    assert!(said(nothing(&[ids[0], ids[1], flat])).contains("locked to a plane"));
    w.add_stiff_force(nothing(&[ids[0], flat])).unwrap();
    w.step().unwrap();
    w.add_stiff_force(StiffForce::new("broken", &ids[..1], |_, _, out| out.damping[3] = f64::NAN)).unwrap();
    let text = w.step().unwrap_err().to_string();
    assert!(text.contains("broken") && text.contains("damping must be finite"), "{text}");
    w.clear_stiff_forces();
    w.add_stiff_force(StiffForce::new("short", &ids[..1], |_, _, out| out.force.truncate(5))).unwrap();
    assert!(w.step().unwrap_err().to_string().contains("force must have 6 numbers, got 5"));
    // A force goes with its body.
    w.remove_body(ids[0]).unwrap();
    w.step().unwrap();
    assert!(w.stiff_forces().is_empty());
}
