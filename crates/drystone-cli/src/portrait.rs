//! `drystone picture`, and the `--picture` of other commands.

use std::path::{Path, PathBuf};

use drystone::World;
use drystone_record::export::{Film, Frames, Selection};
use drystone_record::picture::{Camera, View, render};
use drystone_record::portrait::{Colouring, Portrait, Shown, portrait};
use drystone_record::recording::{Recording, number};
use drystone_record::{export, snapshot};
use drystone_scene::Scene;
use drystone_solve::solver::BadSpec;
use glam::DVec3;

use crate::failure::Failure;
use crate::interrupt;
use crate::outputs::{self, Output};
use crate::own::Kind;
use crate::progress;
use crate::simulation::{Prepared, Simulation};
use crate::terminal::INTERRUPTED;

/// How pictures look.
#[derive(clap::Args, Clone)]
pub struct Look {
    /// View: iso, front, side or top; or the eye and the point it looks at, m, and if given the opening in
    /// degrees: X,Y,Z:X,Y,Z[:DEG].
    #[arg(long, value_name = "NAME|EYE:AT[:DEG]", default_value = "iso", allow_hyphen_values = true)]
    camera: String,
    /// What colour means: speed, kind, force, or scene (what the scene itself has to show, speed if nothing).
    #[arg(long, value_name = "speed|kind|force|scene", default_value = "speed")]
    colour: String,
    /// Pixels, width x height.
    #[arg(long, value_name = "WxH", default_value = "1280x800")]
    size: String,
    /// Leave out what is below a plane, to see inside: shapes whose middle has a smaller coordinate. y=0
    /// opens the front.
    #[arg(long, value_name = "AXIS=M")]
    cut: Option<String>,
}

/// A checked look.
#[derive(Clone)]
pub struct Drawing {
    view: View,
    /// Instead of the view.
    camera: Option<Camera>,
    colouring: Colouring,
    width: usize,
    height: usize,
    cut: Option<(usize, f64)>,
}

impl Look {
    pub fn check(&self) -> Result<Drawing, Failure> {
        let camera = if self.camera.contains(':') { Some(camera(&self.camera)?) } else { None };
        let view = match camera {
            Some(_) => View::Iso,
            None => self.camera.parse::<View>().map_err(|_| {
                let names: Vec<&str> = View::ALL.iter().map(|v| v.name()).collect();
                Failure::input(BadSpec::unknown("camera", &self.camera, &names))
            })?,
        };
        let colouring = Colouring::from_name(&self.colour)
            .ok_or_else(|| Failure::input(BadSpec::unknown("colour", &self.colour, Colouring::NAMES)))?;
        let (width, height) = size(&self.size)?;
        let cut = self.cut.as_deref().map(cut).transpose()?;
        Ok(Drawing { view, camera, colouring, width, height, cut })
    }
}

/// Reads `1,-2,1:0,0,0.5:30`.
fn camera(text: &str) -> Result<Camera, Failure> {
    let parse = || {
        let mut parts = text.split(':');
        let mut point = || {
            let numbers: Vec<f64> =
                parts.next()?.split(',').map(|x| x.trim().parse().ok()).collect::<Option<_>>()?;
            (numbers.len() == 3).then(|| DVec3::from_slice(&numbers)).filter(|p| p.is_finite())
        };
        let (from, at) = (point()?, point()?);
        let fov = parts.next().map_or(Some(Camera::FITTED_FOV), |x| x.trim().parse().ok())?;
        let fits = from != at && (1.0..=170.0).contains(&fov) && parts.next().is_none();
        // Straight down there is no up but +y.
        let up = if (from - at).with_z(0.0) == DVec3::ZERO { DVec3::Y } else { DVec3::Z };
        fits.then_some(Camera { from, at, up, fov })
    };
    parse().ok_or_else(|| {
        Failure::input(format!(
            "--camera must be a view, or two points in m and degrees from 1 to 170 as 1,-2,1:0,0,0.5:30, got {text}"
        ))
    })
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
        let mut picture = portrait(
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
        if let Some(camera) = self.camera {
            picture.camera = camera;
        }
        drystone_record::file::make_folder(to).map_err(|e| Failure::writing(to.display(), &e))?;
        render(&picture).write_png(to).map_err(Failure::png)
    }
}

