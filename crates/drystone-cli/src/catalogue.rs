//! `drystone scenes`, `solvers` and `check`.

use std::path::PathBuf;

use drystone_scene::gallery;
use drystone_solve::solver::REGISTRY;

use crate::failure::Failure;

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
    println!("{}", serde_json::to_string_pretty(value).map_err(Failure::run)?);
    Ok(0)
}

pub fn scenes(args: Args) -> Result<i32, Failure> {
    if args.json {
        return json(&gallery::ENTRIES);
    }
    for e in gallery::ENTRIES {
        println!("{}\n    {}", e.name, e.title);
        for p in e.params {
            let unit = if p.unit.is_empty() { String::new() } else { format!(" {}", p.unit) };
            println!("    {:<14} {} [default: {}{unit}]", p.name, p.help, p.default);
        }
        println!("    from: {}\n", e.citation);
    }
    Ok(0)
}

pub fn solvers(args: Args) -> Result<i32, Failure> {
    if args.json {
        return json(&REGISTRY);
    }
    for s in REGISTRY {
        println!("{}\n    {}", s.name, s.title);
        println!("    when: {}", s.use_when);
        println!("    models: {}; one iteration is one {}", s.models.join(", "), s.unit);
        for p in s.params {
            println!("    {:<14} {} [default: {}]", p.name, p.help, p.default);
        }
        println!("    from: {}\n", s.citation);
    }
    Ok(0)
}

pub fn check(args: CheckArgs) -> Result<i32, Failure> {
    println!("{}", drystone_scene::check(&args.file)?);
    Ok(0)
}
