//! A world over ranks, step by step.

use std::time::Instant;

use drystone::solve::solver::Status;
use drystone::{StepError, StepReport, World};
use serde::Serialize;

use crate::comm::{Comm, Traffic};
use crate::domain::Domain;
use crate::figures::{carried, figures};
use crate::methods::Plan;
use crate::step::{Taken, attempt};

/// Fewer steps than these say little of how even the load is.
const ENOUGH: u64 = 10;

/// Why a step was not taken, or a world not spread. All ranks say the same.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RanksError {
    /// What the world has, or the solver's name.
    #[error("not over ranks: {0}")]
    Refused(String),
    /// The step failed.
    #[error("{0}")]
    Step(StepError),
}

/// What a rank has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Usage {
    /// Bodies that it owns now.
    pub bodies: usize,
    /// Copies of others' bodies that it has now.
    pub ghosts: usize,
    /// Contacts that it worked on in the last step.
    pub contacts: usize,
    /// Steps taken.
    pub steps: u64,
    /// Messages sent, a step.
    pub messages_per_step: f64,
    /// Bytes sent, a step.
    pub bytes_per_step: f64,
    /// Sums and largest numbers over all ranks, a step.
    pub reductions_per_step: f64,
    /// Spent on computing, a step, s.
    pub busy_s_per_step: f64,
    /// The same since space was last cut by measured time, or between the last two cuts where that was only
    /// just.
    pub recent_busy_s_per_step: f64,
    /// Spent on sending, receiving and waiting for others, a step, s.
    pub waiting_s_per_step: f64,
    /// How often ghosts were chosen anew.
    pub rebuilds: u64,
    /// How often space was cut anew.
    pub recuts: u64,
}

/// A world over ranks.
pub struct Ranks<'c> {
    comm: &'c dyn Comm,
    domain: Domain,
    plan: Plan,
    steps: u64,
    /// Seconds spent in steps, and seconds of these spent on sending, receiving and waiting for others. What
    /// a rank waits for between steps (tables, recordings) is nobody's work here.
    wall: f64,
    waited: f64,
    begun: Traffic,
    /// Both when busy times were last compared.
    compared: (f64, f64),
    /// Steps that were done then, and seconds of computing a step from the cut before until then.
    cut_at: u64,
    between: f64,
}

impl<'c> Ranks<'c> {
    /// Spreads a world, of which every rank has a copy, over the ranks.
    ///
    /// # Errors
    /// Naming what does not work over ranks.
    pub fn new(comm: &'c dyn Comm, world: World) -> Result<Self, RanksError> {
        let plan = Plan::parse(&world.settings().solver, world.settings().model);
        let plan = plan.map_err(RanksError::Refused)?;
        let domain = Domain::new(comm, world)?;
        let begun = comm.traffic();
        let (wall, waited, compared) = (0.0, 0.0, (0.0, 0.0));
        Ok(Self { comm, domain, plan, steps: 0, wall, waited, begun, compared, cut_at: 0, between: 0.0 })
    }

    /// One step.
    ///
    /// # Errors
    /// The same on every rank.
    pub fn step(&mut self) -> Result<StepReport, RanksError> {
        let begun = (Instant::now(), self.comm.traffic().seconds);
        let report = self.whole_step();
        self.wall += begun.0.elapsed().as_secs_f64();
        self.waited += self.comm.traffic().seconds - begun.1;
        report
    }

    fn whole_step(&mut self) -> Result<StepReport, RanksError> {
        self.domain.emit(self.comm)?;
        let most = self.domain.whole.settings().max_substeps.max(1).ilog2();
        let mut report = self.advance(most)?;
        self.domain.part.world.stage_count();
        self.domain.aged();
        self.steps += 1;
        let carried = carried(&self.domain);
        self.domain.drain(self.comm)?;
        let (figures, support) = figures(self.comm, &self.domain, carried);
        (report.figures, report.support) = (Some(figures), support);
        Ok(report)
    }

    /// Seconds of computing since space was last cut, to the end of the last step.
    fn busy(&self) -> f64 {
        (self.wall - self.compared.0 - (self.waited - self.compared.1)).max(1e-6)
    }

