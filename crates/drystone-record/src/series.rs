//! What happens over time, as tables with names: a row for the run, or for each body, pair of bodies, or
//! joint, and moment.

use std::path::Path;

use drystone::{Motion, StepReport, World};
use glam::DVec3;

use crate::labels::Labels;
use crate::parquet;
use crate::recording::{Every, number};
use crate::table::Table;

/// What a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The run: energies, contacts, what came and went, and what the scene's probes say.
    Run,
    /// A body: its motion, and the sum of its contact forces.
    Motion,
    /// A body and the sum of its contact forces.
    Bodies,
    /// Two bodies and the force between them.
    Pairs,
    /// A joint: what it does to its second body, its free coordinates and their motors.
    Joints,
}

impl Kind {
    fn columns(self) -> &'static str {
        match self {
            Kind::Run => {
                "step,time_s,bodies,contacts,touching,residual_m_s,kinetic_j,potential_j,overlap_max_m,emitted,\
                 emitted_kg,sunk,sunk_kg"
            }
            Kind::Motion => {
                "step,time_s,name,x_m,y_m,z_m,qw,qx,qy,qz,vx_m_s,vy_m_s,vz_m_s,wx_rad_s,wy_rad_s,wz_rad_s,fx_n,fy_n,fz_n"
            }
            Kind::Bodies => "step,time_s,body,fx_n,fy_n,fz_n,name",
            Kind::Pairs => {
                "step,time_s,body_a,body_b,contacts,normal_n,tangential_n,fx_n,fy_n,fz_n,least_gap_m,name_a,name_b"
            }
            Kind::Joints => {
                "step,time_s,joint,fx_n,fy_n,fz_n,tx_nm,ty_nm,tz_nm,coordinate_0,coordinate_1,coordinate_2,\
                 motor_0,motor_1,motor_2,name"
            }
        }
    }
}

/// What a column holds; those of probes are real numbers.
fn holds(column: &str) -> parquet::Kind {
    match column {
        "name" | "name_a" | "name_b" => parquet::Kind::Text,
        "step" | "body" | "body_a" | "body_b" | "joint" | "bodies" | "contacts" | "touching" | "emitted"
        | "sunk" => parquet::Kind::Whole,
        _ => parquet::Kind::Real,
    }
}

/// A table that grows by one row, or one group of rows, per recorded step.
pub struct Series {
    table: Table,
    kind: Kind,
    every: Every,
    labels: Labels,
}

impl Series {
    /// Creates the file and writes its header; `more` columns follow those of a run.
    ///
    /// # Errors
    /// For a place that cannot be written.
    pub fn create(
        path: &Path,
        kind: Kind,
        every: Every,
        labels: Labels,
        more: &[String],
    ) -> std::io::Result<Self> {
        let own = kind.columns().split(',');
        let more = more.iter().filter(|_| kind == Kind::Run).map(String::as_str);
        let table = Table::create(path, &own.chain(more).collect::<Vec<_>>(), holds)?;
        Ok(Self { table, kind, every, labels })
    }

    /// Goes on with a table whose rows had so many bytes.
    ///
    /// # Errors
    /// For a file that is not there any more, or shorter.
    pub fn resume(
        path: &Path,
        kind: Kind,
        every: Every,
        labels: Labels,
        bytes: u64,
    ) -> std::io::Result<Self> {
        Ok(Self { table: Table::resume(path, bytes, holds)?, kind, every, labels })
    }

    /// How many bytes of rows were written so far; they are on their way to the disk.
    ///
    /// # Errors
    /// For a disk that is full.
    pub fn written(&mut self) -> std::io::Result<u64> {
        self.table.written()
    }

    /// Whether a row of what the scene's probes say is wanted now.
    pub fn wants_probes(&self, world: &World) -> bool {
        self.kind == Kind::Run && self.is_due_now(world)
    }

    fn is_due_now(&self, world: &World) -> bool {
        let s = world.state();
        self.is_due(s.step, s.time, world.settings().h)
    }

    /// Whether there are rows of the step that came to this time, s.
    pub fn is_due(&self, step: u64, time: f64, h: f64) -> bool {
        self.every.is_due(step, time, h)
    }

    /// Writes the rows of the step just done, if it is due; of the start, without a report, those of motion
    /// alone.
    ///
    /// # Errors
    /// For a disk that is full.
    pub fn observe(
        &mut self,
        world: &World,
        report: Option<&StepReport>,
        probes: &[f64],
    ) -> std::io::Result<()> {
        let begins = report.is_none();
        if !self.is_due_now(world) || begins && !matches!(self.kind, Kind::Run | Kind::Motion) {
            return Ok(());
        }
        match self.kind {
            Kind::Run => self.run(world, report, probes),
            Kind::Motion => self.motion(world),
            Kind::Bodies => self.bodies(world),
            Kind::Pairs => self.pairs(world),
            Kind::Joints => self.joints(world),
        }
    }

