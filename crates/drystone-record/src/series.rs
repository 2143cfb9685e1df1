//! Forces of contacts and joints over time, as CSV: one row per body, per pair of bodies, or per joint, and step.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use drystone::World;
use glam::DVec3;

/// What a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A body and the sum of its contact forces.
    Bodies,
    /// Two bodies and the force between them.
    Pairs,
    /// A joint: what it does to its second body, its free coordinates and their motors.
    Joints,
}

/// A CSV file that grows by one group of rows per recorded step.
pub struct ForceSeries {
    out: BufWriter<File>,
    kind: Kind,
    every: u64,
}

impl ForceSeries {
    /// Creates the file and writes its header.
    pub fn create(path: &Path, kind: Kind, every: u64) -> std::io::Result<Self> {
        crate::file::make_folder(path)?;
        let mut out = BufWriter::new(File::create(path)?);
        match kind {
            Kind::Bodies => writeln!(out, "step,time_s,body,fx_n,fy_n,fz_n")?,
            Kind::Pairs => writeln!(
                out,
                "step,time_s,body_a,body_b,contacts,normal_n,tangential_n,fx_n,fy_n,fz_n,least_gap_m"
            )?,
            Kind::Joints => writeln!(
                out,
                "step,time_s,joint,fx_n,fy_n,fz_n,tx_nm,ty_nm,tz_nm,coordinate_0,coordinate_1,coordinate_2,\
                 motor_0,motor_1,motor_2"
            )?,
        }
        Ok(Self { out, kind, every: every.max(1) })
    }

    /// Goes on with a file that had so many bytes.
    ///
    /// # Errors
    /// For a file that is not there any more, or shorter.
    pub fn resume(path: &Path, kind: Kind, every: u64, bytes: u64) -> std::io::Result<Self> {
        let file = File::options().append(true).open(path)?;
        let length = file.metadata()?.len();
        if length < bytes {
            let text = format!("has {length} bytes, and had {bytes} at the checkpoint");
            return Err(std::io::Error::new(std::io::ErrorKind::UnexpectedEof, text));
        }
        file.set_len(bytes)?;
        Ok(Self { out: BufWriter::new(file), kind, every: every.max(1) })
    }

    /// How many bytes were written so far; they are on their way to the disk.
    ///
    /// # Errors
    /// For a disk that is full.
    pub fn written(&mut self) -> std::io::Result<u64> {
        self.out.flush()?;
        Ok(self.out.get_ref().metadata()?.len())
    }

    /// Writes the rows of the step just done, if it is due.
    pub fn observe(&mut self, world: &World) -> std::io::Result<()> {
        let s = world.state();
        if !s.step.is_multiple_of(self.every) {
            return Ok(());
        }
        match self.kind {
            Kind::Bodies => {
                let forces = world.contact_forces();
                for i in world.model().slots() {
                    let f = forces[i];
                    writeln!(self.out, "{},{},{i},{},{},{}", s.step, s.time, f.x, f.y, f.z)?;
                }
            }
            Kind::Pairs => {
                let h = world.settings().h;
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
                    let [a, b] = bodies;
                    let [x, y, z] = force.to_array();
                    writeln!(
                        self.out,
                        "{},{},{a},{b},{n},{normal},{tangential},{x},{y},{z},{gap}",
                        s.step, s.time
                    )?;
                }
            }
            Kind::Joints => {
                for id in world.joints() {
                    let (Ok(r), Ok(c)) = (world.joint_reaction(id), world.joint_coordinates(id)) else {
                        continue;
                    };
                    write!(self.out, "{},{},{}", s.step, s.time, id.slot)?;
                    for x in r.force.to_array().into_iter().chain(r.torque.to_array()) {
                        write!(self.out, ",{x}")?;
                    }
                    for k in 0..3 {
                        match c.get(k) {
                            Some(x) => write!(self.out, ",{x}")?,
                            None => write!(self.out, ",")?,
                        }
                    }
                    for k in 0..3 {
                        match c.get(k) {
                            Some(_) => write!(self.out, ",{}", r.motor[k])?,
                            None => write!(self.out, ",")?,
                        }
                    }
                    writeln!(self.out)?;
                }
            }
        }
        Ok(())
    }

    /// Pushes everything to the file.
    pub fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}
