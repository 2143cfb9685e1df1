//! `drystone new` and `drystone schema`: where a scene file begins.

use std::path::{Path, PathBuf};

use drystone_record::file;

use crate::failure::Failure;
use crate::terminal::say;

#[derive(clap::Args)]
pub struct Args {
    /// The scene: NAME.toml is written, in a folder if the name has one.
    name: PathBuf,
}

const START: &str = include_str!("new.toml");

/// Writes a scene to begin with.
pub fn main(args: Args) -> Result<i32, Failure> {
    let named = args.name.extension().is_some_and(|e| e == "toml");
    let to = if named { args.name.clone() } else { with_ending(&args.name) };
    let shown = to.display();
    let stem = to.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    if stem.is_empty() || args.name.is_dir() {
        return Err(Failure::input(format!("{}: is no name for a scene", args.name.display())));
    }
    if to.exists() {
        return Err(Failure::input(format!("{shown}: is there already, and is left as it is")));
    }
    let place = |e: std::io::Error| Failure::input(format!("{shown}: {e}"));
    file::make_folder(&to).map_err(place)?;
    let name = stem.replace('\\', "\\\\").replace('"', "\\\"");
    std::fs::write(&to, START.replace("NAME", &name)).map_err(place)?;
    say(&format!("{shown}: check it (drystone check {shown}), look at it (drystone view {shown})\n"))?;
    Ok(0)
}

/// Adds .toml, whatever dots the name has.
fn with_ending(name: &Path) -> PathBuf {
    let mut text = name.as_os_str().to_owned();
    text.push(".toml");
    text.into()
}

/// Prints the schema.
pub fn schema() -> Result<i32, Failure> {
    let text = serde_json::to_string_pretty(&drystone_scene::schema()).map_err(Failure::run)?;
    say(&(text + "\n"))?;
    Ok(0)
}
