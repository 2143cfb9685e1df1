//! The step, on one page.

mod check;
mod energy;
mod formulate;
mod lean;
mod needs_correction;
pub(crate) mod parts;
mod predictor;
mod report;
mod resolve;
mod velocity;

use drystone_solve::certificate::Certificate;
use drystone_solve::crew::{self, Shared};
use drystone_solve::solver::{Attempt, Solution, Status, make};
use glam::{DQuat, DVec3};

use crate::body::Motion;
use crate::contact::remember;
use crate::model::Body;
use crate::motion::{free_rotation, is_ball, rotate};
use crate::settings::{Integrator, Stabilisation};
use crate::smooth;
use crate::stabilise::{Correction, Work};
use crate::world::World;
pub use check::Apart;
use check::{bad_contact, check_bounds, check_finite, check_joints, check_positions, names, worst_contact};
use formulate::{Asks, formulate};
pub(crate) use predictor::Predictor;
use report::{Clock, Overlap};
pub use report::{Deep, Stage, StepError, StepReport};
pub use velocity::Party;
use velocity::{Solved, solve};

/// Fewer bodies are not worth calling all threads for.
const FEW: usize = 4096;

/// Advances `w` by one step of the half-implicit scheme [TasoraAnitescu2011, eq. 47a-c].
pub(crate) fn step(w: &mut World) -> Result<StepReport, StepError> {
    w.keep_rest();
    let report = if w.model.facts().dynamic < FEW { take(w) } else { crew::with(|| take(w)) };
    let before = w.before_halves.take();
    if report.is_err() {
        w.absent.clear();
        w.detector.absent.clear();
        if let Some(before) = before {
            w.state = *before;
        }
        w.sleep_as_before();
    }
    w.assembler.rows.elsewhere.clear();
    report
}

fn take(w: &mut World) -> Result<StepReport, StepError> {
    let number = w.state.step + 1;
    if w.loose {
        w.assemble_joints().map_err(|e| StepError::Assembly { step: number, text: e.to_string() })?;
    }
    if w.state.sort(&w.model) {
        w.sort_sleepers();
    }
    let report = resolve::advance(w, 0)?;
    finish(w, report)
}

