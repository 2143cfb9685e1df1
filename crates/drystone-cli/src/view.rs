//! `drystone view`.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use drystone_record::file;
use drystone_record::recording::begun;
use drystone_view::replay::Replay;
use drystone_view::server::{Server, Show};
use drystone_view::snapshots::{Snapshots, is_snapshots};
use drystone_view::{Frames, Hello, Recorder, Store, export};

use crate::failure::Failure;
use crate::interrupt::{self, Interrupt};
use crate::outputs::{self, Output};
use crate::progress::Progress;
use crate::simulation::{Prepared, Simulation};
use crate::terminal::INTERRUPTED;

/// Frames of a run without `--frames`, if it has as many steps.
const LEAST_FRAMES: f64 = 120.0;

/// Where the page is served.
#[derive(clap::Args, Clone)]
pub struct Serve {
    /// Port of the page; 0 is any free one.
    #[arg(long, value_name = "P", default_value_t = 0)]
    port: u16,
    /// Address to listen at. Beyond this machine (0.0.0.0 is everywhere) the page needs the token that is
    /// part of the printed address.
    #[arg(long, value_name = "IP", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    listen: IpAddr,
    /// Do not open a browser.
    #[arg(long)]
    no_open: bool,
}

impl Serve {
    /// Listens and prints the address, on a line of its own.
    pub fn start(&self, show: Show) -> Result<(), Failure> {
        let at =
            |e: std::io::Error| Failure::input(format!("--listen {} --port {}: {e}", self.listen, self.port));
        let server = Server::bind(self.listen, self.port).map_err(at)?;
        let url = server.url().map_err(at)?;
        println!("{url}");
        if !self.listen.is_loopback() {
            let name = match self.listen.is_unspecified() {
                true => format!(", with the name or an address of this one in place of {}", self.listen),
                false => String::new(),
            };
            eprintln!(
                "drystone: other machines can open this page{name}; only pages with the token in the address can connect"
            );
        }
        std::io::stdout().flush().map_err(Failure::run)?;
        server.serve(show).map_err(at)?;
        if !self.no_open {
            open(&url);
        }
        Ok(())
    }
}

/// Asks the desktop to show a page. Where there is none, the printed address has to do.
fn open(url: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = std::process::Command::new(program);
    let quiet = std::process::Stdio::null;
    let _ = command.arg(url).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
}

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    simulation: Simulation,
    /// How long to simulate, s [default: the scene's own]; 0 shows the start alone.
    #[arg(long, value_name = "S")]
    time: Option<f64>,
    /// Frames a second of simulated time; at most one a step [default: 60, and in short runs as many as make
    /// 120 in all].
    #[arg(long, value_name = "N")]
    frames: Option<f64>,
    /// Memory for frames, MiB; the simulation ends when it is full.
    #[arg(long, value_name = "MIB", default_value_t = 2048)]
    memory: usize,
    /// The scene that a snapshot file belongs to [default: as the file says].
    #[arg(long = "scene", value_name = "SCENE")]
    of_scene: Option<String>,
    /// Write the run as one HTML file that opens from disk, and serve nothing.
    #[arg(long, value_name = "FILE.html")]
    html: Option<PathBuf>,
    #[command(flatten)]
    serve: Serve,
    /// No progress bar.
    #[arg(long)]
    quiet: bool,
}

pub fn main(args: Args) -> Result<i32, Failure> {
    outputs::check(Some(args.simulation.scene.as_ref()), [Output::html("--html", args.html.as_ref())])?;
    if let Some(n) = args.frames.filter(|n| !(*n > 0.0 && *n <= 1e6)) {
        return Err(Failure::input(format!("--frames must be above 0 and at most 1e6, got {n}")));
    }
    let path = Path::new(&args.simulation.scene);
    if is_recording(path) {
        let scene = ("--scene", args.of_scene.is_some());
        args.without_use("a recording", &[&args.simulation.given()[..], &args.timing(), &given(&[scene])])?;
        return recording(&args, path);
    }
    if is_snapshots(path) {
        args.without_use("a file of snapshots", &[&args.timing()])?;
        return snapshots(&args, path);
    }
    args.without_use("a scene", &[&given(&[("--scene", args.of_scene.is_some())])])?;
    scene(&args)
}

