//! `drystone import`: robots of other programs as scene files.

use std::path::PathBuf;

use drystone_record::file;
use drystone_scene::import::{Options, import};

use crate::failure::Failure;
use crate::interrupt;
use crate::run::say;

#[derive(clap::Args)]
pub struct Args {
    /// The robot: a URDF (.urdf), or a model in MuJoCo's form (.xml).
    robot: PathBuf,
    /// The scene file to write.
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
    interrupt::leave_nothing();
    let options = Options { fixed_base: args.fixed_base, hold: !args.limp, key: args.key.as_deref() };
    let made = import(&args.robot, &args.to, options)?;
    let place = |e: std::io::Error| Failure::input(format!("--to {shown}: {e}"));
    file::write(&args.to, made.text.as_bytes()).map_err(place)?;
    interrupt::leave_by(move || {
        eprintln!("drystone: interrupted: the scene is written, and was not looked at")
    });
    if !args.quiet {
        let mut text = format!("{shown}: {} bodies, {} joints\n", made.bodies, made.joints);
        made.notes.iter().for_each(|n| text += &format!("note: {n}\n"));
        say(&text)?;
    }
    // What was written must be a scene.
    drystone_scene::load(&args.to.to_string_lossy(), &[])?;
    Ok(0)
}