/// Takes the step of all who are not absent, except for islands that are to take it in halves: those are left as they were, and pending.
fn attempt(w: &mut World, halvings: u32) -> Result<StepReport, StepError> {
    let (h, number) = (w.settings.h, w.state.step + 1);
    let envelope = w.envelope();
    let whole = w.absent.is_empty();
    let mut clock = Clock::start();
    free_velocities(w)?; // v + h M⁻¹ f
    if whole {
        w.rouse();
    }
    clock.stage(Stage::Assemble);
    w.detector.find_pairs(&w.model, &w.state, &w.v_free, h, envelope);
    clock.stage(Stage::Broadphase);
    loop {
        let World { detector, model, state, v_free, sleepers, contacts, .. } = &mut *w;
        detector.find(model, state, v_free, h, envelope, &sleepers.known, contacts);
        if !(whole && w.rouse_touched()) {
            break;
        }
    }
    let overlap = Overlap::of(w);
    remember(&mut w.contacts, &w.state.multipliers, |c| w.state.order.place(&w.model, c));
    predictor::foretell(w, envelope);
    if whole {
        w.set_aside();
    }
    w.laws.begin(&w.model, &w.state, &w.settings, &mut w.contacts);
    w.call_contact_hook();
    clock.stage(Stage::Narrowphase);

    w.leave_joints();
    let smooth = if whole { smooth_step(w) } else { None };
    if let Some((order, taken)) = smooth.as_ref().filter(|(_, taken)| taken.whole) {
        let done = smooth_done(w, *order, taken);
        if w.model.periodic.is_some() {
            (0..w.model.bodies.len()).for_each(|i| w.state.wrap(&w.model, i));
        }
        std::mem::swap(&mut w.state.joints, &mut w.assembler.rows.next);
        if w.kept_solution.is_some() {
            w.keep_solutions(true); // There was none.
        }
        clock.stage(Stage::Integrate);
        return Ok(tell(w, clock, overlap, done));
    }
    let smooth = smooth.map(|(_, taken)| taken);
    w.linearise().map_err(|text| StepError::NonFinite { step: number, text })?;
    w.laws.pose(&w.model, &w.state, &w.settings, &mut w.contacts, &mut w.v_free);
    formulate(w, Asks::All, None).map_err(|e| bad_contact(w, number, &e))?;
    let apart = check_joints(w, number)?;
    clock.stage(Stage::Assemble);

    let Solved { mut solution, compression, bounce, missed } =
        solve(w).map_err(|e| bad_contact(w, number, &e))?;
    let status = solution.status;
    clock.stage(Stage::Solve);

    if solution.status == Status::Diverged {
        let text = worst_contact(w, &solution.gamma);
        return Err(StepError::Diverged { step: number, iterations: solution.iterations, text });
    }
    if status == Status::Wedged && w.settings.compliance == 0.0 {
        return Err(StepError::Infeasible { step: number, text: names(w, &missed) });
    }
    let velocity_problems = 1 + usize::from(compression.is_some());
    if w.kept_solution.is_some() {
        w.keep_solutions(true);
    }
    // Of two, one after the other, a bound on the last would be none on the step; nor would be one on another problem's solution.
    if let Some(kept) = w.kept_solution.as_mut().filter(|_| velocity_problems == 1 && bounce.is_none()) {
        *kept = (w.stiffness.posed(&w.assembler).clone(), solution.gamma.clone());
    }
    w.velocities(&solution.gamma); // v = v_free + M⁻¹ D γ
    check_finite(w, number)?;
    w.assembler.hand_back(&solution.gamma, &mut w.contacts);
    w.laws.add_compression(&mut w.contacts);
    w.laws.finish(&mut w.contacts);
    w.assembler.hand_back_rows(&solution.gamma, h);
    let mut certificate = match solution.certificate.take() {
        Some(c) => c,
        None => {
            let judge = w.solver.judge().unwrap_or(&mut w.judge);
            judge.judge(w.stiffness.posed(&w.assembler), &solution.gamma)
        }
    };
    if let Some(first) = compression.filter(|first| first.residual_max > certificate.residual_max) {
        certificate = first; // Two problems were posed: the word is on the worse one.
    }
    if velocity_problems > 1 || bounce.is_some() {
        certificate.has_no_bound();
    }
    let worst_contact = certificate.worst_block.and_then(|b| w.assembler.contact_of(b));
    solution.gamma = Vec::new(); // Of no more use: positions need as much once more.
    w.leave_velocities();
    clock.stage(Stage::Certificate);

    w.saved.save(&w.state);
    integrate(w, smooth.is_some()); // q ← Λ(q, v, h)
    if let Some(taken) = &smooth {
        smooth::write_back(w);
        certificate.residual_max = certificate.residual_max.max(taken.certificate.residual_max);
    }
    clock.stage(Stage::Integrate);

    let mut position_rounds = 0;
    let mut unresolved = None;
    if let Some(how) = correction(w).filter(|how| smooth.is_some() || needs_correction::may(w, status, how.tolerance))
    {
        if resolve::applies(w) {
            let World { stabiliser, model, state, detector, assembler, sleepers, v_free, .. } = w;
            let asleep = &sleepers.known;
            let mut stabiliser = std::mem::take(stabiliser);
            let ends =
                stabiliser.look(&mut Work { model, state, detector, assembler, how, v: v_free, asleep });
            let most = w.settings.max_substeps.ilog2();
            unresolved = resolve::put_back(w, ends, how.reach, most.saturating_sub(halvings));
            if !w.pending.is_empty() {
                // Those who took the step do so without them.
                stabiliser.look_again();
                let left = (0..w.pending.len()).map(|i| w.pending[i] || w.absent.get(i) == Some(&true));
                w.detector.absent = left.collect();
            }
            w.stabiliser = stabiliser;
        }
        position_rounds = correct(w, how)?;
        if w.settings.iterations == 0 {
            take_velocities_from_positions(w);
        }
    }
    if w.model.periodic.is_some() {
        (0..w.model.bodies.len()).for_each(|i| w.state.wrap(&w.model, i));
    }
    // What is put aside is overwritten by the next problem.
    std::mem::swap(&mut w.state.joints, &mut w.assembler.rows.next);
    if !w.pending.is_empty() {
        for j in w.model.joint_slots() {
            if w.model.joints[j].bodies.iter().any(|b| w.pending.get(*b as usize) == Some(&true)) {
                w.state.joints[j] = w.assembler.rows.next[j];
            }
        }
    }
    let integrator = match w.settings.integrator {
        Integrator::Moreau { theta } => Integrator::Moreau { theta },
        _ => Integrator::Euler,
    };
    let Solution { iterations, omega, rejected, attempts, .. } = solution;
    let done = Done {
        integrator,
        status,
        bounce,
        missed,
        apart,
        iterations,
        omega,
        rejected,
        attempts,
        position_rounds,
        certificate,
        velocity_problems,
        worst_contact: worst_contact.filter(|_| w.pending.is_empty()),
        smooth_bodies: if smooth.is_some() { smooth::taken_bodies(w) } else { 0 },
        unresolved,
    };
    clock.stage(Stage::Correct);
    Ok(tell(w, clock, overlap, done))
}

