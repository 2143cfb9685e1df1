//! Steps whose constraints contradict each other, or whose solver ran away: recognised, named, softened.
//!
//! A step that its solver did not solve is looked at before its velocities are taken:
//!
//! ```text
//!     1   do the constraints contradict each other? By the solver's own proof, or by the referee's (`solver::contradiction`)
//!     2   then the problem is solved again with everything that asks for a motion giving way: compliance GIVE of its diagonal of N.
//!         Where even that runs away, without what asks for separation (overlaps, bounces)
//!         A solution that misses what was asked for by little (MILD) is taken as it is
//!     3   where a motion was asked for, a residual of more than WILD times that, or a gain of speed of more than FAST times that, is nobody's solution,
//!         contradiction or not: accelerated gradients are asked, from nothing, and their answer taken if it is better; then 2
//!     4   what is still beyond LOST times that, or as fast, is an error: such velocities would throw bodies out of the world
//! ```
//!
//! Even a step that was solved may throw bodies about: see `energy.rs`.
//!
//! Whoever solves and whatever stabilises. A step that was solved costs nothing, one that rest satisfies a judgement, which is
//! needed anyway.

use drystone_solve::certificate::Certificate;
use drystone_solve::solver::contradiction::{
    Referee, asked, asks_for, depth, fastest, give_way, pressing, undone,
};
use drystone_solve::solver::{Attempt, Solution, Solver, Status, Stop, make};
use drystone_solve::{Malformed, Model, Problem};

use super::pose::{Posed, build};
use crate::joint::slot::WORLD_BODY;
use crate::world::World;

/// Compliance of contacts and of joints that give way, over their diagonal of N: multipliers are at most a thousand and a hundred times
/// what stops a block by itself. Under a load contacts sink in by their share, which is why it is smaller.
const GIVE: [f64; 2] = [1e-3, 1e-2];
/// Residuals beyond this times what was asked for are not taken without a second try.
const WILD: f64 = 10.0;
/// And beyond this they are not taken at all.
pub(super) const LOST: f64 = 1e3;
/// The exact law is given so many iterations at least.
const LEAST: usize = 200;
/// Multiplications of another solver that is to do better.
const RESCUE: usize = 2000;
/// A body that gains more speed than this times what was asked for, for each body between one and the ground, is not taken either.
pub(super) const FAST: f64 = 10.0;
/// What is asked for is nothing below this times a fall of one step, where there is no tolerance to say so: arcs of joints ask for as much.
const NOTHING: f64 = 1e-2;
/// Residuals below this share of the speed that is asked for are no sign of contradictions.
const SIGN: f64 = 0.02;
/// Below this share a solution has all but done what was asked: it is taken as it is.
const MILD: f64 = 0.25;
/// In large problems it is below this: a heap whose overlaps contradict each other loses most of them in a few steps that are not
/// solved, and keeps them where they give way. There it is asked in one step of so many whether there is a contradiction, the
/// second where the solution is below MILD too, or there are joints.
const MILD_IN_HEAPS: f64 = 2.0;
const EVERY: [u64; 2] = [4, 16];
/// Where there are joints, so many iterations of the steps between pay for one question: it costs a twentieth of them.
const PAYS: u64 = 3200;
/// Problems of up to so many blocks are not large.
const LARGE: usize = 64;
/// Parties that are named.
const NAMED: usize = 4;

/// One of those that contradict each other in a step: a contact of two bodies, or a joint with its motors and limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    /// Slot of the joint; None for a contact.
    pub joint: Option<u32>,
    /// Slots of its bodies, without the world.
    pub bodies: Vec<u32>,
}

impl Seen {
    /// Whether the problem that was solved is not the one that was posed first.
    pub fn replaced(&self) -> bool {
        self.softened || self.exact || self.straight || self.bounce.is_some()
    }
}

impl Party {
    pub(super) fn of_joint(w: &World, joint: u32) -> Self {
        let bodies = w.model.joints[joint as usize].bodies.into_iter();
        Self { joint: Some(joint), bodies: bodies.filter(|b| *b != WORLD_BODY).collect() }
    }
}

/// Whom a step asks that does not trust its solver.
pub(crate) struct Second {
    gradients: Box<dyn Solver>,
    referee: Referee,
    /// Who is asked about the exact law: not all can solve under it.
    exact: Box<dyn Solver>,
}

