//! Files that a run writes while it goes on: snapshots and tables.

use std::path::PathBuf;

use drystone::{StepReport, World};
use drystone_record::labels::Labels;
use drystone_record::recording::{Checkpoint, Every};
use drystone_record::series::{Kind, Series};
use drystone_record::snapshot::{self, Header, Snapshots};
use drystone_record::table;
use drystone_scene::{Measurement, Scene};

use crate::failure::Failure;
use crate::outputs::Output;
use crate::own;
use crate::record::every;

/// What of a run is written beside its report and recording.
#[derive(clap::Args, Clone)]
pub struct Files {
    /// Write positions and velocities at the scene's snapshot times, as they are taken; .json or .json.gz.
    #[arg(long, value_name = "FILE.json")]
    pub snapshots: Option<PathBuf>,
    /// Snapshots every N steps, or with an s every so many simulated seconds, as 0.5s, instead of the scene's
    /// times.
    #[arg(long, value_name = "N|SECONDSs", requires = "snapshots")]
    snapshots_every: Option<String>,
    /// Write energies, contacts, what came and went, and what the scene's probes say over time; .csv or
    /// .parquet, - is standard output.
    #[arg(long, value_name = "FILE.csv")]
    series: Option<PathBuf>,
    /// Write the motion of every body that can move and the contact force on it over time, by name; .csv or
    /// .parquet, - is standard output.
    #[arg(long, value_name = "FILE.csv")]
    bodies: Option<PathBuf>,
    /// Rows of --series and --bodies every N steps, or with an s every so many simulated seconds, as 0.02s
    /// [default: 1].
    #[arg(long, value_name = "N|SECONDSs")]
    series_every: Option<String>,
    /// Write the contact force on every body over time; .csv or .parquet, - is standard output.
    #[arg(long, value_name = "FILE.csv")]
    body_forces: Option<PathBuf>,
    /// Write the force between every pair of bodies in contact over time; .csv or .parquet, - is standard
    /// output.
    #[arg(long, value_name = "FILE.csv")]
    pair_forces: Option<PathBuf>,
    /// Write the reaction, coordinates and motor forces of every joint over time; .csv or .parquet, - is
    /// standard output.
    #[arg(long, value_name = "FILE.csv")]
    joint_forces: Option<PathBuf>,
    /// Write forces every N steps [default: 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    forces_every: Option<u64>,
}

/// The files, open.
pub struct Outputs {
    pub snapshots: Option<Snapshots>,
    /// With their options.
    pub series: Vec<(&'static str, Series)>,
}

impl Files {
    /// For a look at where they go.
    pub fn outputs(&self) -> [Option<Output<'_>>; 6] {
        [
            Output::of(own::Kind::Snapshots, "--snapshots", self.snapshots.as_ref()),
            Output::table("--series", self.series.as_ref()),
            Output::table("--bodies", self.bodies.as_ref()),
            Output::table("--body-forces", self.body_forces.as_ref()),
            Output::table("--pair-forces", self.pair_forces.as_ref()),
            Output::table("--joint-forces", self.joint_forces.as_ref()),
        ]
    }

    /// Whether one of them is standard output.
    pub fn to_pipe(&self) -> bool {
        self.outputs().iter().flatten().any(Output::is_standard)
    }

    /// Refuses names of other formats, and options that nothing asks for.
    pub fn check(&self) -> Result<(), Failure> {
        let wrong = |option: &str, path: &PathBuf, e: String| {
            Failure::input(format!("{option} {}: {e}", path.display()))
        };
        if let Some(path) = &self.snapshots {
            snapshot::check_name(path).map_err(|e| wrong("--snapshots", path, e))?;
        }
        let tables = [
            ("--series", &self.series),
            ("--bodies", &self.bodies),
            ("--body-forces", &self.body_forces),
            ("--pair-forces", &self.pair_forces),
            ("--joint-forces", &self.joint_forces),
        ];
        for (option, path) in tables {
            if let Some(path) = path {
                table::check_name(path).map_err(|e| wrong(option, path, e))?;
            }
        }
        if self.series_every.is_some() && self.series.is_none() && self.bodies.is_none() {
            return Err(Failure::input("--series-every needs --series or --bodies"));
        }
        if self.forces_every.is_some() && tables[2..].iter().all(|(_, path)| path.is_none()) {
            return Err(Failure::input(
                "--forces-every needs --body-forces, --pair-forces or --joint-forces",
            ));
        }
        Ok(())
    }

