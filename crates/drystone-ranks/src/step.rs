//! The step over ranks: the stages of `drystone`, and the problems between them solved by all ranks together.

use std::time::{Duration, Instant};

use drystone::solve::certificate::Certificate;
use drystone::solve::solver::Status;
use drystone::{Contact, Integrator, Stage, StepError, StepReport};

use crate::comm::Comm;
use crate::domain::Domain;
use crate::exact::Exact;
use crate::islands::solve_all;
use crate::judge::judge;
use crate::methods::{Ended, Plan, Stop};
use crate::posed::Posed;
use crate::run::RanksError;

/// How far ahead contacts are looked for in a position problem, over the largest error: overlaps add up along
/// a stack.
const AHEAD: f64 = 4.0;
/// The same of joints, which have levers.
const LEVERS: f64 = 16.0;
/// Share of the smaller body that a step may make two bodies overlap by: where they do by more, it is taken
/// in halves.
const RESOLVED: f64 = drystone::grains::RESOLVED;

/// What became of a step.
pub enum Taken {
    /// It was taken.
    Whole(Box<StepReport>),
    /// It has made an overlap that it should not have: it is to be taken in halves, from where it began.
    Unresolved,
}

/// Wall time by stage.
struct Clock {
    last: Instant,
    spans: [Duration; 7],
}

impl Clock {
    fn stage(&mut self, stage: Stage) {
        let now = Instant::now();
        self.spans[stage as usize] += now - self.last;
        self.last = now;
    }
}

/// What contacts say before a step.
struct Seen {
    contacts: usize,
    touching: usize,
    deepest: f64,
    mean: f64,
}

/// What became of positions.
struct Corrected {
    rounds: usize,
    unresolved: bool,
}

/// Whether any rank says so.
fn any(comm: &dyn Comm, here: bool) -> bool {
    let mut flag = [f64::from(u8::from(here))];
    comm.most(&mut flag);
    flag[0] > 0.0
}

/// Makes sure that all contacts of own bodies at velocities `v` (empty: at rest), `more` further than the
/// envelope, m, are found here. True if bodies have changed places for that.
fn cover(
    comm: &dyn Comm,
    domain: &mut Domain,
    v: &[[f64; 6]],
    more: f64,
    seconds: f64,
) -> Result<bool, RanksError> {
    let resting = vec![[0.0; 6]; if v.is_empty() { domain.part.bodies.len() } else { 0 }];
    if !domain.is_short(comm, if v.is_empty() { &resting[..] } else { v }, more) {
        return Ok(false);
    }
    let s = domain.whole.settings();
    // What gravity adds to the velocities that skins are chosen by.
    let falls = 4.0 * s.gravity.length() * s.h * s.h;
    domain.rebuild(comm, more + falls, seconds)?;
    Ok(true)
}

/// One step of the part's own length. `last`: whether it is taken whatever it leads to.
pub fn attempt(
    comm: &dyn Comm,
    domain: &mut Domain,
    plan: &mut Plan,
    last: bool,
    seconds: f64,
) -> Result<Taken, RanksError> {
    let mut clock = Clock { last: Instant::now(), spans: [Duration::ZERO; 7] };
    let number = domain.part.world.state().step + 1;
    let v = predict(comm, domain, number)?;
    if cover(comm, domain, &v, 0.0, seconds)? {
        let v = predict(comm, domain, number)?;
        if domain.is_short(comm, &v, 0.0) {
            // With what the fastest body needs, which is enough for all.
            let more = largest_way(comm, domain, &v);
            domain.rebuild(comm, more, 0.0)?;
            predict(comm, domain, number)?;
        }
    }
    clock.stage(Stage::Broadphase);
    let own = domain.own.clone();
    let wanted = |[a, b]: [u32; 2]| own[a as usize] || own[b as usize];
    domain.part.world.stage_contacts(wanted);
    let seen = look(comm, domain);
    clock.stage(Stage::Narrowphase);
    let posed = domain.part.world.stage_pose();
    if any(comm, posed.is_err()) {
        let text = posed.err().map_or("a contact of another rank".into(), |e| e.to_string());
        return Err(RanksError::Step(StepError::NonFinite { step: number, text }));
    }
    clock.stage(Stage::Assemble);
    let s = domain.part.world.settings().clone();
    let posed = Posed::new(comm, domain, domain.part.world.contacts(), s.warm_start);
    let stop = Stop { tolerance: s.tolerance, iterations: s.iterations };
    let solved = solve_all(&posed, plan, plan.across, &stop);
    let (mut walk, ended) =
        solved.map_err(|text| RanksError::Step(StepError::NonFinite { step: number, text }))?;
    clock.stage(Stage::Solve);
    let certificate = judge(&mut walk, seen.contacts, s.model);
    if ended.status == Status::Diverged || !certificate.residual_max.is_finite() {
        let text = "a contact (over ranks it is not known which)".into();
        return Err(RanksError::Step(StepError::Diverged {
            step: number,
            iterations: ended.iterations,
            text,
        }));
    }
    let free = domain.part.world.stage_velocities().to_vec();
    let mut rows = vec![0.0; posed.rows()];
    walk.write_rows(&mut rows);
    let v = walk.velocities(&free);
    drop((walk, posed));
    domain.part.world.stage_take(&rows, &v);
    clock.stage(Stage::Certificate);
    domain.part.world.stage_integrate();
    clock.stage(Stage::Integrate);
    let corrected = correct(comm, domain, plan, last)?;
    if corrected.unresolved {
        return Ok(Taken::Unresolved);
    }
    domain.part.world.stage_end();
    clock.stage(Stage::Correct);
    let report = report(number, &seen, &ended, certificate, corrected.rounds, clock.spans);
    Ok(Taken::Whole(Box::new(report)))
}

