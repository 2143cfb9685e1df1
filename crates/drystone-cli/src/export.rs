//! `drystone export` and `drystone report`: recordings in other forms.

use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use drystone_record::course;
use drystone_record::export::{Film, Selection, Table, csv, gltf, parquet, vtp};
use drystone_record::picture::{Image, render};
use drystone_record::recording::Recording;
use drystone_solve::solver::BadSpec;
use drystone_view::replay::Replay;

use crate::failure::Failure;
use crate::interrupt;
use crate::numbered::{check_numbered, numbered};
use crate::outputs::{self, Output};
use crate::own::Kind;
use crate::portrait::{Look, glass};
use crate::record;
use crate::terminal::{INTERRUPTED, say, write};

#[derive(clap::Args)]
pub struct Args {
    /// The recording: its folder.
    recording: PathBuf,
    /// What to write, by its ending: .csv, .parquet, .vtp (a series, and a .pvd for ParaView), .gltf (an
    /// animation), .html (the viewer with the recording inside), .png (a series of frames), .mp4 (by ffmpeg).
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// Which table a .csv or .parquet is: bodies, contacts, joints or steps.
    #[arg(long, value_name = "NAME", default_value = "bodies")]
    table: String,
    /// Frames from this time on, s.
    #[arg(long, value_name = "S", default_value_t = f64::NEG_INFINITY)]
    from: f64,
    /// Frames up to this time, s.
    #[arg(long, value_name = "S", default_value_t = f64::INFINITY)]
    until: f64,
    /// Every N-th of them.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,
    /// These bodies alone; may be repeated. A name that several have means all of them.
    #[arg(long, value_name = "NAME")]
    body: Vec<String>,
    #[command(flatten)]
    look: Look,
    /// Pictures per second of a film.
    #[arg(long, value_name = "N", default_value_t = 25, value_parser = clap::value_parser!(u64).range(1..=240))]
    rate: u64,
    /// Say nothing.
    #[arg(long)]
    quiet: bool,
}

const ENDINGS: &str = ".csv, .parquet, .vtp, .gltf, .html, .png or .mp4";

pub fn main(args: Args) -> Result<i32, Failure> {
    let ending = args.to.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let shown = args.to.display();
    if !["csv", "parquet", "vtp", "gltf", "html", "png", "mp4"].contains(&ending.as_str()) {
        return Err(Failure::input(format!("--to {shown}: the name must end in {ENDINGS}")));
    }
    let table = Table::NAMES.iter().find(|(name, _)| *name == args.table).map(|(_, table)| *table);
    if table.is_some() && args.table != "bodies" && !["csv", "parquet"].contains(&ending.as_str()) {
        return Err(Failure::input(format!(
            "--table {}: tables are .csv or .parquet, not .{ending}",
            args.table
        )));
    }
    let names: Vec<&str> = Table::NAMES.iter().map(|(name, _)| *name).collect();
    let table = table.ok_or_else(|| Failure::input(BadSpec::unknown("table", &args.table, &names)))?;
    interrupt::leave_nothing();
    let recording = record::open(&args.recording)?;
    let selection = Selection::new(&recording, (args.from, args.until), args.every as usize, &args.body)
        .map_err(|e| Failure::input(format!("{}: {e}", args.recording.display())))?;
    let kind = match ending.as_str() {
        "csv" | "parquet" => Kind::Table,
        "gltf" => Kind::Gltf,
        "html" => Kind::Html,
        "mp4" => Kind::Film,
        _ => Kind::Numbered,
    };
    outputs::check(Some(&args.recording), [Output::of(kind, "--to", Some(&args.to))])?;
    if kind == Kind::Numbered {
        let is_vtp = ending == "vtp";
        let kind = if is_vtp { Kind::Vtk } else { Kind::Png };
        check_numbered(&args.to, selection.frames.len(), &ending, kind)?;
        if is_vtp {
            outputs::refuse_foreign("--to", &args.to.with_extension("pvd"), kind)?;
        }
    }
    let mut code = 0;
    match ending.as_str() {
        "csv" | "parquet" => beside(&args.to, |to| {
            if ending == "parquet" {
                return parquet(&recording, &selection, table, to).map_err(Failure::run);
            }
            let bad = |e: std::io::Error| Failure::run(format!("{shown}: {e}"));
            let mut text = BufWriter::new(std::fs::File::create(to).map_err(bad)?);
            csv(&recording, &selection, table, &mut text).map_err(Failure::run)?;
            std::io::Write::flush(&mut text).map_err(bad)
        })?,
        "vtp" => {
            let stop = interrupt::watch();
            let written = vtp(&recording, &selection, &args.to, stop.flag()).map_err(Failure::run)?;
            if written < selection.frames.len() {
                eprintln!("drystone: interrupted: {written} .vtp files are kept, the .pvd is not written");
                code = INTERRUPTED;
            }
        }
        "gltf" => write(&args.to, &gltf(&recording, &selection).map_err(Failure::run)?)?,
        "html" => {
            let replay = Replay::selected(recording.clone(), selection.clone());
            code = crate::view::write(&replay, &args.to)?;
        }
        _ => code = pictures(&args, &recording, &selection, ending == "mp4")?,
    }
    if !args.quiet && code == 0 {
        say(&format!("{shown}: {} of {} frames\n", selection.frames.len(), recording.len()))?;
    }
    Ok(code)
}

