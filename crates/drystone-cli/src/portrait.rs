//! `drystone picture`, and the `--picture` of other commands.

use std::path::{Path, PathBuf};

use drystone::World;
use drystone_record::picture::{View, render};
use drystone_record::portrait::{Colouring, Portrait, Shown, portrait};
use drystone_scene::Scene;
use drystone_solve::solver::BadSpec;

use crate::failure::Failure;
use crate::outputs::{self, Output};
use crate::simulation::{Prepared, Simulation};

/// How pictures look.
#[derive(clap::Args, Clone)]
pub struct Look {
    /// View: iso, front, side or top.
    #[arg(long, value_name = "NAME", default_value = "iso")]
    camera: String,
    /// What colour means: speed, kind, force, or scene (what the scene itself has to show, speed if nothing).
    #[arg(long, value_name = "speed|kind|force|scene", default_value = "speed")]
    colour: String,
    /// Pixels, width x height.
    #[arg(long, value_name = "WxH", default_value = "1280x800")]
    size: String,
    /// Leave out what is below a plane, to see inside: shapes whose middle has a smaller coordinate. y=0 opens the front.
    #[arg(long, value_name = "AXIS=M")]
    cut: Option<String>,
}

/// A checked look.
pub struct Drawing {
    view: View,
    colouring: Colouring,
    width: usize,
    height: usize,
    cut: Option<(usize, f64)>,
}

impl Look {
    pub fn check(&self) -> Result<Drawing, Failure> {
        let view = self.camera.parse::<View>().map_err(|_| {
            let names: Vec<&str> = View::ALL.iter().map(|v| v.name()).collect();
            Failure::input(BadSpec::unknown("camera", &self.camera, &names))
        })?;
        let colouring = Colouring::from_name(&self.colour)
            .ok_or_else(|| Failure::input(BadSpec::unknown("colour", &self.colour, Colouring::NAMES)))?;
        let (width, height) = size(&self.size)?;
        let cut = self.cut.as_deref().map(cut).transpose()?;
        Ok(Drawing { view, colouring, width, height, cut })
    }
}

/// Reads `1280x800`.
pub fn size(text: &str) -> Result<(usize, usize), Failure> {
    let parse = || {
        let (w, h) = text.split_once('x')?;
        let (w, h): (usize, usize) = (w.parse().ok()?, h.parse().ok()?);
        ((16..=16384).contains(&w) && (16..=16384).contains(&h)).then_some((w, h))
    };
    parse()
        .ok_or_else(|| Failure::input(format!("--size must be WxH with 16 to 16384 pixels each, got {text}")))
}

/// Reads `y=0.5`.
fn cut(text: &str) -> Result<(usize, f64), Failure> {
    let parse = || {
        let (axis, value) = text.split_once('=')?;
        let axis = ["x", "y", "z"].iter().position(|name| *name == axis.trim())?;
        Some((axis, value.trim().parse::<f64>().ok().filter(|x| x.is_finite())?))
    };
    parse()
        .ok_or_else(|| Failure::input(format!("--cut must be x, y or z, '=' and a number in m, got {text}")))
}

impl Drawing {
    pub fn draw(&self, world: &World, scene: &Scene, to: &Path) -> Result<(), Failure> {
        let title = format!("{}  t = {:.2} s", scene.name, world.state().time);
        let picture = portrait(
            world,
            &Portrait {
                view: self.view,
                colouring: self.colouring,
                width: self.width,
                height: self.height,
                title: Some(title),
                glass: &scene.glass,
                shown: scene.probe.paint(world).map(|p| Shown {
                    label: p.label,
                    unit: p.unit,
                    values: p.values,
                }),
                cut: self.cut,
            },
        );
        drystone_record::file::make_folder(to)
            .map_err(|e| Failure::input(format!("{}: {e}", to.display())))?;
        render(&picture).write_png(to).map_err(|e| Failure::input(format!("{}: {e}", to.display())))
    }
}

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    simulation: Simulation,
    /// Simulate to this time first, s.
    #[arg(long, value_name = "S", default_value_t = 0.0)]
    at_time: f64,
    /// The picture.
    #[arg(long, value_name = "FILE.png")]
    to: PathBuf,
    #[command(flatten)]
    look: Look,
}

pub fn main(args: Args) -> Result<i32, Failure> {
    let drawing = args.look.check()?;
    outputs::check(Some(args.simulation.scene.as_ref()), [Output::png("--to", Some(&args.to))])?;
    let Prepared { scene, mut world, .. } = args.simulation.prepare()?;
    if !crate::state::advance(&mut world, args.at_time)? {
        return Ok(crate::run::INTERRUPTED);
    }
    drawing.draw(&world, &scene, &args.to)?;
    Ok(0)
}