/// Free velocities; an error where some rank has a number that is none.
fn predict(comm: &dyn Comm, domain: &mut Domain, step: u64) -> Result<Vec<[f64; 6]>, RanksError> {
    let told = domain.part.world.stage_predict().map(<[[f64; 6]]>::to_vec);
    let failed = any(comm, told.is_err());
    match told {
        Ok(v) if !failed => Ok(v),
        Ok(_) => {
            let text = "a body of another rank has a position or velocity that is not finite".to_string();
            Err(RanksError::Step(StepError::NonFinite { step, text }))
        }
        Err(e) => Err(RanksError::Step(e)),
    }
}

/// How far any body reaches in a step, m.
fn largest_way(comm: &dyn Comm, domain: &Domain, v: &[[f64; 6]]) -> f64 {
    let own = &domain.movers.slots[..domain.movers.own];
    let reach = |slot: &u32| domain.reach.of(domain.part.bodies[*slot as usize], &v[*slot as usize]);
    let mut most = [own.iter().map(reach).fold(0.0, f64::max)];
    comm.most(&mut most);
    most[0]
}

/// Overlaps at the start of a step, every contact counted once.
fn look(comm: &dyn Comm, domain: &Domain) -> Seen {
    let mut sum = Exact::default();
    let (mut count, mut touching, mut deepest) = (0i64, 0i64, [0.0f64]);
    for c in domain.part.world.contacts().iter().filter(|c| domain.own[c.bodies[0] as usize]) {
        count += 1;
        if c.gap <= 0.0 {
            touching += 1;
            deepest[0] = deepest[0].max(-c.gap);
            sum.add(-c.gap);
        }
    }
    let mut words = vec![count, touching];
    words.extend_from_slice(sum.words());
    comm.add(&mut words);
    comm.most(&mut deepest);
    let depth = Exact::from_words(&words[2..]).value();
    Seen {
        contacts: words[0] as usize,
        touching: words[1] as usize,
        deepest: deepest[0],
        mean: if words[1] > 0 { depth / words[1] as f64 } else { 0.0 },
    }
}

/// The size of a contact, m.
fn size(domain: &Domain, c: &Contact) -> f64 {
    domain.part.world.model().pair_size(c.key.colliders[0], c.key.colliders[1])
}

/// Whether the step has made two bodies overlap that it should have kept apart.
fn is_unresolved(domain: &Domain, gaps: &[Contact]) -> bool {
    let before = domain.part.world.contacts();
    gaps.iter().any(|c| {
        let size = size(domain, c);
        if c.gap >= -RESOLVED * size {
            return false;
        }
        let pair = c.key.colliders;
        let first = before.partition_point(|b| b.key.colliders < pair);
        let same = before[first..].iter().take_while(|b| b.key.colliders == pair);
        let gap = same.map(|b| b.gap).fold(f64::INFINITY, f64::min);
        c.gap < gap - 0.5 * RESOLVED * size
    })
}