impl Second {
    fn new() -> Option<Self> {
        Some(Self { gradients: make("apgd").ok()?, referee: Referee::default(), exact: make("auto").ok()? })
    }
}

/// Speeds of the fastest body before and after, m/s, where the problem asks for a motion.
pub(super) fn speeds(w: &mut World, gamma: &[f64]) -> Option<[f64; 2]> {
    let World { stiffness, assembler, pace, .. } = w;
    let problem = stiffness.posed(assembler);
    if let Problem::Bodies(p) = problem {
        p.velocities(gamma, pace);
    }
    fastest(problem, pace)
}

/// The same of what was judged last.
pub(super) fn judged_speeds(w: &mut World) -> Option<[f64; 2]> {
    let World { solver, judge, stiffness, assembler, .. } = w;
    fastest(stiffness.posed(assembler), solver.judge().unwrap_or(judge).velocities())
}

/// Whether a speed is so large that its rounding hides residuals beyond the tolerance: under the exact law a body that slides fast
/// enough seems to separate from everything.
fn hides(speed: f64, stop: &Stop) -> bool {
    stop.tolerance > 0.0 && !(64.0 * f64::EPSILON * speed <= stop.tolerance)
}

/// Speeds of the fastest body before and after. Where the solver has its velocities at hand they need not be found again.
pub(super) fn speeds_at_hand(w: &mut World, solution: &Solution) -> Option<[f64; 2]> {
    let at_hand = w.solver.velocities().and_then(|v| fastest(w.stiffness.posed(&w.assembler), v));
    at_hand.or_else(|| speeds(w, &solution.gamma))
}

/// Whether a solution that its solver calls converged is to be looked at all the same: it is so fast that it may be converged by
/// rounding alone. Its speeds may be `known`.
pub(super) fn is_doubtful(w: &mut World, solution: &Solution, stop: &Stop, known: Option<[f64; 2]>) -> bool {
    let Some([free, now]) = known.or_else(|| speeds_at_hand(w, solution)) else { return false };
    let gained = (now - free) / LOST;
    let (hides, slow) = (hides(now, stop), gained <= stop.tolerance);
    if slow && !hides {
        return false;
    }
    let problem = w.stiffness.posed(&w.assembler);
    !problem.rest_is_feasible() && (hides || !asks_for(problem, gained))
}

/// Whether there are contacts, and something else: a joint may pass on a motion as a lever does, and what a spring asks for says little
/// about what it does.
pub(super) fn parts(w: &World) -> [bool; 2] {
    match w.stiffness.posed(&w.assembler) {
        Problem::Bodies(p) => [!p.points.a.is_empty(), !p.general.a.is_empty()],
        Problem::Explicit(_) => [false, true],
    }
}

/// What became of a step that was not solved.
#[derive(Default)]
pub(super) struct Seen {
    /// The constraints contradict each other.
    pub contradiction: bool,
    /// Who does, those that press hardest first.
    pub parties: Vec<Party>,
    /// The contact among them that presses hardest.
    pub contact: Option<usize>,
    /// The softened problem is the one that was solved.
    pub softened: bool,
    /// The exact law is the one that was solved, in a run under the relaxed one.
    pub exact: bool,
    /// Joints went along their tangents.
    pub straight: bool,
    /// The share of restitution that the step could take without more energy than before, where that is not all.
    pub bounce: Option<f64>,
    /// Where the residual is beyond all that was asked for: that, m/s.
    pub wild: Option<f64>,
}