/// How positions are corrected, where they are.
fn correction(w: &World) -> Option<Correction> {
    let Stabilisation::Post { tolerance, accept, reach, rounds } = w.settings.stabilisation else {
        return None;
    };
    Some(Correction {
        tolerance,
        accept,
        reach,
        rounds,
        iterations: w.settings.position_iterations,
        envelope: w.envelope(),
        h: w.settings.h,
        keep: w.settings.iterations == 0,
    })
}

/// q ← q ⊕ Δq; how many position problems that took.
fn correct(w: &mut World, how: Correction) -> Result<usize, StepError> {
    // Errors of joints are for elimination: few sweeps leave them, and a step's velocities are off by that much more.
    let jointed = w.settings.iterations > 0 && w.model.joint_slots().next().is_some();
    let World {
        stabiliser, model, state, detector, assembler, solver, places, saved, sleepers, v_free, ..
    } = w;
    let work = Work { model, state, detector, assembler, how, v: v_free, asleep: &sleepers.known };
    let places = if jointed { places.get_or_insert_with(|| make("auto").ok()).as_mut() } else { None };
    let solver = match (solver.for_positions(), places.and_then(|places| places.for_positions())) {
        (Some(other), _) | (None, Some(other)) => other,
        (None, None) => solver.as_mut(),
    };
    let done = stabiliser.run(work, solver);
    done.inspect_err(|_| saved.restore(state)).map_err(|e| bad_contact(w, w.state.step + 1, &e))
}

/// What is to be said of a step whose new positions and velocities are there.
struct Done {
    integrator: Integrator,
    status: Status,
    bounce: Option<f64>,
    missed: Vec<Party>,
    apart: Option<Apart>,
    iterations: usize,
    omega: f64,
    rejected: usize,
    attempts: Vec<Attempt>,
    position_rounds: usize,
    certificate: Certificate,
    velocity_problems: usize,
    worst_contact: Option<usize>,
    smooth_bodies: usize,
    unresolved: Option<[u32; 2]>,
}

/// The steps of mechanisms that nothing touches, where the settings ask for them and they can be had: see `smooth`. The order,
/// and what they came to. If they are not those of the whole world, the joints are left out of what is posed for the rest.
fn smooth_step(w: &mut World) -> Option<(u8, smooth::Taken)> {
    let order = w.settings.integrator.smooth(w.model.joint_slots().next().is_some())?;
    if w.settings.iterations == 0 || !w.stiff.is_empty() {
        return None;
    }
    let taken = smooth::advance(w, order)?;
    if !taken.whole {
        let mut elsewhere = std::mem::take(&mut w.assembler.rows.elsewhere);
        elsewhere.resize(w.model.joints.len(), false);
        elsewhere.iter_mut().zip(smooth::joints(w)).for_each(|(there, taken)| *there |= taken);
        w.assembler.rows.elsewhere = elsewhere;
    }
    Some((order, taken))
}

/// Takes a smooth step of the whole world.
fn smooth_done(w: &mut World, order: u8, taken: &smooth::Taken) -> Done {
    // Without stiff forces nothing about the problem can be wrong.
    if w.shows_problem() && formulate(w, Asks::All, None).is_ok() {
        w.call_problem_hook();
    }
    w.saved.save(&w.state);
    smooth::write_back(w);
    Done {
        integrator: Integrator::Rattle { order },
        status: Status::Converged,
        bounce: None,
        missed: Vec::new(),
        apart: None,
        iterations: taken.iterations,
        omega: 1.0,
        rejected: 0,
        attempts: Vec::new(),
        position_rounds: 0,
        certificate: taken.certificate.clone(),
        velocity_problems: 1,
        worst_contact: None,
        smooth_bodies: w.model.dynamic().count(),
        unresolved: None,
    }
}