    /// Steps since space was last cut, and seconds of computing in each.
    fn recent(&self) -> (u64, f64) {
        let steps = self.steps - self.cut_at;
        (steps, self.busy() / steps.max(1) as f64)
    }

    /// A step of the part's own length, in halves where it has to be, of which each may be taken in halves so
    /// many times again.
    fn advance(&mut self, halvings: u32) -> Result<StepReport, RanksError> {
        let (comm, busy, recuts) = (self.comm, self.busy(), self.domain.recuts);
        let kept = (halvings > 0).then(|| self.domain.keep());
        let taken = attempt(comm, &mut self.domain, &mut self.plan, halvings == 0, busy)?;
        if self.domain.recuts != recuts {
            self.between = self.recent().1;
            (self.compared, self.cut_at) = ((self.wall, self.waited), self.steps);
        }
        let (mut kept, h) = match (taken, kept) {
            (Taken::Whole(report), _) => return Ok(*report),
            (Taken::Unresolved, Some(kept)) => (kept, self.domain.part.world.settings().h),
            (Taken::Unresolved, None) => unreachable!("the last halves are taken whatever they lead to"),
        };
        kept.scale(0.5);
        self.domain.put_back(comm, kept)?;
        self.set_step(0.5 * h);
        let both = self.advance(halvings - 1).and_then(|first| Ok((first, self.advance(halvings - 1)?)));
        self.set_step(h);
        self.domain.part.world.stage_scale(2.0);
        both.map(|(first, second)| joined(first, second))
    }

    fn set_step(&mut self, h: f64) {
        self.domain.part.world.set_stage_step(h);
        let Domain { reach, part, .. } = &mut self.domain;
        reach.step(&part.world);
    }

    /// The whole world. Motions in it are those of the start, or at rank 0 those of the last
    /// [`Ranks::fetch`].
    pub fn world(&mut self) -> &mut World {
        &mut self.domain.whole
    }

    /// Brings the whole world to where steps have come, at rank 0.
    pub fn fetch(&mut self) {
        self.domain.fetch(self.comm, None);
    }

    /// The same, and brings `other` there, too: at rank 0, where it is a world of the same bodies in the same
    /// global order.
    pub fn fetch_into(&mut self, other: &mut World) {
        self.domain.fetch(self.comm, Some(other));
    }

    /// What this rank has done so far.
    pub fn usage(&self) -> Usage {
        let (t, n) = (self.comm.traffic(), self.steps.max(1) as f64);
        let movers = &self.domain.movers;
        Usage {
            bodies: movers.own,
            ghosts: movers.slots.len() - movers.own,
            contacts: self.domain.part.world.contacts().len(),
            steps: self.steps,
            messages_per_step: (t.messages - self.begun.messages) as f64 / n,
            bytes_per_step: (t.bytes - self.begun.bytes) as f64 / n,
            reductions_per_step: (t.reductions - self.begun.reductions) as f64 / n,
            busy_s_per_step: (self.wall - self.waited).max(0.0) / n,
            recent_busy_s_per_step: match self.recent() {
                (0..ENOUGH, _) if self.cut_at > 0 => self.between,
                (_, recent) => recent,
            },
            waiting_s_per_step: self.waited / n,
            rebuilds: self.domain.rebuilds,
            recuts: self.domain.recuts,
        }
    }
}

/// Two halves of a step as one.
fn joined(first: StepReport, second: StepReport) -> StepReport {
    let mut spans = first.spans;
    spans.iter_mut().zip(second.spans).for_each(|(a, b)| *a += b);
    let worse = first.certificate.residual_max > second.certificate.residual_max;
    let status = if first.status == Status::Converged { second.status } else { first.status };
    StepReport {
        iterations: first.iterations + second.iterations,
        position_rounds: first.position_rounds + second.position_rounds,
        velocity_problems: first.velocity_problems + second.velocity_problems,
        substeps: first.substeps + second.substeps,
        rejected: first.rejected + second.rejected,
        omega: first.omega.min(second.omega),
        certificate: if worse { first.certificate } else { second.certificate },
        penetration_max: first.penetration_max.max(second.penetration_max),
        status,
        spans,
        ..second
    }
}
