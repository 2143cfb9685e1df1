//! The command line: what of `drystone run` works over ranks.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use drystone::{Settings, Stabilisation};

/// One run over many ranks, to the same bits for any number of them.
#[derive(Parser)]
#[command(name = "drystone-mpi", version, about)]
pub struct Command {
    /// What to do.
    #[command(subcommand)]
    pub what: What,
}

/// What to do.
#[derive(Subcommand)]
pub enum What {
    /// Simulate a scene; `mpirun -n N drystone-mpi run ...` does so on N ranks.
    Run(Run),
}

/// `drystone-mpi run`.
#[derive(Args)]
pub struct Run {
    /// A gallery name (see `drystone scenes`), a scene file (.toml, .json) or a flat state (.json, .json.gz).
    pub scene: String,
    /// Override a scene parameter; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// How long to simulate, s [default: the scene's own].
    #[arg(long, value_name = "S", conflicts_with = "steps")]
    pub time: Option<f64>,
    /// How many steps to do in all, instead of --time.
    #[arg(long, value_name = "N")]
    pub steps: Option<u64>,
    /// Step h, s [default: the scene's own].
    #[arg(long, value_name = "H")]
    pub step: Option<f64>,
    /// apgd, bb[:memory=10] or pgj[:omega=0.2,lambda=1] [default: apgd, whatever the scene has].
    #[arg(long, value_name = "NAME[:k=v,...]")]
    pub solver: Option<String>,
    /// Largest natural-map residual to accept, m/s; 0 runs all iterations.
    #[arg(long, value_name = "M_PER_S")]
    pub tolerance: Option<f64>,
    /// Cap on iterations of a velocity problem [default: the scene's own, 20000].
    #[arg(long, value_name = "N")]
    pub iterations: Option<usize>,
    /// Speed before accuracy: at most 70 iterations.
    #[arg(long, conflicts_with = "iterations")]
    pub fast: bool,
    /// Compliance of what asks for a motion, over its own diagonal of N.
    #[arg(long, value_name = "C")]
    pub compliance: Option<f64>,
    /// Begin every velocity problem from zero.
    #[arg(long)]
    pub cold: bool,
    /// Parts that a step may be taken in where it does not resolve the motion, a power of two; 1: never. All
    /// bodies take them together.
    #[arg(long, value_name = "N")]
    pub max_substeps: Option<usize>,
    /// Cap on iterations of one position problem.
    #[arg(long, value_name = "N")]
    pub position_iterations: Option<usize>,
    /// What happens to overlaps: post:tolerance=1e-4,accept=1e-4,reach=0.1,rounds=3.
    #[arg(long, value_name = "post[:k=v,...]")]
    pub stabilisation: Option<String>,
    /// Distance at which contacts exist before touching, m.
    #[arg(long, value_name = "M")]
    pub envelope: Option<f64>,
    /// Threads of every rank [default: cores over ranks]; any number gives bitwise the same result.
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Accept bodies that overlap by more than half a radius at the start.
    #[arg(long)]
    pub allow_overlap: bool,
    /// Write the report; - is standard output.
    #[arg(long, value_name = "FILE.json")]
    pub report: Option<PathBuf>,
    /// Keep the whole world in a file, from which a run goes on on any number of ranks: see --from.
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// Steps between two of them [default: at the end alone].
    #[arg(long, value_name = "N", requires = "checkpoint")]
    pub checkpoint_every: Option<u64>,
    /// Go on from a checkpoint of the same scene, to the same bits as without a stop.
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// No summary.
    #[arg(long)]
    pub quiet: bool,
}

/// Options of `drystone run` that do not work over ranks yet.
const REFUSED: [&str; 21] = [
    "--model",
    "--integrator",
    "--budget-ms",
    "--substeps",
    "--broadphase",
    "--backend",
    "--settle",
    "--sleep",
    "--snapshots",
    "--series",
    "--bodies",
    "--contacts",
    "--record",
    "--record-every",
    "--picture",
    "--forces",
    "--dump-problems",
    "--bound",
    "--inputs",
    "--camera",
    "--colour",
];

/// Iterations of `--fast`.
const FAST: usize = 70;

/// An option that `drystone run` has and this command has not.
pub fn refused(args: &[String]) -> Option<String> {
    let name = |arg: &String| arg.split('=').next().unwrap_or_default().to_string();
    args.iter().map(name).find(|name| REFUSED.contains(&name.as_str()))
}

impl Run {
    /// Parameters of the scene.
    pub fn parameters(&self) -> Result<Vec<(String, String)>, String> {
        let pair = |text: &String| {
            let (k, v) = text.split_once('=').ok_or_else(|| format!("--set {text}: expected KEY=VALUE"))?;
            Ok((k.trim().to_string(), v.trim().to_string()))
        };
        self.set.iter().map(pair).collect()
    }

    /// Settings of a scene, with the options over them.
    pub fn settings(&self, mut s: Settings) -> Result<Settings, String> {
        s.solver = self.solver.clone().unwrap_or_else(|| "apgd".into());
        s.h = self.step.unwrap_or(s.h);
        s.tolerance = self.tolerance.unwrap_or(s.tolerance);
        s.iterations = self.iterations.unwrap_or(s.iterations);
        if self.fast {
            s.iterations = s.iterations.min(FAST);
        }
        s.compliance = self.compliance.unwrap_or(s.compliance);
        s.warm_start &= !self.cold;
        s.max_substeps = self.max_substeps.unwrap_or(s.max_substeps);
        s.position_iterations = self.position_iterations.unwrap_or(s.position_iterations);
        s.envelope = self.envelope.or(s.envelope);
        if let Some(text) = &self.stabilisation {
            s.stabilisation = Stabilisation::parse(text).map_err(|e| format!("--stabilisation: {e}"))?;
        }
        drystone_ranks::Method::parse(&s.solver).map_err(|e| format!("--solver: {e}"))?;
        s.check()?;
        Ok(s)
    }

    /// Steps in all.
    pub fn steps(&self, duration: f64, h: f64) -> Result<u64, String> {
        if let Some(n) = self.steps {
            return Ok(n);
        }
        let steps = (self.time.unwrap_or(duration) / h).round();
        if !(0.0..=9e15).contains(&steps) {
            return Err(format!("--time must be finite and not negative, got {:?}", self.time));
        }
        Ok(steps as u64)
    }
}