/// Looks at a solution that is not converged, of the problem that is posed, and replaces it where it must not be taken; `judged` if it was
/// the last to be.
pub(super) fn look(
    w: &mut World,
    posed: Posed,
    solution: &mut Solution,
    stop: &Stop,
    warm: bool,
    judged: Option<Certificate>,
) -> Result<Seen, Malformed> {
    let mut seen = Seen::default();
    let mut certificate = judged.unwrap_or_else(|| judge(w, &solution.gamma));
    let wanted = if certificate.rest_is_feasible { 0.0 } else { asked(w.stiffness.posed(&w.assembler)) };
    // A motion within the tolerance is not worth a word; where all iterations are asked for, one that is next to nothing beside a fall of one step.
    let least = if w.settings.tolerance > 0.0 { w.settings.tolerance } else { NOTHING * fall(w) };
    let wanted = if wanted > least { wanted } else { 0.0 };
    let gains = |w: &mut World, s: &Solution, speeds: Option<[f64; 2]>, most: f64| {
        speeds.is_some_and(|[free, now]| {
            let beyond = |steps: f64| !(now <= free + most * steps * wanted);
            wanted > 0.0
                && beyond(1.0)
                && (s.status != Status::Converged || hides(now, stop))
                // One block that leaves as much undone is enough.
                && (stop.tolerance > 0.0 || !(now <= free + most * undone_up_to(w, (now - free) / most)))
                && beyond(depth(w.stiffness.posed(&w.assembler)) as f64)
        })
    };
    let fast = |w: &mut World, s: &Solution| {
        let speeds = if wanted > 0.0 { speeds(w, &s.gamma) } else { None };
        gains(w, s, speeds, FAST)
    };
    // Of what was judged last the velocities are at hand.
    let is_fast_as_judged = |w: &mut World, s: &Solution| {
        let speeds = judged_speeds(w);
        gains(w, s, speeds, FAST)
    };
    let mut is_fast = is_fast_as_judged(w, solution);
    // What is converged is here because it is fast.
    let runs = solution.status == Status::Converged || is_fast;
    if wanted > 0.0
        && let Some(blocks) = contradiction(w, solution, &certificate, wanted, runs)?
    {
        name(w, &blocks, &mut seen);
        seen.contradiction = true;
        // Contacts forget by the next step what a joint will be off by.
        let joints = !seen.parties.is_empty() && seen.parties.iter().all(|p| p.joint.is_some());
        if runs || joints || solution.status == Status::Wedged || !is_mild(w, &certificate, wanted) {
            certificate = soften(w, posed, solution, stop, warm, wanted)?;
            seen.softened = true;
            is_fast = is_fast_as_judged(w, solution);
        }
    }
    // Nobody proves a contradiction, but a solution that is a thousand times as fast as all that was asked for is as good as one.
    if solution.status == Status::Converged && !seen.softened && parts(w) == [true, false] && wanted > 0.0 {
        name(w, &pressing(w.stiffness.posed(&w.assembler), &solution.gamma), &mut seen);
        certificate = soften(w, posed, solution, stop, warm, wanted)?;
        seen.softened = true;
        is_fast = fast(w, solution);
    }
    // Where nothing asks for a motion a solver that is slow is slow: only what is far beyond all that is left undone without it runs away.
    let sane = match wanted == 0.0 {
        true => certificate.residual_max <= calm(w, stop) || certificate.residual_max <= LOST * all_undone(w),
        false => certificate.residual_max <= WILD * wanted,
    };
    let lost = solution.status == Status::Diverged || is_fast;
    if sane && !lost {
        solution.certificate = Some(certificate);
        return Ok(seen);
    }
    // Nor is what no multipliers at all leave undone beyond what is asked.
    let enough = if lost { f64::INFINITY } else { certificate.residual_max / WILD };
    let limit = undone(w.stiffness.posed(&w.assembler), enough).max(wanted).max(stop.tolerance);
    let wild = |s: &Solution, c: &Certificate, is_fast: bool| {
        !(c.residual_max <= WILD * limit) || (s.status == Status::Diverged && wanted > 0.0) || is_fast
    };
    let mut is_wild = wild(solution, &certificate, is_fast);
    if is_wild {
        certificate = rescue(w, solution, stop, certificate, limit, fast)?;
        is_wild = wild(solution, &certificate, fast(w, solution));
    }
    // Whether this is a contradiction is not known, but it cannot be taken either.
    if !seen.softened && wanted > 0.0 && is_wild {
        seen.parties.extend(certificate.worst_block.and_then(|b| party(w, b)));
        certificate = soften(w, posed, solution, stop, warm, wanted)?;
        seen.softened = true;
        is_wild = wild(solution, &certificate, fast(w, solution));
        if is_wild {
            certificate = rescue(w, solution, stop, certificate, limit, fast)?;
            is_wild = wild(solution, &certificate, fast(w, solution));
        }
    }
    if is_wild {
        seen.wild = Some(limit);
        let speeds = speeds(w, &solution.gamma);
        if !(certificate.residual_max <= LOST * limit) || gains(w, solution, speeds, LOST) {
            solution.status = Status::Diverged;
        }
    }
    solution.certificate = Some(certificate);
    Ok(seen)
}