/// Removes overlaps of where bodies have come to: see `stabilise.rs` of drystone, which this follows for one
/// island that is everywhere.
fn correct(
    comm: &dyn Comm,
    domain: &mut Domain,
    plan: &mut Plan,
    last: bool,
) -> Result<Corrected, RanksError> {
    let mut out = Corrected { rounds: 0, unresolved: false };
    let Some(how) = domain.part.world.removal() else { return Ok(out) };
    let share = how.reach / how.rounds as f64;
    let envelope = domain.part.world.envelope();
    let mut more = 0.0;
    let mut gaps = Vec::new();
    loop {
        find(comm, domain, more, &mut gaps)?;
        let mut most = [0.0f64, 0.0, f64::NEG_INFINITY, 0.0];
        for c in &gaps {
            let size = size(domain, c);
            most[0] = most[0].max(-c.gap / size);
            most[1] = most[1].max((-c.gap).min(share * size));
            most[2] = most[2].max(-size);
        }
        most[3] = f64::from(u8::from(out.rounds == 0 && !last && is_unresolved(domain, &gaps)));
        let joints = domain.part.world.stage_joint_errors(share);
        // What is solved to, and the sizes that errors are measured by, are smaller for joints.
        let [own, fine] = [joints.smallest, joints.finest];
        let urgent = joints.urgency * joints.worst;
        let [a, b, c, d] = most;
        let mut most = [a, b, c, d, joints.worst, urgent, LEVERS * joints.furthest, -own, -fine];
        comm.most(&mut most);
        let [contacts, deepest, size, unresolved, joints, urgent, levers, own, fine] = most;
        let (worst, smallest, finest) = (contacts.max(joints), -size.max(own), -size.max(fine));
        if unresolved > 0.0 {
            out.unresolved = true;
            return Ok(out);
        }
        let enough = if out.rounds == 0 { how.tolerance } else { how.accept };
        if contacts.max(urgent) <= enough || out.rounds == how.rounds {
            return Ok(out);
        }
        let ahead = (AHEAD * deepest).max(levers);
        if ahead > envelope.base && ahead > more {
            more = ahead;
            find(comm, domain, more, &mut gaps)?;
        }
        domain.part.world.stage_pose_gaps(&gaps, share);
        let posed = Posed::new(comm, domain, &gaps, false);
        let stop = Stop { tolerance: 0.25 * how.tolerance * finest, iterations: how.iterations };
        let step = domain.part.world.state().step + 1;
        let solved = solve_all(&posed, plan, plan.corrects, &stop);
        let (walk, ended) = solved.map_err(|text| RanksError::Step(StepError::NonFinite { step, text }))?;
        if ended.status == Status::Diverged {
            let text = "the position problem diverged".into();
            return Err(RanksError::Step(StepError::NonFinite { step, text }));
        }
        let mut moved = walk.velocities(&vec![[0.0; 6]; domain.part.bodies.len()]);
        drop((walk, posed));
        out.rounds += 1;
        let (way, taken) = shares(comm, domain, &moved, envelope.base + more, envelope.share);
        if taken != 1.0 {
            moved.iter_mut().flatten().for_each(|x| *x *= taken);
        }
        domain.part.world.stage_shift(&moved);
        // What the tangent leaves is of second order in the way.
        let done = ended.status == Status::Converged
            && taken == 1.0
            && worst <= share
            && way * way <= 0.25 * how.accept * smallest * smallest;
        if done {
            return Ok(out);
        }
    }
}

/// All contacts of own bodies where they are.
fn find(comm: &dyn Comm, domain: &mut Domain, more: f64, gaps: &mut Vec<Contact>) -> Result<(), RanksError> {
    cover(comm, domain, &[], more, 0.0)?;
    let own = std::mem::take(&mut domain.own);
    domain.part.world.stage_gaps(more, |[a, b]| own[a as usize] || own[b as usize], gaps);
    domain.own = own;
    Ok(())
}

/// The furthest that a point of a body would move, m, and the share of the correction that is taken: nobody
/// moves by more than half of the distance up to which its contacts were looked for.
fn shares(comm: &dyn Comm, domain: &Domain, moved: &[[f64; 6]], base: f64, share: f64) -> (f64, f64) {
    // The largest way, and the largest of ways over what is allowed.
    let mut most = [0.0f64, 1.0];
    let model = domain.part.world.model();
    for c in model.colliders.iter().filter(|c| domain.own[c.body as usize]) {
        let d = &moved[c.body as usize];
        let length = |k: usize| (d[k] * d[k] + d[k + 1] * d[k + 1] + d[k + 2] * d[k + 2]).sqrt();
        let way = length(0) + c.radius * length(3);
        let reach = base + share * c.shape.inner_radius();
        most[0] = most[0].max(way);
        most[1] = most[1].max(way / (0.5 * reach));
    }
    comm.most(&mut most);
    (most[0], if most[1] > 1.0 { 1.0 / most[1] } else { 1.0 })
}

fn report(
    step: u64,
    seen: &Seen,
    ended: &Ended,
    certificate: Certificate,
    rounds: usize,
    spans: [Duration; 7],
) -> StepReport {
    StepReport {
        step,
        integrator: Integrator::Euler,
        smooth_bodies: 0,
        contacts: seen.contacts,
        asleep: 0,
        touching: seen.touching,
        penetration_max: seen.deepest,
        deep: None,
        penetration_mean: seen.mean,
        status: ended.status,
        bounce: None,
        contradiction: Vec::new(),
        apart: None,
        iterations: ended.iterations,
        omega: ended.omega,
        rejected: ended.rejected,
        attempts: Vec::new(),
        position_rounds: rounds,
        certificate,
        velocity_problems: 1,
        substeps: 1,
        unresolved: None,
        worst_contact: None,
        left: Vec::new(),
        support: None,
        figures: None,
        spans,
    }
}
