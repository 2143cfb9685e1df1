//! `drystone scenes`, `solvers` and `check`.

use std::path::PathBuf;

use drystone_scene::gallery;
use drystone_solve::solver::{Info, Param, REGISTRY};
use serde::Serialize;

use crate::failure::Failure;
use crate::terminal::say;

#[derive(clap::Args)]
pub struct Args {
    /// As JSON, for programs.
    #[arg(long)]
    pub json: bool,
}

#[derive(clap::Args)]
pub struct CheckArgs {
    /// A scene file (.toml, .json) or a flat state (.json, .json.gz).
    file: PathBuf,
}

pub fn json<T: serde::Serialize>(value: &T) -> Result<i32, Failure> {
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

/// Every solver takes both laws: by itself, or by outer iterations on the slip.
const MODELS: &[&str] = &["ccp", "coulomb"];

/// What `drystone solvers --json` says of one.
#[derive(Serialize)]
struct Listed {
    name: &'static str,
    title: &'static str,
    use_when: &'static str,
    /// What `--model` may ask of it.
    models: &'static [&'static str],
    by_itself: &'static [&'static str],
    by_outer_iteration: &'static [&'static str],
    /// Whether its cones have facets, so that a residual stays on the round ones.
    facets: bool,
    unit: &'static str,
    citation: &'static str,
    params: &'static [Param],
}

impl Listed {
    fn new(s: &Info) -> Self {
        Self {
            name: s.name,
            title: s.title,
            use_when: s.use_when,
            models: MODELS,
            by_itself: if s.is_exact() { s.models } else { MODELS },
            by_outer_iteration: s.models_by_outer_iteration(),
            facets: !s.is_exact(),
            unit: s.unit,
            citation: s.citation,
            params: s.params,
        }
    }

    fn laws(&self) -> String {
        let mut text = self.by_itself.join(" and ");
        if self.facets {
            text += " on a cone of facets";
        }
        if !self.by_outer_iteration.is_empty() {
            text += &format!(" by itself, {} by outer iterations", self.by_outer_iteration.join(" and "));
        }
        text
    }
}

pub fn solvers(args: Args) -> Result<i32, Failure> {
    let all: Vec<Listed> = REGISTRY.iter().map(|s| Listed::new(s)).collect();
    if args.json {
        return json(&all);
    }
    let mut text = String::new();
    for s in &all {
        text += &format!("{}\n    {}\n", s.name, s.title);
        text += &format!("    when: {}\n", s.use_when);
        text += &format!("    models: {}; one iteration is one {}\n", s.laws(), s.unit);
        for p in s.params {
            text += &format!("    {:<14} {} [default: {}]\n", p.name, p.help, p.default);
        }
        text += &format!("    from: {}\n\n", s.citation);
    }
    say(&text)?;
    Ok(0)
}

pub fn check(args: CheckArgs) -> Result<i32, Failure> {
    crate::interrupt::leave_by(|| eprintln!("drystone: interrupted: the file was not checked"));
    say(&(drystone_scene::check(&args.file)? + "\n"))?;
    Ok(0)
}
