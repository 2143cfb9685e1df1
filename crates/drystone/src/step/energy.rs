//! Steps that are solved, or nearly, and leave the bodies with more energy than anything gave them.
//!
//! Where nothing asks for a motion the velocity problem projects v_free on a convex set that has rest in it: energy does not grow. What
//! asks for one may be a wall or a motor, which do work; or the scheme itself, which should not:
//!
//! ```text
//!     arcs       joints lead bodies along the arcs on which they were moving ([`straighten`])
//!     bounces    several contacts at once, each to part at e times its own speed ([`spare`]), or to give back
//!                e times the impulse that stopped it, which is not unique ([`Limit`])
//!     no room    overlaps and bounces between what is all but in line ([`tame`])
//!     lift-off   what slides under the relaxed law lifts off, and is pressed out between walls that close ([`hold_back`])
//! ```
//!
//! Each is asked whether the bodies have more energy than before, which costs a pass over them where it can happen at all, and
//! posed again without it, or with less of it, where they have.

use drystone_solve::certificate::Certificate;
use drystone_solve::solver::contradiction::{asks_for, depth, energies, pressing, pushes};
use drystone_solve::solver::{Solution, Status, Stop};
use drystone_solve::{Malformed, Model};
use glam::DVec3;

use super::pose::{Posed, build};
use super::wedge::{
    FAST, LOST, Seen, again, ask_exact, fall, is_large, judge, judged_speeds, name, parts, speeds,
    speeds_at_hand, take, yielding,
};
use crate::body::Motion;
use crate::joint::Kind;
use crate::world::World;

/// Where contacts alone press a body out, the exact law is asked about a gain of more speed than this times what walls ask for: by that law a
/// wedge that is too wide to jam presses out at a few times its own speed.
const PRESSED: f64 = 3.0;
/// Its answer is taken if it gains at most this share of the speed,
const CALMER: f64 = 0.5;
/// and misses its law by at most this share.
const NEAR: f64 = 0.02;
/// Arcs that ask for less than this times a fall of one step, or the tolerance, throw nobody,
const ARCS: f64 = 10.0;
/// where the fastest body has at most this times its speed of before.
const GAINS: f64 = 1.2;
/// Nor do those after which there is at most this times the energy of before.
const GROWS: f64 = 1.5;
/// Energy after bounces over that before, at most: rounding, and what a tolerance leaves.
const KEEPS: f64 = 1.01;
/// Shares of restitution that are tried.
const SHARES: [f64; 6] = [0.95, 0.85, 0.7, 0.5, 0.25, 0.0];

/// Twice the kinetic energies before and after, J.
fn energies_at_hand(w: &mut World, solution: &Solution) -> Option<[f64; 2]> {
    let at_hand = w.solver.velocities().and_then(|v| energies(w.stiffness.posed(&w.assembler), v));
    at_hand.or_else(|| {
        speeds(w, &solution.gamma)?;
        energies(w.stiffness.posed(&w.assembler), &w.pace)
    })
}

/// The same of what was judged last.
fn judged_energies(w: &mut World) -> Option<[f64; 2]> {
    let World { solver, judge, stiffness, assembler, .. } = w;
    energies(stiffness.posed(assembler), solver.judge().unwrap_or(judge).velocities())
}

/// Whether contacts throw bodies about: the fastest gains `most` times the speed that anything asks for, the second where there are joints.
/// To be asked when its `speeds` before and after have been found.
fn throws(w: &World, stop: &Stop, [free, now]: [f64; 2], most: [f64; 2]) -> bool {
    let jointed = parts(w)[1];
    let gained = (now - free) / most[usize::from(jointed)];
    if gained <= stop.tolerance {
        return false;
    }
    // What a heavy body passes on to a light one may be much speed, but not more energy than there was.
    let World { solver, stiffness, assembler, pace, .. } = w;
    let problem = stiffness.posed(assembler);
    let [before, after] = energies(problem, solver.velocities().unwrap_or(pace)).unwrap_or_default();
    after > before
        && !problem.rest_is_feasible()
        && !asks_for(problem, gained)
        && !pushes(problem, gained)
        && (jointed || !asks_for(problem, gained / depth(problem) as f64))
}

