//! `drystone live`.

use std::path::PathBuf;

use drystone_record::file;
use drystone_scene::gallery;
use drystone_view::live::{Live, Options};
use drystone_view::server::Show;

use crate::backend::Backend;
use crate::failure::Failure;
use crate::interrupt;
use crate::outputs::{self, Output};
use crate::run::INTERRUPTED;
use crate::simulation::{Simulation, pairs, pool};
use crate::view::Serve;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    simulation: Simulation,
    /// Write what was driven, when the program ends: `drystone run SCENE --inputs FILE` does it again to the same bits.
    #[arg(long, value_name = "FILE.json")]
    inputs: Option<PathBuf>,
    /// Wait for the page to let it go.
    #[arg(long)]
    paused: bool,
    /// Speed over real time.
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    pace: f64,
    /// Rather fall behind real time than cap iterations.
    #[arg(long)]
    exact: bool,
    #[command(flatten)]
    serve: Serve,
}

pub fn main(args: Args) -> Result<i32, Failure> {
    outputs::check(Some(args.simulation.scene.as_ref()), [Output::text("--inputs", args.inputs.as_ref())])?;
    if !(1e-3..=1e3).contains(&args.pace) {
        return Err(Failure::input(format!("--pace must be from 0.001 to 1000, got {}", args.pace)));
    }
    let backend = Backend::choose(&args.simulation.backend)?;
    pool(args.simulation.threads)?;
    let name = args.simulation.scene.clone();
    let mut set: Vec<(String, String)> =
        gallery::live_defaults(&name).iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    set.extend(pairs(&args.simulation.set)?);
    let make = |set: &[(String, String)]| {
        let (scene, mut world) = args.simulation.build(&backend, set).map_err(|f| f.message)?;
        world.keep_solutions(true);
        Ok((scene, world))
    };
    let stop = interrupt::watch();
    let options = Options {
        parameters: parameters(&name),
        scene: name,
        set,
        paused: args.paused,
        pace: args.pace,
        exact: args.exact,
    };
    let (live, link) = Live::new(Box::new(make), options).map_err(Failure::input)?;
    args.serve.start(Show::Live(link))?;
    let log = live.run(stop.flag());
    if let Some(to) = &args.inputs {
        let place = |e: std::io::Error| Failure::input(format!("{}: {e}", to.display()));
        file::write(to, log.json().as_bytes()).map_err(place)?;
    }
    // Nothing else ends it.
    Ok(INTERRUPTED)
}

/// What a scene declares: the gallery's own parameters, or those that every file has.
fn parameters(scene: &str) -> Vec<[String; 4]> {
    match gallery::find(scene) {
        Ok(entry) => {
            let info = |p: &gallery::ParamInfo| [p.name, p.default, p.unit, p.help].map(String::from);
            entry.params.iter().map(info).collect()
        }
        Err(_) => {
            let declared = drystone_scene::parameters(scene, &[]).unwrap_or_default();
            let info = |p: &drystone_scene::Parameter| {
                let range = p.range.map(|[a, b]| format!("from {a} to {b}"));
                let choices = Some(p.choices.join(", ")).filter(|c| !c.is_empty());
                let notes: Vec<String> = [Some(p.about.clone()).filter(|a| !a.is_empty()), range, choices]
                    .into_iter()
                    .flatten()
                    .collect();
                [p.name.clone(), p.default.clone(), p.unit.clone(), notes.join("; ")]
            };
            let common = [
                ["mu", "", "", "coefficient of friction of all shapes"],
                ["h", "", "s", "step"],
                ["seed", "", "", "of random numbers"],
            ];
            let common = common.map(|p| p.map(String::from)).into_iter();
            let own: Vec<[String; 4]> = declared.iter().map(info).collect();
            let others = common.filter(|c| declared.iter().all(|p| p.name != c[0]));
            own.iter().cloned().chain(others).collect()
        }
    }
}
