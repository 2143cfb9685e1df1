//! The step over ranks: the stages of `drystone`, and the problems between them solved by all ranks together.

use std::time::{Duration, Instant};

use drystone::solve::certificate::Certificate;
use drystone::solve::solver::Status;
use drystone::{Contact, Integrator, Stage, StepError, StepReport};

use crate::comm::Comm;
use crate::correct::correct;
use crate::domain::Domain;
use crate::exact::Exact;
use crate::islands::solve_all;
use crate::judge::judge;
use crate::methods::{Ended, Plan, Stop};
use crate::posed::Posed;
use crate::run::RanksError;

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

/// Whether any rank says so.
pub fn any(comm: &dyn Comm, here: bool) -> bool {
    let mut flag = [f64::from(u8::from(here))];
    comm.most(&mut flag);
    flag[0] > 0.0
}

/// Makes sure that all contacts of own bodies at velocities `v` are found here, and now and then that the
/// load is even. True if bodies have changed places for that.
fn cover(comm: &dyn Comm, domain: &mut Domain, v: &[[f64; 6]], seconds: f64) -> Result<bool, RanksError> {
    let uneven = domain.is_time() && domain.is_uneven(comm, seconds);
    if !uneven && !domain.is_short(comm, |slot| v[slot], |_| 0.0) {
        return Ok(false);
    }
    domain.rebuild(comm, domain.falls(), seconds)?;
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
    if cover(comm, domain, &v, seconds)? {
        let v = predict(comm, domain, number)?;
        if domain.is_short(comm, |slot| v[slot], |_| 0.0) {
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
pub fn size(domain: &Domain, c: &Contact) -> f64 {
    domain.part.world.model().pair_size(c.key.colliders[0], c.key.colliders[1])
}

/// Whether the step has made two bodies overlap that it should have kept apart.
pub fn is_unresolved(domain: &Domain, gaps: &[Contact]) -> bool {
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