/// A step that is solved, and whose solution throws bodies about: overlaps and bounces have all but no room (three balls between walls, a
/// hair out of line, part at half their speed over the angle that they are off by). It is taken without those, if that
/// is calmer; else it is what the walls and motors ask for. The solution's speeds may be `known`.
pub(super) fn tame(
    w: &mut World,
    posed: Posed,
    solution: &mut Solution,
    stop: &Stop,
    warm: bool,
    known: Option<[f64; 2]>,
) -> Result<Option<Seen>, Malformed> {
    if solution.status != Status::Converged || !parts(w)[0] {
        return Ok(None);
    }
    let Some(reached) = known.or_else(|| speeds_at_hand(w, solution)) else { return Ok(None) };
    if !throws(w, stop, reached, [FAST, LOST]) {
        return Ok(None);
    }
    let mut seen = Seen { softened: true, ..Seen::default() };
    name(w, &pressing(w.stiffness.posed(&w.assembler), &solution.gamma), &mut seen);
    let wild = solution.clone();
    build(w, Posed::Softened)?;
    let certificate = again(w, solution, stop, warm)?;
    let _ = w.solver.judge();
    let now = speeds_at_hand(w, solution);
    if solution.status == Status::Converged && !now.is_some_and(|now| throws(w, stop, now, [FAST, LOST])) {
        solution.certificate = Some(certificate);
        return Ok(Some(seen));
    }
    *solution = wild;
    build(w, posed)?;
    Ok(None)
}

/// Whether a wall or a motor moves.
fn is_driven(w: &World) -> bool {
    let moves = |i: usize| w.state.velocity[i] != DVec3::ZERO || w.state.omega[i] != DVec3::ZERO;
    let leads = |j: usize| {
        let joint = &w.model.joints[j];
        matches!(joint.kind, Kind::Trajectory(_)) || joint.laws.iter().any(|l| l.motor.is_some())
    };
    let walls = w.model.bodies.iter().enumerate().filter(|(_, b)| b.motion == Motion::Kinematic);
    walls.into_iter().any(|(i, _)| moves(i)) || w.model.joint_slots().any(leads)
}

/// A step under the relaxed law, solved or softened, in which walls that close press a body out. What slides lifts off by that law, u_N ≥ μ |u_T|:
/// from a wedge of angle α whose walls close at c it leaves at ½ c (cos α/2 + μ sin α/2) / (sin α/2 - μ cos α/2), which has no bound where the wedge
/// all but jams. By the exact law it is ½ c / tan α/2. So that one is asked, of [`Second`], and its answer taken if it is far calmer. Says whether it was asked.
/// The solution's speeds may be `known`, where the solver has its velocities at hand.
pub(super) fn hold_back(
    w: &mut World,
    solution: &mut Solution,
    stop: &Stop,
    warm: bool,
    seen: &mut Seen,
    known: Option<[f64; 2]>,
) -> Result<bool, Malformed> {
    let unsolved = solution.status != Status::Converged && !seen.softened;
    if w.settings.model != Model::Ccp
        || solution.status == Status::Diverged
        || stop.tolerance == 0.0
        || !parts(w)[0]
        || (unsolved && is_large(w))
    {
        return Ok(false);
    }
    let known = known.filter(|_| w.solver.velocities().is_some());
    let Some([free, relaxed]) = known.or_else(|| speeds_at_hand(w, solution)) else { return Ok(false) };
    if !throws(w, stop, [free, relaxed], [PRESSED, FAST]) || !is_driven(w) {
        return Ok(false);
    }
    let hard = pressing(w.stiffness.posed(&w.assembler), &solution.gamma);
    w.stiffness.posed_mut(&mut w.assembler).set_model(Model::Coulomb);
    let exact = ask_exact(w, stop, warm)?;
    let calmer = |now: f64| now - free <= CALMER * (relaxed - free);
    let near = stop.tolerance.max(NEAR * (relaxed - free));
    if let Some((other, certificate)) = exact
        && certificate.residual_max <= near
        && speeds(w, &other.gamma).is_some_and(|[_, now]| calmer(now))
    {
        take(w, solution, other);
        solution.certificate = Some(certificate);
        seen.exact = true;
        if seen.parties.is_empty() {
            name(w, &hard, seen);
        }
        return Ok(true);
    }
    w.stiffness.posed_mut(&mut w.assembler).set_model(Model::Ccp);
    Ok(true)
}

