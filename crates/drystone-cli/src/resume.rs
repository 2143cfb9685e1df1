//! `drystone resume`.

use std::path::PathBuf;

use drystone_record::recording::{Checkpoint, Lock, checkpoints};

use crate::elsewhere::Elsewhere;
use crate::failure::Failure;
use crate::{record, run};

#[derive(clap::Args)]
pub struct Args {
    /// The recording: the folder that --record was given.
    folder: PathBuf,
    /// Simulate up to this time, s [default: as the run was begun].
    #[arg(long, value_name = "S", conflicts_with = "steps")]
    time: Option<f64>,
    /// Or until so many steps are done in all.
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Write the report of the whole run; - is standard output [default: where the run was to write it].
    #[arg(long, value_name = "FILE.json")]
    report: Option<PathBuf>,
    /// Threads [default: as the run was begun]; any number gives bitwise the same result.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// No progress and no summary.
    #[arg(long)]
    quiet: bool,
}

pub fn main(args: Args, elsewhere: Option<Box<dyn Elsewhere>>) -> Result<i32, Failure> {
    let absolute = |path: PathBuf| match path.as_os_str() == "-" {
        true => Ok(path),
        false => std::path::absolute(path).map_err(Failure::run),
    };
    let folder = absolute(args.folder)?;
    let report = args.report.map(absolute).transpose()?;
    if checkpoints(&folder).map_err(Failure::input)?.is_empty() {
        // Refused, without a lock left in a folder that is no recording.
        Checkpoint::last(&folder).map_err(Failure::input)?;
    }
    // From here on nobody else writes what is read.
    let lock = Lock::take(&folder).map_err(Failure::input)?;
    let (checkpoint, damaged) = Checkpoint::last(&folder).map_err(Failure::input)?;
    for e in damaged {
        eprintln!("drystone: {e}; going on from the checkpoint before it, of step {}", checkpoint.step);
    }
    // Checkpoints of before they said so have none.
    if !checkpoint.version.is_empty() && checkpoint.version != record::VERSION {
        eprintln!(
            "drystone: warning: the run was begun by version {}, this is {}: the bits may be others than those of a run that never stopped",
            checkpoint.version,
            record::VERSION
        );
    }
    let mut run = crate::parse_run(&checkpoint.command).ok_or_else(|| {
        Failure::input(format!(
            "{}: this version of drystone does not know the command that began the run: {}",
            folder.display(),
            checkpoint.command.join(" ")
        ))
    })?;
    // Paths of the command are relative to where it was given; a recording that was moved has no such place.
    if checkpoint.folder.is_dir() {
        std::env::set_current_dir(&checkpoint.folder).map_err(Failure::run)?;
    }
    run.resume(folder, args.time, args.steps, report, args.threads, args.quiet);
    run::go_on(run, checkpoint, lock, elsewhere)
}
