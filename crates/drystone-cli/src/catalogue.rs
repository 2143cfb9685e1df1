//! `drystone scenes`, `solvers` and `check`.

use std::path::PathBuf;

use drystone_scene::gallery;
use drystone_solve::solver::REGISTRY;

use crate::failure::Failure;
use crate::run::say;

#[derive(clap::Args)]
pub struct Args {
    /// As JSON, for programs.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub struct CheckArgs {
    /// A scene file (.toml, .json) or a flat state (.json, .json.gz).
    file: PathBuf,
}

fn json<T: serde::Serialize>(value: &T) -> Result<i32, Failure> {
    say(&(serde_json::to_string_pretty(value).map_err(Failure::run)? + "\n"))?;
    Ok(0)
}

pub fn scenes(args: Args) -> Result<i32, Failure> {
    if args.json {
        return json(&gallery::ENTRIES);
    }
    let mut text = String::new();
    for e in gallery::ENTRIES {
        text += &format!("{}\n    {}\n", e.name, e.title);
        for p in e.params {
            let unit = if p.unit.is_empty() { String::new() } else { format!(" {}", p.unit) };
            let default = match p.default {
                "" => String::new(),
                value => format!(" [default: {value}{unit}]"),
            };
            text += &format!("    {:<14} {}{default}\n", p.name, p.help);
        }
        text += &format!("    from: {}\n\n", e.citation);
    }
    say(&text)?;
    Ok(0)
}

pub fn solvers(args: Args) -> Result<i32, Failure> {
    if args.json {
        return json(&REGISTRY);
    }
    let mut text = String::new();
    for s in REGISTRY {
        text += &format!("{}\n    {}\n", s.name, s.title);
        text += &format!("    when: {}\n", s.use_when);
        text += &format!("    models: {}; one iteration is one {}\n", s.models.join(", "), s.unit);
        for p in s.params {
            text += &format!("    {:<14} {} [default: {}]\n", p.name, p.help, p.default);
        }
        text += &format!("    from: {}\n\n", s.citation);
    }
    say(&text)?;
    Ok(0)
}

pub fn check(args: CheckArgs) -> Result<i32, Failure> {
    say(&(drystone_scene::check(&args.file)? + "\n"))?;
    Ok(0)
}