/// A residual that needs no closer look, m/s: a fall of one step, or the tolerance, many times over.
fn calm(w: &World, stop: &Stop) -> f64 {
    LOST * fall(w).max(stop.tolerance)
}

/// The speed that a step of falling gives, m/s.
pub(super) fn fall(w: &World) -> f64 {
    w.settings.gravity.length() * w.settings.h
}

/// What no multipliers at all leave undone, m/s: where all iterations are asked for, however few, gravity's part in a gain of speed is
/// no sign of running away.
fn all_undone(w: &World) -> f64 {
    undone_up_to(w, f64::INFINITY)
}

/// The same, or some of it that is more than `enough`.
fn undone_up_to(w: &World, enough: f64) -> f64 {
    undone(w.stiffness.posed(&w.assembler), enough)
}

pub(super) fn judge(w: &mut World, gamma: &[f64]) -> Certificate {
    let judge = w.solver.judge().unwrap_or(&mut w.judge);
    judge.judge(w.stiffness.posed(&w.assembler), gamma)
}

pub(super) fn is_large(w: &World) -> bool {
    w.stiffness.posed(&w.assembler).blocks() > LARGE
}

/// Whether a solution misses what was asked for by little.
fn is_mild(w: &World, certificate: &Certificate, wanted: f64) -> bool {
    certificate.residual_max <= wanted * if is_large(w) { MILD_IN_HEAPS } else { MILD }
}

/// The blocks that contradict each other; None where nobody says so with good reason.
fn contradiction(
    w: &mut World,
    solution: &Solution,
    certificate: &Certificate,
    wanted: f64,
    runs: bool,
) -> Result<Option<Vec<usize>>, Malformed> {
    let proved = solution.status == Status::Wedged;
    // Motors ask for a motion in every step, and a few sweeps over a fleet never come near it.
    let jointed = w.model.joint_slots().next().is_some();
    let mut every = EVERY[usize::from(jointed || certificate.residual_max <= MILD * wanted)];
    if jointed {
        every = every.max(PAYS / (w.settings.iterations as u64).max(1));
    }
    // Where all iterations are asked for, no step counts as solved.
    let all = w.settings.tolerance == 0.0;
    let rare = all || is_large(w) && (jointed || is_mild(w, certificate, wanted));
    let due = !rare || w.state.step.is_multiple_of(every);
    let looks_like_it = certificate.residual_max > w.settings.tolerance.max(SIGN * wanted)
        && w.settings.budget.is_none()
        && due;
    if !(proved || runs || looks_like_it) || w.settings.iterations == 0 {
        return Ok(None);
    }
    let World { second, stiffness, assembler, .. } = w;
    let Some(second) = second.get_or_insert_with(Second::new) else { return Ok(None) };
    let problem = stiffness.posed(assembler);
    let mut verdict = second.referee.ask(problem)?;
    // Under the exact law nobody can prove what friction has a part in. The relaxed law's contradiction, and no solution, are strong signs.
    let exact = problem.model() == Model::Coulomb && certificate.residual_max > MILD * wanted;
    if exact && !verdict.is_contradiction() {
        verdict = second.referee.ask_relaxed(problem)?;
    }
    if verdict.is_contradiction() {
        return Ok(Some(verdict.blocks));
    }
    Ok(proved.then(|| certificate.worst_block.into_iter().collect()))
}

/// What asks for a motion gives way.
pub(super) fn yielding(w: &mut World) {
    give_way(w.stiffness.posed_mut(&mut w.assembler), GIVE);
}

/// Solves the softened problem instead. The certificate is that of its solution.
fn soften(
    w: &mut World,
    posed: Posed,
    solution: &mut Solution,
    stop: &Stop,
    warm: bool,
    wanted: f64,
) -> Result<Certificate, Malformed> {
    yielding(w);
    let certificate = again(w, solution, stop, warm)?;
    let failed = matches!(solution.status, Status::Wedged | Status::Diverged)
        || !(certificate.residual_max <= WILD * wanted);
    if !failed || posed == Posed::Expansion {
        return Ok(certificate);
    }
    // What asks for separation is left alone, for later steps.
    build(w, Posed::Softened)?;
    yielding(w);
    again(w, solution, stop, warm)
}