/// What became of a step's arcs.
#[derive(Default)]
pub(super) struct Straightened {
    /// Joints go along their tangents.
    pub straight: bool,
    /// The word on the solution, where it is not solved and was judged for its velocities.
    pub judged: Option<Certificate>,
    /// Its speeds, where they were asked for.
    pub speeds: Option<[f64; 2]>,
}

/// A step whose joints lead their bodies along arcs as they were moving before it, which they do not any more: a beam that turns fast
/// and is stopped by a load asks its hinge for a speed, and the load gets it; limbs that wedge each other make much of little. Where energy
/// grows by that, joints go along their tangents, and their errors are left to corrections.
pub(super) fn straighten(
    w: &mut World,
    solution: &mut Solution,
    stop: &Stop,
    warm: bool,
) -> Result<Straightened, Malformed> {
    if loosen(w, solution, stop, warm)? {
        return Ok(Straightened { straight: true, ..Straightened::default() });
    }
    // Arcs that ask for little may be much to what is all but locked: somebody is faster than before then.
    let least = fall(w).max(stop.tolerance);
    let jointed = parts(w)[1];
    // What is not solved will be judged anyway, and has its velocities by that.
    let unsolved = jointed && solution.status != Status::Converged && w.solver.velocities().is_none();
    let judged = unsolved.then(|| judge(w, &solution.gamma));
    let speeds = match (jointed, &judged) {
        (false, _) => None,
        (true, None) => speeds_at_hand(w, solution),
        (true, Some(_)) => judged_speeds(w),
    };
    let gains = speeds.is_some_and(|[free, now]| !(now <= GAINS * free + least));
    let as_it_was = |judged| Ok(Straightened { straight: false, judged, speeds });
    if !gains && w.assembler.rows.bent <= ARCS * least {
        return as_it_was(judged);
    }
    let energies = match judged {
        None => energies_at_hand(w, solution),
        Some(_) => judged_energies(w),
    };
    let Some([before, after]) = energies else { return as_it_was(judged) };
    if after <= GROWS * before {
        return as_it_was(judged);
    }
    let along_arcs = solution.clone();
    build(w, Posed::Straight)?;
    again(w, solution, stop, warm)?;
    let _ = w.solver.judge();
    let now = energies_at_hand(w, solution);
    if now.is_some_and(|[_, now]| GROWS * now < after) {
        return Ok(Straightened { straight: true, ..Straightened::default() });
    }
    *solution = along_arcs;
    build(w, Posed::Whole)?;
    Ok(Straightened::default())
}

/// A step of a few bodies that is not solved: limbs that wedge each other have no room even for the little that arcs and rests of errors ask
/// for. Along tangents there may be a solution.
fn loosen(w: &mut World, solution: &mut Solution, stop: &Stop, warm: bool) -> Result<bool, Malformed> {
    if solution.status != Status::Iterations || stop.tolerance == 0.0 || parts(w) != [true; 2] || is_large(w)
    {
        return Ok(false);
    }
    let along_arcs = solution.clone();
    build(w, Posed::Straight)?;
    again(w, solution, stop, warm)?;
    let _ = w.solver.judge();
    if solution.status == Status::Converged {
        return Ok(true);
    }
    *solution = along_arcs;
    build(w, Posed::Whole)?;
    Ok(false)
}

/// Whether contacts or limits bounce.
pub(super) fn bounces(w: &World) -> bool {
    w.laws.hits() || w.assembler.rows.bounces
}