fn given(all: &[(&'static str, bool)]) -> Vec<&'static str> {
    all.iter().filter(|(_, given)| *given).map(|(option, _)| *option).collect()
}

impl Args {
    /// Options that say what of a run is simulated.
    fn timing(&self) -> Vec<&'static str> {
        given(&[("--time", self.time.is_some()), ("--frames", self.frames.is_some())])
    }

    /// Refuses options that what is looked at has no use for.
    fn without_use(&self, what: &str, options: &[&[&'static str]]) -> Result<(), Failure> {
        let options = options.concat();
        if options.is_empty() {
            return Ok(());
        }
        let (is, of) = if options.len() == 1 { ("has", "option") } else { ("have", "options") };
        let hint = match what {
            "a scene" => "it belongs to files of snapshots",
            "a recording" => {
                "it is shown as it was run; drystone export --from, --until and --every write a part of it"
            }
            _ => "what they hold is shown; drystone run --snapshots-every says how much that is",
        };
        let shown = &self.simulation.scene;
        Err(Failure::input(format!(
            "{shown}: is {what}, for which the {of} {} {is} no meaning: {hint}",
            options.join(", ")
        )))
    }
}

/// A folder, or a segment in one.
fn is_recording(path: &Path) -> bool {
    path.is_dir() || path.is_file() && path.extension().is_some_and(|e| e == "h5")
}

/// A recording: frames are read as they are looked at, and come as long as it grows.
fn recording(args: &Args, path: &Path) -> Result<i32, Failure> {
    interrupt::leave_nothing();
    let mut told = false;
    while let Some(who) = begun(path) {
        if !told {
            eprintln!("drystone: {}: {who} has just begun to record here: waiting", path.display());
        }
        told = true;
        std::thread::sleep(Duration::from_millis(200));
    }
    let replay = Replay::open(path, args.memory << 20).map_err(Failure::input)?;
    crate::record::warn(path, &replay.losses());
    if let Some(to) = &args.html {
        return written(&replay, to, args.quiet);
    }
    args.serve.start(Show::Frames(Arc::new(replay)))?;
    Ok(wait(interrupt::watch()))
}

/// A snapshot file: all frames are there at once.
fn snapshots(args: &Args, path: &Path) -> Result<i32, Failure> {
    let all = Snapshots::read(path)?;
    let (file, given) = (&args.simulation.scene, args.of_scene.as_deref());
    let Prepared { scene, world, .. } = args.simulation.of_snapshots(file, &all.scene, given)?;
    let store = all.frames(&scene, &world)?;
    if let Some(to) = &args.html {
        return written(store.as_ref(), to, args.quiet);
    }
    args.serve.start(Show::Frames(store))?;
    Ok(wait(interrupt::watch()))
}

/// A scene or state: frames come while it is simulated.
fn scene(args: &Args) -> Result<i32, Failure> {
    let Prepared { mut scene, mut world, .. } =
        args.simulation.prepare().map_err(|e| all_errors(&args.simulation.scene, e))?;
    let time = args.time.unwrap_or(scene.duration);
    if !(time.is_finite() && time >= 0.0) {
        return Err(Failure::input(format!("--time must be finite and not negative, got {time}")));
    }
    // Mechanisms that are over in a blink have frames, too.
    let frames = args.frames.unwrap_or_else(|| f64::max(60.0, LEAST_FRAMES / time));
    let h = world.settings().h;
    let steps = (time / h).round() as u64;
    let stop = interrupt::watch();
    let notes = notes(&args.simulation.scene);
    let hello = Hello { duration_s: time, notes, ..Hello::of(&scene, &world) };
    let store = Arc::new(Store::new(hello, args.memory << 20));
    let mut recorder = Recorder::new(store.clone(), &world, &scene.glass, 1.0 / frames);
    if args.html.is_none() {
        args.serve.start(Show::Frames(store.clone()))?;
    }
    scene.probe.begin(&world);
    // Residuals of single contacts cost a copy of the problem.
    world.keep_solutions(true);
    let mut progress = Progress::new(steps, args.quiet);
    let (mut ended, mut failed, mut last) = (String::new(), false, None);
    for _ in 0..steps {
        if stop.came() {
            break;
        }
        match world.step() {
            Ok(report) => {
                progress.step(&report);
                scene.probe.observe(&world);
                let t = world.state().time;
                if !recorder.observe(&world, &report) {
                    ended = format!(
                        "ended at t = {t:.2} s: the memory for frames is full (--memory {})",
                        args.memory
                    );
                } else if let Some(why) = scene.probe.stop() {
                    ended = format!("stopped at t = {t:.2} s: {why}");
                }
                last = Some(report);
                if !ended.is_empty() {
                    break;
                }
            }
            Err(e) => {
                (ended, failed) = (format!("the simulation failed: {e}"), true);
                break;
            }
        }
    }
    progress.finish();
    if let Some(report) = &last {
        recorder.finish(&world, report);
    }
    if stop.came() && ended.is_empty() {
        ended = format!("interrupted at t = {:.2} s of {time} s", world.state().time);
    }
    store.close(ended);
    // A store that is full has said so first.
    if let Some(ended) = store.end().filter(|e| !e.is_empty()) {
        eprintln!("drystone: {ended}");
    }
    if let Some(to) = &args.html {
        let code = written(store.as_ref(), to, args.quiet)?;
        let short = world.state().step < steps && scene.probe.stop().is_none();
        if short {
            eprintln!(
                "drystone: {}: holds {:.2} s of {time} s; --memory, --frames and --time say how much is kept",
                to.display(),
                world.state().time
            );
        }
        return Ok(match stop.came() {
            true => INTERRUPTED,
            false if failed || short => 1,
            false => code,
        });
    }
    Ok(wait(stop))
}

/// What `drystone check` notes about a scene's file; nothing about scenes of the gallery.
pub fn notes(scene: &str) -> Vec<String> {
    let path = Path::new(scene);
    let said = if path.is_file() { drystone_scene::check(path).unwrap_or_default() } else { String::new() };
    said.lines().filter_map(|line| line.strip_prefix("note: ")).map(String::from).collect()
}

/// In place of the first error of a scene's file all of them, as `drystone check` names them.
pub fn all_errors(scene: &str, first: Failure) -> Failure {
    let path = Path::new(scene);
    match drystone_scene::check(path) {
        Err(all) if path.is_file() => all.into(),
        _ => first,
    }
}

pub fn write(frames: &dyn Frames, to: &Path) -> Result<i32, Failure> {
    let place = |e: std::io::Error| Failure::writing(to.display(), &e);
    file::write(to, export::html(frames).map_err(place)?.as_bytes()).map_err(place)?;
    Ok(0)
}

/// Writes the file and says what is in it.
fn written(frames: &dyn Frames, to: &Path, quiet: bool) -> Result<i32, Failure> {
    let code = write(frames, to)?;
    // A page on standard output is all that is there.
    if !quiet && to.as_os_str() != "-" {
        let n = frames.count();
        let s = if n == 1 { "" } else { "s" };
        let size = std::fs::metadata(to).map_or(0, |m| m.len()) as f64 / 1e6;
        crate::terminal::say(&format!("{}: {n} frame{s}, {size:.1} MB\n", to.display()))?;
    }
    Ok(code)
}

/// Until Ctrl-C.
fn wait(stop: Interrupt) -> i32 {
    while !stop.came() {
        std::thread::sleep(Duration::from_millis(50));
    }
    INTERRUPTED
}