/// What a step, or a substep, says of itself.
fn tell(w: &World, clock: Clock, overlap: Overlap, done: Done) -> StepReport {
    StepReport {
        step: w.state.step + 1,
        integrator: done.integrator,
        smooth_bodies: done.smooth_bodies,
        contacts: w.contacts.len(),
        asleep: 0,
        touching: overlap.touching,
        penetration_max: overlap.max,
        deep: overlap.deep,
        penetration_mean: overlap.mean,
        status: done.status,
        bounce: done.bounce,
        contradiction: done.missed,
        apart: done.apart,
        iterations: done.iterations,
        omega: done.omega,
        rejected: done.rejected,
        attempts: done.attempts,
        position_rounds: done.position_rounds,
        certificate: done.certificate,
        velocity_problems: done.velocity_problems,
        substeps: 1,
        unresolved: done.unresolved,
        worst_contact: done.worst_contact,
        left: Vec::new(),
        spans: clock.spans,
    }
}

/// Looks at where the bodies came to, and closes the step.
fn finish(w: &mut World, mut report: StepReport) -> Result<StepReport, StepError> {
    let mut clock = Clock::start();
    let number = w.state.step + 1;
    check_positions(w, number)?;
    report.left = check_bounds(w, number)?;
    report.contacts = w.contacts.len();
    w.fall_asleep();
    w.put_back(&mut report.worst_contact);
    report.asleep = w.asleep();
    w.leave_positions();
    w.remember_contacts();
    if matches!(w.settings.stabilisation, Stabilisation::Scaled { .. } | Stabilisation::Clamped { .. })
        && report.status != Status::Converged
    {
        // Corrections are among these multipliers; where the solve stopped short of a solution, they would add up from step to step.
        w.state.multipliers.iter_mut().for_each(|m| m.impulse = DVec3::ZERO);
        w.state.joints.iter_mut().for_each(|j| j.impulse.fill(0.0));
    }
    let forces = [&mut w.state.force, &mut w.state.torque];
    forces.into_iter().for_each(|column| column.fill(DVec3::ZERO));
    w.state.step = number;
    w.state.time += w.settings.h;
    clock.stage(Stage::Correct);
    for (sum, span) in report.spans.iter_mut().zip(clock.spans) {
        *sum += span;
    }
    Ok(report)
}

/// v_free = v + h M⁻¹ f: gravity, applied forces, fields, gyroscopic term; the own velocity of bodies that are not dynamic.
fn free_velocities(w: &mut World) -> Result<(), StepError> {
    w.act();
    w.find_jointed();
    let (h, g) = (w.settings.h, w.settings.gravity);
    let n = w.model.bodies.len();
    w.free.clear();
    let bodies = &w.model.bodies;
    if !crew::all(n, |i| !turns_freely(&bodies[i])) {
        w.free.resize(n, (DVec3::ZERO, DQuat::IDENTITY));
    }
    w.v_free.resize(n, [0.0; 6]);
    let World { model, state: s, acting, free, v_free, .. } = w;
    let (turned, to) = (Shared(free.as_mut_ptr()), Shared(v_free.as_mut_ptr()));
    let sound = crew::all(n, |i| {
        let body = &model.bodies[i];
        let (mut v, mut omega) = (s.velocity[i], s.omega[i]);
        if body.motion == Motion::Dynamic && body.alive {
            let field = acting.on(i);
            v += h * (g + body.inv_mass * (s.force[i] + field.force));
            if !is_ball(&body.mass.inertia) {
                let free = free_rotation(&body.mass.inertia, omega, h);
                if turns_freely(body) {
                    // SAFETY: there is room for all as soon as one turns freely, and each is looked at once.
                    unsafe { *turned.at(i) = free };
                }
                omega = free.0;
            }
            omega += h * (*body.inv_inertia * (s.rotation[i].conjugate() * (s.torque[i] + field.torque)));
            if let Some(plane) = &body.planar {
                v = plane.within(v);
                omega = s.rotation[i].conjugate() * plane.about(s.rotation[i] * omega);
            }
        } else if !body.alive {
            (v, omega) = (DVec3::ZERO, DVec3::ZERO);
        } else if let Some(guided) = &body.guide {
            (v, omega) = guided.velocity(s.position[i], s.rotation[i], s.time + h, h);
            omega = s.rotation[i].conjugate() * omega;
        }
        let turn = s.rotation[i] * omega;
        // SAFETY: each body once.
        unsafe { *to.at(i) = [v.x, v.y, v.z, turn.x, turn.y, turn.z] };
        v.is_finite() && turn.is_finite() && s.position[i].is_finite()
    });
    if sound {
        return Ok(());
    }
    let finite = |i: &usize| v_free[*i].iter().all(|x| x.is_finite()) && s.position[*i].is_finite();
    let i = (0..n).find(|i| !finite(i)).unwrap_or_default();
    let text = format!("{} has a position, velocity or force that is not finite", model.describe(i as u32));
    Err(StepError::NonFinite { step: s.step + 1, text })
}