/// A step with bounces after which there is more energy than before it. Newton's law for several contacts or limits at once may do that: a
/// pair that has just parted is pressed together again by a third body, and has no speed to give up. The largest share
/// of restitution that does not is taken instead. Where something else asks for a motion, a wall or a motor, energy may grow.
pub(super) fn spare(
    w: &mut World,
    posed: Posed,
    solution: &mut Solution,
    stop: &Stop,
    warm: bool,
) -> Result<Option<f64>, Malformed> {
    if !bounces(w) {
        return Ok(None);
    }
    let most = KEEPS * before(w);
    let Some([_, grown]) = energies_at_hand(w, solution).filter(|[_, after]| *after > most) else {
        return Ok(None);
    };
    let with_all = solution.clone();
    build(w, Posed::Bounce(0.0))?;
    if !asks_for(w.stiffness.posed(&w.assembler), fall(w).max(stop.tolerance)) {
        for share in SHARES {
            build(w, Posed::Bounce(share))?;
            let certificate = again(w, solution, stop, warm)?;
            let _ = w.solver.judge();
            // Where even none is too much, it is still better than all.
            let most = if share > 0.0 { most } else { most.max(CALMER * grown) };
            if energies_at_hand(w, solution).is_some_and(|[_, after]| after <= most) {
                solution.certificate = Some(certificate);
                return Ok(Some(share));
            }
        }
    }
    *solution = with_all;
    build(w, posed)?;
    Ok(None)
}

/// A step that gave way, in which things bounce, and after which there is more energy than before it: what has no room bounces all the harder. It is
/// taken without bounces and overlaps, if there is less then, and nothing else asks for a motion.
pub(super) fn quiet(
    w: &mut World,
    posed: Posed,
    solution: &mut Solution,
    stop: &Stop,
    warm: bool,
) -> Result<(), Malformed> {
    let grown = |w: &mut World, s: &Solution, most: f64| {
        speeds(w, &s.gamma).is_some()
            && energies(w.stiffness.posed(&w.assembler), &w.pace).is_some_and(|[_, after]| !(after <= most))
    };
    let most = KEEPS * before(w);
    if !w.laws.hits() || !grown(w, solution, most) {
        return Ok(());
    }
    let wild = solution.clone();
    build(w, Posed::Softened)?;
    if !asks_for(w.stiffness.posed(&w.assembler), fall(w).max(stop.tolerance)) {
        let certificate = again(w, solution, stop, warm)?;
        let _ = w.solver.judge();
        if !grown(w, solution, most) {
            solution.certificate = Some(certificate);
            return Ok(());
        }
    }
    *solution = wild;
    build(w, posed)?;
    yielding(w);
    Ok(())
}

/// Twice the energy that there may be after an expansion, J: Poisson's law for several contacts at once, with friction, may give more than
/// the compression took. Where something asks for a motion, a wall or a motor, there is no limit.
pub(super) struct Limit(Option<f64>);

impl Limit {
    /// To be asked while the compression is posed. Joints that lead along arcs ask for a motion, too, which does no work.
    pub fn of(w: &World, stop: &Stop) -> Self {
        let least = fall(w).max(stop.tolerance).max(2.0 * w.assembler.rows.bent);
        let asks = asks_for(w.stiffness.posed(&w.assembler), least);
        Self((!asks).then(|| KEEPS * before(w)))
    }

    /// The largest share of what the expansion gives that keeps the limit, where that is not all.
    pub fn hold(
        &self,
        w: &mut World,
        solution: &mut Solution,
        stop: &Stop,
    ) -> Result<Option<f64>, Malformed> {
        let Some(most) = self.0 else { return Ok(None) };
        let mut taken = 1.0;
        let mut shares = SHARES.into_iter();
        while energies_at_hand(w, solution).is_some_and(|[_, after]| after > most) {
            let Some(share) = shares.next() else { break };
            w.laws.give(share - taken, &w.model, &w.state, &w.contacts, &mut w.v_free);
            taken = share;
            build(w, Posed::Expansion)?;
            let certificate = again(w, solution, stop, true)?;
            let _ = w.solver.judge();
            solution.certificate = Some(certificate);
        }
        Ok((taken < 1.0).then_some(taken))
    }
}

/// Twice the energy that bodies had before the step, or have without contacts where that is more, J.
fn before(w: &World) -> f64 {
    let of = |i: usize| {
        let (mass, q, free) = (&w.model.bodies[i].mass, w.state.rotation[i], &w.v_free[i]);
        let twice = |v: DVec3, omega: DVec3| mass.mass * v.length_squared() + omega.dot(mass.inertia * omega);
        let free_omega = q.conjugate() * DVec3::new(free[3], free[4], free[5]);
        let free = twice(DVec3::new(free[0], free[1], free[2]), free_omega);
        free.max(twice(w.state.velocity[i], w.state.omega[i]))
    };
    w.model.dynamic().map(of).sum()
}