    fn begin(&mut self, world: &World) -> &mut Table {
        let s = world.state();
        self.table.whole(s.step).reals([s.time])
    }

    fn run(&mut self, world: &World, report: Option<&StepReport>, probes: &[f64]) -> std::io::Result<()> {
        let energy = world.energy();
        let of = |f: fn(&StepReport) -> f64| report.map_or(f64::NAN, f);
        let row = self.begin(world).whole(world.model().dynamic().count());
        row.whole(report.map_or(0, |r| r.contacts)).whole(report.map_or(0, |r| r.touching));
        row.reals([of(|r| r.certificate.residual_max), energy.kinetic, energy.potential]);
        row.reals([of(|r| r.penetration_max)]);
        row.whole(world.emitted().iter().sum::<u64>()).reals([world.emitted_mass().iter().sum()]);
        row.whole(world.sunk().iter().sum::<u64>()).reals([world.sunk_mass().iter().sum()]);
        row.reals(probes.iter().copied()).end()
    }

    fn motion(&mut self, world: &World) -> std::io::Result<()> {
        let (model, s) = (world.model(), world.state());
        let forces = world.contact_forces();
        let slots: Vec<usize> = self.labels.slots(model).collect();
        for i in slots {
            if model.bodies[i].motion == Motion::Static {
                continue;
            }
            let (q, w) = (s.rotation[i], s.world_omega(i));
            let name = self.labels.body(model, i);
            let row = self.begin(world).text(&name).reals(s.position[i].to_array());
            row.reals([q.w, q.x, q.y, q.z]).reals(s.velocity[i].to_array());
            row.reals(w.to_array()).reals(forces[i].to_array()).end()?;
        }
        Ok(())
    }

    fn bodies(&mut self, world: &World) -> std::io::Result<()> {
        let model = world.model();
        let forces = world.contact_forces();
        let slots: Vec<usize> = self.labels.slots(model).collect();
        for i in slots {
            let (id, name) = (number(i as u32, model.bodies[i].generation), self.labels.body(model, i));
            self.begin(world).whole(id).reals(forces[i].to_array()).text(&name).end()?;
        }
        Ok(())
    }

    fn pairs(&mut self, world: &World) -> std::io::Result<()> {
        let (model, h) = (world.model(), world.settings().h);
        let mut at = 0;
        let contacts = world.contacts();
        while at < contacts.len() {
            let bodies = contacts[at].bodies;
            let n = contacts[at..].iter().take_while(|c| c.bodies == bodies).count();
            let group = &contacts[at..at + n];
            at += n;
            let force: DVec3 = group.iter().map(|c| c.impulse).sum::<DVec3>() / h;
            let normal: f64 = group.iter().map(|c| c.normal_impulse()).sum::<f64>() / h;
            let tangential = group.iter().map(|c| c.tangential_impulse()).sum::<DVec3>().length() / h;
            let gap = group.iter().map(|c| c.gap).fold(f64::INFINITY, f64::min);
            let [a, b] = bodies.map(|i| number(i, model.bodies[i as usize].generation));
            let [name_a, name_b] = bodies.map(|i| self.labels.body(model, i as usize));
            let row = self.begin(world).whole(a).whole(b).whole(n).reals([normal, tangential]);
            row.reals(force.to_array()).reals([gap]).text(&name_a).text(&name_b).end()?;
        }
        Ok(())
    }

    fn joints(&mut self, world: &World) -> std::io::Result<()> {
        for id in world.joints() {
            let (Ok(r), Ok(c)) = (world.joint_reaction(id), world.joint_coordinates(id)) else {
                continue;
            };
            let name = self.labels.joint(world.model(), id.slot as usize);
            let row = self.begin(world).whole(id.slot);
            row.reals(r.force.to_array()).reals(r.torque.to_array());
            row.reals((0..3).map(|k| c.get(k).copied().unwrap_or(f64::NAN)));
            row.reals((0..3).map(|k| if k < c.len() { r.motor[k] } else { f64::NAN }));
            row.text(&name).end()?;
        }
        Ok(())
    }

    /// Ends the table; see [`Table::finish`].
    ///
    /// # Errors
    /// For a disk that is full; the rows are kept.
    pub fn finish(&mut self, again: bool) -> std::io::Result<()> {
        self.table.finish(again)
    }
}