    /// Creates them, or goes on with them from a checkpoint; snapshots of times up to `now` (s) are there
    /// then. The run has steps of `h` up to `end`, s.
    pub fn open(
        &self,
        scene: &Scene,
        labels: Labels,
        header: Header,
        from: Option<&Checkpoint>,
        now: f64,
        (h, end): (f64, f64),
    ) -> Result<Outputs, Failure> {
        let forces = Every::Steps(self.forces_every.unwrap_or(1));
        let rows = self.series_every.as_deref().map(|text| every("--series-every", text)).transpose()?;
        let rows = rows.unwrap_or(Every::Steps(1));
        let tables = [
            ("--series", &self.series, Kind::Run, rows),
            ("--bodies", &self.bodies, Kind::Motion, rows),
            ("--body-forces", &self.body_forces, Kind::Bodies, forces),
            ("--pair-forces", &self.pair_forces, Kind::Pairs, forces),
            ("--joint-forces", &self.joint_forces, Kind::Joints, forces),
        ];
        // Where each of the files was at the checkpoint, in the order in which they are asked for here.
        let mut ends = from.map(|from| from.written.iter().copied());
        let mut written = || ends.as_mut().map(|ends| ends.next().unwrap_or(0));
        let snapshots = match &self.snapshots {
            None => None,
            Some(path) => {
                let snaps = match &self.snapshots_every {
                    None => scene.snaps.clone(),
                    Some(text) => every("--snapshots-every", text)?
                        .times(h, end)
                        .map_err(|e| Failure::input(format!("--snapshots-every {text}: {e}")))?,
                };
                let opened = match written() {
                    None => Snapshots::create(path, snaps, header),
                    Some(bytes) => Snapshots::resume(path, snaps, header, bytes, now),
                };
                Some(opened.map_err(|e| Failure::writing(format!("--snapshots {}", path.display()), &e))?)
            }
        };
        let mut series = Vec::new();
        for (option, path, kind, often) in tables {
            if let Some(path) = path {
                let file = match written() {
                    None => Series::create(path, kind, often, labels.clone(), &scene.probe.columns()),
                    Some(bytes) => Series::resume(path, kind, often, labels.clone(), bytes),
                };
                let file = file.map_err(|e| Failure::writing(format!("{option} {}", path.display()), &e))?;
                series.push((option, file));
            }
        }
        Ok(Outputs { snapshots, series })
    }
}

impl Outputs {
    /// Writes what is due after a step, or at the start.
    pub fn observe(
        &mut self,
        world: &World,
        report: Option<&StepReport>,
        probe: &mut Measurement,
    ) -> Result<(), String> {
        if let Some(s) = &mut self.snapshots {
            s.observe(world).map_err(|e| format!("writing --snapshots: {e}"))?;
        }
        for (option, s) in &mut self.series {
            let probes = if s.wants_probes(world) { probe.row(world) } else { Vec::new() };
            s.observe(world, report, &probes).map_err(|e| format!("writing {option}: {e}"))?;
        }
        Ok(())
    }

    /// Whether something is due of the step that came to this time, s.
    pub fn looks(&self, step: u64, time: f64, world: &World) -> bool {
        self.snapshots.as_ref().is_some_and(|s| s.is_due(time, world))
            || self.series.iter().any(|(_, s)| s.is_due(step, time, world.settings().h))
    }

    /// Bytes of each file so far.
    pub fn written(&mut self) -> Result<Vec<u64>, String> {
        let mut lengths: Vec<u64> = self.snapshots.iter().map(Snapshots::end).collect();
        for (option, s) in &mut self.series {
            lengths.push(s.written().map_err(|e| format!("writing {option}: {e}"))?);
        }
        Ok(lengths)
    }

    /// Ends the tables; `again`: the run may be resumed.
    pub fn finish(&mut self, again: bool) -> Result<(), String> {
        let mut all = self.series.iter_mut();
        all.try_for_each(|(option, s)| s.finish(again).map_err(|e| format!("writing {option}: {e}")))
    }
}