impl Drawing {
    /// The same for frames of a recording; `even` sides are what films have.
    pub fn look(&self, glass: Vec<i64>, even: bool) -> Result<export::Look, Failure> {
        if self.colouring == Colouring::Scene {
            return Err(Failure::input(
                "--colour scene: recordings and snapshots have speed, kind and force",
            ));
        }
        let mask = if even { !1 } else { !0 };
        Ok(export::Look {
            view: self.view,
            camera: self.camera,
            colouring: self.colouring,
            width: self.width & mask,
            height: self.height & mask,
            cut: self.cut,
            glass,
        })
    }
}

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    simulation: Simulation,
    /// Simulate to this time first, s [0]. Of recordings and snapshots: the one frame that is nearest to it
    /// [default: all, as FILE_000000.png, FILE_000001.png, ...].
    #[arg(long, visible_alias = "at", value_name = "S")]
    at_time: Option<f64>,
    /// Of recordings and snapshots: frames from this time on, s.
    #[arg(long, value_name = "S", default_value_t = f64::NEG_INFINITY, conflicts_with = "at_time")]
    from: f64,
    /// Frames up to this time, s.
    #[arg(long, value_name = "S", default_value_t = f64::INFINITY, conflicts_with = "at_time")]
    until: f64,
    /// Every N-th of them.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,
    /// Draw a body as glass; may be repeated. A name that several have means all of them.
    #[arg(long, value_name = "NAME")]
    glass: Vec<String>,
    /// The scene that a snapshot file belongs to [default: as the file says].
    #[arg(long = "scene", value_name = "SCENE")]
    of_scene: Option<String>,
    /// The picture.
    #[arg(long, value_name = "FILE.png")]
    to: PathBuf,
    #[command(flatten)]
    look: Look,
}

/// The numbers of bodies that are not to hide others.
pub fn glass(recording: &Recording) -> Vec<i64> {
    recording.glass().iter().map(|slot| *slot as i64).collect()
}

pub fn main(args: Args) -> Result<i32, Failure> {
    let drawing = args.look.check()?;
    for (option, time) in
        [("--at-time", args.at_time.unwrap_or(0.0)), ("--from", args.from), ("--until", args.until)]
    {
        if time.is_nan() || option == "--at-time" && time.is_infinite() {
            return Err(Failure::input(format!("{option} must be a finite time in s, got {time}")));
        }
    }
    let path = Path::new(&args.simulation.scene);
    let is_series = args.at_time.is_none() && (is_recording(path) || snapshot::is_snapshots(path));
    outputs::check(Some(path), [Output::png("--to", Some(&args.to)).map(|o| o.numbered(is_series))])?;
    if is_recording(path) {
        let recording = crate::record::open(path)?;
        return series(&args, &drawing, &recording, glass(&recording));
    }
    if snapshot::is_snapshots(path) {
        let (named, snaps) = snapshot::read(path).map_err(Failure::input)?;
        let (file, given) = (&args.simulation.scene, args.of_scene.as_deref());
        let Prepared { scene, world, .. } = args.simulation.of_snapshots(file, &named, given)?;
        let shown = snapshot::Shown::new(&scene.name, &world, snaps)
            .map_err(|e| Failure::input(format!("{}: {e}", path.display())))?;
        let glass = scene.glass.iter().map(|slot| number(*slot as u32, 0)).collect();
        return series(&args, &drawing, &shown, glass);
    }
    for (option, given) in [
        ("--from", args.from.is_finite()),
        ("--until", args.until.is_finite()),
        ("--every", args.every != 1),
        ("--glass", !args.glass.is_empty()),
        ("--scene", args.of_scene.is_some()),
    ] {
        if given {
            return Err(Failure::input(format!(
                "{option} is for recordings and snapshots; {} is a scene",
                path.display()
            )));
        }
    }
    let Prepared { scene, mut world, backend, .. } = args.simulation.prepare()?;
    if !crate::state::advance(&mut world, &backend, args.at_time.unwrap_or(0.0))? {
        return Ok(INTERRUPTED);
    }
    drawing.draw(&world, &scene, &args.to)?;
    Ok(0)
}

/// A folder, or a segment in one.
fn is_recording(path: &Path) -> bool {
    path.is_dir() || path.is_file() && path.extension().is_some_and(|e| e == "h5")
}

/// Draws one frame, or all.
fn series(args: &Args, drawing: &Drawing, from: &dyn Frames, mut glass: Vec<i64>) -> Result<i32, Failure> {
    let place = |e: String| Failure::input(format!("{}: {e}", args.simulation.scene));
    for name in &args.glass {
        let meant = export::called(from.catalogue(), name);
        glass.extend(meant.map_err(|e| place(format!("--glass: {e}")))?);
    }
    let selection = Selection::new(from, (args.from, args.until), args.every as usize, &[])
        .map_err(|e| place(e.to_string()))?;
    let selection = match args.at_time {
        Some(time) => selection.nearest(from, time),
        None => selection,
    };
    let film = Film::new(from, &selection, drawing.look(glass, false)?).map_err(|e| place(e.to_string()))?;
    drystone_record::file::make_folder(&args.to).map_err(|e| Failure::writing(args.to.display(), &e))?;
    let stop = interrupt::watch();
    let count = selection.frames.len();
    if args.at_time.is_none() {
        crate::numbered::check_numbered(&args.to, count, "png", Kind::Png)?;
    }
    let bar = progress::waiting(format!("{count} pictures"));
    for n in 0..count {
        if stop.came() {
            eprintln!("drystone: interrupted: {n} of {count} pictures are drawn");
            return Ok(INTERRUPTED);
        }
        bar.set_message(format!("picture {} of {count}", n + 1));
        let to =
            if args.at_time.is_some() { args.to.clone() } else { crate::numbered::numbered(&args.to, n) };
        let image = render(&film.picture(n).map_err(Failure::run)?);
        image.write_png(&to).map_err(Failure::png)?;
    }
    bar.finish_and_clear();
    Ok(0)
}