/// Writes a file under another name, and gives it its own when it is whole; Ctrl-C and errors leave none.
/// Pipes are written as they are.
fn beside(to: &Path, write: impl FnOnce(&Path) -> Result<(), Failure>) -> Result<(), Failure> {
    if std::fs::metadata(to).is_ok_and(|m| !m.is_file()) {
        return write(to);
    }
    let name = to.file_name().unwrap_or_default().to_string_lossy();
    let place = to.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    // Parquet has its rows in a file of their own meanwhile.
    let parts = [place.clone(), place.with_extension("parquet.csv"), place.with_extension("parquet.tmp")];
    let remove = move || parts.iter().for_each(|part| drop(std::fs::remove_file(part)));
    let again = remove.clone();
    interrupt::leave_by(move || {
        again();
        eprintln!("drystone: interrupted: nothing was written");
    });
    let done = write(&place).and_then(|()| {
        std::fs::rename(&place, to).map_err(|e| Failure::run(format!("{}: {e}", to.display())))
    });
    if done.is_err() {
        remove();
    }
    done
}

fn pictures(args: &Args, recording: &Recording, selection: &Selection, film: bool) -> Result<i32, Failure> {
    let look = args.look.check()?.look(glass(recording), film)?;
    let frames = Film::new(recording, selection, look).map_err(Failure::input)?;
    let stop = interrupt::watch();
    let mut encoder = if film { Some(Encoder::start(args)?) } else { None };
    let (count, mut drawn) = (selection.frames.len(), 0);
    while drawn < count && !stop.came() {
        let image = render(&frames.picture(drawn).map_err(Failure::run)?);
        match &mut encoder {
            Some(encoder) => {
                if !encoder.take(&image) {
                    break;
                }
            }
            None => image.write_png(numbered(&args.to, drawn)).map_err(Failure::png)?,
        }
        drawn += 1;
    }
    let film = encoder.map_or(Ok(()), |encoder| encoder.finish(drawn, &args.to));
    if stop.came() {
        eprintln!("drystone: interrupted: {drawn} of {count} pictures are drawn");
        return Ok(INTERRUPTED);
    }
    film.map(|()| 0)
}

/// ffmpeg, which makes films of pictures; into a file of another name until it is whole.
struct Encoder {
    child: Child,
    place: PathBuf,
}

impl Encoder {
    fn start(args: &Args) -> Result<Self, Failure> {
        let name = args.to.file_name().unwrap_or_default().to_string_lossy();
        let place = args.to.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
        let child = ffmpeg(args, &place)?;
        // If it ends before its time, that is an error, and not the end of this program.
        #[cfg(unix)]
        // SAFETY: a signal's action is set to a default one.
        unsafe {
            libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        }
        Ok(Self { child, place })
    }

    /// Takes the next picture; false if ffmpeg has ended.
    fn take(&mut self, image: &Image) -> bool {
        self.child.stdin.as_mut().is_some_and(|pipe| image.encode_png(pipe).is_ok())
    }

    /// Ends the film, which is kept if it has pictures.
    fn finish(mut self, pictures: usize, to: &Path) -> Result<(), Failure> {
        drop(self.child.stdin.take());
        let status = self.child.wait().map_err(|e| Failure::run(format!("ffmpeg: {e}")))?;
        if status.success() && pictures > 0 {
            return std::fs::rename(&self.place, to).map_err(|e| Failure::writing(to.display(), &e));
        }
        let _ = std::fs::remove_file(&self.place);
        Err(Failure::run(format!("{}: ffmpeg ended with {status}: no film is written", to.display())))
    }
}

fn ffmpeg(args: &Args, place: &Path) -> Result<Child, Failure> {
    let mut command = Command::new("ffmpeg");
    command.args([
        "-y",
        "-loglevel",
        "error",
        "-f",
        "image2pipe",
        "-c:v",
        "png",
        "-r",
        &args.rate.to_string(),
    ]);
    command
        .args(["-i", "-", "-pix_fmt", "yuv420p", "-metadata", "comment=drystone", "-f", "mp4"])
        .arg(place)
        .stdin(Stdio::piped());
    // A group of its own: Ctrl-C is for this program, which ends the film in order.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().map_err(|e| {
        Failure::input(format!(
            "--to {}: films are made by ffmpeg, which cannot be started ({e}): install it, or export .png and make the film elsewhere",
            args.to.display()
        ))
    })
}

#[derive(clap::Args)]
pub struct ReportArgs {
    /// Recordings: one, or two to be compared.
    #[arg(required = true, num_args = 1..=2, value_name = "RECORDING")]
    recordings: Vec<PathBuf>,
    /// Draw energy, residual, overlap, contacts and timings.
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

pub fn report(args: ReportArgs) -> Result<i32, Failure> {
    outputs::check(None, [Output::svg("--plot", args.plot.as_ref())])?;
    interrupt::leave_nothing();
    let mut runs = Vec::new();
    for path in &args.recordings {
        let name =
            path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into());
        runs.push((name, record::open(path)?));
    }
    let text: String = runs.iter().map(|(name, recording)| course::text(name, recording)).collect();
    if let Some(path) = &args.plot {
        let runs: Vec<_> = runs.iter().map(|(name, recording)| (name.clone(), recording)).collect();
        write(path, &course::charts(&runs).to_svg())?;
    }
    say(&text)?;
    Ok(0)
}