impl World {
    /// Notes which bodies are on joints.
    fn find_jointed(&mut self) {
        self.jointed.clear();
        for b in self.model.joint_slots().flat_map(|j| self.model.joints[j].bodies) {
            self.jointed.resize(self.model.bodies.len(), false);
            self.jointed.get_mut(b as usize).into_iter().for_each(|jointed| *jointed = true);
        }
    }
}

/// Whether a body's rotation is that of its free motion and what comes on top: `World::free` has the first for these.
fn turns_freely(body: &Body) -> bool {
    body.alive && body.motion == Motion::Dynamic && body.planar.is_none() && !is_ball(&body.mass.inertia)
}

/// q ← Λ(q, θ v⁺ + (1-θ) v, h): θ = 1 in the half-implicit scheme, any from ½ to 1 in Moreau's [RenoufAcary2006, eq. 2].
fn integrate(w: &mut World, in_part: bool) {
    let (h, theta) = (w.settings.h, w.settings.integrator.theta());
    let World { model, state: s, free, v_free: solved, smooth, absent, jointed, .. } = w;
    let n = model.bodies.len();
    for columns in [&s.position, &s.velocity, &s.omega] {
        assert_eq!(columns.len(), n, "one number for each body");
    }
    assert_eq!(s.rotation.len(), n, "one rotation for each body");
    let [position, velocity, omega] =
        [&mut s.position, &mut s.velocity, &mut s.omega].map(|column| Shared(column.as_mut_ptr()));
    let rotation = Shared(s.rotation.as_mut_ptr());
    let rest = &s.rest;
    crew::many(n, |i| {
        let body = &model.bodies[i];
        if !body.alive || body.motion == Motion::Static || (in_part && smooth::took(smooth, i)) {
            return;
        }
        // SAFETY: each body once, and columns are as long as there are bodies.
        let (x, q, v, omega) =
            unsafe { (&mut *position.at(i), &mut *rotation.at(i), &mut *velocity.at(i), &mut *omega.at(i)) };
        if rest.is_asleep(i) || absent.get(i) == Some(&true) {
            return;
        }
        let theta = if body.motion == Motion::Dynamic { theta } else { 1.0 };
        let before = (*v, *omega);
        let mut take = |new: &[f64; 6]| {
            *v = DVec3::new(new[0], new[1], new[2]);
            *omega = q.conjugate() * DVec3::new(new[3], new[4], new[5]);
        };
        if body.guide.is_some() {
            take(&solved[i]);
        }
        if body.motion == Motion::Dynamic {
            take(&solved[i]);
        }
        if let Some(plane) = &body.planar {
            // The solver holds the lock to its tolerance; here it is exact.
            *v = plane.within(*v);
            *omega = q.conjugate() * plane.about(*q * *omega);
        }
        *x += h * (theta * *v + (1.0 - theta) * before.0);
        if let Some(plane) = &body.planar {
            *x = plane.nearest(*x);
        }
        if *omega == DVec3::ZERO && before.1 == DVec3::ZERO {
            return;
        }
        *q = match free.get(i) {
            Some((free, turn)) if turns_freely(body) => {
                let kick = *omega - *free;
                if theta == 1.0 && jointed.get(i) != Some(&true) {
                    // Kicked where the step began, then free: contacts do no work on what spins, however far it turns in a step.
                    let (after, turn) = free_rotation(&body.mass.inertia, before.1 + kick, h);
                    *omega = after;
                    (*q * turn).normalize()
                } else {
                    // Joints hold velocities to the end: free motion, and what changes it on top.
                    rotate(*q * *turn, theta * kick, h)
                }
            }
            _ => rotate(*q, theta * *omega + (1.0 - theta) * before.1, h),
        };
    });
}

/// The position-based limit [TasoraAnitescu2011, end of §5.2; Muller2006]: without a velocity problem, the velocities
/// follow from where the corrections put the bodies.
fn take_velocities_from_positions(w: &mut World) {
    let h = w.settings.h;
    for i in w.model.dynamic().filter(|i| !w.state.rest.is_asleep(*i)) {
        let d = &w.stabiliser.total[i];
        w.state.velocity[i] += DVec3::new(d[0], d[1], d[2]) / h;
        w.state.omega[i] += w.state.rotation[i].conjugate() * DVec3::new(d[3], d[4], d[5]) / h;
    }
}
