//! `drystone import`: robots of other programs as scene files.

use std::path::PathBuf;

use drystone_record::file;
use drystone_scene::import::{Options, import};

use crate::failure::Failure;
use crate::interrupt;
use crate::outputs::{self, Output};
use crate::own::Kind;
use crate::terminal::say;

#[derive(clap::Args)]
pub struct Args {
    /// The robot: a URDF (.urdf), or a model in MuJoCo's form (.xml).
    robot: PathBuf,
    /// The scene file to write; one that import has made before is replaced, no other.
    #[arg(long, value_name = "FILE.toml")]
    to: PathBuf,
    /// The first body does not move.
    #[arg(long)]
    fixed_base: bool,
    /// No motors: joints are free.
    #[arg(long)]
    limp: bool,
    /// The keyframe of a model in MuJoCo's form to start from: its name, or its number from 0; none: where
    /// the model has it. Without this the first, if there is one.
    #[arg(long, value_name = "NAME")]
    key: Option<String>,
    /// Do not list what was not understood; it is in the file.
    #[arg(long)]
    quiet: bool,
}

pub fn main(args: Args) -> Result<i32, Failure> {
    let shown = args.to.display();
    if args.to.extension().is_none_or(|e| e != "toml") {
        return Err(Failure::input(format!("--to {shown}: the name must end in .toml")));
    }
    outputs::check(Some(&args.robot), [Output::of(Kind::Imported, "--to", Some(&args.to))])?;
    interrupt::leave_nothing();
    let options = Options { fixed_base: args.fixed_base, hold: !args.limp, key: args.key.as_deref() };
    let made = import(&args.robot, &args.to, options)?;
    let place = |e: std::io::Error| Failure::input(format!("--to {shown}: {e}"));
    // What is written must be a scene: it is read under another name first, beside the meshes that it names.
    let name = args.to.file_name().unwrap_or_default().to_string_lossy();
    let trial = args.to.with_file_name(format!(".{name}.{}.tmp.toml", std::process::id()));
    let remove = trial.clone();
    interrupt::leave_by(move || {
        let _ = std::fs::remove_file(&remove);
        eprintln!("drystone: interrupted: nothing was written");
    });
    file::write(&trial, made.text.as_bytes()).map_err(place)?;
    let read = drystone_scene::load(&trial.to_string_lossy(), &[]);
    let _ = std::fs::remove_file(&trial);
    read.map_err(|e| {
        let field = e.field.map(|f| format!("{f}: ")).unwrap_or_default();
        Failure::input(format!(
            "{}: no scene comes out of it, and nothing is written: {field}{}",
            args.robot.display(),
            e.message
        ))
    })?;
    file::write(&args.to, made.text.as_bytes()).map_err(place)?;
    if !args.quiet {
        let mut text = format!("{shown}: {} bodies, {} joints\n", made.bodies, made.joints);
        made.notes.iter().for_each(|n| text += &format!("note: {n}\n"));
        say(&text)?;
    }
    Ok(0)
}