/// Solves what is posed now.
pub(super) fn again(
    w: &mut World,
    solution: &mut Solution,
    stop: &Stop,
    warm: bool,
) -> Result<Certificate, Malformed> {
    let guess = warm.then_some(w.assembler.guess.as_slice());
    let mut next = w.solver.solve(w.stiffness.posed(&w.assembler), guess, stop)?;
    next.iterations += solution.iterations;
    next.rejected += solution.rejected;
    next.attempts.splice(..0, std::mem::take(&mut solution.attempts));
    *solution = next;
    Ok(judge(w, &solution.gamma))
}

/// Another solver's answer to what is posed, if it is better. Where all iterations are asked for, no tolerance would ever end the
/// other's: a small share of `limit`, which is left without any multipliers, must do there.
fn rescue(
    w: &mut World,
    solution: &mut Solution,
    stop: &Stop,
    certificate: Certificate,
    limit: f64,
    fast: impl Fn(&mut World, &Solution) -> bool,
) -> Result<Certificate, Malformed> {
    let World { second, stiffness, assembler, .. } = w;
    let Some(second) = second.get_or_insert_with(Second::new) else { return Ok(certificate) };
    let tolerance = if stop.tolerance > 0.0 { stop.tolerance } else { SIGN * limit };
    let stop = Stop { tolerance, iterations: RESCUE, budget: None, history: false };
    let other = second.gradients.solve(stiffness.posed(assembler), None, &stop)?;
    let theirs = judge(w, &other.gamma);
    let tamer = fast(w, solution) && !fast(w, &other);
    if !(theirs.residual_max < certificate.residual_max || tamer) && solution.status != Status::Diverged {
        return Ok(certificate);
    }
    let by = w.second.iter().flatten().map(|s| attempt(s.gradients.as_ref(), &other)).collect();
    take(w, solution, Solution { attempts: by, ..other });
    Ok(theirs)
}

fn attempt(solver: &dyn Solver, s: &Solution) -> Attempt {
    let info = solver.info();
    Attempt { solver: info.name, unit: info.unit, iterations: s.iterations, status: s.status }
}

/// Another's solution in place of one, and a word of both.
pub(super) fn take(w: &World, solution: &mut Solution, other: Solution) {
    if solution.attempts.is_empty() {
        solution.attempts.push(attempt(w.solver.as_ref(), solution));
    }
    solution.attempts.extend(other.attempts);
    (solution.gamma, solution.status) = (other.gamma, other.status);
    solution.iterations += other.iterations;
}

/// What is posed now, solved under the exact law, and judged.
pub(super) fn ask_exact(
    w: &mut World,
    stop: &Stop,
    warm: bool,
) -> Result<Option<(Solution, Certificate)>, Malformed> {
    let World { second, stiffness, assembler, .. } = w;
    let Some(second) = second.get_or_insert_with(Second::new) else { return Ok(None) };
    let guess = warm.then_some(assembler.guess.as_slice());
    let stop = Stop { iterations: stop.iterations.max(LEAST), ..stop.clone() };
    let other = second.exact.solve(stiffness.posed(assembler), guess, &stop)?;
    let certificate = judge(w, &other.gamma);
    let _ = w.solver.judge(); // What it has at hand is not its own any more.
    Ok((other.status != Status::Diverged).then_some((other, certificate)))
}

/// Whose block it is.
fn party(w: &World, block: usize) -> Option<Party> {
    if let Some(i) = w.assembler.contact_of(block) {
        return Some(Party { joint: None, bodies: w.contacts[i].bodies.to_vec() });
    }
    Some(Party::of_joint(w, w.assembler.rows.joint_of(block.checked_sub(w.assembler.order.len())?)?))
}

/// Writes down whose blocks these are, each once.
pub(super) fn name(w: &World, blocks: &[usize], seen: &mut Seen) {
    for &block in blocks {
        seen.contact = seen.contact.or_else(|| w.assembler.contact_of(block));
        if let Some(party) = party(w, block)
            && !seen.parties.contains(&party)
            && seen.parties.len() < NAMED
        {
            seen.parties.push(party);
        }
    }
}
